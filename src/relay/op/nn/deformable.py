"""Convolution whose windows are moved, tap by tap."""

from typing import Any

import numpy

from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.image.sample import sampled
from relay.op.nn.layout import OutDType, Spatial, ntuple, pads, positions
from relay.op.numeric import apply, dims
from relay.op.registry import instance, operator
from relay.op.relation import Typing
from relay.op.term import Term, counted_along, term


@operator("nn.deformable_conv2d")
class DeformableConv2D(Composite):
    """`nn.conv2d` whose taps are moved by offsets `(n, 2 * groups * taps, h, w)`, rows before columns.

    Values between pixels are interpolated, and 0 beyond the data.  Each of the `deformable_groups` of
    channels has offsets of its own, and with a `mask` `(n, groups * taps, h, w)` a factor for each tap.
    Source: Dai and others, 2017; Zhu and others, 2018.

    relay> nn.deformable_conv2d([[[[1.0, 3.0]]]], [[[[0.0, 0.0]], [[0.5, 0.0]]]], [[[[2.0]]]])
    [[[[4.0, 6.0]]]]
    """

    builder_order = (
        "data", "offset", "weight", "strides", "padding", "dilation", "deformable_groups", "groups",
        "channels", "kernel_size", "data_layout", "kernel_layout", "out_layout", "out_dtype", "mask",
    )  # fmt: skip
    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    dilation: Spatial = (1, 1)
    deformable_groups: int = 1
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: OutDType = ""
    dtypes = FLOATING
    samples = (
        sample("1x4x5x6 float32", "1x36x3x2 float32", "4x4x3x3 float32", deformable_groups=2, strides=(1, 2)),
        sample("2x5x4x3 float32", "2x5x4x8 float32", "2x2x3x2 float32",
               data_layout="NHWC", kernel_layout="HWIO", padding=(0, 0, 1, 1)),
        sample("1x4x4x5 float32", "1x16x3x4 float32", "2x4x2x2 float32", "1x8x3x4 float32",
               deformable_groups=2),
    )  # fmt: skip

    def inner(self) -> dict[str, Any]:
        """The attributes of `nn.conv2d`."""
        return {name: v for name, v in self.attributes().items() if name != "deformable_groups"}

    def infer(self, t: Typing, data: Type, offset: Type, weight: Type, mask: Type | None = None) -> Type:
        t.equal(t.dtype(offset), t.dtype(data), why="data and offsets have one dtype")
        found = instance("nn.conv2d", self.inner()).infer(t, data, weight)
        kernel = t.shape(weight, 4, "the weight")
        taps = [t.static(t.settled(kernel[self.kernel_layout.index(letter)])) for letter in "HW"]
        if None in taps:
            t.fail("shape-constraint", "the size of the window is known here")
        shape, layout = t.shape(found), self.out_layout or self.data_layout
        count = self.deformable_groups * (taps[0] or 0) * (taps[1] or 0)
        wanted = {letter: shape[layout.index(letter)] for letter in "NHW"}

        def with_channels(n: int) -> tuple[Any, ...]:
            return tuple([n if letter == "C" else wanted[letter] for letter in self.data_layout])

        t.equal(t.shape(offset, 4, "the offsets"), with_channels(2 * count), why="each tap has two offsets")
        if mask is not None:
            t.equal(t.dtype(mask), t.dtype(data), why="data and mask have one dtype")
            t.equal(t.shape(mask, 4, "the mask"), with_channels(count), why="each tap has a factor")
        return found

    def decompose(self, types: Any, data: Expr, offset: Expr, weight: Expr, mask: Expr | None = None) -> Expr:
        dtype, groups = types[0].dtype, self.deformable_groups
        shape = [dims(types[2])[self.kernel_layout.index(letter)] for letter in "OIHW"]
        kh, kw = shape[2], shape[3]
        assert isinstance(kh, int)
        assert isinstance(kw, int)
        x = Term(data, dtype).of("transpose", axes=positions(self.data_layout, "NHWC"))
        own = TensorType([dims(types[0])[k] for k in positions(self.data_layout, "NHWC")], dtype)
        order = positions(self.data_layout, "NCHW")
        moved = TensorType([dims(types[1])[k] for k in order], dtype)
        moves = Term(offset, dtype).of("transpose", axes=order)
        places = self.places(moves, moved, kh, kw)  # each (n, groups, h, w, taps)
        parts: list[Expr] = []
        for g in range(groups):
            at = [p.of("take", term(g, "int64"), axis=1) for p in places]
            some, kind = x, own
            if groups > 1:
                channels = dims(own)[3]
                assert isinstance(channels, int)
                each = channels // groups
                some = x.of("strided_slice", begin=(g * each,), end=((g + 1) * each,), axes=(3,))
                kind = TensorType((*dims(own)[:3], each), dtype)
            values = sampled(some, kind, at, "linear", "zeros", False)  # (n, h, w, taps, c)
            if mask is not None:
                factors = Term(mask, dtype).of("transpose", axes=positions(self.data_layout, "NHWC"))
                first, last = g * kh * kw, (g + 1) * kh * kw
                own_factors = factors.of("strided_slice", begin=(first,), end=(last,), axes=(3,))
                values = values * own_factors.of("expand_dims", axis=4)
            parts.append(values.expr)
        columns = Term(apply("concatenate", tuple(parts), axis=4) if groups > 1 else parts[0], dtype)
        columns = columns.of("transpose", axes=(0, 4, 3, 1, 2)).of("reshape", newshape=(0, -3, 0, 0))
        w = Term(weight, dtype).of("transpose", axes=positions(self.kernel_layout, "OIHW"))
        w = (
            w.of("reshape", newshape=(0, -3, 0))
            .of("reshape", newshape=(0, -3))
            .of("expand_dims", axis=2, num_newaxis=2)
        )
        found = columns.of("nn.conv2d", w, groups=self.groups, out_dtype=self.out_dtype)
        layout = self.out_layout or self.data_layout
        return found.of("transpose", axes=["NCHW".index(letter) for letter in layout]).expr

    def places(self, moves: Term, moved: TensorType, kh: int, kw: int) -> list[Term]:
        """The rows and columns of all taps: `(n, groups, h, w, taps)`."""
        dtype, taps = str(moves.dtype), kh * kw
        margin, step, apart = pads(self.padding, 2), ntuple(self.strides, 2), ntuple(self.dilation, 2)
        split = moves.of("reshape", newshape=(0, -4, self.deformable_groups, -1, 0, 0))
        split = split.of("reshape", newshape=(0, 0, -4, taps, 2, 0, 0)).of(
            "transpose", axes=(0, 1, 4, 5, 2, 3)
        )
        rows, columns = numpy.divmod(numpy.arange(taps), kw)
        found: list[Term] = []
        for k, tap in enumerate((rows, columns)):
            first = counted_along(moves.expr, moved, k + 2).cast(dtype) * float(step[k]) - float(margin[k][0])
            base = first.of("expand_dims", axis=1, num_newaxis=2 - k) + term(tap * apart[k], dtype)
            found.append(split.of("take", term(k, "int64"), axis=5) + base)
        return found
