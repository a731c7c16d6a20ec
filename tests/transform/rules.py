"""Rules one by one: programs before and after, and awkward numbers to run them on."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.interpreter.machine import Interpreter
from relay.ir.module import IRModule
from relay.text.api import parse
from relay.transform.rewriting.rewriter import apply_rules
from relay.transform.rewriting.rulebook import Entry, table
from relay.typecheck.infer import infer
from transform.cases import verified

Cases = Sequence[tuple[str, str, str]]
"""Parameters, body, and what becomes of the body."""
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.25, 3e38, 1e-40, 7.0]
WHOLE = [0, 1, -1, 3, -(2**31), 2**31 - 1, 12345]


def arguments(mod: IRModule) -> list:
    """Awkward numbers in the shape of each parameter; sizes that are not known are 3."""
    rng = np.random.default_rng(0)
    found = []
    for p in mod["main"].params:
        types = getattr(p.type_annotation, "fields", None)
        made = tuple([argument(t, rng) for t in types or (p.type_annotation,)])
        found.append(made if types else made[0])
    return found


def argument(t, rng: np.random.Generator):
    shape = tuple([d if isinstance(d, int) else 3 for d in t.shape])
    if t.dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if t.dtype.startswith("float"):
        return (
            rng.permutation(np.resize(FLOATS, max(10, int(np.prod(shape)))))[: int(np.prod(shape))]
            .reshape(shape)
            .astype(t.dtype)
        )
    return rng.permutation(np.resize(WHOLE, 10))[: int(np.prod(shape))].reshape(shape).astype(t.dtype)


def body_of(mod: IRModule) -> str:
    """The text of the body of `@main`, without the types of `let`s."""
    lines = str(mod).strip().splitlines()
    start = next(i for i, line in enumerate(lines) if line.endswith("{"))
    return "\n".join(
        [re.sub(r"^(let %\w+): .* = ", r"\1 = ", line.strip()) for line in lines[start + 1 : -1]]
    )


def entries_of(rules: Iterable[Entry], text: str) -> list[Entry]:
    return [entry for entry in rules if entry.text.startswith(text)]


def assert_complete(rules: Sequence[Entry], cases: Mapping[str, Cases]) -> None:
    """Each rule has its cases, which name it by how its text begins."""
    covered = [entries_of(rules, text) for text in cases]
    assert all(len(found) == 1 for found in covered)
    assert {found[0].text for found in covered} == {entry.text for entry in rules}


def assert_rule(rules: Sequence[Entry], text: str, cases: Cases, more: Sequence[Entry] = ()) -> None:
    """A rule, alone or with `more`, makes of programs what is expected, and keeps their values."""
    (entry,) = entries_of(rules, text)
    for params, body, expected in cases:
        mod = infer(parse(f"def @main({params}) {{ {body} }}"))
        out = verified(apply_rules(mod, table([entry, *more])))
        wanted = infer(parse(f"def @main({params}) {{ {expected} }}"))
        assert body_of(out) == body_of(wanted)
        assert (out is mod) == (body_of(mod) == body_of(wanted))
        given = arguments(mod)
        before, after = (Interpreter(m).evaluate("main", *given) for m in (mod, out))
        assert_same(before, after, exact=not entry.but)


def assert_same(before: Any, after: Any, *, exact: bool) -> None:
    """Two values are the same: to the bit, or up to rounding."""
    for a, b in zip(before, after, strict=True) if isinstance(before, tuple) else ((before, after),):
        assert a.dtype == b.dtype
        if exact:
            np.testing.assert_array_equal(a, b)
            assert a.dtype.kind != "f" or (np.signbit(a) == np.signbit(b))[~np.isnan(a)].all()
        else:
            np.testing.assert_allclose(a, b, rtol=2e-6)
