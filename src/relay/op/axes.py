"""Axes and shapes: what operators on shapes have in common, for types and for values alike."""

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy

from relay.diagnostic import fail
from relay.ir.type import Dim
from relay.op.native import Loops
from relay.op.relation import Comparison, refutation
from relay.op.traced import require


class Checker(Protocol):
    """The part of `Typing` that a rule needs which runs on types, and on the sizes of arrays."""

    def static(self, d: Dim) -> int | None:
        """The dimension as a number, or None."""
        ...

    def require(
        self, a: Dim, comparison: Comparison, b: Dim, why: str, code: str = "shape-constraint"
    ) -> None:
        """Demand a comparison of dimensions."""
        ...

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> NoReturn:
        """Report a diagnostic."""
        ...


class _Sizes:
    """A `Checker` for the sizes of arrays at run time."""

    def static(self, d: Dim) -> int | None:
        return d if isinstance(d, int) else None

    def require(
        self, a: Dim, comparison: Comparison, b: Dim, why: str, code: str = "shape-constraint"
    ) -> None:
        assert isinstance(a, int)
        assert isinstance(b, int)
        if not holds(a, comparison, b):
            fail(code, f"{why}, but {refutation(a, comparison, b)}")

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> NoReturn:
        fail(code, message, label=label, hint=hint)


SIZES: Checker = _Sizes()


def holds(a: int, comparison: Comparison, b: int) -> bool:
    """Whether a comparison of numbers is true."""
    match comparison:
        case "==":
            return a == b
        case "!=":
            return a != b
        case "<=":
            return a <= b
        case "<":
            return a < b
        case "divides":
            return b % a == 0 if a else b == 0


def axis_of(t: Checker, axis: int, rank: int, name: str = "axis", of: str = "the operand") -> int:
    """The axis of `of`, counted from the front; negative ones count from the end (`axis-out-of-range`)."""
    if not -rank <= axis < rank:
        has = f"its axes are {-rank} to {rank - 1}" if rank else "a scalar has no axes"
        given = f"axis {axis}" if name in ("axis", "axes") else f"`{name}` {axis}"
        t.fail("axis-out-of-range", f"{given} is out of range: {of} has rank {rank}", hint=has)
    return axis % rank


def axes_of(
    t: Checker, axes: Sequence[int], rank: int, name: str = "axes", of: str = "the operand"
) -> tuple[int, ...]:
    """Distinct axes of `of`, each counted from the front (`axis-out-of-range`, `attribute-value`)."""
    found = tuple([axis_of(t, a, rank, name, of) for a in axes])
    if len(set(found)) != len(found):
        attribute_fault(t, name, axes, "an axis occurs twice")
    return found


def attribute_fault(t: Checker, name: str, value: Any, message: str) -> NoReturn:
    """Report an attribute whose value does not fit its operator."""
    t.fail("attribute-value", f"`{name}` cannot be {value!r}: {message}")


def check_sizes(t: Checker, sizes: Sequence[Dim], name: str, what: str = "a size") -> tuple[Dim, ...]:
    """Sizes given as an attribute (`attribute-value` if one is negative)."""
    if any(isinstance(d, int) and d < 0 for d in sizes):
        attribute_fault(t, name, tuple(sizes), f"{what} is never negative")
    return tuple(sizes)


LAST_INDEX = 2**63 - 1
"""The greatest index: an index of uint64 beyond it counts as this one, which no axis has."""

OUTSIDE = "an index is out of range for its axis"


def as_index(np: Any, x: Any) -> Any:
    """Return integers of any dtype as int64; those beyond are `LAST_INDEX`, never negative."""
    x = np.asarray(x)
    return (np.minimum(x, numpy.uint64(LAST_INDEX)) if x.dtype == numpy.uint64 else x).astype(numpy.int64)


def check_indices(np: Any, indices: Any, size: Any, *, negative: bool = True) -> Any:
    """Indices counted from the front; `index-out-of-range` names the first that is not within the axis."""
    inside = (indices >= (-size if negative else 0)) & (indices < size)

    def told() -> str:
        first = np.asarray(indices)[np.asarray(~inside)].reshape(-1)[0]
        shown = "an index of 2**63 - 1 or more" if first == LAST_INDEX else f"index {first}"
        return f"{shown} is out of range for an axis of size {size}"

    require(np, inside, "index-out-of-range", OUTSIDE, told=told)
    return np.where(indices < 0, indices + size, indices) if negative else indices


class _Unchecked:
    """A `Checker` where everything has been checked before."""

    def static(self, d: Dim) -> int | None:
        return d if isinstance(d, int) else None

    def require(
        self, a: Dim, comparison: Comparison, b: Dim, why: str, code: str = "shape-constraint"
    ) -> None:
        pass

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> NoReturn:
        raise AssertionError(message)


UNCHECKED: Checker = _Unchecked()


def placed_index(b: Loops, x: Any, size: Any, *, negative: bool = True) -> Any:
    """What `check_indices` does, for one index in the code that is made."""
    i = b.as_index(x)
    if negative:
        i = b.choose(b.is_less(i, 0), b.plus(i, size), i)
    b.require(b.is_within(i, size), "index-out-of-range", OUTSIDE)
    return i
