"""Text from language models: a prompt, the loop as one compiled program, and tokens as they come."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from relay.decoding.choices import constraint_of
from relay.decoding.options import Options, options_of
from relay.decoding.program import PROPOSED, Form, form_of, generate_text, speculate_text
from relay.decoding.session import Session
from relay.decoding.words import Words
from relay.diagnostic import fail
from relay.driver.build import build

Array = np.ndarray[Any, Any]
Prompt = str | Sequence[int]


@dataclass
class Generation:
    """What a request has given."""

    text: str
    tokens: list[int]
    reason: str
    """`"end"` after a token that ends texts, `"stop"` at a text of `stop`, `"length"` after `max_tokens`, and
    `"closed"` where nobody wanted more.
    """
    prompt_tokens: int
    read_tokens: int
    """How many tokens of the prompt were not in the cache yet."""
    prompt_seconds: float
    decode_seconds: float


@dataclass
class Row:
    """A request while it is decoded."""

    prompt: list[int]
    words: Words
    ends: Sequence[int]
    most: int
    given: int = 0
    """How many tokens are to come that its prompt has."""
    reason: str = ""
    tokens: list[int] = field(default_factory=list[int])

    def add(self, token: int) -> str:
        """One more token: the text that has become certain."""
        if self.given > 0:
            self.given -= 1
            return ""
        if self.reason or token < 0:
            return ""
        self.tokens.append(token)
        if token in self.ends:
            self.reason = "end"
            return self.words.rest()
        new = self.words.add(token)
        if self.words.is_stopped:
            self.reason = "stop"
        elif len(self.tokens) >= self.most:
            self.reason = "length"
            new += self.words.rest()
        return new


def generate(
    model: Any,
    prompt: Prompt | Sequence[Prompt],
    *,
    session: Session | None = None,
    on_text: Callable[[str], object] | None = None,
    **options: Any,
) -> Any:
    """What a model writes after a prompt, a text or tokens: a `Generation`; a list of them after a list of
    texts or of lists of tokens.

    `on_text` gets text as it comes, of the first request; when it returns False, nothing more comes.  A
    `session` is used and changed.  Options are those of `Options`.

    Raises `unknown-option`, `option-value`, `prompt-too-long`, `no-tokenizer`, `bad-constraint`.
    """
    o = options_of(options)
    prompts, many = prompts_of(prompt)
    numbers = [model.encode(p) if isinstance(p, str) else p for p in prompts]
    found = Request(model, numbers, o, session, on_text).run()
    return found if many else found[0]


def prompts_of(prompt: Any) -> tuple[list[str | list[int]], bool]:
    """The prompts, each a text or tokens, and whether there may be several (`option-value`)."""
    if isinstance(prompt, str):
        return [prompt], False
    given: Any = prompt.tolist() if isinstance(prompt, np.ndarray) else prompt
    if isinstance(given, list | tuple):
        items = cast("list[Any]", list(given))
        if all(is_token(t) for t in items):
            return [[int(t) for t in items]], False
        if all(isinstance(p, str) for p in items):
            return items, True
        rows = [p.tolist() if isinstance(p, np.ndarray) else p for p in items]
        if all(isinstance(p, list | tuple) and all(is_token(t) for t in p) for p in rows):
            return [[int(t) for t in p] for p in rows], True
    hint = "it is a text, a list of tokens, or a list of texts or of lists of tokens"
    fail("option-value", f"the prompt is {type(prompt).__name__} of other things than tokens", hint=hint)


def is_token(x: Any) -> bool:
    """Whether that is the number of a token."""
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def stream(model: Any, prompt: Prompt, *, session: Session | None = None, **options: Any) -> Iterator[str]:
    """The text that a model writes after a prompt, in pieces as they come; see `generate`.

    The program runs in a thread of its own, and ends after the next token when the iterator is closed.
    """
    pieces: queue.Queue[Any] = queue.Queue()
    is_closed = threading.Event()

    def give(text: str) -> bool:
        pieces.put(text)
        return not is_closed.is_set()

    def run() -> None:
        try:
            pieces.put(generate(model, prompt, session=session, on_text=give, **options))
        except BaseException as error:
            pieces.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        while True:
            piece = pieces.get()
            if isinstance(piece, BaseException):
                raise piece
            if not isinstance(piece, str):
                return
            if piece:
                yield piece
    finally:
        is_closed.set()


class Request:
    """Requests that are decoded together."""

    def __init__(
        self,
        model: Any,
        prompts: list[list[int]],
        options: Options,
        session: Session | None,
        on_text: Callable[[str], object] | None,
    ) -> None:
        self.model, self.o, self.on_text = model, options, on_text
        expect_prompts(model, prompts, options)
        model.expect_adapter(options.adapter)
        if options.is_speculative and len(prompts) > 1:
            said = "tokens are proposed ahead for one request at a time"
            fail("option-value", said, hint="give one prompt")
        self.session = Session(model, len(prompts)) if session is None else session
        if not isinstance(self.session, Session) or self.session.model is not model:
            fail("option-value", "`session` is not a session of this model", hint="make one: Session(model)")
        if self.session.rows != len(prompts):
            fail("option-value", f"the session has {self.session.rows} rows, not {len(prompts)}")
        longest = max(map(len, prompts))
        self.most = min(options.max_tokens, model.context - longest if model.context else options.max_tokens)
        """How many tokens each request gets: no more than the context of the model has room for."""
        self.rows = [
            Row(p, Words(model.tokenizer, options.stop), model.end_tokens, self.most) for p in prompts
        ]
        self.start = self.first = 0.0

    def run(self) -> list[Generation]:
        """Decode; the session has all tokens then but the last of each row."""
        with self.session.lock:
            return self.decoded()

    def decoded(self) -> list[Generation]:
        """What each row has given."""
        session, prompts = self.session, [r.prompt for r in self.rows]
        shared = session.common(prompts)
        session.roll_back(shared)
        room = max(map(len, prompts)) + self.most + PROPOSED + 1
        session.reserve(room)
        if self.most > 0:
            cache, end = self.speculated(shared) if self.o.is_speculative else self.streamed(shared)
            session.cache = cache
            last = int(end[0])
            session.tokens = [[*r.prompt, *r.tokens][:last] for r in self.rows]
        finish = time.perf_counter()
        return [
            Generation(
                r.words.text, r.tokens, r.reason or "closed", len(r.prompt), len(r.prompt) - shared,
                self.first - self.start, finish - self.first,
            )
            for r in self.rows
        ]  # fmt: skip

    def emit(self, tokens: Array) -> bool:
        """Take a token of each row: whether more are wanted."""
        if self.first == self.start:
            self.first = time.perf_counter()
        news = [row.add(token) for row, token in zip(self.rows, tokens.tolist(), strict=True)]
        if news[0] and self.on_text is not None and self.on_text(news[0]) is False:
            return False
        return any(not row.reason for row in self.rows)

    def emit_ahead(self, tokens: Array) -> bool:
        """Take the tokens of a round of one request."""
        return all(self.emit(tokens[i : i + 1]) for i in range(len(tokens)) if tokens[i] >= 0)

    def streamed(self, shared: int) -> tuple[Any, Array]:
        """The cache and the position after decoding token by token."""
        prompts = [r.prompt for r in self.rows]
        shortest = min(map(len, prompts))
        for r in self.rows:
            r.given = len(r.prompt) - shortest
        n = len(prompts)
        constraint = constraint_of(self.model, self.o, n)
        form = form_of(self.o, n, constraint.kind)
        args: dict[str, Any] = {
            "prompt": ints([p[shared:shortest] for p in prompts]),
            "rest": padded([p[shortest:] for p in prompts]),
            "cache": self.session.cache,
            "position": np.full(n, shared, "int32"),
            "known": padded(prompts),
            "seeds": seeds(self.o, n),
            "most": np.full(n, self.most, "int32"),
            "stops": ints([[t] for t in self.model.end_tokens] or [[-1]]),
            "s": self.o.settings,
            "emit": self.emit,
            **constraint.arguments,
        }
        if form.process == "python":
            args["process"] = self.process
        return self.called(program(self.model, form), args)

    def called(self, made: "Made", args: dict[str, Any]) -> Any:
        """The result of the program; time counts from here."""
        self.start = self.first = time.perf_counter()
        return made.call(weights=made.weights[self.o.adapter], **args)

    def process(self, logits: Array) -> Array:
        """The logits that a function of Python gives for the tokens so far."""
        assert callable(self.o.process)
        ids = padded([[*r.prompt, *r.tokens] for r in self.rows]).astype("int32")
        return np.asarray(self.o.process(ids, logits), "float32")

    def speculated(self, shared: int) -> tuple[Any, Array]:
        """The cache and the position after decoding with proposals."""
        (row,) = self.rows
        form = form_of(self.o, 1, "ahead")
        made = program(self.model, form, self.o.draft, by_lookup=self.o.draft is None)
        args: dict[str, Any] = {
            "cache": self.session.cache,
            "seeds": seeds(self.o, 1),
            "s": self.o.settings,
            "emit": self.emit_ahead,
        }
        if self.o.draft is None:
            text = ints([*row.prompt, *[0] * (self.most + PROPOSED + 1)])
            args |= {"width": self.o.lookup, "text": text, "length": len(row.prompt)}
        else:
            # The draft reads the prompt as a whole: its cache is of this request alone.
            shared = 0
            room = len(row.prompt) + self.most + 2 * PROPOSED
            args |= {"draft": made.draft_weights, "draft_cache": self.o.draft.cache(1, room)}
        args |= {"prompt": ints([row.prompt[shared:]]), "position": ints([shared])}
        return self.called(made, args)


@dataclass
class Made:
    """A program of a model, compiled."""

    call: Callable[..., Any]
    weights: dict[str | None, Any]
    """By the name of an adapter."""
    draft_weights: Any = None


def program(model: Any, form: Form, draft: Any = None, by_lookup: bool = False) -> Made:
    """The program of a form, compiled once for a model, and for a draft model."""
    key = (form, by_lookup, id(draft))
    known: dict[Any, Made] = model.programs
    if key not in known:
        cache, vocabulary = model.cache_type(form.rows), model.vocabulary
        if draft is not None:
            if draft.vocabulary != vocabulary:
                hint = "a draft model has the tokens of the model"
                fail("option-value", f"the draft has {draft.vocabulary} tokens, not {vocabulary}", hint=hint)
            text = speculate_text(form, cache, vocabulary, draft.cache_type(1, "d"))
        elif by_lookup:
            text = speculate_text(form, cache, vocabulary)
        else:
            text = generate_text(form, cache, vocabulary)
        mod, weights, others = model.extended(text, draft)
        call = build(mod, entries=["generate_tokens"])["generate_tokens"]
        known[key] = Made(call, weights, others)
    return known[key]


def expect_prompts(model: Any, prompts: list[list[int]], o: Options) -> None:
    """Fail unless prompts have tokens of the model, and fit its context with one more (`prompt-too-long`)."""
    for p in prompts:
        if not p:
            fail(
                "option-value",
                "the prompt has no tokens",
                hint="give at least one, such as the one that begins texts",
            )
        if not all(0 <= t < model.vocabulary for t in p):
            wrong = next(t for t in p if not 0 <= t < model.vocabulary)
            fail("option-value", f"the model has {model.vocabulary} tokens, and none is {wrong}")
        if model.context and len(p) >= model.context:
            most = model.context - 1
            message = f"the prompt has {len(p)} tokens, and the model reads {most} before it writes"
            fail("prompt-too-long", message, hint="shorten it, or use a model of a longer context")


def seeds(o: Options, rows: int) -> Array:
    """The seed of each row, so that rows that ask the same draw differently."""
    return (np.uint64(o.seed) + np.arange(rows, dtype="uint64")).astype("uint64")


def ints(x: Any) -> Array:
    """An array of int32."""
    return np.asarray(x, "int32")


def padded(rows: Sequence[Sequence[int]]) -> Array:
    """Rows of different length, filled with -1."""
    width = max(1, max(map(len, rows)))
    return ints([[*r, *[-1] * (width - len(r))] for r in rows])
