"""Correlation of two images at displacements."""

from typing import Any

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.nn.layout import Spatial, checked_pads, pads
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term


@operator("nn.correlation")
class Correlation(Composite):
    """How alike a patch of one image and patches of another around its place are, for images `(n, c, h, w)`.

    For each displacement up to `max_displacement`, `stride2` apart, a channel: the mean over a window of
    `kernel_size` and all channels of the products (or with `is_multiply=False` of the absolute differences).
    Places are `stride1` apart on the padded first image.  Source: Fischer and others (FlowNet), 2015.

    relay> nn.correlation([[[[1.0, 2.0]]]], [[[[3.0, 4.0]]]])
    [[[[3.0, 8.0]]]]
    """

    kernel_size: int = 1
    max_displacement: int = 0
    stride1: int = 1
    stride2: int = 1
    padding: Spatial = 0
    is_multiply: bool = True
    layout: str = "NCHW"
    dtypes = FLOATING
    samples = (
        sample("1x2x5x6 float32", "1x2x5x6 float32", max_displacement=1, padding=1),
        sample(
            "2x1x6x7 float32",
            "2x1x6x7 float32",
            kernel_size=3,
            max_displacement=2,
            stride1=2,
            stride2=2,
            padding=3,
            is_multiply=False,
        ),
    )

    @property
    def border(self) -> int:
        """How far the first place is from the edge of the padded image."""
        return self.max_displacement + (self.kernel_size - 1) // 2

    @property
    def displacements(self) -> int:
        """How many displacements there are along an axis."""
        return 2 * (self.max_displacement // self.stride2) + 1

    def infer(self, t: Typing, data1: Type, data2: Type) -> Type:
        t.equal(data2, data1, why="the images are of one size")
        n, _, h, w = t.shape(data1, 4, "an image")
        if self.layout != "NCHW":
            attribute_fault(t, "layout", self.layout, "images are (n, c, h, w)")
        if self.kernel_size % 2 == 0 or self.kernel_size < 1:
            attribute_fault(t, "kernel_size", self.kernel_size, "a window has a middle")
        if min(self.stride1, self.stride2) < 1 or self.max_displacement < 0:
            attribute_fault(t, "stride1", self.stride1, "steps are at least 1, displacements not negative")
        sizes: list[Dim] = []
        for d, (before, after) in zip((h, w), checked_pads(t, self.padding, 2, self.name), strict=True):
            room = d + (before + after - 2 * self.border)
            t.require(1, "<=", room, "the displaced windows lie on the padded image")
            sizes.append(floor_divide(room + (self.stride1 - 1), self.stride1))
        return TensorType((n, self.displacements**2, *sizes), t.dtype(data1))

    def decompose(self, types: Any, data1: Expr, data2: Expr) -> Expr:
        dtype = types[0].dtype
        width = ((0, 0), (0, 0), *pads(self.padding, 2))
        first, second = (apply("nn.pad", x, pad_width=width) for x in (data1, data2))
        reach = self.max_displacement // self.stride2 * self.stride2
        moves = 2 * reach + 1
        near = apply("sliding_window", second, axis=2, window_shape=(moves, moves), strides=(1, 1))
        near = apply(
            "strided_slice",
            near,
            begin=(0, 0),
            end=(2**31 - 1,) * 2,
            strides=(self.stride2,) * 2,
            axes=(4, 5),
        )
        if reach:
            first = apply("strided_slice", first, begin=(reach,) * 2, end=(-reach,) * 2, axes=(2, 3))
        own, other = Term(apply("expand_dims", first, axis=4, num_newaxis=2), dtype), Term(near, dtype)
        alike = own * other if self.is_multiply else (own - other).of("abs")
        total = alike.of("mean", axis=(1,))  # (n, rows, columns, moves, moves)
        skip = self.border - reach - (self.kernel_size - 1) // 2
        total = total.of("strided_slice", begin=(skip,) * 2, end=(-skip or 2**31 - 1,) * 2, axes=(1, 2))
        k, s = self.kernel_size, self.stride1
        patches = total.of("transpose", axes=(0, 3, 4, 1, 2)).of(
            "sliding_window", axis=3, window_shape=(k, k), strides=(s, s)
        )
        return patches.of("mean", axis=(5, 6)).of("reshape", newshape=(0, -3, 0, 0)).expr
