"""Conversions between dtypes."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.ir.dtype import bits, dtype_name, to_numpy
from relay.ir.expr import Expr
from relay.ir.type import Dim, DType, Type
from relay.op.attribute import DTypeName
from relay.op.axes import SIZES, Checker
from relay.op.base import Array, Numpy, Operator, sample
from relay.op.batching import by
from relay.op.conversion import converted
from relay.op.derivative import cast_back
from relay.op.family import Elementwise
from relay.op.kind import Batching, Derivative, Fusion
from relay.op.native import Loops, Scalars, View
from relay.op.registry import operator
from relay.op.relation import Typing

CASTS = (
    sample("2x3 float32", dtype="int32"), sample("2x3 int32", dtype="float32"), sample("2x3 float64",
    dtype="uint8"),
    sample("2x3 int8", dtype="bool"), sample("2x3 bool", dtype="bfloat16"), sample("2x3 float16",
    dtype="int4"),
    sample("2x3 float32", dtype="float8_e4m3fn"), sample("2x3 int4", dtype="uint2"), sample("4 uint4",
    dtype="int64"),
    sample("2x3 int64", dtype="int2"), sample("2x3 bfloat16", dtype="float4_e2m1fn"), sample("3 int8",
    dtype="int8"),
    sample("float32", dtype="int64"), sample("0x3 float32", dtype="float16"), sample("int4", dtype="float64"),
)  # fmt: skip

STORED = frozenset({"bfloat16", "float16", "int8"})
"""Dtypes that weights are kept in, of which float32 has all numbers."""


def refuse_strings(t: Checker, *dtypes: DType) -> None:
    """Demand numbers or booleans; a dtype that is still open is looked at when the program runs."""
    if "string" in dtypes:
        t.fail("dtype-not-supported", "a string is not converted to a number or back")


class Conversion(Operator):
    """The operand's shape, in another dtype."""

    computes = False
    fusion = Fusion.ELEMENTWISE

    def extent(self, b: Loops, data: View, *like: View) -> Sequence[Any]:
        """The shape of the result is the operand's."""
        return data.sizes


@operator("cast")
class Cast(Conversion):
    """Each element as a value of another dtype.

    Integers wrap, floats round to nearest, a float becomes the nearest integer towards 0 that the type has,
    NaN becomes 0, and a boolean is whether the number is not 0.

    relay> cast([1.9, -1.9, 1e30], dtype="int32")
    [1, -1, 2147483647]
    """

    derivative = Derivative.TRANSPOSE
    samples = CASTS

    dtype: DTypeName

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        (x,) = args
        t.equal(t.dtype(out), self.dtype)
        t.equal(t.tensor(out).shape, t.tensor(x).shape)
        refuse_strings(t, t.dtype(out), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        refuse_strings(SIZES, "string" if isinstance(data, str) or data.dtype == object else "")
        return converted(np, data, self.dtype)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (cast_back(g, data),)

    def is_decoding(self, dtype: str) -> bool:
        """Floats of 16 bits and integers of 8 are multiplied as float32."""
        return self.dtype == "float32" and dtype in STORED

    element = Elementwise.element
    is_pointwise = True

    def native(self, b: Scalars, data: Any) -> Any:
        return b.cast(data, str(self.dtype))


@operator("cast_like")
class CastLike(Conversion):
    """Each element as a value of the second operand's dtype, by the rules of `cast`.

    relay> cast_like([1.9, -1.9], 0)
    [1, -1]
    """

    derivative = Derivative.TRANSPOSE
    carried = ("dtype_like",)
    samples = (sample("2x3 float32", "int32"), sample("int8", "4 float16"), sample("0 int32", "bool"))

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        x, like = args
        t.equal(t.dtype(out), t.dtype(like))
        t.equal(t.tensor(out).shape, t.tensor(x).shape)
        refuse_strings(t, t.dtype(out), t.dtype(x))

    def reference(self, np: Numpy, data: Array, dtype_like: Array) -> Array:
        return Cast(dtype=DTypeName(dtype_name(dtype_like.dtype))).reference(np, data)

    @by(Batching.SAME)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, dtype_like: Expr) -> Expr:
        return self(data, dtype_like)

    def transpose(self, g: Expr, data: Expr, dtype_like: Expr) -> tuple[Expr | None, ...]:
        return cast_back(g, data), None

    def element(self, b: Loops, index: Sequence[Any], data: View, dtype_like: View) -> Any:
        return b.cast(data.at(index), dtype_like.dtype)


@operator("reinterpret")
class Reinterpret(Conversion):
    """Reinterpret the bits as another dtype of the same width (`dtype-width`).

    relay> reinterpret([1.0], dtype="int32")
    [1065353216]
    """

    derivative = Derivative.ZERO
    samples = (
        sample("2x3 float32", dtype="int32"),
        sample("int64", dtype="float64"),
        sample("0 uint8", dtype="int8"),
        sample("3 int4", dtype="uint4"),
        sample("4 float4_e2m1fn", dtype="int4"),
        sample("3 bfloat16", dtype="uint16"),
    )

    dtype: DTypeName

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        (x,) = args
        t.equal(t.dtype(out), self.dtype)
        t.equal(t.tensor(out).shape, t.tensor(x).shape)
        source = t.known_dtype(x)
        if (
            "bool" in (source, self.dtype)
            or "string" in (source, self.dtype)
            or bits(source) != bits(self.dtype)
        ):
            t.fail(
                "dtype-width",
                f"cannot read {source} as {self.dtype}",
                hint="the widths must be equal; to convert the value use `cast`",
            )

    def reference(self, np: Numpy, data: Array) -> Array:
        narrow = bits(self.dtype) < 8
        raw = np.asarray(data).view(numpy.uint8) & (2 ** bits(self.dtype) - 1) if narrow else data
        if not narrow:
            return raw.view(to_numpy(self.dtype))
        integer = "uint" in self.dtype or "int" in self.dtype
        return raw.astype(to_numpy(self.dtype)) if integer else raw.view(to_numpy(self.dtype))

    def traced(self, np: Numpy, data: Array) -> Array:
        return data.view(to_numpy(self.dtype))

    def native(self, b: Scalars, data: Any) -> Any:
        return b.reinterpret(data, str(self.dtype))

    element = Elementwise.element
    is_pointwise = True
