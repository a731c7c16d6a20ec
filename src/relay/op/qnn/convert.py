"""Numbers to quantised ones, back, and from one scale to another."""

from collections.abc import Collection, Sequence
from typing import Any, Literal

import numpy

from relay.ir.expr import Call, Expr, Op, RelayExpr, as_expr
from relay.ir.type import Type
from relay.op.attribute import DTypeName
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, INTEGRAL, Operator, sample
from relay.op.composite import Composite
from relay.op.numeric import dims
from relay.op.qnn.scales import (
    Rounding,
    bounded,
    centred,
    check_scale,
    laid,
    like_data,
    quantised,
    requantised,
    requantised_in_floats,
)
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term

INT8 = DTypeName("int8")


def of_kind(t: Typing, name: str, dtype: str, allowed: Collection[str]) -> None:
    """Demand that an attribute names one of some dtypes."""
    if dtype not in allowed:
        attribute_fault(t, name, dtype, f"it is not one of {', '.join(sorted(allowed))}")


SCALE = numpy.float32(0.25)
SCALES = numpy.array([0.25, 0.5, 0.125], "float32")
ZERO = numpy.int32(3)
ZEROS = numpy.array([3, -2, 0], "int32")


@operator("qnn.quantize")
class Quantize(Composite):
    """`round(data / output_scale) + output_zero_point`, held within the range of `out_dtype`.

    Halves are rounded to even.  Scale and zero point are scalars, or vectors along `axis`.

    relay> qnn.quantize([0.0, 0.6, 100.0], 0.5, 10, out_dtype="uint8")
    [10, 11, 210]
    """

    axis: int = -1
    out_dtype: DTypeName = INT8
    samples = (
        sample("2x3 float32", SCALE, ZERO),
        sample("2x3 float32", SCALES, ZEROS, out_dtype="uint8"),
        sample("3x2 float16", SCALES.astype("float16"), ZEROS, axis=0, out_dtype="int4"),
    )

    def infer(self, t: Typing, data: Type, output_scale: Type, output_zero_point: Type) -> Type:
        t.dtype_in(data, FLOATING, "the data")
        t.equal(t.dtype(output_scale), t.dtype(data), why="data and scale have one dtype")
        of_kind(t, "out_dtype", self.out_dtype, INTEGRAL)
        check_scale(t, data, output_scale, output_zero_point, self.axis, "result")
        return like_data(t, data, self.out_dtype)

    def decompose(self, types: Any, data: Expr, output_scale: Expr, output_zero_point: Expr) -> Expr:
        x, (scale, zero) = Term(data, types[0].dtype), self.laid(types, output_scale, output_zero_point)
        return quantised(x, scale, zero, self.out_dtype).expr

    def laid(self, types: Any, *vectors: Expr) -> list[Term]:
        """Scales and zero points that broadcast with the data."""
        rank = len(dims(types[0]))
        return [laid(v, t, self.axis, rank) for v, t in zip(vectors, types[1:], strict=True)]


@operator("qnn.dequantize")
class Dequantize(Composite):
    """`(data - input_zero_point) * input_scale`, in the dtype of the scale and then in `out_dtype`.

    Scale and zero point are scalars, or vectors along `axis`.

    relay> qnn.dequantize(cast([10, 11], dtype="uint8"), 0.5, 10)
    [0.0, 0.5]
    """

    axis: int = -1
    out_dtype: DTypeName = DTypeName("float32")
    samples = (
        sample("2x3 int8", SCALE, ZERO),
        sample("2x3 uint8", SCALES, ZEROS),
        sample("3x2 int32", SCALES, ZEROS, axis=0, out_dtype="float16"),
    )

    def infer(self, t: Typing, data: Type, input_scale: Type, input_zero_point: Type) -> Type:
        t.dtype_in(data, INTEGRAL, "the data")
        check_scale(t, data, input_scale, input_zero_point, self.axis, "data")
        of_kind(t, "out_dtype", self.out_dtype, FLOATING)
        return like_data(t, data, self.out_dtype)

    def decompose(self, types: Any, data: Expr, input_scale: Expr, input_zero_point: Expr) -> Expr:
        whole = centred(data, types[0], input_zero_point, types[2], self.axis)
        scale = laid(input_scale, types[1], self.axis, len(dims(types[0])))
        return (whole.cast(str(scale.dtype)) * scale).cast(self.out_dtype).expr


@operator("qnn.requantize")
class Requantize(Composite):
    """What integers of one scale and zero point are in those of another, held within `out_dtype`.

    The ratio of the scales is an integer of 31 bits and a power of 2, so that rounding is exact: halves go up
    (`rounding="UPWARD"`, which "None" means too), away from 0 ("TONEAREST"), or to even ("TOEVEN").  The
    scale and zero point of the data may be vectors along `axis`.  With `compute_dtype="float32"` or
    "float64" the ratio and the product are floats of that dtype, rounded in the same ways.
    Source: Jacob et al., 2018.

    relay> qnn.requantize([3, -3, 5], 1.0, 0, 2.0, 10)
    [12, 9, 13]
    """

    axis: int = -1
    rounding: Rounding = "None"
    compute_dtype: Literal["None", "int64", "float32", "float64"] = "None"
    out_dtype: DTypeName = INT8
    samples = (
        sample("2x3 int32", SCALE, ZERO, numpy.float32(0.3), numpy.int32(-1)),
        sample("2x3 int8", SCALES, ZEROS, numpy.float32(0.01), ZERO, rounding="TONEAREST", out_dtype="int32"),
        sample("3x2 int32", SCALES, ZEROS, SCALE, ZERO, axis=0, out_dtype="uint8"),
        sample("2x3 int32", SCALE, ZERO, numpy.float32(0.3), numpy.int32(-1), compute_dtype="float32"),
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
        of_kind(t, "out_dtype", self.out_dtype, INTEGRAL)
        check_scale(t, data, input_scale, input_zero_point, self.axis, "data")
        check_scale(t, data, output_scale, output_zero_point, self.axis, "result")
        return like_data(t, data, self.out_dtype)

    def decompose(self, types: Any, data: Expr, *scales: Expr) -> Expr:
        rank = len(dims(types[0]))
        a, p, c, q = (laid(v, t, self.axis, rank) for v, t in zip(scales, types[1:], strict=True))
        x = Term(data, types[0].dtype)
        if self.compute_dtype in ("float32", "float64"):
            found = requantised_in_floats(x, (a, c), (p, q), self.rounding, self.compute_dtype)
        else:
            found = requantised(x, (a, c), (p, q), self.rounding)
        return bounded(found, self.out_dtype).expr

    operands = ("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point")


CODES = {1: "int8", 2: "uint8", 3: "int32"}
"""Dtypes by the code that stands for them in a program, as in TVM 0.14 (`SQNN_DTYPE_TO_CODE`); 0 is none."""


class Simulated(Composite):
    """Quantisation of floats that stay floats; nothing is lost where the range is that of a float type."""

    samples = (
        sample("2x3 float32", SCALE, ZERO),
        sample("2x3 float32", SCALES, ZEROS, axis=1),
        sample("2x3 float32", SCALE, ZERO, numpy.int32(1)),
        sample("2x3 float64", numpy.float64(0.25), ZERO, numpy.int64(0)),
    )

    def infer(self, t: Typing, data: Type, scale: Type, zero_point: Type, code: Type | None = None) -> Type:
        t.dtype_in(data, FLOATING, "the data")
        t.equal(t.dtype(scale), t.dtype(data), why="data and scale have one dtype")
        check_scale(t, data, scale, zero_point, self.attributes()["axis"], "data")
        if code is not None:
            t.dtype_in(code, INTEGRAL, "the code of the dtype")
            t.shape(code, rank=0, what="the code of the dtype")
        return t.tensor(data)

    def laid(self, types: Any, *vectors: Expr) -> list[Term]:
        """Scales and zero points that broadcast with the data."""
        rank, axis = len(dims(types[0])), self.attributes()["axis"]
        return [laid(v, t, axis, rank) for v, t in zip(vectors, types[1:], strict=True)]


@operator("qnn.simulated_quantize")
class SimulatedQuantize(Simulated):
    """`qnn.quantize` to `out_dtype`, whose integers are kept as floats of the data's dtype.

    With `out_dtype="disable"` the data is left as it is.  A fourth operand gives the dtype when the program
    runs, as a code: 0 leaves the data as it is, 1 is int8, 2 uint8 and 3 int32.

    relay> qnn.simulated_quantize([0.0, 0.6, 100.0], 0.5, 10, out_dtype="uint8")
    [10.0, 11.0, 210.0]
    relay> qnn.simulated_quantize([0.0, 0.6, 100.0], 0.5, 10, 1)
    [10.0, 11.0, 127.0]
    """

    axis: int = -1
    out_dtype: Literal["disable"] | DTypeName = INT8

    @staticmethod
    def builder(
        data: Any, output_scale: Any, output_zero_point: Any, axis: int = -1, out_dtype: Any = "int8"
    ) -> Expr:
        """`out_dtype` may be an expression: a code."""
        return with_dtype_of(SimulatedQuantize, (data, output_scale, output_zero_point), axis, out_dtype)

    def decompose(
        self,
        types: Any,
        data: Expr,
        output_scale: Expr,
        output_zero_point: Expr,
        dtype_code: Expr | None = None,
    ) -> Expr:
        x, (scale, zero) = Term(data, types[0].dtype), self.laid(types[:3], output_scale, output_zero_point)
        if dtype_code is None:
            whole = x if self.out_dtype == "disable" else quantised(x, scale, zero, self.out_dtype)
            return whole.cast(str(x.dtype)).expr
        found, code = x, Term(dtype_code, types[3].dtype)
        for number, dtype in CODES.items():
            found = code.equals(number).where(quantised(x, scale, zero, dtype).cast(str(x.dtype)), found)
        return found.expr


@operator("qnn.simulated_dequantize")
class SimulatedDequantize(Simulated):
    """`qnn.dequantize` of integers that are kept as floats; `in_dtype="disable"` leaves them as they are.

    A fourth operand gives the dtype when the program runs, by the codes of `qnn.simulated_quantize`.

    relay> qnn.simulated_dequantize([10.0, 11.0], 0.5, 10)
    [0.0, 0.5]
    """

    axis: int = -1
    in_dtype: Literal["disable"] | DTypeName = INT8

    @staticmethod
    def builder(
        data: Any, input_scale: Any, input_zero_point: Any, axis: int = -1, in_dtype: Any = "int8"
    ) -> Expr:
        """`in_dtype` may be an expression: a code."""
        return with_dtype_of(SimulatedDequantize, (data, input_scale, input_zero_point), axis, in_dtype)

    def decompose(
        self,
        types: Any,
        data: Expr,
        input_scale: Expr,
        input_zero_point: Expr,
        dtype_code: Expr | None = None,
    ) -> Expr:
        x, (scale, zero) = Term(data, types[0].dtype), self.laid(types[:3], input_scale, input_zero_point)
        if dtype_code is None and self.in_dtype == "disable":
            return data
        number = (x - zero.cast(str(x.dtype))) * scale
        if dtype_code is None:
            return number.expr
        return Term(dtype_code, types[3].dtype).equals(0).where(x, number).expr


def with_dtype_of(cls: type[Operator], operands: Sequence[Any], axis: int, dtype: Any) -> Call:
    """A simulated conversion whose dtype is an attribute or, as an expression, an operand."""
    name = "out_dtype" if cls is SimulatedQuantize else "in_dtype"
    xs = [as_expr(x) for x in (*operands, dtype)] if isinstance(dtype, RelayExpr) else map(as_expr, operands)
    attrs = {"axis": axis} | ({} if isinstance(dtype, RelayExpr) else {name: dtype})
    return Call(Op.get(cls.name), tuple(xs), attrs)
