"""`x[where]`: Python's subscripts as those of the operator `index`, which means them."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np

from relay.diagnostic import caller_span, fail
from relay.interpreter.value import is_tuple
from relay.ir import hooks
from relay.ir.expr import RelayExpr
from relay.ir.traced import Traced, takes_traced
from relay.ir.type import Dimension, TensorType
from relay.op.attribute import is_dimension
from relay.op.dimension import dim_number
from relay.op.registry import builders
from relay.tracing.pytree import unboxed


def apply(name: str, *operands: Any, **attrs: Any) -> Any:
    """A call of the operator of that name, on traced values, numbers, arrays, and dimensions as numbers."""
    if any(isinstance(x, Dimension) for x in operands):
        operands = with_numbers(operands)
    return _applied(name, *operands, **attrs)


@takes_traced
def _applied(name: str, *operands: Any, **attrs: Any) -> Any:
    return builders[name](*operands, **attrs)


def with_numbers(operands: Sequence[Any]) -> tuple[Any, ...]:
    """Operands with dimensions as numbers of the dtype of the first that is traced, where that is known."""
    one = next((x for x in operands if isinstance(x, Traced)), None)
    t = None if one is None else one.types.get(one.expr)
    dtype = t.dtype if isinstance(t, TensorType) and isinstance(t.dtype, str) else "int64"
    return tuple([dim_number(x, dtype) for x in operands])


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
    if is_dimension(part):
        return [Gathered(dim_number(part, "int64"))]
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
    """A slice whose places are integers that are known, or `Gathered` scalars, and whose step is known."""
    places: list[int | Gathered | None] = []
    for p in map(unboxed, (part.start, part.stop, part.step)):
        if p is None or is_integer(p):
            places.append(None if p is None else int(p))
        elif len(places) < 2 and (is_dimension(p) or isinstance(p, Traced | RelayExpr)):
            places.append(Gathered(dim_number(p, "int64")))
        else:
            refuse_index(f"a slice at {p}", "places are integers, and a step is known while tracing")
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
    places: list[Part] = [
        p for part in parts for p in (_slice_places(part) if isinstance(part, slice) else (part,))
    ]
    return [p.places for p in places if isinstance(p, Gathered)], tuple(map(_item, parts))


def _slice_places(part: slice) -> tuple[Any, Any, Any]:
    """Begin, end and step of a slice."""
    return part.start, part.stop, part.step


def _item(part: Part) -> Any:
    """A subscript as the operator has it."""
    if isinstance(part, slice):
        return tuple(map(_item, _slice_places(part)))
    return "%" if isinstance(part, Gathered) else "..." if part is Ellipsis else part
