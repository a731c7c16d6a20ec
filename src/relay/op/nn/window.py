"""Windows that slide over the spatial axes of data: the attributes that place them, and what they see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy

from relay.ir.dim import floor_divide, minimum
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import Array, Numpy, Operator
from relay.op.batching import by, folded_along
from relay.op.derivative import tensor_type
from relay.op.family import Kernel, family
from relay.op.kind import Batching
from relay.op.native import Index, Loops, View
from relay.op.nn.layout import (
    SPATIAL,
    Spatial,
    checked_pads,
    ntuple,
    pads,
    per_axis,
    permutation,
    positions,
    to_layout,
)
from relay.op.nn.loops import Line, put_in
from relay.op.nn.ranks import DATA_LAYOUT, each_axis
from relay.op.numeric import dims, narrow
from relay.op.relation import Typing


@family
class Channels(Operator):
    """Data in some layout, of which the spatial axes change."""

    rank: ClassVar[int]

    @property
    def data_axes(self) -> str:
        """The layout that the rules compute in: `NCHW`."""
        return "NC" + SPATIAL[self.rank]

    def open(self, t: Typing, data: Type, layout: str, out_layout: str = "") -> list[Dim]:
        """The dimensions of the data in the order of `data_axes`."""
        order = permutation(t, layout, self.data_axes, self.name, "layout")
        if out_layout:
            permutation(t, out_layout, self.data_axes, self.name, "out_layout")
        shape = t.shape(data, self.rank + 2, "the data")
        return [shape[i] for i in order]

    def close(self, t: Typing, data: Type, shape: Sequence[Dim], layout: str) -> TensorType:
        """The type of a result whose dimensions are in the order of `data_axes`."""
        return TensorType([shape[i] for i in positions(self.data_axes, layout)], t.dtype(data))


@family
class Pooling(Channels, Kernel):
    """Makes one element of what each window sees, spatial axis by spatial axis."""

    def check(self, t: Typing, space: Sequence[Dim]) -> None:
        """Report attributes that are wrong for data of these spatial sizes."""

    def lengths(self, space: Sequence[Dim]) -> list[Dim]:
        """How many windows there are along each spatial axis."""
        raise AssertionError(f"{self.name} does not say how many windows it has")

    def taps(self, space: Sequence[int]) -> list[Array]:
        """For each spatial axis the places that each window sees, `(windows, taps)`; -1 is none."""
        raise AssertionError(f"{self.name} does not say where its windows are")

    def averaging(self, space: Sequence[int]) -> list[Array]:
        """For each spatial axis the part of each place in the mean of each window, `(windows, places)`."""
        raise AssertionError(f"{self.name} does not say what its means are of")

    def layouts(self, count: int) -> tuple[list[str], str]:
        """The layouts of so many operands, and that of the result."""
        a = self.attributes()
        return [a["layout"]] * count, a["out_layout"] or a["layout"]

    @by(Batching.FOLDED)
    def batch(self, n: Dim, which: Sequence[Any], *xs: Expr) -> Expr:
        given, made = self.layouts(len(xs))
        return folded_along(self, n, which, xs, [layout.index("N") for layout in given], made.index("N"))

    def pooled(self, t: Typing, data: Type) -> TensorType:
        """The type that data has with a window's element in place of each window."""
        a = self.attributes()
        batch, channels, *space = self.open(t, data, a["layout"], a["out_layout"])
        self.check(t, space)
        return self.close(t, data, [batch, channels, *self.lengths(space)], a["out_layout"] or a["layout"])

    def pooled_shape(self, data: Expr) -> list[Dim]:
        """The shape of `pooled` data whose type is known."""
        a, shape = self.attributes(), dims(tensor_type(data))
        batch, channels, *space = [shape[i] for i in positions(a["layout"], self.data_axes)]
        found = [batch, channels, *self.lengths(space)]
        return [found[i] for i in positions(self.data_axes, a["out_layout"] or a["layout"])]

    def opened(self, np: Numpy, data: Array) -> Array:
        """Data with its axes in the order of `data_axes`."""
        return to_layout(np, data, self.attributes()["layout"], self.data_axes)

    def closed(self, np: Numpy, x: Array, dtype: Any) -> Array:
        """A result in the layout and dtype that is wanted."""
        a = self.attributes()
        return narrow(to_layout(np, x, self.data_axes, a["out_layout"] or a["layout"]), dtype)

    def lines(self, b: Loops, place: Sequence[Index], space: Sequence[Index]) -> list[Line]:
        """What a window sees along each spatial axis, in the code that is made."""
        raise AssertionError(f"{self.name} does not say where its windows are")

    def seeing(
        self, b: Loops, place: Sequence[Index], space: Sequence[Index], counts: Sequence[Index]
    ) -> list[tuple[Index, Index]]:
        """For each spatial axis, with so many windows, the first of those that may see a place, and how many
        these are; one of them may not see it after all, or not be there.
        """
        raise AssertionError(f"{self.name} does not say which windows see a place")

    def counted(self, b: Loops, lines: Sequence[Line]) -> Any:
        """How many elements the mean of a window is of, as an int64."""
        return b.as_number(b.count([line.count for line in lines]), "int64")

    def seen_by(self, b: Loops, index: Sequence[Index], data: View) -> tuple[list[Index], list[Line]]:
        """Batch and channel of an element of the pooled data, and what its window sees."""
        a = self.attributes()
        batch, channel, *place = put_in(index, a["out_layout"] or a["layout"], self.data_axes)
        space = put_in(data.sizes, a["layout"], self.data_axes)[2:]
        return [batch, channel], self.lines(b, place, space)

    def place_in(self, index: Sequence[Index]) -> list[Index]:
        """An index in the order of `data_axes`, in the data's layout."""
        return put_in(index, self.data_axes, self.attributes()["layout"])


@dataclass(frozen=True)
class Slide:
    """How a window of `size` taps moves along one axis."""

    size: int
    stride: int
    dilation: int
    before: int
    after: int
    ceil_mode: bool

    @property
    def extent(self) -> int:
        """From the first tap to the last."""
        return (self.size - 1) * self.dilation + 1

    def steps(self, d: Dim) -> Dim:
        """How many windows there are on `d` elements.

        With `ceil_mode` a last partial one counts if it begins on data or on the padding before.
        """
        free = d + self.before + self.after - self.extent
        if not self.ceil_mode:
            return floor_divide(free, self.stride) + 1
        most = floor_divide(d + (self.before - 1), self.stride)
        return minimum(floor_divide(free + (self.stride - 1), self.stride), most) + 1

    def places(self, d: int) -> Array:
        """The places that the taps of each window see, `(windows, taps)`; padding is outside of the axis."""
        steps = numpy.arange(cast("int", self.steps(d)))[:, None]
        return steps * self.stride + numpy.arange(self.size) * self.dilation - self.before


@family
class Sliding(Pooling):
    """Windows of `pool_size` taps that overlap, skip and leave the data as the attributes say."""

    pool_size: Spatial = each_axis(1)
    strides: Spatial = each_axis(1)
    dilation: Spatial = each_axis(1)
    padding: Spatial = each_axis(0)
    layout: str = DATA_LAYOUT
    out_layout: str = ""
    ceil_mode: bool = False

    @property
    def slides(self) -> list[Slide]:
        """How windows move along each spatial axis."""
        a, n = self.attributes(), self.rank
        window, strides, dilation = (ntuple(a[k], n) for k in ("pool_size", "strides", "dilation"))
        padding = pads(a["padding"], n)
        return [
            Slide(k, s, r, lo, hi, a["ceil_mode"])
            for k, s, r, (lo, hi) in zip(window, strides, dilation, padding, strict=True)
        ]

    def check(self, t: Typing, space: Sequence[Dim]) -> None:
        a, n, op = self.attributes(), self.rank, self.name
        for name in ("pool_size", "strides", "dilation"):
            per_axis(t, a[name], n, op, name)
        checked_pads(t, a["padding"], n, op)
        for d, s in zip(space, self.slides, strict=True):
            padded = d + s.before + s.after
            t.require(s.extent, "<=", padded, f"the window of `{op}` must fit into the padded data")

    def lengths(self, space: Sequence[Dim]) -> list[Dim]:
        return [s.steps(d) for d, s in zip(space, self.slides, strict=True)]

    def taps(self, space: Sequence[int]) -> list[Array]:
        places = [s.places(d) for d, s in zip(space, self.slides, strict=True)]
        return [numpy.where((at >= 0) & (at < d), at, -1) for d, at in zip(space, places, strict=True)]

    def counts(self, space: Sequence[int]) -> list[Array]:
        """How many elements each mean is of, along each spatial axis."""
        with_padding = self.attributes()["count_include_pad"]
        found: list[Array] = []
        for d, s in zip(space, self.slides, strict=True):
            at = s.places(d)
            low, high = (-s.before, d + s.after) if with_padding else (0, d)
            found.append(numpy.maximum(1, ((at >= low) & (at < high)).sum(axis=1)))
        return found

    def averaging(self, space: Sequence[int]) -> list[Array]:
        parts = zip(self.taps(space), self.counts(space), space, strict=True)
        return [means(taps, counts, d) for taps, counts, d in parts]

    def lines(self, b: Loops, place: Sequence[Index], space: Sequence[Index]) -> list[Line]:
        return [
            Line(d, s.size, b.minus(b.times(i, s.stride), s.before), s.dilation)
            for i, d, s in zip(place, space, self.slides, strict=True)
        ]

    def seeing(
        self, b: Loops, place: Sequence[Index], space: Sequence[Index], counts: Sequence[Index]
    ) -> list[tuple[Index, Index]]:
        found: list[tuple[Index, Index]] = []
        for i, s in zip(place, self.slides, strict=True):
            several = (s.extent - 1) // s.stride + 1
            last = b.quotient(b.plus(i, s.before), s.stride)
            found.append((b.minus(last, several - 1), several))
        return found

    def counted(self, b: Loops, lines: Sequence[Line]) -> Any:
        with_padding = self.attributes()["count_include_pad"]
        found = b.const(1, "int64")
        for line, s in zip(lines, self.slides, strict=True):
            low, size = (s.before, b.plus(line.size, s.before + s.after)) if with_padding else (0, line.size)
            found = b.multiply(found, count_within(b, line, low, size))
        return found


def means(taps: Array, counts: Array, d: int) -> Array:
    """The part of each of `d` places in the mean of the places that a window sees, `(windows, places)`."""
    return (taps[:, :, None] == numpy.arange(d)).sum(axis=1) / counts[:, None]


def slide(
    np: Numpy,
    x: Array,
    axis: int,
    k: int,
    stride: int,
    dilation: int,
    lo: int,
    out: int,
    start: Any,
    combine: Callable[..., Array],
) -> Array:
    """`combine` of the `k` elements of each of `out` windows along one axis, over `x` padded with `start`."""
    needed = max(0, (out - 1) * stride + (k - 1) * dilation + 1 - lo - x.shape[axis])
    if lo or needed:
        widths = [(0, 0)] * x.ndim
        widths[axis] = (lo, needed)
        x = np.pad(x, widths, constant_values=start)
    found: Array | None = None
    for tap in range(k):
        begin = tap * dilation
        part = x[
            (*[slice(None)] * axis, slice(begin, begin + (out - 1) * stride + 1 if out else begin, stride))
        ]
        found = part if found is None else combine(found, part)
    return found


def count_within(b: Loops, line: Line, low: int, size: Index) -> Any:
    """How many taps of a line are among `size` places from `-low` on, at least 1, as an int64."""

    def step(k: Index, totals: Sequence[Any]) -> Sequence[Any]:
        is_there = b.is_within(b.plus(line.place(b, k), low), size)
        return [b.add(totals[0], b.cast(is_there, "int64"))]

    found = b.as_index(b.loop(line.count, [b.const(0, "int64")], step)[0])
    return b.as_number(b.larger(found, 1), "int64")
