"""Regular parts of a tensor: every so many elements between two places of an axis."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy

from relay.ir.expr import Call, Expr, Op, as_expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.attribute import Size, is_dimension
from relay.op.axes import SIZES, UNCHECKED, Checker, attribute_fault, axes_of, axis_of
from relay.op.base import Array, Numpy, sample
from relay.op.batching import behind_rows, by, row_rank, shifted
from relay.op.computed_attributes import is_computed, operand, with_constants_read
from relay.op.derivative import rank_of, static_shape, zeros_like
from relay.op.family import Injective
from relay.op.kind import Batching, Derivative
from relay.op.native import Loops, View
from relay.op.numeric import apply
from relay.op.registry import builders, operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement
from relay.op.scattering import scattered
from relay.op.slice_range import BEYOND, Range, clipped, range_of, sized

SliceMode = Literal["end", "size", "clip", "exact"]
BY_SIZE = ("size", "exact")
"""The modes of which the end is a size."""


@operator("strided_slice")
class StridedSlice(Rearrangement):
    """The elements from `begin` up to but not including `end`, `strides` apart, along `axes` (the first
    ones).

    Negative places count from the end.  With `slice_mode="size"` `end` holds sizes, where -1, or more than
    there are, is all that is left, and with "exact" so many must be there; with "clip" places may lie beyond
    the axis, as in NumPy.

    relay> strided_slice([1, 2, 3, 4, 5], begin=(1,), end=(5,), strides=(2,))
    [2, 4]
    """

    samples = (
        sample("5x4 float32", begin=(1, 0), end=(4, 2)),
        sample("5x4 int4", begin=(1,), end=(5,), strides=(2,)),
        sample("5x4 bfloat16", begin=(-1,), end=(-6,), strides=(-2,), axes=(0,)),
        sample("5x4 float32", begin=(-3, 1), end=(3, -1), axes=(0, -1), slice_mode="size"),
        sample("5x4 bool", begin=(1, 2), end=(3, -1), slice_mode="size"),
        sample("5x4 float32", begin=(3, -2), end=(9, 7), slice_mode="size"),
        sample("5x4 int32", begin=(3, -2), end=(2, -1), slice_mode="exact"),
        sample("float32", begin=(), end=()),
        sample("5x4 int32", begin=(2,), end=(2,)),
        sample("0x4 int32", begin=(0,), end=(3,)),
        sample("5x4 int32", begin=(1,), end=(2147483647,), axes=(-1,)),
        sample("5x4 float32", begin=(1,), end=(4, 3), strides=(2,)),
        sample("5x4 float32", begin=(-9, 9), end=(3, -9), strides=(2, -1), slice_mode="clip"),
    )

    begin: tuple[Size, ...]
    end: tuple[Size | None, ...]
    strides: tuple[int, ...] | None = None
    axes: tuple[int, ...] | None = None
    slice_mode: SliceMode = "end"

    @staticmethod
    def builder(
        data: Any, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
    ) -> Expr:
        """`strided_slice(data, begin, end)`; places that are known at run time make a `dyn.strided_slice`."""
        places: list[Any] = [with_constants_read(p) for p in (begin, end, strides)]
        if any(map(is_computed, places)):
            places = [operand(p) if is_computed(p) else p for p in places]
            return builders["dyn.strided_slice"](data, *places, slice_mode, axes)
        names = ("begin", "end", "strides", "axes", "slice_mode")
        attrs = dict(zip(names, (*places, axes, slice_mode), strict=True))
        return Call(Op.get("strided_slice"), (as_expr(data),), attrs)

    def cut_axes(self, rank: int) -> tuple[int, ...]:
        """Return the axes that have places, from the front: the first ones unless `axes` names them."""
        if self.axes is None:
            return tuple(range(max(len(self.begin), len(self.end))))
        return tuple([a % rank for a in self.axes])

    def ranges(self, t: Checker, dims: Sequence[Dim]) -> dict[int, Range]:
        """The slices, by axis."""
        count = max(len(self.begin), len(self.end))
        if count > len(dims):
            attribute_fault(t, "begin", self.begin, f"the tensor has {len(dims)} axes")
        axes = tuple(range(count)) if self.axes is None else axes_of(t, self.axes, len(dims))
        if len(axes) != count:
            attribute_fault(t, "axes", self.axes, f"there is one for each of {count} places to begin at")
        found: dict[int, Range] = {}
        for i, axis in enumerate(axes):
            begin = self.begin[i] if i < len(self.begin) else 0
            end = self.end[i] if i < len(self.end) else None
            if self.slice_mode in BY_SIZE:
                found[axis] = sized(t, dims[axis], begin, end, exact=self.slice_mode == "exact")
            else:
                stride = self.strides[i] if self.strides is not None and i < len(self.strides) else 1
                rule = clipped if self.slice_mode == "clip" else range_of
                found[axis] = rule(t, dims[axis], begin, end, stride)
        return found

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        taken = self.ranges(t, dims)
        return TensorType([taken[i].length if i in taken else d for i, d in enumerate(dims)], t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        taken = self.ranges(SIZES, data.shape)
        return data[tuple([taken[i].slice if i in taken else slice(None) for i in range(data.ndim)])]

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        rank = row_rank(data, True)
        return replace(self, axes=behind_rows(self.cut_axes(rank), rank))(data)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        sizes, places = static_shape(data), self.places(rank_of(data))
        if not places:
            return (g,)
        if sizes is not None and all(stride == 1 for _, _, stride in places):
            return (within(g, [r.begin for r in self.all_ranges(sizes)], sizes),)
        how = {"slice_mode": "clip"} if self.slice_mode == "clip" else {}
        return (apply("strided_set", zeros_like(data), g, *zip(*places, strict=True), **how),)

    def all_ranges(self, sizes: Sequence[int]) -> list[Range]:
        """The slice of each axis."""
        taken = self.ranges(SIZES, sizes)
        return [taken.get(i, Range(0, d, 1)) for i, d in enumerate(sizes)]

    def places(self, rank: int) -> list[tuple[int, int, int]]:
        """Begin, end and stride of each axis up to the last that is cut."""
        axes = self.cut_axes(rank)
        found = [(0, BEYOND, 1)] * (max(axes, default=-1) + 1)
        for i, axis in enumerate(axes):
            begin = self.begin[i] if i < len(self.begin) else 0
            end = self.end[i] if i < len(self.end) else None
            stride = self.strides[i] if self.strides and i < len(self.strides) else 1
            if self.slice_mode in BY_SIZE:
                stride, end = 1, end_of(begin, end)
            found[axis] = (begin, (BEYOND if stride > 0 else -BEYOND) if end is None else end, stride)
        return found

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """So many strides from the beginning of each axis."""
        place = list(index)
        for axis, r in self.ranges(UNCHECKED, b.dims(data.sizes)).items():
            place[axis] = b.plus(b.size(r.begin), b.times(index[axis], r.stride))
        return data.at(place)


def end_of(begin: int, size: int | None) -> int | None:
    """The place after `size` elements from `begin` on; None is the end of the axis."""
    if size is None or size < 0:
        return None
    end = begin + size
    return None if begin < 0 <= end else end


def within(g: Expr, begin: Sequence[Dim], sizes: Sequence[int]) -> Expr:
    """`g` with zeros around it: from `begin` on in a tensor of the given shape."""
    found = static_shape(g)
    assert found is not None
    return apply("nn.pad", g, [(b, d - b - n) for b, d, n in zip(begin, sizes, found, strict=True)])


@operator("slice_like")
class SliceLike(Rearrangement):
    """The leading part along `axes` (all of them) that has the sizes of the second operand.

    relay> slice_like([[1, 2, 3], [4, 5, 6]], [[0, 0]])
    [[1, 2]]
    """

    carried = ("shape_like",)
    samples = (
        sample("5x4 float32", "2x3 int32"),
        sample("5x4 int4", "2x3x9 bool", axes=(0,)),
        sample("5x4 bool", "9x2 float32", axes=(-1,)),
        sample("float32", "float32"),
    )

    axes: tuple[int, ...] | None = None

    def target(self, t: Checker, dims: Sequence[Dim], like: Sequence[Dim]) -> tuple[Dim, ...]:
        """The shape of the result."""
        if not self.axes and len(like) > len(dims):
            t.fail(
                "rank-mismatch", f"a tensor of rank {len(dims)} cannot be cut like one of rank {len(like)}"
            )
        axes = range(len(like)) if not self.axes else axes_of(t, self.axes, len(dims), of="`data`")
        given = [a if not self.axes or a in self.axes else a - len(dims) for a in axes]
        out = list(dims)
        for a, b in zip(axes, given, strict=True):
            out[a] = like[axis_of(t, b, len(like), of="`shape_like`")]
            t.require(
                out[a], "<=", dims[a], f"the part along axis {a} lies within the tensor", "slice-out-of-range"
            )
        return tuple(out)

    def infer(self, t: Typing, x: Type, like: Type) -> Type:
        return TensorType(self.target(t, t.shape(x), t.shape(like)), t.dtype(x))

    def reference(self, np: Numpy, data: Array, shape_like: Array) -> Array:
        return data[tuple([slice(d) for d in self.target(SIZES, data.shape, shape_like.shape)])]

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, shape_like: Expr) -> Expr:
        axes = self.axes or tuple(range(rank_of(shape_like)))
        if not axes:
            return data
        like = apply("expand_dims", shape_like, axis=0)
        return SliceLike(axes=tuple([a + 1 if a >= 0 else a for a in axes]))(data, like)

    def transpose(self, g: Expr, data: Expr, shape_like: Expr) -> tuple[Expr | None, ...]:
        sizes, rank = static_shape(data), rank_of(data)
        if not rank:
            return g, None
        if sizes is not None and static_shape(g) is not None:
            return within(g, (0,) * rank, sizes), None
        end = apply("shape_of", g, "int64")
        return apply("strided_set", zeros_like(data), g, (0,) * rank, end, (1,) * rank), None

    def element(self, b: Loops, index: Sequence[Any], data: View, shape_like: View) -> Any:
        """The element with the same index."""
        return data.at(index)


@operator("sliding_window")
class SlidingWindow(Injective):
    """Windows of `window_shape` that slide over the axes from `axis` on, `strides` apart.

    The result has the axes before `axis`, the number of windows along each further axis, and the window.

    relay> sliding_window([1, 2, 3, 4], axis=0, window_shape=(2,), strides=(1,))
    [[1, 2], [2, 3], [3, 4]]
    """

    rereads = True
    batch = shifted
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("2x3x8x9 float32", axis=1, window_shape=(3, 4, 5), strides=(1, 2, 3)),
        sample("5 int4", axis=0, window_shape=(2,), strides=(1,)),
        sample("0x4 bool", axis=-1, window_shape=(2,), strides=(2,)),
    )

    axis: int
    window_shape: tuple[Size, ...]
    strides: tuple[int, ...]

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        at = axis_of(t, self.axis, len(dims))
        if len(self.window_shape) != len(dims) - at or any(
            not is_dimension(w) and w < 1 for w in self.window_shape
        ):
            attribute_fault(
                t,
                "window_shape",
                self.window_shape,
                f"it has a positive size for each of {len(dims) - at} axes",
            )
        if len(self.strides) != len(self.window_shape) or any(s < 1 for s in self.strides):
            attribute_fault(
                t, "strides", self.strides, "it has a positive number for each axis of the window"
            )
        counts: list[Dim] = []
        for d, w, s in zip(dims[at:], self.window_shape, self.strides, strict=True):
            t.require(w, "<=", d, "the window fits into the tensor")
            counts.append((d - w) // s + 1)
        return TensorType((*dims[:at], *counts, *self.window_shape), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        at = self.axis % data.ndim
        view = numpy.lib.stride_tricks.sliding_window_view(
            data, self.window_shape, tuple(range(at, data.ndim))
        )
        return view[(slice(None),) * at + tuple([slice(None, None, s) for s in self.strides])]

    def traced(self, np: Numpy, data: Array) -> Array:
        at, n = self.axis % data.ndim, len(self.strides)
        places: list[Array] = []
        for i, (w, s) in enumerate(zip(self.window_shape, self.strides, strict=True)):
            starts = numpy.arange(int((data.shape[at + i] - w) // s + 1)) * s
            taps = starts[:, None] + numpy.arange(w)
            places.append(taps.reshape([taps.shape[j >= n] if j % n == i else 1 for j in range(2 * n)]))
        return data[(slice(None),) * at + tuple(places)]

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (scattered(g, self, data),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """A place of a window."""
        n = len(self.strides)
        at, windows, taps = index[: -2 * n], index[-2 * n : -n], index[-n:]
        places = [b.plus(b.times(w, s), k) for w, s, k in zip(windows, self.strides, taps, strict=True)]
        return data.at([*at, *places])
