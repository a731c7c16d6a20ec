"""The products of a convolution's data and the cotangents of its results: cotangents of its weight."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from relay.ir.dim import floor_divide
from relay.ir.dtype import to_numpy
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import Array, Numpy, sample
from relay.op.family import family
from relay.op.native import Loops, View, WeightProduct
from relay.op.nn.contract import common_type, matmul
from relay.op.nn.conv import Convolution, slices
from relay.op.nn.conv_batch import batch_of_backward_weight
from relay.op.nn.conv_rules import Convolved, Part, largest_window
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
from relay.op.nn.ranks import DATA_LAYOUT, KERNEL_LAYOUT, by_rank, each_axis, for_ranks
from relay.op.numeric import narrow
from relay.op.relation import Typing
from relay.op.traced import placed


@family
class ConvBackwardWeight(Convolution):
    """The cotangent of the weight of `nn.conv{rank}d`, from that of its result and its data.

    For each tap of the window the products of the results and the data that it saw are summed: along an axis
    element `k` is the sum of `grad[p] * data[p * strides + k * dilation - padding]` over the batch and `p`.
    The window has `kernel_size` taps, or as many as the sizes allow; with strides, windows of several sizes
    make as many steps, and `kernel_size` says which.

    relay> nn.conv1d_backward_weight([[[1.0, 1.0]]], [[[1.0, 2.0, 3.0]]])
    [[[3.0, 5.0]]]
    relay> nn.conv2d_backward_weight([[[[1.0, 1.0]]]], [[[[1.0, 2.0, 3.0]]]])
    [[[[3.0, 5.0]]]]
    relay> nn.conv3d_backward_weight([[[[[2.0]]]]], [[[[[1.0, 2.0]]]]])
    [[[[[2.0, 4.0]]]]]
    """

    strides: Spatial = each_axis(1)
    padding: Spatial = each_axis(0)
    dilation: Spatial = each_axis(1)
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    grad_layout: str = DATA_LAYOUT
    data_layout: str = DATA_LAYOUT
    kernel_layout: str = KERNEL_LAYOUT
    out_dtype: OutDType = ""
    batch = batch_of_backward_weight
    samples = by_rank(
        (
            sample("2x4x6 float32", "2x3x8 float32"),
            sample("2x9x4 float32", "2x8x3 float32", grad_layout="NWC", data_layout="NWC", padding=(1, 2)),
            sample(
                "1x4x3 float64", "1x4x9 float64", groups=2, strides=2, dilation=2, kernel_size=3, channels=4
            ),
        ),
        (
            sample("1x4x6x6 float32", "1x3x6x6 float32", padding=(1, 1), kernel_size=(3, 3)),
            sample("2x4x3x4 float32", "2x6x5x3 float32", data_layout="NHWC", kernel_layout="HWIO"),
            sample("1x8x2x3 float32", "1x4x7x7 float32", groups=2, strides=(2, 1), dilation=2, kernel_size=3),
            sample("1x4x6x4 float32", "1x4x5x5 float32", groups=4, padding=(1, 0, 2, 1), kernel_size=3),
            sample("1x4x3x3 int8", "1x3x5x5 int8", out_dtype="int32"),
            sample("0x4x3x3 float32", "0x3x5x5 float32"),
            sample("1x4x5x5 float16", "1x3x5x5 float16"),
        ),
        (
            sample("1x3x4x4x4 float32", "1x2x4x4x4 float32", padding=1, kernel_size=3),
            sample("1x3x2x2x2 float32", "1x2x5x5x4 float32", strides=(2, 3, 2), kernel_layout="DHWIO"),
        ),
    )

    @property
    def kernel_axes(self) -> str:
        """`OIHW`."""
        return "OI" + SPATIAL[self.rank]

    def infer(self, t: Typing, grad: Type, data: Type) -> Type:
        a, n, op = self.attributes(), self.rank, self.name
        dtype = result_dtype(t, grad, data, a["out_dtype"])
        strides = per_axis(t, a["strides"], n, op, "strides")
        dilation = per_axis(t, a["dilation"], n, op, "dilation")
        padding = checked_pads(t, a["padding"], n, op)
        permutation(t, a["kernel_layout"], self.kernel_axes, op, "kernel_layout")
        batch, out, *steps = self.opened(t, grad, a["grad_layout"], "grad")
        items, channels, *space = self.opened(t, data, a["data_layout"], "data")
        t.equal(items, batch, why="data and the cotangent of the results are of one batch")
        self.check_groups(t, channels, a["groups"], "input")
        self.check_groups(t, out, a["groups"], "output")
        if a["channels"] is not None:
            same_size(t, out, a["channels"], f"`{op}` has channels={a['channels']}")
        window = self.window(t, steps, [d + sum(p) for d, p in zip(space, padding, strict=True)])
        for d, k, o, s, p, r in zip(space, window, steps, strides, padding, dilation, strict=True):
            made = floor_divide(d + sum(p) - ((k - 1) * r + 1), s) + 1
            t.require(made, "==", o, f"the data of `{op}` has as many windows as there are results")
        shape = [out, floor_divide(channels, a["groups"]), *window]
        return TensorType([shape[i] for i in positions(self.kernel_axes, a["kernel_layout"])], dtype)

    def opened(self, t: Typing, x: Type, layout: str, name: str) -> list[Dim]:
        """The dimensions of an operand in the order of `data_axes`."""
        order = permutation(t, layout, self.data_axes, self.name, f"{name}_layout")
        shape = t.shape(x, self.rank + 2, f"`{name}`")
        return [shape[i] for i in order]

    def window(self, t: Typing, steps: Sequence[Dim], padded: Sequence[Dim]) -> Sequence[Dim]:
        """`kernel_size`, or the largest window that makes so many steps."""
        a, n = self.attributes(), self.rank
        if a["kernel_size"] is not None:
            return per_axis(t, a["kernel_size"], n, self.name, "kernel_size")
        return largest_window(padded, steps, ntuple(a["strides"], n), ntuple(a["dilation"], n))

    def reference(self, np: Numpy, grad: Array, data: Array) -> Array:
        a, n = self.attributes(), self.rank
        dtype = to_numpy(a["out_dtype"]) if a["out_dtype"] else grad.dtype
        acc = common_type(np, dtype, grad, data)
        y = to_layout(np, grad, a["grad_layout"], self.data_axes).astype(acc, copy=False)
        x = to_layout(np, data, a["data_layout"], self.data_axes).astype(acc, copy=False)
        x = np.pad(x, ((0, 0), (0, 0), *pads(a["padding"], n)))
        strides, dilation = ntuple(a["strides"], n), ntuple(a["dilation"], n)
        window: Any = (
            largest_window(x.shape[2:], y.shape[2:], strides, dilation)
            if a["kernel_size"] is None
            else ntuple(a["kernel_size"], n)
        )
        found = correlate(np, y, x, window, strides, dilation, a["groups"])
        return narrow(to_layout(np, found, self.kernel_axes, a["kernel_layout"]), dtype)

    def weight_product(self) -> WeightProduct:
        """What kernels know it as."""
        return WeightProduct(self.windows("IO", is_transposed=False))

    def transpose(self, g: Expr, grad: Expr, data: Expr) -> tuple[Expr, Expr]:
        """The convolution of the data, and the transposed one of the results, with the weight that `g` is."""
        a = self.attributes()
        parts = Convolved(
            self,
            data=Part.of(data, a["data_layout"], self.data_axes),
            weight=Part.of(g, a["kernel_layout"], self.kernel_axes),
            result=Part.of(grad, a["grad_layout"], self.data_axes),
        )
        return parts.to_result(), parts.to_data()

    def element(self, b: Loops, index: Sequence[Any], grad: View, data: View) -> Any:
        """The sum over the batch and the places of the window."""
        a, n = self.attributes(), self.rank
        filter_, channel, *taps = put_in(index, a["kernel_layout"], self.kernel_axes)
        batch, out, *steps = put_in(grad.sizes, a["grad_layout"], self.data_axes)
        _, channels, *sizes = put_in(data.sizes, a["data_layout"], self.data_axes)
        groups = a["groups"]
        group = b.quotient(filter_, b.quotient(out, groups)) if groups > 1 else 0
        channel = b.plus(b.times(group, b.quotient(channels, groups)), channel)
        ways = zip(ntuple(a["strides"], n), ntuple(a["dilation"], n), pads(a["padding"], n), strict=True)
        lines = [
            Line(d, count, b.minus(b.times(k, r), lo), s, not (lo or hi))
            for d, count, k, (s, r, (lo, hi)) in zip(sizes, steps, taps, ways, strict=True)
        ]
        wanted = a["out_dtype"] or grad.dtype
        acc = sum_type(wanted, grad.dtype, data.dtype)

        def step(place: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            at, is_there = seen(b, lines, place[1:])
            x = put_in([place[0], channel, *at], self.data_axes, a["data_layout"])
            y = put_in([place[0], filter_, *place[1:]], self.data_axes, a["grad_layout"])
            return [times_added(b, totals[0], reading(b, is_there, data, x, acc), grad.at(y))]

        return b.cast(b.fold([batch, *steps], [b.const(0, acc)], step)[0], wanted)


def correlate(
    np: Numpy,
    y: Array,
    x: Array,
    window: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Array:
    """`y: (n, o, ...)` times each tap of `x: (n, c, ...)`, over batch and places: `(o, c / groups, ...)`."""
    (batch, out, *steps), channels = y.shape, x.shape[1]
    filters, inputs = out // groups, channels // groups
    rows = _rows(np, y, batch, groups, filters)
    found = np.empty((groups, filters, inputs, *window), y.dtype)
    for tap in numpy.ndindex(*window):
        begins = [i * r for i, r in zip(tap, dilation, strict=True)]
        seen = x[(slice(None), slice(None), *slices(begins, steps, strides))]
        columns = np.swapaxes(_rows(np, seen, batch, groups, inputs), 1, 2)
        place = (slice(None), slice(None), slice(None), *tap)
        found = placed(np, found, place, matmul(np, rows, columns))
    return found.reshape(out, inputs, *window)


def _rows(np: Numpy, x: Array, batch: int, groups: int, channels: int) -> Array:
    """`(n, groups * channels, ...)` as `(groups, channels, n * ...)`."""
    places = prod(x.shape[2:])
    split = x.reshape(batch, groups, channels, places)
    return np.moveaxis(split, 0, 2).reshape(groups, channels, batch * places)


Conv1DBackwardWeight, Conv2DBackwardWeight, Conv3DBackwardWeight = for_ranks(
    "nn.conv{}d_backward_weight", ConvBackwardWeight
)
