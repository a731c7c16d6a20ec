"""Convolutions by weights that are kept as blocks of a matrix."""

from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.axes import attribute_fault
from relay.op.base import NUMERIC, sample
from relay.op.composite import Composite
from relay.op.nn.layout import OutDType, Spatial, ntuple
from relay.op.nn.winograd import known, whole
from relay.op.numeric import apply, dims
from relay.op.registry import instance, operator
from relay.op.relation import Typing


@operator("nn.contrib_conv2d_gemm_weight_transform")
class GemmWeight(Composite):
    """The weight `(h, w, c, o)` of a convolution as blocks of its matrix `(o, h * w * c)`, filled up with 0:
    `(o / tile_N, h * w * c / tile_K, tile_N, tile_K)`, rounded up.

    relay> nn.contrib_conv2d_gemm_weight_transform([[[[1, 2, 3]]]], tile_N=2, tile_K=1)
    [[[[1], [2]]], [[[3], [0]]]]
    """

    dtypes = NUMERIC
    operands = ("weights",)
    tile_N: int  # noqa: N815
    tile_K: int  # noqa: N815
    samples = (
        sample("3x3x2x5 float32", tile_N=4, tile_K=8),
        sample("1x2x3x4 int8", tile_N=2, tile_K=3),
    )

    def infer(self, t: Typing, weights: Type) -> Type:
        for name in ("tile_N", "tile_K"):
            if getattr(self, name) < 1:
                attribute_fault(t, name, getattr(self, name), "a block is not empty")
        h, w, c, o = known(t, t.shape(weights, 4, "the weight"), "the weight")
        blocks = (-(-o // self.tile_N), -(-h * w * c // self.tile_K))
        return TensorType((*blocks, self.tile_N, self.tile_K), t.dtype(weights))

    def decompose(self, types: Any, weights: Expr) -> Expr:
        h, w, c, o = map(whole, dims(types[0]))
        k, n = h * w * c, o
        x = apply("transpose", apply("reshape", weights, newshape=(k, n)), axes=(1, 0))
        x = apply("nn.pad", x, pad_width=((0, -n % self.tile_N), (0, -k % self.tile_K)))
        rows, columns = -(-n // self.tile_N), -(-k // self.tile_K)
        x = apply("reshape", x, newshape=(rows, self.tile_N, columns, self.tile_K))
        return apply("transpose", x, axes=(0, 2, 1, 3))


@operator("nn.contrib_conv2d_gemm_without_weight_transform")
class GemmConv2D(Composite):
    """`nn.conv2d` by the result of `nn.contrib_conv2d_gemm_weight_transform`.

    `channels` and `kernel_size` are those of the weight before, which was `(h, w, c, o)`, whatever
    `kernel_layout` is.

    relay> nn.contrib_conv2d_gemm_without_weight_transform([[[[2]]]], [[[[5]]]], channels=1, kernel_size=1)
    [[[[10]]]]
    """

    dtypes = NUMERIC
    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    dilation: Spatial = (1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: OutDType = ""
    samples = (
        sample(
            "1x5x6x2 float32", "2x3x4x8 float32", channels=5, kernel_size=3, data_layout="NHWC", padding=1
        ),
        sample("2x3x4x5 int8", "2x1x2x3 int8", channels=4, kernel_size=1, out_dtype="int32"),
    )

    def inner(self) -> dict[str, Any]:
        """The attributes of `nn.conv2d`."""
        return {**self.attributes(), "kernel_layout": "HWIO"}

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        for name, value in (("channels", self.channels), ("kernel_size", self.kernel_size)):
            if value is None:
                attribute_fault(t, name, value, "the blocks do not say it")
        if self.groups != 1:
            attribute_fault(t, "groups", self.groups, "leave others than 1 to `nn.conv2d`")
        rows, columns, height, width = known(t, t.shape(weight, 4, "the weight"), "the weight")
        c = t.shape(data, 4, "the data")[self.data_layout.index("C")]
        h, w = ntuple(self.kernel_size or 1, 2)
        (inputs,) = known(t, [c], "the data")
        made = GemmWeight(tile_N=height, tile_K=width)
        plain = TensorType((h, w, inputs, self.channels or 0), t.dtype(weight))
        t.equal((rows, columns), t.shape(made.infer(t, plain))[:2], why="these are all blocks of the weight")
        return instance("nn.conv2d", self.inner()).infer(t, data, plain)

    def decompose(self, types: Any, data: Expr, weight: Expr) -> Expr:
        rows, columns, height, width = map(whole, dims(types[1]))
        c = whole(dims(types[0])[self.data_layout.index("C")])
        h, w = ntuple(self.kernel_size or 1, 2)
        o = self.channels or 0
        x = apply("transpose", weight, axes=(0, 2, 1, 3))
        x = apply("reshape", x, newshape=(rows * height, columns * width))
        x = apply("strided_slice", x, begin=(0, 0), end=(o, h * w * c))
        x = apply("reshape", apply("transpose", x, axes=(1, 0)), newshape=(h, w, c, o))
        return apply("nn.conv2d", data, x, **self.inner())
