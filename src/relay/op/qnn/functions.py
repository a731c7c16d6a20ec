"""Functions of quantised tensors: taken of the numbers that they stand for, and quantised again."""

from typing import Any, ClassVar

import numpy

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.axes import axis_of
from relay.op.base import INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.qnn.scales import bounded, centred, check_number, laid, quantised, requantised
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term

A, C = numpy.float32(0.25), numpy.float32(0.02)
P, Q = numpy.int32(3), numpy.int32(-2)


class Function(Composite):
    """A function of the numbers that quantised data stand for."""

    function: ClassVar[str]
    operands = ("x", "scale", "zero_point", "output_scale", "output_zero_point")
    samples = (sample("2x3 int8", A, P, C, Q), sample("5 uint8", A, P, C, P))

    def infer(self, t: Typing, data: Type, *scales: Type) -> Type:
        t.dtype_in(data, INTEGRAL, "the data")
        check_number(t, *scales)
        return t.tensor(data)

    def decompose(self, types: Any, data: Expr, *scales: Expr) -> Expr:
        a, _, c, q = (laid(v, t, 0, 1) for v, t in zip(scales, types[1:], strict=True))
        number = centred(data, types[0], scales[1], types[2], 0).cast(str(a.dtype)) * a
        return quantised(self.value(number), c, q, str(types[0].dtype)).expr

    def value(self, x: Term) -> Term:
        """The function of numbers."""
        return x.of(self.name.removeprefix("qnn."))


@operator("qnn.abs")
class QnnAbs(Function):
    """The absolute value of quantised data.

    relay> qnn.abs(cast([-4, 2], dtype="int8"), 0.5, 0, 0.5, 0)
    [4, 2]
    """


@operator("qnn.exp")
class QnnExp(Function):
    """e to the power of quantised data.

    relay> qnn.exp(cast([0], dtype="int8"), 0.5, 0, 0.5, 0)
    [2]
    """


@operator("qnn.log")
class QnnLog(Function):
    """The natural logarithm of quantised data.

    relay> qnn.log(cast([4], dtype="int8"), 0.25, 0, 0.5, 1)
    [1]
    """


@operator("qnn.sqrt")
class QnnSqrt(Function):
    """The square root of quantised data.

    relay> qnn.sqrt(cast([16], dtype="int8"), 0.25, 0, 0.5, 1)
    [5]
    """


@operator("qnn.rsqrt")
class QnnRsqrt(Function):
    """One over the square root of quantised data.

    relay> qnn.rsqrt(cast([16], dtype="int8"), 0.25, 0, 0.125, 1)
    [5]
    """


@operator("qnn.tanh")
class QnnTanh(Function):
    """The hyperbolic tangent of quantised data.

    relay> qnn.tanh(cast([0, 100], dtype="int8"), 0.5, 0, 0.5, 1)
    [1, 3]
    """


@operator("qnn.erf")
class QnnErf(Function):
    """The error function of quantised data.

    relay> qnn.erf(cast([0, 100], dtype="int8"), 0.5, 0, 0.5, 1)
    [1, 3]
    """


@operator("qnn.sigmoid")
class QnnSigmoid(Function):
    """The logistic function of quantised data.

    relay> qnn.sigmoid(cast([0, 100], dtype="int8"), 0.5, 0, 0.5, 1)
    [2, 3]
    """


@operator("qnn.hardswish")
class QnnHardswish(Function):
    """`x * clip(x + 3, 0, 6) / 6` of quantised data.  Source: Howard and others, 2019.

    relay> qnn.hardswish(cast([0, 8], dtype="int8"), 0.5, 0, 0.5, 1)
    [1, 9]
    """

    def value(self, x: Term) -> Term:
        return x * (x + 3.0).of("clip", a_min=0.0, a_max=6.0) / 6.0


@operator("qnn.leaky_relu")
class QnnLeakyRelu(Composite):
    """`x` where the number is positive, else `alpha * x`, of quantised data, in integers.

    relay> qnn.leaky_relu(cast([-8, 6], dtype="int8"), 0.5, 0, 0.5, 1, alpha=0.25)
    [-1, 7]
    """

    alpha: float
    operands = ("x", "input_scale", "input_zero_point", "output_scale", "output_zero_point")
    builder_order = ("x", "alpha", "input_scale", "input_zero_point", "output_scale", "output_zero_point")
    samples = (sample("2x3 int8", A, P, C, Q, alpha=0.1),)

    def infer(self, t: Typing, data: Type, *scales: Type) -> Type:
        t.dtype_in(data, INTEGRAL, "the data")
        check_number(t, *scales)
        return t.tensor(data)

    def decompose(self, types: Any, data: Expr, *scales: Expr) -> Expr:
        a, p, c, q = (laid(v, t, 0, 1) for v, t in zip(scales, types[1:], strict=True))
        x = Term(data, types[0].dtype)
        whole = requantised(x, (a, c), (p, q), "UPWARD")
        part = requantised(x, (a.cast("float64") * self.alpha, c), (p, q), "UPWARD")
        below = x.cast("int32") < p.cast("int32")
        return bounded(below.where(part, whole), str(x.dtype)).expr


@operator("qnn.softmax")
class QnnSoftmax(Function):
    """`nn.softmax` of quantised data along `axis`.

    relay> qnn.softmax(cast([2, 2], dtype="int8"), 0.5, 0, 0.25, 0)
    [2, 2]
    """

    axis: int = -1
    samples = (sample("2x3 int8", A, P, C, Q), sample("2x3x2 uint8", A, P, C, P, axis=1))

    def infer(self, t: Typing, data: Type, *scales: Type) -> Type:
        axis_of(t, self.axis, len(t.shape(data)), of="`data`")
        return super().infer(t, data, *scales)

    def value(self, x: Term) -> Term:
        return x.of("nn.softmax", axis=self.axis)
