"""Convolutions over one, two and three spatial axes, and their transposes."""

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy

from relay.ir.dim import floor_divide
from relay.ir.dtype import to_numpy
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import NUMERIC, Array, Numpy, sample
from relay.op.family import Kernel, family
from relay.op.kind import Derivative, Precision
from relay.op.native import Index, Loops, View, WindowProduct
from relay.op.nn.contract import common_type, matmul
from relay.op.nn.conv_batch import batch_of_convolution
from relay.op.nn.conv_rules import Convolved, Part, with_one_filter_each, with_several_filters
from relay.op.nn.layout import (
    SPATIAL,
    OutDType,
    Spatial,
    checked_pads,
    ntuple,
    pads,
    per_axis,
    permutation,
    positions,
    result_dtype,
    same_size,
    to_layout,
)
from relay.op.nn.loops import Line, put_in, reading, seen, sum_type, times_added
from relay.op.nn.ranks import DATA_LAYOUT, KERNEL_LAYOUT, by_rank, for_ranks
from relay.op.numeric import narrow
from relay.op.relation import Typing
from relay.op.traced import placed

MOST_COLUMNS = 1 << 22
"""Elements of the unfolded input held at a time; 16 MB of float32 stay near the cache."""


@family
class Convolution(Kernel):
    """What convolutions and their transposes share: the axes behind the layouts, and the checks."""

    dtypes = NUMERIC
    derivative = Derivative.MULTILINEAR
    rank: ClassVar[int]

    @property
    def data_axes(self) -> str:
        """The layout that the rules compute in: `NCHW`."""
        return "NC" + SPATIAL[self.rank]

    def kernel(
        self, t: Typing, weight: Type, expected: Sequence[Dim] | None, layout: str, axes: str
    ) -> list[Dim]:
        """The weight's dimensions in the order `axes`; a weight of unknown shape gets the `expected` one."""
        order = permutation(t, layout, axes, self.name, "kernel_layout")
        known = t.resolve(weight)
        if expected is not None and not (isinstance(known, TensorType) and isinstance(known.shape, tuple)):
            shape: list[Dim] = [0] * len(axes)
            for place, d in zip(order, expected, strict=True):
                shape[place] = d
            t.equal(t.tensor(weight).shape, tuple(shape))
        dims = t.shape(weight, self.rank + 2, "the weight")
        return [dims[i] for i in order]

    def check_kernel(self, t: Typing, window: Sequence[Dim], kernel_size: Spatial | None) -> None:
        """Demand that the weight's window is the one that `kernel_size` says."""
        if kernel_size is not None:
            for d, k in zip(
                window, per_axis(t, kernel_size, self.rank, self.name, "kernel_size"), strict=True
            ):
                same_size(t, d, k, f"`{self.name}` has kernel_size={kernel_size}")

    def check_groups(self, t: Typing, channels: Dim, groups: int, what: str) -> None:
        """Demand that `groups` divides a number of channels (`groups-mismatch`)."""
        if groups < 1:
            t.fail(
                "attribute-value",
                f"`{self.name}` cannot have groups={groups}",
                hint="there is at least one group",
            )
        n = t.static(channels)
        if n is not None and n % groups:
            t.fail(
                "groups-mismatch",
                f"`{self.name}` cannot split {n} {what} channels into {groups} groups",
                hint="groups must divide both the input and the output channels",
            )
        if groups > 1:
            t.require(
                groups, "divides", channels, f"groups divide the {what} channels", code="groups-mismatch"
            )

    def match_channels(self, t: Typing, data: Dim, weight: Dim, groups: int) -> None:
        """Demand that data has the channels the weight is made for (`channel-mismatch`)."""
        a, b = t.static(data), t.static(weight)
        if a is not None and b is not None and a != b:
            of = f" in {groups} groups" if groups > 1 else ""
            t.fail(
                "channel-mismatch",
                f"`{self.name}` has data of {a} channels, and a weight made for {b}{of}",
                hint="look at data_layout and kernel_layout, or at the weight's shape",
            )
        t.equal(weight, data, why="the weight is made for the data's channels")

    def windows(self, channels: str, is_transposed: bool) -> WindowProduct:
        """What kernels know it as; `channels` are the letters of the weight's axes for the data's channels
        and for the result's.
        """
        a, n = self.attributes(), self.rank
        return WindowProduct(
            a["data_layout"],
            a["kernel_layout"],
            a.get("out_layout", a.get("grad_layout")) or a["data_layout"],
            channels,
            ntuple(a["strides"], n),
            tuple([before for before, _ in pads(a["padding"], n)]),
            ntuple(a["dilation"], n),
            a["groups"],
            is_transposed,
        )

    def place(self, shape: Sequence[Dim], layout: str) -> list[Dim]:
        """Dimensions in the order of `data_axes`, put in the order of `layout`."""
        return [shape[i] for i in positions(self.data_axes, layout)]


@family
class Conv(Convolution):
    """The convolution of data `(n, c, {axes})` with a weight `(o, c / groups, {kaxes})`: `(n, o, {oaxes})`.

    Each filter slides over the padded data, and products are summed: along an axis of `w` elements there are
    `ow = (w + padding - dilation * (kw - 1) - 1) / strides + 1` places, rounded down.  `padding` is one
    number, one for each axis, or those before the data and then those after: with two axes `(top, left,
    bottom, right)`.  Layouts name the order of the axes of data and weight.  With as many groups as channels
    the weight may also be `(c, multiple, {kaxes})`.

    relay> nn.conv1d([[[1.0, 2.0, 3.0]]], [[[1.0, 1.0]]])
    [[[3.0, 5.0]]]
    relay> nn.conv2d([[[[1.0, 2.0], [3.0, 4.0]]]], [[[[1.0, 0.0], [0.0, 1.0]]]])
    [[[[5.0]]]]
    relay> nn.conv3d([[[[[1.0, 2.0]]]]], [[[[[1.0, 1.0]]]]])
    [[[[[3.0]]]]]
    """

    strides: Spatial = by_rank(1, (1, 1), (1, 1, 1))
    padding: Spatial = by_rank(0, (0, 0), (0, 0, 0))
    dilation: Spatial = by_rank(1, (1, 1), (1, 1, 1))
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    data_layout: str = DATA_LAYOUT
    kernel_layout: str = KERNEL_LAYOUT
    out_layout: str = ""
    out_dtype: OutDType = ""
    batch = batch_of_convolution
    precision = Precision.ALWAYS
    samples = by_rank(
        (
            sample("2x3x8 float32", "4x3x3 float32"),
            sample("2x8x3 float32", "3x3x4 float32", data_layout="NWC", kernel_layout="WIO", padding=(1, 2)),
            sample("1x4x9 float64", "4x2x3 float64", groups=2, strides=2, dilation=2),
        ),
        (
            sample("1x3x6x6 float32", "4x3x3x3 float32", padding=(1, 1), channels=4, kernel_size=(3, 3)),
            sample("2x6x5x3 float32", "3x3x3x4 float32", data_layout="NHWC", kernel_layout="HWIO"),
            sample("1x4x7x7 float32", "8x2x3x3 float32", groups=2, strides=(2, 1), dilation=2),
            sample("1x4x5x5 float32", "4x1x3x3 float32", groups=4, padding=(1, 0, 2, 1)),
            sample("1x3x5x5 int8", "4x3x3x3 int8", out_dtype="int32"),
            sample("0x3x5x5 float32", "4x3x3x3 float32"),
            sample("1x3x5x5 float16", "4x3x1x1 float16"),
        ),
        (
            sample("1x2x4x4x4 float32", "3x2x3x3x3 float32", padding=1),
            sample("1x4x4x4x2 float32", "2x2x2x2x3 float32", data_layout="NDHWC", kernel_layout="DHWIO"),
        ),
    )

    @property
    def kernel_axes(self) -> str:
        """`OIHW`."""
        return "OI" + SPATIAL[self.rank]

    def multiplications(self, out: Sequence[int], *operands: Sequence[int]) -> int:
        """Each element of the result reads a window of the weight's elements for its channel."""
        weight, layout = operands[1], str(self["kernel_layout"])
        return prod(out) * prod(weight) // weight[layout.index("O")]

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        a = self.attributes()
        n, op = self.rank, self.name
        dtype = result_dtype(t, data, weight, a["out_dtype"])
        order = permutation(t, a["data_layout"], self.data_axes, op, "data_layout")
        if a["out_layout"]:
            permutation(t, a["out_layout"], self.data_axes, op, "out_layout")
        strides = per_axis(t, a["strides"], n, op, "strides")
        dilation = per_axis(t, a["dilation"], n, op, "dilation")
        padding, groups = checked_pads(t, a["padding"], n, op), a["groups"]
        shape = t.shape(data, n + 2, "the data")
        batch, channels, *space = [shape[i] for i in order]
        self.check_groups(t, channels, groups, "input")
        out, per_group, *window = self.kernel(
            t, weight, self.expected(t, channels), a["kernel_layout"], self.kernel_axes
        )
        if groups > 1 and channels == groups and t.static(per_group) != 1:
            t.equal(
                out, channels, why="a depthwise weight has one filter for each input channel and multiple"
            )
            out = out * per_group
        else:
            self.match_channels(t, channels, per_group * groups, groups)
        if a["channels"] is not None:
            same_size(t, out, a["channels"], f"`{op}` has channels={a['channels']}")
        self.check_groups(t, out, groups, "output")
        self.check_kernel(t, window, a["kernel_size"])
        sizes = [
            self.steps(t, d, k, s, p, r)
            for d, k, s, p, r in zip(space, window, strides, padding, dilation, strict=True)
        ]
        return TensorType(self.place([batch, out, *sizes], a["out_layout"] or a["data_layout"]), dtype)

    def window_product(self) -> WindowProduct:
        """What kernels know it as."""
        return self.windows("IO", is_transposed=False)

    def expected(self, t: Typing, channels: Dim) -> list[Dim] | None:
        """The weight that the attributes alone imply."""
        a = self.attributes()
        if a["channels"] is None or a["kernel_size"] is None:
            return None
        window = per_axis(t, a["kernel_size"], self.rank, self.name, "kernel_size")
        if a["groups"] > 1 and channels == a["groups"]:
            return [channels, a["channels"] // a["groups"], *window]
        return [a["channels"], floor_divide(channels, a["groups"]), *window]

    def steps(self, t: Typing, d: Dim, k: Dim, stride: int, pad: tuple[int, int], dilation: int) -> Dim:
        """How often a window of `k` taps fits into `d` elements with padding."""
        padded = d + sum(pad)
        extent = (k - 1) * dilation + 1
        t.require(extent, "<=", padded, f"the window of `{self.name}` must fit into the padded data")
        return floor_divide(padded - extent, stride) + 1

    def reference(self, np: Numpy, data: Array, weight: Array) -> Array:
        a, n = self.attributes(), self.rank
        dtype = to_numpy(a["out_dtype"]) if a["out_dtype"] else data.dtype
        acc = common_type(np, dtype, data, weight)
        x = to_layout(np, data, a["data_layout"], self.data_axes).astype(acc, copy=False)
        w = to_layout(np, weight, a["kernel_layout"], self.kernel_axes).astype(acc, copy=False)
        groups = a["groups"]
        if groups > 1 and groups == x.shape[1]:
            w = w.reshape(-1, 1, *w.shape[2:])
        out = convolve(
            np, x, w, ntuple(a["strides"], n), pads(a["padding"], n), ntuple(a["dilation"], n), groups
        )
        return narrow(to_layout(np, out, self.data_axes, a["out_layout"] or a["data_layout"]), dtype)

    def transpose(self, g: Expr, data: Expr, weight: Expr) -> tuple[Expr, Expr]:
        """The transposed convolution of `g` and the weight, and the product of `g` and the data."""
        a = self.attributes()
        given, x = (Part.of(weight, a["kernel_layout"], self.kernel_axes),
                    Part.of(data, a["data_layout"], self.data_axes))  # fmt: skip
        is_split = a["groups"] > 1 and x.sizes[1] == a["groups"] and given.sizes[1] != 1
        parts = Convolved(
            self,
            data=x,
            weight=with_one_filter_each(given) if is_split else given,
            result=Part.of(g, a["out_layout"] or a["data_layout"], self.data_axes),
        )
        d_weight = parts.to_weight()
        return parts.to_data(), with_several_filters(d_weight, given) if is_split else d_weight

    def element(self, b: Loops, index: Sequence[Any], data: View, weight: View) -> Any:
        """The sum over the channels of a group and the taps of a window."""
        a = self.attributes()
        n, filter_, *place = put_in(index, a["out_layout"] or a["data_layout"], self.data_axes)
        _, channels, *_ = put_in(data.sizes, a["data_layout"], self.data_axes)
        filters, inputs, *_ = put_in(weight.sizes, a["kernel_layout"], self.kernel_axes)
        is_split = a["groups"] > 1 and channels == a["groups"]
        outer, inner = b.unravelled(filter_, (filters, inputs)) if is_split else (filter_, None)
        begin = 0
        if a["groups"] > 1:
            per_group = b.quotient(b.times(filters, inputs) if is_split else filters, a["groups"])
            begin = b.times(b.quotient(filter_, per_group), 1 if is_split else inputs)
        lines = self.lines(b, place, data, weight)
        out = a["out_dtype"] or data.dtype
        acc = sum_type(out, data.dtype, weight.dtype)

        def step(taps: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            channel, *window = taps
            at, is_there = seen(b, lines, window)
            x = put_in([n, b.plus(begin, channel), *at], self.data_axes, a["data_layout"])
            w = put_in(
                [outer, channel if inner is None else inner, *window], self.kernel_axes, a["kernel_layout"]
            )
            return [times_added(b, totals[0], reading(b, is_there, data, x, acc), weight.at(w))]

        sizes = [1 if is_split else inputs, *[line.count for line in lines]]
        return b.cast(b.fold(sizes, [b.const(0, acc)], step)[0], out)

    def lines(self, b: Loops, place: Sequence[Index], data: View, weight: View) -> list[Line]:
        """What the window at a place sees along each spatial axis."""
        a, n = self.attributes(), self.rank
        sizes = put_in(data.sizes, a["data_layout"], self.data_axes)[2:]
        window = put_in(weight.sizes, a["kernel_layout"], self.kernel_axes)[2:]
        steps = zip(ntuple(a["strides"], n), ntuple(a["dilation"], n), pads(a["padding"], n), strict=True)
        return [
            Line(d, k, b.minus(b.times(i, s), lo), r, not (lo or hi))
            for d, k, i, (s, r, (lo, hi)) in zip(sizes, window, place, steps, strict=True)
        ]


def convolve(
    np: Numpy,
    x: Array,
    w: Array,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """The convolution of `x: (n, c, ...)` with `w: (o, c / groups, ...)`: `(n, o, ...)`."""
    window = w.shape[2:]
    if any(lo or hi for lo, hi in padding):
        x = np.pad(x, ((0, 0), (0, 0), *padding))
    sizes = [
        (d - (k - 1) * r - 1) // s + 1
        for d, k, s, r in zip(x.shape[2:], window, strides, dilation, strict=True)
    ]
    if groups > 1 and w.shape[1] == 1 and groups == x.shape[1]:
        return _depthwise(np, x, w, strides, dilation, sizes)
    batch, out = x.shape[0], np.empty((x.shape[0], w.shape[0], *sizes), x.dtype)
    per_group, filters = w.shape[1], w.shape[0] // groups
    taps = w.reshape(groups, filters, per_group * prod(window))
    if 0 in out.shape:
        return out
    row = per_group * prod(window) * prod(sizes[1:])
    step = min(sizes[0], max(1, MOST_COLUMNS // max(1, row)))
    images = max(1, MOST_COLUMNS // max(1, row * sizes[0]))
    for b in range(0, batch, images):
        several = slice(b, b + images)
        for g, matrix in enumerate(taps):
            part = np.swapaxes(x[several, g * per_group : (g + 1) * per_group], 0, 1)
            for start in range(0, sizes[0], step):
                rows = [min(step, sizes[0] - start), *sizes[1:]]
                columns = unfold(np, part, window, strides, dilation, rows, start)
                found = matmul(np, matrix, columns).reshape(filters, part.shape[1], *rows)
                place = (several, slice(g * filters, (g + 1) * filters), slice(start, start + step))
                out = placed(np, out, place, np.swapaxes(found, 0, 1))
    return out


def unfold(
    np: Numpy,
    x: Array,
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    sizes: Sequence[int],
    start: int,
) -> Array:
    """The windows of `x: (c, n, ...)` from a row on as columns: `(c * prod(window), n * prod(sizes))`."""
    columns = np.empty((x.shape[0], *window, x.shape[1], *sizes), x.dtype)
    for tap in numpy.ndindex(*window):
        begins = [i * r for i, r in zip(tap, dilation, strict=True)]
        begins[0] += start * strides[0]
        seen = x[(slice(None), slice(None), *slices(begins, sizes, strides))]
        columns = placed(np, columns, (slice(None), *tap), seen)
    return columns.reshape(x.shape[0] * prod(window), x.shape[1] * prod(sizes))


def slices(begins: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> list[slice]:
    """The slice along each axis that takes `size` elements from `begin` on, `stride` apart."""
    return [
        slice(b, b + (n - 1) * s + 1 if n else b, s) for b, n, s in zip(begins, sizes, strides, strict=True)
    ]


def _depthwise(
    np: Numpy, x: Array, w: Array, strides: Sequence[int], dilation: Sequence[int], sizes: Sequence[int]
) -> Array:
    """Each channel with its own filters: a sum over the taps of the window."""
    batch, channels = x.shape[:2]
    multiple = w.shape[0] // channels
    taps = w.reshape(channels, multiple, *w.shape[2:])
    out = np.zeros((batch, channels, multiple, *sizes), x.dtype)
    for tap in numpy.ndindex(*w.shape[2:]):
        begins = [i * r for i, r in zip(tap, dilation, strict=True)]
        seen = x[(slice(None), slice(None), None, *slices(begins, sizes, strides))]
        factor = taps[(slice(None), slice(None), *tap)]
        out += seen * factor.reshape(1, channels, multiple, *[1] * len(sizes))
    return out.reshape(batch, channels * multiple, *sizes)


Conv1D, Conv2D, Conv3D = for_ranks("nn.conv{}d", Conv)
