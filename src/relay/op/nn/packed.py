"""Products and convolutions of operands that are kept in blocks: `NCHW8c`, `OIHW4i8o`, `NC16n4c`."""

from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.base import NUMERIC, sample
from relay.op.composite import Composite
from relay.op.family import family
from relay.op.nn.layout import OutDType, Spatial
from relay.op.numeric import apply
from relay.op.registry import instance, operator
from relay.op.relation import Typing


def primal(layout: str) -> str:
    """A layout without blocks: `NCHW` for `NCHW8c`."""
    return "".join([letter for letter in layout if letter.isupper()])


def relaid(t: Typing, x: Type, source: str, to: str) -> Type:
    """The type of a tensor in another layout."""
    return (
        x
        if source == to
        else instance("layout_transform", {"src_layout": source, "dst_layout": to}).infer(t, x)
    )


def in_layout(x: Expr, source: str, to: str) -> Expr:
    """A tensor in another layout."""
    return x if source == to else apply("layout_transform", x, src_layout=source, dst_layout=to)


@operator("nn.contrib_dense_pack")
class ContribDensePack(Composite):
    """`nn.dense` by a weight that is kept in blocks: `(units / 8, k / 4, 8, 4)` for "NC8n4c", or "NC8n".

    relay> nn.contrib_dense_pack([[1.0, 2.0]], [[[[3.0, 4.0], [5.0, 6.0]]]], weight_layout="NC2n2c")
    [[11.0, 17.0]]
    """

    weight_layout: str = "NC8n"
    units: int | None = None
    out_dtype: OutDType = ""
    dtypes = NUMERIC
    samples = (
        sample("3x8 float32", "2x8x4 float32", weight_layout="NC4n"),
        sample("3x8 int8", "2x2x4x4 int8", weight_layout="NC4n4c", units=8, out_dtype="int32"),
    )

    def infer(self, t: Typing, data: Type, weight: Type) -> Type:
        whole = relaid(t, weight, self.weight_layout, "NC")
        return instance("nn.dense", {"units": self.units, "out_dtype": self.out_dtype}).infer(t, data, whole)

    def decompose(self, types: Any, data: Expr, weight: Expr) -> Expr:
        whole = in_layout(weight, self.weight_layout, "NC")
        return apply("nn.dense", data, whole, units=self.units, out_dtype=self.out_dtype)


@family
class PackedConvolution(Composite):
    """`nn.conv2d` of data, by a weight, to a result that may each be kept in blocks of channels."""

    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    dilation: Spatial = (1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    data_layout: str = "NCHW8c"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: OutDType = ""
    dtypes = NUMERIC

    def inner(self) -> dict[str, Any]:
        """The attributes of `nn.conv2d`."""
        return {**self.attributes(), "data_layout": "NCHW", "kernel_layout": "OIHW", "out_layout": ""}

    def infer(self, t: Typing, data: Type, kernel: Type) -> Type:
        x, w = relaid(t, data, self.data_layout, "NCHW"), relaid(t, kernel, self.kernel_layout, "OIHW")
        found = instance("nn.conv2d", self.inner()).infer(t, x, w)
        assert isinstance(found, TensorType)
        return relaid(t, found, "NCHW", self.out_layout or self.data_layout)

    def decompose(self, types: Any, data: Expr, kernel: Expr) -> Expr:
        x, w = in_layout(data, self.data_layout, "NCHW"), in_layout(kernel, self.kernel_layout, "OIHW")
        found = apply("nn.conv2d", x, w, **self.inner())
        return in_layout(found, "NCHW", self.out_layout or self.data_layout)


@operator("nn.contrib_conv2d_NCHWc")
class ContribConv2DNCHWc(PackedConvolution):
    """`nn.conv2d` of data kept in blocks of channels, such as `NCHW8c`, by a weight such as `OIHW8i8o`.

    relay> nn.contrib_conv2d_NCHWc([[[[[2.0]]]]], [[[[3.0]]]], data_layout="NCHW1c")
    [[[[[6.0]]]]]
    """

    aliases = ("nn.contrib_conv2d_nchwc",)
    samples = (
        sample(
            "1x2x5x6x4 float32",
            "2x2x3x3x4x4 float32",
            data_layout="NCHW4c",
            kernel_layout="OIHW4i4o",
            padding=(1, 1),
        ),
        sample("1x1x4x4x8 float32", "8x8x2x2 float32", out_layout="NCHW2c"),
    )


@operator("nn.contrib_depthwise_conv2d_NCHWc")
class ContribDepthwiseConv2DNCHWc(PackedConvolution):
    """Depthwise `nn.conv2d` of data kept in blocks of channels, by a weight such as `OIHW1i8o`.

    relay> nn.contrib_depthwise_conv2d_NCHWc([[[[[2.0]]]]], [[[[3.0]]]], data_layout="NCHW1c")
    [[[[[6.0]]]]]
    """

    aliases = ("nn.contrib_depthwise_conv2d_nchwc",)
    samples = (
        sample(
            "1x2x5x6x4 float32",
            "2x1x3x3x1x4 float32",
            groups=8,
            data_layout="NCHW4c",
            kernel_layout="OIHW1i4o",
        ),
    )
