"""Transposed convolutions: the linear maps that take the result of a convolution back to the shape of
its data.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from relay.ir.dtype import to_numpy
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import Array, Numpy, sample
from relay.op.family import family
from relay.op.kind import Precision
from relay.op.native import Index, Loops, View, WindowProduct
from relay.op.nn.contract import common_type, matmul
from relay.op.nn.conv import Convolution
from relay.op.nn.conv_batch import batch_of_transposed
from relay.op.nn.conv_rules import Convolved, Part, transposed_layout
from relay.op.nn.layout import (
    SPATIAL,
    OutDType,
    Spatial,
    checked_pads,
    ntuple,
    pads,
    per_axis,
    permutation,
    result_dtype,
    same_size,
    to_layout,
)
from relay.op.nn.loops import put_in, reading, sum_type, times_added
from relay.op.nn.ranks import DATA_LAYOUT, by_rank, each_axis, for_ranks
from relay.op.numeric import narrow
from relay.op.relation import Typing
from relay.op.traced import placed


@family
class ConvTranspose(Convolution):
    """The transposed convolution of data `(n, c, {axes})` with a weight `(c, o / groups, {kaxes})`.

    Each element of the data is spread over a window of the result: of `w` elements along an axis become
    `ow = (w - 1) * strides - padding + dilation * (kw - 1) + 1 + output_padding`.  In `kernel_layout` the
    axis of the data's channels is `I`.

    relay> nn.conv1d_transpose([[[1.0, 2.0]]], [[[1.0, 10.0]]])
    [[[1.0, 12.0, 20.0]]]
    relay> nn.conv2d_transpose([[[[1.0, 2.0]]]], [[[[1.0, 10.0]]]])
    [[[[1.0, 12.0, 20.0]]]]
    relay> nn.conv3d_transpose([[[[[1.0, 2.0]]]]], [[[[[1.0, 10.0]]]]])
    [[[[[1.0, 12.0, 20.0]]]]]
    """

    strides: Spatial = each_axis(1)
    padding: Spatial = each_axis(0)
    dilation: Spatial = each_axis(1)
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    data_layout: str = DATA_LAYOUT
    kernel_layout: str = by_rank("IOW", "IOHW", "IODHW")
    out_layout: str = ""
    output_padding: Spatial = each_axis(0)
    out_dtype: OutDType = ""
    batch = batch_of_transposed
    precision = Precision.ALWAYS
    samples = by_rank(
        (
            sample("2x3x5 float32", "3x4x3 float32", strides=2, padding=1, output_padding=1),
            sample("1x5x3 float32", "3x4x3 float32", data_layout="NWC"),
        ),
        (
            sample(
                "1x3x4x4 float32", "3x2x3x3 float32", strides=(2, 2), padding=(1, 1), output_padding=(1, 1)
            ),
            sample("1x4x3x3 float32", "4x2x2x2 float32", groups=2, dilation=2, padding=(0, 1, 1, 0)),
            sample("1x3x4x2 float32", "2x2x3x2 float32", data_layout="NHWC", kernel_layout="HWOI"),
        ),
        (sample("1x2x3x3x3 float32", "2x2x2x2x2 float32", strides=2),),
    )

    @property
    def kernel_axes(self) -> str:
        """The layout that the rules compute in: the data's channels first."""
        return "IO" + SPATIAL[self.rank]

    def window_product(self) -> WindowProduct:
        """What kernels know it as."""
        return self.windows("IO", is_transposed=True)

    def multiplications(self, out: Sequence[int], *operands: Sequence[int]) -> int:
        """Each element of the data is spread over a window of the weight's elements for its channel."""
        data, weight = operands
        return prod(data) * prod(weight) // weight[str(self["kernel_layout"]).index("I")]

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        a = self.attributes()
        n, op = self.rank, self.name
        dtype = result_dtype(t, data, weight, a["out_dtype"])
        order = permutation(t, a["data_layout"], self.data_axes, op, "data_layout")
        layout = a["out_layout"] or a["data_layout"]
        permutation(t, layout, self.data_axes, op, "out_layout")
        strides = per_axis(t, a["strides"], n, op, "strides")
        dilation = per_axis(t, a["dilation"], n, op, "dilation")
        extra = per_axis(t, a["output_padding"], n, op, "output_padding", least=0)
        padding, groups = checked_pads(t, a["padding"], n, op), a["groups"]
        shape = t.shape(data, n + 2, "the data")
        batch, channels, *space = [shape[i] for i in order]
        self.check_groups(t, channels, groups, "input")
        expected: list[Dim] | None = None
        if a["channels"] is not None and a["kernel_size"] is not None:
            window = per_axis(t, a["kernel_size"], n, op, "kernel_size")
            expected = [channels, a["channels"] // groups, *window]
        inputs, per_group, *taps = self.kernel(t, weight, expected, a["kernel_layout"], self.kernel_axes)
        self.match_channels(t, channels, inputs, groups)
        out = per_group * groups
        if a["channels"] is not None:
            same_size(t, out, a["channels"], f"`{op}` has channels={a['channels']}")
        self.check_kernel(t, taps, a["kernel_size"])
        sizes: list[Dim] = []
        for d, k, s, p, r, e in zip(space, taps, strides, padding, dilation, extra, strict=True):
            whole = (d - 1) * s + (k - 1) * r + 1 + e
            t.require(sum(p), "<=", whole, f"the padding of `{op}` must leave something of the result")
            sizes.append(whole - sum(p))
        return TensorType(self.place([batch, out, *sizes], layout), dtype)

    def reference(self, np: Numpy, data: Array, weight: Array) -> Array:
        a, n = self.attributes(), self.rank
        dtype = to_numpy(a["out_dtype"]) if a["out_dtype"] else data.dtype
        acc = common_type(np, dtype, data, weight)
        x = to_layout(np, data, a["data_layout"], self.data_axes).astype(acc, copy=False)
        w = to_layout(np, weight, a["kernel_layout"], self.kernel_axes).astype(acc, copy=False)
        out = spread_out(
            np,
            x,
            w,
            ntuple(a["strides"], n),
            pads(a["padding"], n),
            ntuple(a["dilation"], n),
            ntuple(a["output_padding"], n),
            a["groups"],
        )
        return narrow(to_layout(np, out, self.data_axes, a["out_layout"] or a["data_layout"]), dtype)

    def transpose(self, g: Expr, data: Expr, weight: Expr) -> tuple[Expr, Expr]:
        """The convolution of `g` and the weight, and the product of the data and `g`."""
        a, n = self.attributes(), self.rank
        parts = Convolved(
            self,
            data=Part.of(g, a["out_layout"] or a["data_layout"], self.data_axes),
            weight=Part.of(weight, transposed_layout(a["kernel_layout"]), "OI" + SPATIAL[n]),
            result=Part.of(data, a["data_layout"], self.data_axes),
        )
        return parts.to_result(), parts.to_weight()

    def element(self, b: Loops, index: Sequence[Any], data: View, weight: View) -> Any:
        """The sum over what is spread to the place: from the channels of a group, by the taps of a window."""
        a = self.attributes()
        n, filter_, *place = put_in(index, a["out_layout"] or a["data_layout"], self.data_axes)
        _, channels, *sizes = put_in(data.sizes, a["data_layout"], self.data_axes)
        _, filters, *window = put_in(weight.sizes, a["kernel_layout"], self.kernel_axes)
        inputs = b.quotient(channels, a["groups"])
        group, own = b.unravelled(filter_, (a["groups"], filters)) if a["groups"] > 1 else (0, filter_)
        out = a["out_dtype"] or data.dtype
        acc = sum_type(out, data.dtype, weight.dtype)

        def step(taps: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            channel = b.plus(b.times(group, inputs), taps[0])
            at, is_there = self.sources(b, place, taps[1:], sizes)
            x = put_in([n, channel, *at], self.data_axes, a["data_layout"])
            w = put_in([channel, own, *taps[1:]], self.kernel_axes, a["kernel_layout"])
            return [times_added(b, totals[0], reading(b, is_there, data, x, acc), weight.at(w))]

        return b.cast(b.fold([inputs, *window], [b.const(0, acc)], step)[0], out)

    def sources(
        self, b: Loops, place: Sequence[Index], taps: Sequence[Index], sizes: Sequence[Index]
    ) -> tuple[list[Index], Any]:
        """The element of the data that a tap spreads to a place, and whether there is one."""
        a, n = self.attributes(), self.rank
        steps = zip(ntuple(a["strides"], n), ntuple(a["dilation"], n), pads(a["padding"], n), strict=True)
        found: list[Index] = []
        conditions: list[Any] = []
        for i, k, d, (s, r, (lo, _)) in zip(place, taps, sizes, steps, strict=True):
            at = b.minus(b.plus(i, lo), b.times(k, r))
            found.append(b.quotient(at, s))
            conditions += [b.is_within(at, b.times(d, s)), b.is_same(b.rest(at, s), 0)]
        return found, b.both(*conditions)


def spread_out(
    np: Numpy,
    x: Array,
    w: Array,
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    extra: Sequence[int],
    groups: int,
) -> Array:
    """The transposed convolution of `x: (n, c, ...)` with `w: (c, o / groups, ...)`: `(n, o, ...)`."""
    (batch, channels, *space), (_, filters, *window) = x.shape, w.shape
    whole = [
        (d - 1) * s + (k - 1) * r + 1 + e
        for d, k, s, r, e in zip(space, window, strides, dilation, extra, strict=True)
    ]
    out = np.zeros((batch, groups, filters, *[max(0, size) for size in whole]), x.dtype)
    matrices = w.reshape(groups, channels // groups, filters, *window)
    columns = x.reshape(batch, groups, channels // groups, prod(space))
    for tap in numpy.ndindex(*window) if x.size else ():
        matrix = np.swapaxes(matrices[(slice(None), slice(None), slice(None), *tap)], 1, 2)
        part = matmul(np, matrix[None], columns).reshape(batch, groups, filters, *space)
        place = [
            slice(i * r, i * r + (d - 1) * s + 1, s)
            for i, d, s, r in zip(tap, space, strides, dilation, strict=True)
        ]
        at = (slice(None), slice(None), slice(None), *place)
        out = placed(np, out, at, out[at] + part)
    kept = [slice(lo, size - hi) for (lo, hi), size in zip(padding, whole, strict=True)]
    return out.reshape(batch, groups * filters, *out.shape[3:])[(slice(None), slice(None), *kept)]


Conv1DTranspose, Conv2DTranspose, Conv3DTranspose = for_ranks("nn.conv{}d_transpose", ConvTranspose)
