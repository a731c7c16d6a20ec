"""`x[where]`: Python's subscripts as those of the operator `index`, which means them."""

from dataclasses import dataclass
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np

from relay.diagnostic import caller_span, fail
from relay.interpreter.value import is_tuple
from relay.ir import hooks
from relay.ir.expr import RelayExpr
from relay.ir.traced import Traced, takes_traced
from relay.op.base import builders
from relay.tracing.pytree import unboxed


@takes_traced
def apply(name: str, *operands: Any, **attrs: Any) -> Any:
    """A call of the operator of that name, on traced values, numbers and arrays."""
    return builders[name](*operands, **attrs)


@dataclass(frozen=True)
class Gathered:
    """An axis, or for a mask several, that a tensor indexes: an array, or a traced tensor."""

    places: Any


Part = int | slice | Gathered | EllipsisType | None
"""One subscript; None is a new axis."""


def subscripts(where: Any) -> list[Part]:
    """What stands between the brackets of `x[…]` (`bad-index`)."""
    given = where if is_tuple(where) else (where,)
    return [found for part in given for found in _subscript(part)]


def _subscript(part: Any) -> list[Part]:
    """One of them; a mask that is known is an array for each of its axes."""
    part = unboxed(part)
    if part is None or part is Ellipsis:
        return [part]
    if is_integer(part):
        return [int(part)]
    if type(part) is slice:
        return [_checked(part)]
    if isinstance(part, Traced | RelayExpr):
        return [Gathered(part)]
    if isinstance(part, np.ndarray | list | np.bool_ | bool):
        array = np.asarray(part, "int64") if isinstance(part, list) and not part else np.asarray(part)
        if array.dtype == np.bool_ and array.ndim:
            return [Gathered(rows) for rows in array.nonzero()]
        if array.dtype.kind in "iu":
            return [int(array)] if array.ndim == 0 else [Gathered(array)]
    refuse_index(
        f"{part!r:.60}", "an index is an integer, a slice, None, `...`, or a tensor of integers or bools"
    )


def is_integer(x: Any) -> bool:
    """Whether a place is an integer that is known."""
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def _checked(part: slice) -> slice:
    """A slice whose places are integers that are known."""
    places: list[int | None] = []
    for p in map(unboxed, (part.start, part.stop, part.step)):
        if not (p is None or is_integer(p)):
            hint = "places known at run time are for relay.dyn.strided_slice, or relay.take"
            refuse_index(f"a slice at {p}", hint)
        places.append(None if p is None else int(p))
    if places[2] == 0:
        refuse_index("a slice of step 0", "a step is not 0")
    return slice(*places)


def refuse_index(what: Any, hint: str) -> NoReturn:
    """Report an index that no tensor takes (`bad-index`)."""
    fail("bad-index", f"a tensor cannot be indexed with {what}", caller_span(), hint=hint)


def index(x: Any, where: Any) -> Any:
    """`x[where]`, as the operator `index` means it, for a traced tensor or an expression (`bad-index`)."""
    operands, items = index_operands(where)
    return apply("index", x, *operands, items=items)


hooks.index = index


def index_operands(where: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """The operands that the operator `index` takes beside the data, and its attribute (`bad-index`)."""
    parts = subscripts(where)
    return [p.places for p in parts if isinstance(p, Gathered)], tuple(map(_item, parts))


def _item(part: Part) -> Any:
    """A subscript as the operator has it."""
    if isinstance(part, Gathered):
        return "%"
    if isinstance(part, slice):
        return part.start, part.stop, part.step
    return "..." if part is Ellipsis else part


def by_axis(x: Any, where: Any) -> list[int | slice | Gathered]:
    """What stands for each axis of `x`, new ones left out; slices of all for the axes that are left."""
    parts = [p for p in subscripts(where) if p is not None]
    at = next((i for i, p in enumerate(parts) if p is Ellipsis), len(parts))
    found: list[Any] = [p for p in parts if p is not Ellipsis]
    return [*found[:at], *[slice(None)] * (x.ndim - len(found)), *found[at:]]
