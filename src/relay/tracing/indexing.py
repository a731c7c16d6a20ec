"""`x[where]` with NumPy's meaning, in operators: slices first, then the axes that are indexed by tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from relay.diagnostic import caller_span, fail
from relay.interpreter.value import is_tuple
from relay.ir.expr import constant
from relay.ir.traced import Traced, takes_traced
from relay.ir.type import Dim
from relay.op.base import builders


@takes_traced
def apply(name: str, *operands: Any, **attrs: Any) -> Any:
    """A call of the operator of that name, on traced values, numbers and arrays."""
    return builders[name](*operands, **attrs)


@dataclass(frozen=True)
class Gathered:
    """An axis that is indexed by integers: an array, or a traced tensor."""

    places: Any

    @property
    def rank(self) -> int:
        """The number of axes of the places."""
        return self.places.ndim


Item = int | slice | None | Gathered
"""What one axis is indexed with; None is a new axis."""


def refuse_index(what: Any, hint: str) -> NoReturn:
    """Report an index that no tensor takes (`bad-index`)."""
    fail("bad-index", f"a tensor cannot be indexed with {what}", caller_span(), hint=hint)


def items(x: Any, where: Any) -> list[Item]:
    """What stands for each axis of `x`, and for each new one, in order (`bad-index`)."""
    parts = where if is_tuple(where) else (where,)
    found: list[Item] = []
    ellipsis: int | None = None
    for part in parts:
        if part is Ellipsis:
            if ellipsis is not None:
                refuse_index("two `...`", "one stands for all axes that are left")
            ellipsis = len(found)
        else:
            found += _item(part)
    left = x.ndim - sum(i is not None for i in found)
    if left < 0:
        refuse_index(
            f"{x.ndim - left} indices where it has {x.ndim} axes", "`None` makes a new axis, `...` no index"
        )
    at = len(found) if ellipsis is None else ellipsis
    return [*found[:at], *[slice(None)] * left, *found[at:]]


def _item(part: Any) -> list[Item]:
    """One index of a subscript: a mask stands for as many axes as it has."""
    if part is None or is_integer(part):
        return [part if part is None else int(part)]
    if type(part) is slice:
        return [_checked(part)]
    if isinstance(part, Traced):
        return _of_tensor(part)
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
    for p in (part.start, part.stop, part.step):
        if not (p is None or is_integer(p)):
            refuse_index(
                f"a slice at {p}", "places known at run time are for relay.dyn.strided_slice, or relay.take"
            )
        places.append(None if p is None else int(p))
    if places[2] == 0:
        refuse_index("a slice of step 0", "a step is not 0")
    return slice(*places)


def _of_tensor(part: Any) -> list[Item]:
    """A traced index: integers, or a mask as the rows of its true elements."""
    if part.dtype.kind in "iu":
        return [Gathered(part)]
    if part.dtype != np.bool_:
        refuse_index(f"numbers of {part.dtype}", 'indices are integers: `i.astype("int32")`')
    if part.ndim == 0:
        refuse_index("a scalar bool", "relay.where(c, x, y) chooses by one")
    rows = apply("argwhere", part)
    return [Gathered(apply("take", rows, constant(k), axis=1)) for k in range(part.ndim)]


def index(x: Any, where: Any) -> Any:
    """`x[where]` for a traced tensor (`bad-index`, `index-out-of-range`)."""
    found = items(x, where)
    gathered = any(isinstance(i, Gathered) for i in found)
    if gathered:  # beside tensors, integers are tensors too
        found = [Gathered(np.asarray(i)) if isinstance(i, int) else i for i in found]
    x = sliced(x, [i for i in found if i is not None])
    if gathered:
        return _gathered(x, found)
    axes = [i for i in found if i is not None]
    dropped = tuple([axis for axis, i in enumerate(axes) if isinstance(i, int)])
    x = apply("squeeze", x, axis=dropped) if dropped else x
    return _with_new_axes(x, [i for i in found if not isinstance(i, int)])


def _with_new_axes(x: Any, found: Sequence[Item]) -> Any:
    """The tensor with an axis of size 1 wherever None stands."""
    for at, i in enumerate(found):
        if i is None:
            x = apply("expand_dims", x, axis=at)
    return x


def sliced(x: Any, found: Sequence[Item]) -> Any:
    """The part that slices and integers take, which leave their axes in place (`index-out-of-range`)."""
    ranges = [None if isinstance(i, Gathered) else _range(i, d) for i, d in zip(found, x.shape, strict=True)]
    cut = [(axis, *r) for axis, r in enumerate(ranges) if r is not None]
    if not cut:
        return x
    axes, begin, end, strides = zip(*cut, strict=True)
    return apply("strided_slice", x, begin=begin, end=end, strides=strides, axes=axes)


def _range(i: Item, d: Dim) -> tuple[int, int | None, int] | None:
    """Begin, end and stride of what an index takes of an axis of size `d`; None if that is all of it."""
    if isinstance(i, int):
        if isinstance(d, int) and not -d <= i < d:
            fail(
                "index-out-of-range",
                f"the index {i} is out of range for an axis of size {d}",
                caller_span(),
                hint=f"indices go from {-d} to {d - 1}" if d else "the axis is empty",
            )
        return i, (None if i == -1 else i + 1), 1
    assert isinstance(i, slice)
    if i.start is None and i.stop is None and i.step in (None, 1):
        return None
    if not isinstance(d, int):
        step = i.step or 1
        return (i.start if i.start is not None else 0 if step > 0 else -1), i.stop, step
    begin, end, step = i.indices(d)
    if (end - begin) * step <= 0:
        return 0, 0, 1
    return begin, (None if end < 0 else end), step


def _gathered(x: Any, found: Sequence[Item]) -> Any:
    """The elements at tensors of indices, which broadcast with one another.

    Their axes stand where the indices stand next to each other, else in front of all others.
    """
    at = [k for k, i in enumerate(found) if isinstance(i, Gathered)]
    together = at == list(range(at[0], at[-1] + 1))
    axes = [i for i in found if i is not None]
    indexed = [axis for axis, i in enumerate(axes) if isinstance(i, Gathered)]
    others = [axis for axis in range(len(axes)) if axis not in indexed]
    if indexed != list(range(len(indexed))):
        x = apply("transpose", x, axes=(*indexed, *others))
    places = [i.places for i in found if isinstance(i, Gathered)]
    count = max(p.ndim for p in places)
    y = apply("gather_nd", x, _points(places))
    before = [i for i in found[: at[0]] if i is not None] if together else []
    if before and count:
        moved = [
            *range(count, count + len(before)),
            *range(count),
            *range(count + len(before), count + len(others)),
        ]
        y = apply("transpose", y, axes=tuple(moved))
    around: list[Item] = [None if i is None else slice(None) for i in found if not isinstance(i, Gathered)]
    first = len([i for i in found[: at[0]] if not isinstance(i, Gathered)]) if together else 0
    return _with_new_axes(y, [*around[:first], *[slice(None)] * count, *around[first:]])


def _points(places: Sequence[Any]) -> Any:
    """The coordinates of points as the first axis of one tensor of int64."""
    if not any(isinstance(p, Traced) for p in places):
        return np.stack(np.broadcast_arrays(*places)).astype("int64")
    wide = [apply("cast", p, dtype="int64") if isinstance(p, Traced) else p.astype("int64") for p in places]
    if len(wide) > 1:
        whole = wide[0]
        for p in wide[1:]:
            whole = apply("add", whole, p)
        wide = [apply("broadcast_to_like", p, whole) for p in wide]
    return apply("stack", tuple(wide), axis=0)
