"""Arithmetic of quantised tensors, each with a scale and a zero point of its own, in integers."""

from typing import Any

import numpy

from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.base import INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.family import family
from relay.op.nn.layout import Spatial
from relay.op.numeric import apply, dims
from relay.op.qnn.scales import (
    FRACTION,
    Rounding,
    bounded,
    centred,
    check_number,
    check_scale,
    laid,
    requantised,
)
from relay.op.registry import instance, operator
from relay.op.relation import Typing
from relay.op.term import Term

ROUNDING = "UPWARD"
A, B, C = numpy.float32(0.25), numpy.float32(0.5), numpy.float32(0.3)
P, Q, R = numpy.int32(3), numpy.int32(-2), numpy.int32(1)
SCALED = (
    "lhs",
    "rhs",
    "lhs_scale",
    "lhs_zero_point",
    "rhs_scale",
    "rhs_zero_point",
    "output_scale",
    "output_zero_point",
)


@family
class Pairwise(Composite):
    """Two quantised tensors of one dtype whose shapes broadcast, to a third of that dtype."""

    operands = SCALED
    samples = (
        sample("2x3 int8", "2x3 int8", A, P, B, Q, C, R),
        sample("2x3 uint8", "3 uint8", A, P, B, Q, C, R),
    )

    lhs_axis: int = -1
    rhs_axis: int = -1

    def infer(self, t: Typing, lhs: Type, rhs: Type, *scales: Type) -> Type:
        t.dtype_in(lhs, INTEGRAL, "the operands")
        t.equal(t.dtype(rhs), t.dtype(lhs), why="both operands have one dtype")
        check_scale(t, lhs, scales[0], scales[1], self.lhs_axis, "first operand")
        check_scale(t, rhs, scales[2], scales[3], self.rhs_axis, "second operand")
        check_number(t, *scales[4:])
        return TensorType(t.broadcast(t.tensor(lhs).shape, t.tensor(rhs).shape), t.dtype(lhs))

    def terms(self, types: Any, xs: Any) -> list[Term]:
        """The operands, scales and zero points, laid over their tensors."""
        data = [Term(x, t.dtype) for x, t in zip(xs[:2], types[:2], strict=True)]
        ranks = [len(dims(t)) for t in types[:2]]
        axes = [self.lhs_axis, self.lhs_axis, self.rhs_axis, self.rhs_axis, -1, -1]
        over = [ranks[0], ranks[0], ranks[1], ranks[1], 1, 1]
        rest = zip(xs[2:], types[2:], axes, over, strict=True)
        return [*data, *[laid(v, t, axis, rank) for v, t, axis, rank in rest]]

    def summed(self, types: Any, xs: Any, name: str) -> Expr:
        """Both operands in the scale of the result, added or subtracted."""
        lhs, rhs, a, p, b, q, c, r = self.terms(types, xs)
        none = Term(apply("zeros_like", r.expr), r.dtype)
        left = requantised(lhs, (a, c), (p, r), ROUNDING)
        right = requantised(rhs, (b, c), (q, none), ROUNDING)
        return bounded(left.of(name, right), str(types[0].dtype)).expr


@operator("qnn.add")
class QnnAdd(Pairwise):
    """The sum of quantised tensors, quantised by `output_scale` and `output_zero_point`.

    Each operand is rounded in the scale of the result, halves up, before they are added.

    relay> qnn.add(cast([4], dtype="int8"), cast([6], dtype="int8"), 0.5, 0, 0.5, 0, 0.5, 1)
    [11]
    """

    def decompose(self, types: Any, *xs: Expr) -> Expr:
        return self.summed(types, xs, "add")


@operator("qnn.subtract")
class QnnSubtract(Pairwise):
    """The difference of quantised tensors, quantised by `output_scale` and `output_zero_point`.

    Each operand is rounded in the scale of the result, halves up, before they are subtracted.

    relay> qnn.subtract(cast([4], dtype="int8"), cast([6], dtype="int8"), 0.5, 0, 0.5, 0, 0.5, 1)
    [-1]
    """

    def decompose(self, types: Any, *xs: Expr) -> Expr:
        return self.summed(types, xs, "subtract")


@operator("qnn.mul")
class QnnMultiply(Pairwise):
    """The product of quantised tensors, quantised by `output_scale` and `output_zero_point`.

    `rounding` is that of `qnn.requantize`.

    relay> qnn.mul(cast([4], dtype="int8"), cast([6], dtype="int8"), 0.5, 0, 0.5, 0, 0.5, 1)
    [13]
    """

    rounding: Rounding = "UPWARD"

    def decompose(self, types: Any, *xs: Expr) -> Expr:
        lhs, rhs, a, p, b, q, c, r = self.terms(types, xs)
        product = (lhs.cast("int32") - p.cast("int32")) * (rhs.cast("int32") - q.cast("int32"))
        none = Term(apply("zeros_like", r.expr), r.dtype)
        scale = a.cast("float64") * b.cast("float64")
        return bounded(requantised(product, (scale, c), (none, r), self.rounding), str(types[0].dtype)).expr


@operator("qnn.concatenate")
class QnnConcatenate(Composite):
    """Quantised tensors one after another along `axis`, each brought to the scale of the result.

    relay> qnn.concatenate((cast([4], dtype="int8"), cast([6], dtype="int8")), (0.5, 1.0), (0, 1), 0.5, 0)
    [4, 10]
    """

    axis: int = 0
    samples = (
        sample(("2x3 int8", "1x3 int8"), (A, B), (P, Q), C, R),
        sample(("2x3 uint8", "2x1 uint8"), (A, B), (P, R), C, R, axis=1),
    )

    def infer(
        self,
        t: Typing,
        data: Type,
        input_scales: Type,
        input_zero_points: Type,
        output_scale: Type,
        output_zero_point: Type,
    ) -> Type:
        for scale, zero in zip(t.fields(input_scales), t.fields(input_zero_points), strict=False):
            check_number(t, scale, zero)
        count = len(t.fields(data))
        if not count == len(t.fields(input_scales)) == len(t.fields(input_zero_points)):
            t.fail("arity", "each tensor has a scale and a zero point")
        check_number(t, output_scale, output_zero_point)
        return instance("concatenate", {"axis": self.axis}).infer(t, data)

    def decompose(
        self,
        types: Any,
        data: Any,
        input_scales: Any,
        input_zero_points: Any,
        output_scale: Expr,
        output_zero_point: Expr,
    ) -> Expr:
        kinds = [t.fields for t in types[:3]]
        scale, zero = (
            laid(v, t, 0, 1) for v, t in zip((output_scale, output_zero_point), types[3:], strict=True)
        )
        parts: list[Expr] = []
        for x, a, p, t, s, z in zip(data, input_scales, input_zero_points, *kinds, strict=True):
            own, point = laid(a, s, 0, 1), laid(p, z, 0, 1)
            found = requantised(Term(x, t.dtype), (own, scale), (point, zero), ROUNDING)
            parts.append(bounded(found, str(t.dtype)).expr)
        return apply("concatenate", tuple(parts), axis=self.axis)


@operator("qnn.avg_pool2d")
class QnnAvgPool2D(Composite):
    """The mean of each window of quantised data, brought to the scale of the result.

    Means are rounded once, in that scale, to nearest, halves up; attributes are those of `nn.avg_pool2d`.

    relay> qnn.avg_pool2d(cast([[[[1], [4]]]], dtype="uint8"), 1.0, 0, 0.5, 0, pool_size=(1, 2))
    [[[[5]]]]
    """

    pool_size: Spatial = (1, 1)
    strides: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    dilation: Spatial = (1, 1)
    ceil_mode: bool = False
    count_include_pad: bool = True
    layout: str = "NHWC"
    out_layout: str = ""
    samples = (
        sample("1x5x6x2 uint8", A, P, C, R, pool_size=(2, 3)),
        sample("1x2x4x5 int8", A, P, B, Q, pool_size=(2, 2), strides=(2, 2), layout="NCHW"),
    )

    def infer(
        self,
        t: Typing,
        data: Type,
        input_scale: Type,
        input_zero_point: Type,
        output_scale: Type,
        output_zero_point: Type,
    ) -> Type:
        t.dtype_in(data, INTEGRAL, "the data")
        check_number(t, input_scale, input_zero_point, output_scale, output_zero_point)
        return instance("nn.avg_pool2d", self.attributes()).infer(t, data)

    def decompose(self, types: Any, data: Expr, *scales: Expr) -> Expr:
        a, _, c, r = (laid(v, t, 0, 1) for v, t in zip(scales, types[1:], strict=True))
        whole = centred(data, types[0], scales[1], types[2], 0).cast("float64")
        mean = whole.of("nn.avg_pool2d", **self.attributes())
        exact = mean * (a.cast("float64") / c.cast("float64"))
        # As fine as the multipliers of `requantised`, so that a third of 1.5 is a half here too.
        steps = (exact * float(1 << FRACTION)).of("round") / float(1 << FRACTION)
        return bounded((steps + 0.5).of("floor") + r.cast("float64"), str(types[0].dtype)).expr

    operands = ("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point")
