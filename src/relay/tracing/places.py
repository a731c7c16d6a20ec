"""`x.at[where].set(v)` and `.add(v)`: copies of a tensor with other values at an index of NumPy's."""

import math
from collections.abc import Callable
from typing import Any, Literal, cast

import numpy as np

from relay.diagnostic import caller_span, fail
from relay.ir.expr import constant
from relay.ir.traced import Traced
from relay.op.slice import BEYOND
from relay.tracing.indexing import apply, by_axis, index

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
    index(x, where).tensor_type("a part")  # what no tensor takes is refused here
    axes = by_axis(x, where)
    if all(isinstance(i, int) or (isinstance(i, slice) and (i.step or 1) > 0) for i in axes):
        return _changed_part(x, where, v, how)
    return _scattered(x, where, v, how)


def _is_mask(where: Any, x: Any) -> bool:
    """Whether an index is one mask of the shape of `x`."""
    return isinstance(where, Traced | np.ndarray) and _mask_of_rank(where, x.ndim)


def _mask_of_rank(where: Any, rank: int) -> bool:
    return where.dtype == np.bool_ and where.ndim == rank > 0


def _is_scalar(v: Any) -> bool:
    return isinstance(v, int | float) or getattr(v, "ndim", None) == 0


def _changed_part(x: Any, where: Any, v: Any, how: How) -> Any:
    """For integers and slices that go forwards: the new part in the place of what is there."""
    seen = index(x, where)
    new = apply("add", seen, v) if how == "add" else apply("broadcast_to_like", as_of(x, v), seen)
    kept = [slice(i, None if i == -1 else i + 1) if isinstance(i, int) else i for i in by_axis(x, where)]
    if not kept:
        return apply("reshape_like", new, x)
    bounds = [_bounds(cast("slice", r), d) for r, d in zip(kept, x.shape, strict=True)]
    begin, end, strides = (np.asarray(b, "int64") for b in zip(*bounds, strict=True))
    return apply("strided_set", x, apply("reshape_like", new, index(x, tuple(kept))), begin, end, strides)


def _bounds(r: slice, d: Any) -> tuple[int, int, int]:
    """Begin, end and step of a slice of an axis of size `d`, which may be symbolic."""
    if isinstance(d, int):
        begin, end, step = r.indices(d)
        return begin, max(begin, end), step
    return r.start or 0, BEYOND if r.stop is None else r.stop, r.step or 1


def _scattered(x: Any, where: Any, v: Any, how: How) -> Any:
    """For any index: the same index of the places of all elements says which are meant."""
    if not all(isinstance(d, int) for d in x.shape):
        hint = "slices that go forwards, integers, and masks with a scalar work on any size"
        fail(
            "bad-index",
            f"an axis of {x.type} has no known size, and its places are counted",
            caller_span(),
            hint=hint,
        )
    count = math.prod(x.shape)
    every = constant(np.arange(count, dtype="int64").reshape(x.shape))
    places = index(x.wrap(every), where)
    v = apply("broadcast_to_like", as_of(x, v), places)
    flat = [apply("reshape", e, newshape=(-1,)) if count else e for e in (x, places, v)]
    new = apply("scatter_elements", *flat, axis=0, reduction=how)
    return apply("reshape", new, newshape=x.shape, allowzero=True)


def as_of(x: Any, v: Any) -> Any:
    """A number as a scalar of the dtype of `x`; anything else as it is."""
    return constant(v, str(x.tensor_type("a dtype").dtype)) if isinstance(v, int | float) else v
