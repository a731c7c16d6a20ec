"""`x.at[where].set(v)` and `.add(v)`: copies of a tensor with other values at an index of NumPy's."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from relay.ir.expr import constant
from relay.ir.traced import Traced
from relay.op.update import place_numbers
from relay.tracing.indexing import Gathered, apply, index, index_operands, subscripts

How = Literal["update", "add"]
Change = Callable[[Any, Any, Any, How], Any]
"""`x` with a value at an index, or added to it."""


class Places:
    """`x.at`, to be indexed."""

    __slots__ = ("_change", "_x")

    def __init__(self, x: Any, change: Change) -> None:
        """`x` is a tensor, traced or not, and `change` makes its copies."""
        self._x = x
        self._change = change

    def __getitem__(self, where: Any) -> "Place":
        return Place(self._x, where, self._change)


class Place:
    """`x.at[where]`: a part of a tensor, to be changed in a copy, in the dtype of the tensor."""

    __slots__ = ("_change", "_where", "_x")

    def __init__(self, x: Any, where: Any, change: Change) -> None:
        """`where` is what NumPy takes for an index."""
        self._x = x
        self._where = where
        self._change = change

    def set(self, v: Any) -> Any:
        """The tensor with `v` there, stretched to the part.  Where an index is twice, the last one stays."""
        return self._change(self._x, self._where, v, "update")

    def add(self, v: Any) -> Any:
        """The tensor with `v` added there; where an index is twice, both are added."""
        return self._change(self._x, self._where, v, "add")


def changed(x: Any, where: Any, v: Any, how: How) -> Any:
    """`x` with `v` at `x[where]`, or added to it (`bad-index`, `index-out-of-range`)."""
    if _is_mask(where, x) and _is_scalar(v):
        return apply("where", where, apply("add", x, v) if how == "add" else v, x)
    seen = index(x, where)
    seen.tensor_type("a part")  # what no tensor takes is refused here
    if how == "add" and any(isinstance(p, Gathered) for p in subscripts(where)):
        return _scattered(x, where, v)
    operands, items = index_operands(where)
    new = apply("add", seen, v) if how == "add" else as_of(x, v)
    return apply("index_update", x, new, *operands, items=items)


def _is_mask(where: Any, x: Any) -> bool:
    """Whether an index is one mask of the shape of `x`."""
    return isinstance(where, Traced | np.ndarray) and _mask_of_rank(where, x.ndim)


def _mask_of_rank(where: Any, rank: int) -> bool:
    return where.dtype == np.bool_ and where.ndim == rank > 0


def _is_scalar(v: Any) -> bool:
    return isinstance(v, int | float) or getattr(v, "ndim", None) == 0


def _scattered(x: Any, where: Any, v: Any) -> Any:
    """`x` with `v` added where an index may name a place twice: the same index of the numbers of all
    elements says which are meant.
    """
    places = index(x.wrap(place_numbers(x.expr, x.type)), where)
    v = apply("broadcast_to_like", as_of(x, v), places)
    flat = [apply("reshape", e, newshape=(-1,)) for e in (x, places, v)]
    return apply("reshape_like", apply("scatter_elements", *flat, axis=0, reduction="add"), x)


def as_of(x: Any, v: Any) -> Any:
    """A number as a scalar of the dtype of `x`; anything else as it is."""
    return constant(v, str(x.tensor_type("a dtype").dtype)) if isinstance(v, int | float) else v
