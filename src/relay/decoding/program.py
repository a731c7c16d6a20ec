"""The programs that decode: a model's step, and the loop of the standard library around it."""

from dataclasses import dataclass

from relay.decoding.adapters import is_by_row
from relay.decoding.options import Options

PROCESSORS = ("temperature", "top_k", "top_p", "min_p", "typical")
PROPOSED = 4
"""How many tokens are proposed ahead."""


@dataclass(frozen=True)
class Form:
    """What the text of a program depends on; numbers are arguments of the program."""

    rows: int
    is_drawn: bool
    has_penalties: bool
    processors: tuple[str, ...]
    constraint: str
    """`""`, `"automaton"`, or `"mask"` where a function of Python says which tokens may follow."""
    process: str
    """A Relay function, or `"python"`, or `""`."""
    is_ragged: bool
    """Whether several rows end their prompts at places of their own."""
    by_row: bool
    """Whether each row has an adapter of its own."""


def form_of(o: Options, rows: int, constraint: str, reads_ragged: bool = False) -> Form:
    """The form of the program for options."""
    is_drawn = o.temperature > 0
    neutral = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "typical": 1.0}
    used = tuple([name for name in PROCESSORS if is_drawn and getattr(o, name) != neutral[name]])
    process = o.process if isinstance(o.process, str) else "python" if o.process is not None else ""
    ragged, by_row = reads_ragged and rows > 1, is_by_row(o.adapter)
    return Form(rows, is_drawn, o.has_penalties, used, constraint, process, ragged, by_row)


def processed(form: Form) -> str:
    """The body of a function of `%logits` and `%h`, of the settings `%s`."""
    e = "%logits"
    if form.process == "python":
        e = f"%process({e})"
    elif form.process:
        e = f"({form.process})({e}, %h)"
    if form.constraint == "automaton":
        e = f"@constrained(%automaton, {e}, %h.own)"
    elif form.constraint == "mask":
        e = f"where(%h.own, {e}, -inff)"
    if form.has_penalties:
        e = f"@repetition_penalty({e}, logical_or(%h.given, %h.counts > 0), %s.repetition)"
        e = f"@count_penalty({e}, %h.counts, %s.presence, %s.frequency)"
    return with_settings(form, e)


def with_settings(form: Form, e: str) -> str:
    """Logits with the temperature and what leaves tokens out."""
    for name in form.processors:
        e = f"@{name}({e}, %s.{name})"
    return e


def generate_text(form: Form, cache: str, vocabulary: int) -> str:
    """The definition of `@generate_tokens`, beside a model with `@step`; `cache` is the type of the cache."""
    b, v = form.rows, vocabulary
    own, follow, extra = "()", "fn (%_, %own) { %own }", ""
    if form.constraint == "automaton":
        own, follow = "%state", "fn (%tokens, %own) { @followed(%automaton, %tokens, %own) }"
        extra = f"%automaton: Automaton[q, c, {v}], %state: Tensor[({b},), int32],"
    elif form.constraint == "mask":
        own, follow = "%allowed", "%follow"
        mask = f"Tensor[({b}, {v}), bool]"
        extra = f"%allowed: {mask}, %follow: fn(Tensor[({b},), int32], {mask}) -> {mask},"
    if form.process == "python":
        extra += f"%process: fn(Tensor[({b}, {v}), float32]) -> Tensor[({b}, {v}), float32],"
    read, begin = "@step(%weights, %prompt, %cache, %position)", "%position + cast(t, int32)"
    if form.is_ragged:
        extra += f"%ends: Tensor[({b},), int32],"
        read, begin = "@read(%weights, %prompt, %cache, %position, %ends)", "%ends"
    pick = "@sample(%logits, %keys)" if form.is_drawn else "(@greedy(%logits), %keys)"
    return f"""
import "std/decode"
import "std/constrain"

attributes @generate_tokens {{ donate: "cache" }}
def @generate_tokens(
  %weights: Weights, %prompt: Tensor[({b}, t), int32], %rest: Tensor[({b}, p), int32], %cache: {cache},
  %position: Tensor[({b},), int32], %known: Tensor[({b}, n), int32], %seeds: Tensor[({b},), uint64],
  %most: Tensor[({b},), int32], %stops: Tensor[(m, w), int32], %s: Settings, {extra}
  %emit: fn(Tensor[({b},), int32]) -> bool
) {{
  let (%logits, %cache) = {read};
  let %h = @history(%known, @keys_of(%seeds), %most, %logits, %stops, {own});
  let %sampler = Sampler {{
    process: fn (%logits, %h) {{ {processed(form)} }},
    pick: fn (%logits, %keys) {{ {pick} }},
    follow: {follow},
    stops: %stops,
  }};
  let %read = fn (%x: Tensor[({b}, 1), int32], %c, %p: Tensor[({b},), int32]) {{
    @step(%weights, %x, %c, %p)
  }};
  let %begin = {begin};
  let (%cache, %end, _) = @stream(%read, %sampler, %emit, %rest, %logits, %cache, %begin, %h);
  (%cache, %end)
}}
"""


def speculate_text(form: Form, cache: str, vocabulary: int, draft_cache: str = "") -> str:
    """The definition of `@generate_tokens` that reads several tokens at once, which a draft model proposes
    (`@draft_step`), or else the text before; one request.
    """
    k, v = PROPOSED, vocabulary
    shape = f"Tensor[({k + 1},), int32]"
    accept = "@accept_sampled" if form.is_drawn else "@accept_greedy"
    warm = with_settings(form, "%logits")
    donated = '("cache", "draft_cache")' if draft_cache else '"cache"'
    if draft_cache:
        extra = f"%draft: DraftWeights, %draft_cache: {draft_cache},"
        pick = "@sample(%logits, %keys)" if form.is_drawn else "(@greedy(%logits), %keys)"
        state = f"""
  let (_, %own) = @draft_step(%draft, %prompt, %draft_cache, [0]);
  let %small = fn (%x: Tensor[(1, 1), int32], %c, %p: int32) {{
    let (%logits, %c) = @draft_step(%draft, %x, %c, reshape(%p, newshape=(1,)));
    ({warm}, %c)
  }};
  let %pick = fn (%logits, %keys) {{ {pick} }};
  let %propose = fn (%new, %n, %p, %s) {{ @propose_by_model(%small, %pick, %like, %new, %n, %p, %s) }};
  let %state = Draft {{ cache: %own, read: %begin[0], last: 0, keys: @keys_of(%seeds + 1u64) }};"""
    else:
        extra = "%width: int32, %text: Tensor[(r,), int32], %length: int32,"
        state = """
  let %propose = fn (%new, %n, %p, %s) { @propose_by_lookup(%width, %like, %new, %n, %p, %s) };
  let %state = (%text, %length);"""
    first = "@sample(%logits, @keys_of(%seeds + 2u64)).0" if form.is_drawn else "@greedy(%logits)"
    return f"""
import "std/decode"
import "std/speculative"

attributes @generate_tokens {{ donate: {donated} }}
def @generate_tokens(
  %weights: Weights, %prompt: Tensor[(1, t), int32], %cache: {cache}, %position: Tensor[(1,), int32],
  %seeds: Tensor[(1,), uint64], %s: Settings, {extra} %emit: fn({shape}) -> bool
) {{
  let (%logits, %cache) = @step(%weights, %prompt, %cache, %position);
  let %begin = %position + cast(t, int32);
  let %like = zeros(shape=({k}, {v}), dtype=float32);
  let %first = {{ let %logits = {warm}; {first} }};
  {state}
  let %verify = fn (%x: Tensor[(1, {k + 1}), int32], %c, %p: int32) {{
    let (%logits, %c) = @step_all(%weights, %x, %c, reshape(%p, newshape=(1,)));
    ({warm}, %c)
  }};
  let %start: {shape} = concatenate((%first, full(-1, shape=({k},), dtype=int32)));
  if (%emit(%start)) {{
    let (%cache, %end, _) = @speculate(
      %verify, %propose, {accept}, %emit, %start, %cache, %begin[0], %state, @keys_of(%seeds)
    );
    (%cache, reshape(%end, newshape=(1,)))
  }} else {{ (%cache, %begin) }}
}}
"""
