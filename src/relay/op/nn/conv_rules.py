"""Derivatives of convolutions.

A convolution relates three tensors: its data, its weight and its result.  Each of three operators computes
one of them, bilinearly, from the other two, and they are each other's transposes: `nn.conv2d` the result,
`nn.conv2d_transpose` the data, and `nn.conv2d_backward_weight` the weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, DType
from relay.op.base import Operator
from relay.op.derivative import tensor_type
from relay.op.nn.cotangent import into, meeting
from relay.op.nn.layout import SPATIAL, ntuple, pads, positions
from relay.op.numeric import apply, dims


@dataclass(frozen=True)
class Part:
    """One of the three tensors: its axes are ordered as `layout`, its `sizes` as `axes`."""

    value: Expr
    layout: str
    axes: str
    sizes: tuple[Dim, ...]
    dtype: DType

    @classmethod
    def of(cls, x: Expr, layout: str, axes: str) -> Self:
        """A tensor with a type on it."""
        shape = dims(tensor_type(x))
        return cls(x, layout, axes, tuple([shape[i] for i in positions(layout, axes)]), tensor_type(x).dtype)

    @property
    def space(self) -> tuple[Dim, ...]:
        """The sizes of the spatial axes."""
        return self.sizes[2:]

    def placed(self, sizes: Sequence[Dim]) -> list[Dim]:
        """Sizes in the order of `axes`, put in the order of `layout`."""
        return [sizes[i] for i in positions(self.axes, self.layout)]


class Convolved:
    """Data, weight and result of a convolution: two of them, and the type of the third."""

    def __init__(self, op: Operator, data: Part, weight: Part, result: Part) -> None:
        """`op` is any of the three operators."""
        a = op.attributes()
        self.data, self.weight, self.result = data, weight, result
        self.rank: int = len(data.axes) - 2
        self.groups: int = a["groups"]
        self.window: dict[str, Any] = {k: a[k] for k in ("strides", "padding", "dilation", "groups")}
        self.strides = ntuple(a["strides"], self.rank)
        self.padding = [sum(p) for p in pads(a["padding"], self.rank)]
        self.dilation = ntuple(a["dilation"], self.rank)

    @property
    def extents(self) -> list[Dim]:
        """How far a window reaches along each axis."""
        return [(k - 1) * r + 1 for k, r in zip(self.weight.space, self.dilation, strict=True)]

    @property
    def needed(self) -> list[Dim]:
        """The sizes of the least data, its padding left out, through which the windows make their steps."""
        return [
            (n - 1) * s + e - p
            for n, s, e, p in zip(self.result.space, self.strides, self.extents, self.padding, strict=True)
        ]

    @property
    def beyond(self) -> list[Dim]:
        """How far the data reaches beyond the last window along each axis."""
        return [d - n for d, n in zip(self.data.space, self.needed, strict=True)]

    def to_result(self) -> Expr:
        """The convolution of data and weight."""
        dtype, (x, w) = together(self.data, self.weight)
        found = apply(
            f"nn.conv{self.rank}d", x, w, **self.window, data_layout=self.data.layout,
            kernel_layout=self.weight.layout, out_layout=self.result.layout, **into(dtype, self.result.dtype),
        )  # fmt: skip
        steps = [
            floor_divide(d + p - e, s) + 1
            for d, p, e, s in zip(self.data.space, self.padding, self.extents, self.strides, strict=True)
        ]
        return leading(found, (self.data.sizes[0], self.weight.sizes[0], *steps), self.result)

    def to_data(self) -> Expr:
        """The transposed convolution of result and weight.

        Data may reach beyond the last window by less than a stride.  Where sizes are not known, the most that
        it may be is computed, and cut off.
        """
        dtype, (y, w) = together(self.result, self.weight)
        extra = [e if isinstance(e, int) else s - 1 for e, s in zip(self.beyond, self.strides, strict=True)]
        found = apply(
            f"nn.conv{self.rank}d_transpose", y, w, **self.window, data_layout=self.result.layout,
            kernel_layout=transposed_layout(self.weight.layout), out_layout=self.data.layout,
            output_padding=tuple(extra), **into(dtype, self.data.dtype),
        )  # fmt: skip
        space = [n + e for n, e in zip(self.needed, extra, strict=True)]
        return leading(found, (self.result.sizes[0], self.weight.sizes[1] * self.groups, *space), self.data)

    def to_weight(self) -> Expr:
        """The product of result and data, of which whole strides beyond the last window do not count."""
        dtype, (y, x) = together(self.result, self.data)
        spare = [
            e // s * s if isinstance(e, int) else 0 for e, s in zip(self.beyond, self.strides, strict=True)
        ]
        settings = self.window
        if any(spare):
            x, padding = self.trimmed(x, spare)
            settings = {**settings, "padding": padding}
        taps = self.weight.space
        size = {"kernel_size": taps} if all(isinstance(k, int) for k in taps) else {}
        found = apply(
            f"nn.conv{self.rank}d_backward_weight", y, x, **settings, **size, grad_layout=self.result.layout,
            data_layout=self.data.layout, kernel_layout=self.weight.layout, **into(dtype, self.weight.dtype),
        )  # fmt: skip
        if not size:
            padded = [d - e + p for d, e, p in zip(self.data.space, spare, self.padding, strict=True)]
            taps = largest_window(padded, self.result.space, self.strides, self.dilation)
        channels = floor_divide(self.data.sizes[1], self.groups)
        return leading(found, (self.result.sizes[1], channels, *taps), self.weight)

    def trimmed(self, x: Expr, spare: Sequence[int]) -> tuple[Expr, tuple[int, ...]]:
        """The data and its padding with so much less at the end of each axis: first of the padding."""
        before, after = zip(*pads(self.window["padding"], self.rank), strict=True)
        cut = [max(e - hi, 0) for e, hi in zip(spare, after, strict=True)]
        if any(cut):
            axes, ends = positions(self.data.layout, SPATIAL[self.rank]), tuple([-e or None for e in cut])
            x = apply("strided_slice", x, begin=(0,) * self.rank, end=ends, axes=axes)
        return x, (*before, *[max(hi - e, 0) for e, hi in zip(spare, after, strict=True)])


def together(a: Part, b: Part) -> tuple[DType, list[Expr]]:
    """Two of the tensors in one dtype."""
    return meeting(a.value, b.value, dtypes=(a.dtype, b.dtype))


def leading(found: Expr, sizes: Sequence[Dim], wanted: Part) -> Expr:
    """The front part of `found`, whose sizes inference finds to be `sizes`, with the type of `wanted`."""
    exact = ANY not in sizes and tuple(sizes) == wanted.sizes
    return found if exact else apply("slice_like", found, wanted.value)


def largest_window(
    padded: Sequence[Dim], steps: Sequence[Dim], strides: Sequence[int], dilation: Sequence[int]
) -> list[Dim]:
    """How many taps a window has at most, along each axis, that makes so many steps through padded data."""
    return [
        floor_divide(d - (n - 1) * s - 1, r) + 1
        for d, n, s, r in zip(padded, steps, strides, dilation, strict=True)
    ]


def with_one_filter_each(weight: Part) -> Part:
    """A depthwise weight `(c, multiple, ...)` as the weight `(c * multiple, 1, ...)` of as many groups."""
    x, (channels, multiple, *window) = ordered(weight), weight.sizes
    merged = apply("expand_dims", apply("reshape", x, newshape=(-3, -2)), axis=1)
    return Part(merged, weight.axes, weight.axes, (channels * multiple, 1, *window), weight.dtype)


def with_several_filters(d: Expr, weight: Part) -> Expr:
    """The inverse, for the cotangent of the weight."""
    split = apply("reshape_like", d, ordered(weight))
    if weight.layout == weight.axes:
        return split
    return apply("transpose", split, axes=positions(weight.axes, weight.layout))


def ordered(x: Part) -> Expr:
    """The tensor with its axes in the order of `axes`."""
    return x.value if x.layout == x.axes else apply("transpose", x.value, axes=positions(x.layout, x.axes))


def transposed_layout(layout: str) -> str:
    """The layout of a convolution's weight in the letters of the transposed convolution's, or back."""
    return layout.translate(str.maketrans("OI", "IO"))
