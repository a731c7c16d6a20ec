"""Automata over tokens: what a regular expression or a JSON schema lets follow, for "std/constrain".

outlines-core makes a regular expression of a schema, and of that an automaton over bytes, which is followed
here along the bytes of all tokens at once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from relay.diagnostic import fail

Array = np.ndarray[Any, Any]
BYTES = 256
BLOCK = 1 << 22
"""How many pairs of a state and a token are followed at once."""
EXTRA = "pip install 'relay-ir[constrain]'"


@dataclass(frozen=True)
class Automaton:
    """The state after a token of each class, `next (states, classes)`, -1 where it may not follow, and the
    class of each token, `classes (vocabulary,)`, both int32.

    State 0 is the first.
    """

    next: Array
    classes: Array

    @property
    def value(self) -> dict[str, Array]:
        """As an argument of the type `Automaton` of "std/constrain"."""
        return {"next": self.next, "classes": self.classes}

    def allows(self, state: int) -> Array:
        """The tokens that may follow in a state."""
        return np.flatnonzero(self.next[state][self.classes] >= 0)

    def after(self, tokens: Sequence[int]) -> int:
        """The state after tokens from the first on; -1 if one may not follow."""
        state = 0
        for token in tokens:
            state = int(self.next[state, self.classes[token]])
            if state < 0:
                break
        return state


def outlines() -> Any:
    """The library (`cannot-read`)."""
    try:
        return import_module("outlines_core")
    except ImportError:
        fail("cannot-read", "constraints need the package outlines-core", hint=EXTRA)


def of_json_schema(schema: str | Mapping[str, Any], tokens: Sequence[bytes | None], end: int) -> Automaton:
    """The automaton of texts that fit a JSON schema, with at most one space where JSON may have some.

    `tokens` are the bytes of each token, None for one that is not text; `end` is the one that ends a text.
    Schemas that refer to themselves are followed to a depth of three.

    Raises `bad-constraint`, `cannot-read`.
    """
    text = schema if isinstance(schema, str) else json.dumps(dict(schema))
    try:
        expression = outlines().json_schema.build_regex_from_schema(text)
    except (ValueError, TypeError) as error:
        fail(
            "bad-constraint",
            f"the JSON schema cannot be followed: {error}",
            hint="simplify it, or use a grammar",
        )
    return of_regex(expression, tokens, end)


def of_regex(expression: str, tokens: Sequence[bytes | None], end: int) -> Automaton:
    """The automaton of texts that a regular expression matches as a whole; see `of_json_schema`."""
    library = outlines()
    every = library.Vocabulary(BYTES, {bytes([b]): [b] for b in range(BYTES)})
    try:
        index = library.Index(expression, every)
    except ValueError as error:
        fail(
            "bad-constraint",
            f"the regular expression cannot be followed: {error}",
            hint="it has no look-around",
        )
    steps = index.get_transitions()
    first, last = index.get_initial_state(), set(index.get_final_states())
    states = [first, *[s for s in sorted({*steps, *last}) if s != first]]
    numbers = {s: i for i, s in enumerate(states)}
    # One row more: where nothing follows any more.
    table = np.full((len(states) + 1, BYTES), len(states), "int32")
    for s, found in steps.items():
        for byte, target in found.items():
            if byte < BYTES:
                table[numbers[s], byte] = numbers[target]
    finals = np.zeros(len(states), bool)
    finals[[numbers[s] for s in last]] = True
    return along_tokens(table, finals, tokens, end)


def along_tokens(table: Array, finals: Array, tokens: Sequence[bytes | None], end: int) -> Automaton:
    """An automaton over bytes, `table (states + 1, 256)`, as one over tokens.

    The last row is where nothing follows.  Only tokens stay after which a final state can be reached by
    others; `end` follows in the final states.
    """
    dead = len(table) - 1
    texts = [t or b"" for t in tokens]
    lengths = np.asarray([len(t) for t in texts])
    spelled = np.zeros((len(texts), max(1, int(lengths.max(initial=1)))), "uint8")
    for i, t in enumerate(texts):
        spelled[i, : len(t)] = np.frombuffer(t, "uint8")
    after = np.empty((dead, len(texts)), "int32")
    rows = max(1, BLOCK // max(1, len(texts)))
    for begin in range(0, dead, rows):
        after[begin : begin + rows] = followed(
            table, np.arange(begin, min(begin + rows, dead)), spelled, lengths
        )
    after[:, lengths == 0] = dead
    after[after == dead] = -1
    if 0 <= end < len(texts):
        after[:, end] = np.where(finals, np.arange(dead), -1)
    return reduced(live(after, finals))


def followed(table: Array, states: Array, spelled: Array, lengths: Array) -> Array:
    """The state after each token from each state; tokens are rows of bytes, so many of which count."""
    now = np.repeat(states[:, None].astype("int32"), len(spelled), axis=1)
    for i in range(spelled.shape[1]):
        longer = np.flatnonzero(lengths > i)
        now[:, longer] = table[now[:, longer], spelled[longer, i]]
    return now


def live(after: Array, finals: Array) -> Array:
    """The table without tokens after which the end cannot be reached (`bad-constraint` if none is left)."""
    sources, tokens = np.nonzero(after >= 0)
    targets = after[sources, tokens]
    pairs = np.unique(np.stack([sources, targets]), axis=1)
    reaches = finals.copy()
    while True:
        new = reaches.copy()
        new[pairs[0][reaches[pairs[1]]]] = True
        if np.array_equal(new, reaches):
            break
        reaches = new
    if not reaches[0]:
        fail(
            "bad-constraint",
            "no text that the constraint allows can be written with the model's tokens",
            hint="loosen it, or use a model whose tokens cover its characters",
        )
    after[(after >= 0) & ~reaches[np.maximum(after, 0)]] = -1
    return after


def reduced(after: Array) -> Automaton:
    """A table with a column for each token as one with a column for each kind of token."""
    random = np.random.default_rng(0)
    factors = random.integers(1, 2**63, len(after), dtype="uint64") | np.uint64(1)
    marks = np.zeros(after.shape[1], "uint64")
    for row, factor in zip(after, factors, strict=True):
        marks += (row.astype("int64") + 2).astype("uint64") * factor
    _, first, classes = np.unique(marks, return_index=True, return_inverse=True)
    return Automaton(np.ascontiguousarray(after[:, first]), classes.astype("int32"))
