"""Floats that are rounded and held between bounds on their way to small integers, as quantised programs have.

    cast int16(clip(rint(x), -128, 127))    =>    cast int16(nearest(clip(x, -128, 127)))

Bounds that are integers may come first.  `nearest` is one instruction that rounds to an int32, which holds
all that is between the bounds; a cast from float to integer has to see to what no integer is.
"""

from typing import Any, Protocol

import numpy as np

from relay.backend.native.loops import nodes as ir
from relay.ir.dtype import integer_range, is_integer
from relay.ir.expr import Constant

MOST_BITS = 16
FINITE_LIMIT = 1e30
"""What magnitudes stay below, so that nothing becomes infinite."""
MOST_VALUES = 64
"""How many values are looked at to find how large one may be."""


class Values(Protocol):
    """What is asked of a builder."""

    def apply(self, op: str, dtype: str, *args: ir.Operand) -> ir.Value: ...
    def const(self, value: Any, like: Any) -> ir.Const: ...
    def select(self, c: ir.Value, x: ir.Value, y: ir.Value) -> ir.Value: ...
    def compare(self, kind: str, x: ir.Value, y: ir.Value) -> ir.Value: ...


def rounded(b: Values, x: ir.Value, dtype: str) -> ir.Value | None:
    """A number in another dtype, if it is a float32 that was rounded and held between bounds that this has;
    NaN gives 0.
    """
    inner = x.args[0] if isinstance(x, ir.Apply) and x.op == "cast" else None
    if isinstance(inner, ir.Apply) and inner.op == "nearest":
        return b.apply("cast", dtype, inner) if dtype == "float32" else None
    if x.dtype != "float32" or not is_integer(dtype):
        return None
    least, greatest = integer_range(dtype)
    found = between(x)
    if found is None or greatest - least >= 1 << MOST_BITS:
        return None
    whole, low, high = found
    is_inside = least <= low <= 0 <= high <= greatest and low == int(low) and high == int(high)
    if not is_inside or not isinstance(whole, ir.Apply) or whole.op != "rint":
        return None
    (source,) = whole.args
    assert not isinstance(source, int)
    if magnitude(source) is None:
        source = b.select(b.compare("eq", source, source), source, b.const(0, source))
    for kind, bound in (("gt", low), ("lt", high)):
        edge = b.const(bound, source)
        source = b.select(b.compare(kind, source, edge), source, edge)
    return b.apply("cast", dtype, b.apply("nearest", "int32", source))


def between(x: ir.Value) -> tuple[ir.Value, float, float] | None:
    """What is held between two bounds, and they."""
    upper = held(x, "gt")
    lower = None if upper is None else held(upper[0], "lt")
    return None if upper is None or lower is None else (lower[0], lower[1], upper[1])


def held(x: ir.Value, kind: str) -> tuple[ir.Value, float] | None:
    """What is replaced by a constant where it is beyond that."""
    match x:
        case ir.Apply("select", (ir.Apply(op, (y, ir.Const() as bound)), ir.Const() as edge, z)):
            is_alike = op == kind and y is z and bound is edge
            return (y, float(edge.value)) if is_alike and not isinstance(y, int) else None
        case _:
            return None


def magnitude(x: ir.Value) -> float | None:
    """How far from 0 a number is at most, if that is known and such that no NaN can be on the way to it."""
    found: dict[ir.Value, float] = {}
    pending: list[tuple[ir.Value, bool]] = [(x, False)]
    count = 0
    while pending:
        v, is_done = pending.pop()
        if v in found:
            continue
        parts = parts_of(v)
        if parts and not is_done:
            pending += [(v, True), *[(p, False) for p in parts]]
            count += 1
            if count > MOST_VALUES:
                return None
            continue
        own = greatest_of(v, [found[p] for p in parts])
        if own is None or not own < FINITE_LIMIT:
            return None
        found[v] = own
    return found[x]


def parts_of(v: ir.Value) -> list[ir.Value]:
    """What a number is computed from, if its magnitude follows from theirs."""
    match v:
        case ir.Apply("select", (_, *parts)):
            return [p for p in parts if not isinstance(p, int)]
        case ir.Apply("cast", (inner,)) if not isinstance(inner, int) and inner.dtype == "float32":
            return [inner]
        case ir.Apply("add" | "subtract" | "multiply" | "rint" | "fmuladd" | "negative", parts):
            return [p for p in parts if not isinstance(p, int)]
        case _:
            return []


def greatest_of(v: ir.Value, parts: list[float]) -> float | None:
    """The magnitude of a number, from those of its parts."""
    match v:
        case ir.Const():
            return abs(float(v.value))
        case ir.Load(ir.Buffer(data=ir.Apply("data", (ir.Global(Constant() as constant),)))) if (
            constant.value.size
        ):
            return float(np.abs(constant.value.astype("float64")).max())
        case ir.Apply("add" | "subtract", _):
            return parts[0] + parts[1]
        case ir.Apply("multiply", _):
            return parts[0] * parts[1]
        case ir.Apply("fmuladd", _):
            return parts[0] * parts[1] + parts[2]
        case ir.Apply("rint", _):
            return parts[0] + 1
        case ir.Apply("select", _):
            return max(parts)
        case ir.Apply("negative" | "cast", _) if parts:
            return parts[0]
        case ir.Apply("cast", (inner,)) if not isinstance(inner, int) and is_integer(inner.dtype):
            least, greatest = integer_range(inner.dtype)
            return float(max(-least, greatest))
        case _:
            return None
