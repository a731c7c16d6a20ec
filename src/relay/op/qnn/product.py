"""Products and convolutions of quantised tensors: of what is above their zero points, summed in integers."""

from typing import Any, ClassVar

import numpy

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.attribute import DTypeName
from relay.op.base import INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.nn.layout import Spatial
from relay.op.numeric import apply
from relay.op.qnn.scales import centred, check_scale
from relay.op.registry import instance, operator
from relay.op.relation import Typing

INT32 = DTypeName("int32")
A, B = numpy.float32(0.25), numpy.float32(0.5)
P, Q = numpy.int32(3), numpy.int32(-2)
SCALES, ZEROS = numpy.array([0.25, 0.5, 0.125, 1], "float32"), numpy.array([3, -2, 0, 1], "int32")


class Product(Composite):
    """The product of `data - input_zero_point` and `weight - kernel_zero_point` by another operator.

    Its scale is `input_scale * kernel_scale`, which `qnn.requantize` or `qnn.dequantize` may go on from: the
    scales do not change the result.
    """

    inner_operator: ClassVar[str]
    operands = ("data", "weight", "input_zero_point", "kernel_zero_point", "input_scale", "kernel_scale")

    def inner(self) -> dict[str, Any]:
        """The attributes of the other operator."""
        return self.attributes()

    def vary(self) -> tuple[int, int]:
        """The axes that zero points of the data and of the weight may vary along."""
        if "data_layout" in self.attributes():
            return self["data_layout"].index("C"), self["kernel_layout"].index("O")
        return -1, 0

    def infer(self, t: Typing, data: Type, weight: Type, *scales: Type) -> Type:
        for x in (data, weight):
            t.dtype_in(x, INTEGRAL, "the operands")
        found = instance(self.inner_operator, self.inner()).infer(t, data, weight)
        first, second = self.vary()
        check_scale(t, data, scales[2], scales[0], first, "data")
        check_scale(t, weight, scales[3], scales[1], second, "weight")
        return found

    def decompose(self, types: Any, data: Expr, weight: Expr, *scales: Expr) -> Expr:
        first, second = self.vary()
        x = centred(data, types[0], scales[0], types[2], first)
        w = centred(weight, types[1], scales[1], types[3], second)
        return apply(self.inner_operator, x.expr, w.expr, **self.inner())


@operator("qnn.dense")
class QnnDense(Product):
    """`nn.dense` of quantised data and weight, as int32; the weight may have a zero point for each unit.

    relay> qnn.dense(cast([[3, 4]], dtype="uint8"), cast([[5, 6]], dtype="int8"), 1, 0, 0.5, 0.5)
    [[28]]
    """

    inner_operator = "nn.dense"
    units: int | None = None
    out_dtype: DTypeName = INT32
    samples = (
        sample("2x3 uint8", "4x3 int8", P, Q, A, B),
        sample("2x3 int8", "4x3 int8", P, ZEROS, A, SCALES, units=4),
    )


@operator("qnn.contrib_dense_pack")
class QnnContribDensePack(Product):
    """`qnn.dense` by a weight that is kept in blocks: `(units / 16, k / 4, 16, 4)` for "NC16n4c".

    relay> qnn.contrib_dense_pack(cast([[3, 4]], dtype="uint8"), cast([[5, 6]], dtype="int8"), 1, 0, 0.5, 0.5)
    [[28]]
    """

    inner_operator = "nn.contrib_dense_pack"
    kernel_layout: str = "NC"
    units: int | None = None
    out_dtype: DTypeName = INT32
    samples = (
        sample("2x3 uint8", "4x3 int8", P, Q, A, B),
        sample("2x8 uint8", "2x2x4x4 int8", P, Q, A, B, kernel_layout="NC4n4c"),
    )

    def inner(self) -> dict[str, Any]:
        return {"weight_layout": self.kernel_layout, "units": self.units, "out_dtype": self.out_dtype}


@operator("qnn.batch_matmul")
class QnnBatchMatMul(Product):
    """`nn.batch_matmul` of quantised stacks `(b, n, k)` and `(b, m, k)`, as int32.

    relay> qnn.batch_matmul(cast([[[3, 4]]], dtype="int8"), cast([[[5, 6]]], dtype="int8"), 1, 0, 0.5, 0.5)
    [[[28]]]
    """

    inner_operator = "nn.batch_matmul"
    operands = ("x", "y", "x_zero_point", "y_zero_point", "x_scale", "y_scale")
    out_dtype: DTypeName = INT32
    samples = (sample("2x3x4 int8", "2x5x4 int8", P, Q, A, B),)


@operator("qnn.conv2d")
class QnnConv2D(Product):
    """`nn.conv2d` of quantised data and weight, as int32; padding stands for the number 0.

    relay> qnn.conv2d(cast([[[[3, 4]]]], dtype="uint8"), cast([[[[2]]]], dtype="int8"), 1, 0, 0.5, 0.5)
    [[[[4, 6]]]]
    """

    inner_operator = "nn.conv2d"
    operands = ("data", "kernel", "input_zero_point", "kernel_zero_point", "input_scale", "kernel_scale")
    kernel_size: Spatial | None = None
    channels: int | None = None
    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    dilation: Spatial = (1, 1)
    groups: int = 1
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: DTypeName = INT32
    samples = (
        sample("1x3x5x6 uint8", "4x3x3x3 int8", P, Q, A, B, kernel_size=(3, 3), channels=4, padding=(1, 1)),
        sample("1x3x5x6 int8", "4x3x2x2 int8", P, ZEROS, A, SCALES, strides=(2, 2)),
        sample(
            "1x5x6x4 uint8", "3x3x4x1 uint8", P, P, A, B, groups=4, data_layout="NHWC", kernel_layout="HWOI"
        ),
    )


@operator("qnn.conv2d_transpose")
class QnnConv2DTranspose(Product):
    """`nn.conv2d_transpose` of quantised data and weight, as int32.

    relay> qnn.conv2d_transpose([[[[3, 4]]]], [[[[2]]]], 1, 0, 0.5, 0.5)
    [[[[4, 6]]]]
    """

    inner_operator = "nn.conv2d_transpose"
    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    dilation: Spatial = (1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: Spatial | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "IOHW"
    out_layout: str = ""
    output_padding: Spatial = (0, 0)
    out_dtype: DTypeName = INT32
    samples = (
        sample("1x3x4x5 uint8", "3x4x3x3 int8", P, Q, A, B, strides=(2, 2), padding=(1, 1)),
        sample("1x3x4x5 int8", "3x4x2x2 int8", P, ZEROS, A, SCALES),
    )
