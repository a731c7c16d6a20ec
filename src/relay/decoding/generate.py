"""Text from language models: a prompt, the loop as one compiled program, and tokens as they come."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from relay.decoding.adapters import expect_adapters
from relay.decoding.choices import constraint_of
from relay.decoding.options import Options, options_of
from relay.decoding.program import PROPOSED, Form, form_of, generate_text, speculate_text
from relay.decoding.session import Session
from relay.decoding.words import Words
from relay.diagnostic import fail
from relay.driver.compilation import build

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

    def read(self) -> list[int]:
        """The tokens that the model has read in the end: all but the last."""
        return [*self.prompt, *self.tokens[:-1]]

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
    given = as_lists(prompt)
    if isinstance(given, list | tuple):
        items = [*cast("list[Any]", given)]
        if all(is_token(t) for t in items):
            return [[int(t) for t in items]], False
        if all(isinstance(p, str) for p in items):
            return items, True
        rows: list[Any] = [as_lists(p) for p in items]
        if all(is_list_of_tokens(p) for p in rows):
            return [[int(t) for t in p] for p in rows], True
    hint = "it is a text, a list of tokens, or a list of texts or of lists of tokens"
    fail("option-value", f"the prompt is {type(prompt).__name__} of other things than tokens", hint=hint)


def as_lists(x: Any) -> Any:
    """An array as lists of its numbers; anything else as it is."""
    return cast("Any", x).tolist() if isinstance(x, np.ndarray) else x


def is_list_of_tokens(x: Any) -> bool:
    """Whether that is a list or a tuple of tokens."""
    return isinstance(x, list | tuple) and all(is_token(t) for t in cast("list[Any]", x))


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
        expect_adapters(options.adapter, [*model.adapted], len(prompts))
        if options.is_speculative and len(prompts) > 1:
            said = "tokens are proposed ahead for one request at a time"
            fail("option-value", said, hint="give one prompt")
        if options.is_speculative and model.memory.is_state:
            hint = "leave out `draft` and `lookup`"
            fail("option-value", "this model cannot take back tokens that are proposed ahead", hint=hint)
        made: Any = Session(model, len(prompts)) if session is None else session
        if not isinstance(made, Session) or made.model is not model:
            fail("option-value", "`session` is not a session of this model", hint="make one: Session(model)")
        self.session = made
        if self.session.rows != len(prompts):
            fail("option-value", f"the session has {self.session.rows} rows, not {len(prompts)}")
        most = [
            min(options.max_tokens, model.limit - len(p) if model.limit else options.max_tokens)
            for p in prompts
        ]
        self.most = max(most)
        """The most tokens that a request gets: no more than the context of the model has room for."""
        self.rows = [
            Row(p, Words(model.tokenizer, options.stop), model.end_tokens, n)
            for p, n in zip(prompts, most, strict=True)
        ]
        self.start = self.first = 0.0

    def run(self) -> list[Generation]:
        """Decode; the session has all tokens then but the last of each row."""
        with self.session.lock:
            return self.decoded()

    def decoded(self) -> list[Generation]:
        """What each row has given."""
        session, prompts = self.session, [r.prompt for r in self.rows]
        shared = session.begin(prompts)
        room = self.most + PROPOSED + 1
        session.store.reserve([len(p) + room for p in prompts])
        if self.most > 0:
            try:
                cache, ends = self.speculated(shared[0]) if self.o.is_speculative else self.streamed(shared)
            except BaseException:
                session.abandon()
                raise
            done = [r.read()[:end] for r, end in zip(self.rows, ends, strict=True)]
            session.finish(cache, done, [end + self.ahead for end in ends])
        finish = time.perf_counter()
        return [
            Generation(
                r.words.text, r.tokens, r.reason or "closed", len(r.prompt), len(r.prompt) - n,
                self.first - self.start, finish - self.first,
            )
            for r, n in zip(self.rows, shared, strict=True)
        ]  # fmt: skip

    @property
    def ahead(self) -> int:
        """How many places behind the last token may have been written to."""
        return PROPOSED + 1 if self.o.is_speculative else 0

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

    def streamed(self, shared: Sequence[int]) -> tuple[Any, list[int]]:
        """The cache and the position of each row after decoding token by token.

        Rows read their prompts together, whatever their length, if the model can do so; else as far as the
        shortest goes, and the others go on token by token.
        """
        news = [r.prompt[n:] for r, n in zip(self.rows, shared, strict=True)]
        longest, shortest = max(map(len, news)), min(map(len, news))
        width = longest if self.model.reads_ragged else shortest
        for r, new in zip(self.rows, news, strict=True):
            r.given = max(len(new) - width, 0)
        n = len(news)
        constraint = constraint_of(self.model, self.o, n)
        form = form_of(self.o, n, constraint.kind, self.model.reads_ragged)
        args: dict[str, Any] = {
            "prompt": ints([[*new[:width], *new[-1:] * (width - len(new))] for new in news]),
            "rest": padded([new[width:] for new in news]),
            "cache": self.session.cache,
            "position": ints(shared),
            "known": padded([r.prompt for r in self.rows]),
            "seeds": seeds(self.o, n),
            "most": ints([r.most for r in self.rows]),
            "stops": ints([[t] for t in self.model.end_tokens] or [[-1]]),
            "s": self.o.settings,
            "emit": self.emit,
            **constraint.arguments,
        }
        if form.is_ragged:
            args["ends"] = ints([len(r.prompt) for r in self.rows])
        if form.process == "python":
            args["process"] = self.process
        cache, end = self.called(program(self.model, form), args)
        return cache, end.tolist()

    def called(self, made: "Made", args: dict[str, Any]) -> Any:
        """The result of the program; time counts from here."""
        self.start = self.first = time.perf_counter()
        return made.call(weights=made.weights.of(self.o.adapter), **args)

    def process(self, logits: Array) -> Array:
        """The logits that a function of Python gives for the tokens so far."""
        assert callable(self.o.process)
        ids = padded([[*r.prompt, *r.tokens] for r in self.rows]).astype("int32")
        return np.asarray(self.o.process(ids, logits), "float32")

    def speculated(self, shared: int) -> tuple[Any, list[int]]:
        """The cache and the position of the row after decoding with proposals."""
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
            # The cache of the draft is of this request alone: both read the prompt as a whole.
            shared = 0
            room = len(row.prompt) + self.most + 2 * PROPOSED
            args |= {"draft": made.draft_weights, "draft_cache": self.o.draft.cache(1, room)}
        args |= {"prompt": ints([row.prompt[shared:]]), "position": ints([shared])}
        cache, end = self.called(made, args)
        return cache, end.tolist()


@dataclass
class Made:
    """A program of a model, compiled."""

    call: Callable[..., Any]
    weights: Any
    """Those of the model: `weights.of(adapter)`."""
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
            text = speculate_text(form, cache, vocabulary, draft.cache_type(1))
        elif by_lookup:
            text = speculate_text(form, cache, vocabulary)
        else:
            text = generate_text(form, cache, vocabulary)
        mod, weights, others = model.extended(text, draft, form.by_row)
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
        if model.limit and len(p) >= model.limit:
            most = model.limit - 1
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
