"""Strings, element by element: joining, measuring and cutting them, and numbers as strings and back.

Lengths and places count code points.  `x + y` on strings is `string.concat(x, y)` after inference.
"""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy

from relay.ir.dtype import dtype_name, integer_range, is_float
from relay.ir.floats import shortest
from relay.ir.type import Type
from relay.op.base import ANY_DTYPE, INTEGRAL, Array, Numpy, Operator, sample
from relay.op.family import Broadcast
from relay.op.kind import Derivative, Fusion, Precision
from relay.op.native import Scalars
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.traced import on_host

STRING = frozenset({"string"})
WORDS = numpy.array(["", "a", "héllo", "\U0001f600b", "zebra"], object)
NUMERALS = numpy.array(["12", "-7", "+0", "1.5", "-2e3", ".5", "inf", "nan", "x", "", "1 ", "9" * 19], object)
INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
FLOAT = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf|nan)", re.ASCII)
DIGITS_IN_64_BITS = 19
LETTERS_COST = 64
"""Instructions for a short string, about."""


class StringFunction(Operator):
    """A function of single elements, of operands that broadcast."""

    fusion = Fusion.BROADCAST
    precision = Precision.FOLLOW
    derivative = Derivative.ZERO
    element_cost = LETTERS_COST
    takes: ClassVar[tuple[frozenset[str], ...]] = (STRING,)
    """The dtypes of each operand."""
    makes: ClassVar[str] = "string"
    """The dtype of the result."""

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        for x, allowed in zip(args, self.takes, strict=True):
            if allowed is STRING:
                t.equal(t.dtype(x), "string", why=f"`{self.name}` takes a string")
            elif allowed is not ANY_DTYPE:
                t.dtype_in(x, allowed)
        t.equal(t.dtype(out), self.makes)
        t.equal(t.tensor(out).shape, t.broadcast(*[t.tensor(x).shape for x in args]))

    def of_one(self, *operands: Any, **_: Any) -> Any:
        """The function of an element of each operand, as Python has it."""
        raise AssertionError(f"{self.name} has no rule")

    def reference(self, np: Numpy, *operands: Array) -> Array:
        on_host(np, "strings")
        found = np.frompyfunc(self.of_one, len(operands), 1)(*operands)
        return found if self.makes == "string" else np.asarray(found).astype(self.makes)

    element = Broadcast.element
    is_pointwise = True
    extent = Broadcast.extent


@operator("string.concat")
class Concat(StringFunction):
    """The first string and then the second; `x + y` on strings.

    relay> string.concat(["a", "b"], "-")
    ["a-", "b-"]
    """

    operands = ("lhs", "rhs")
    takes = (STRING, STRING)
    samples = (sample(WORDS, WORDS[::-1]), sample(WORDS[:, None], WORDS), sample(WORDS[:0], WORDS[:0]))

    def of_one(self, x: str, y: str) -> str:
        return x + y

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.of_strings("concat", "string", lhs, rhs)


@operator("string.length")
class Length(StringFunction):
    """How many code points a string has.

    relay> string.length(["", "abc"])
    [0, 3]
    """

    operands = ("data",)
    makes = "int64"
    samples = (sample(WORDS), sample(WORDS[:0]))

    def of_one(self, x: str) -> int:
        return len(x)

    def native(self, b: Scalars, data: Any) -> Any:
        return b.of_strings("length", "int64", data)


@operator("string.slice")
class Slice(StringFunction):
    """The code points from `begin` up to `end`, which is left out; negative places count from the end, and
    what lies beyond an end is left out.

    relay> string.slice("relay", 1, 3)
    "el"
    relay> string.slice("relay", -2, 9)
    "ay"
    """

    operands = ("data", "begin", "end")
    takes = (STRING, INTEGRAL, INTEGRAL)
    samples = (
        sample(WORDS, numpy.int64(1), numpy.int64(3)),
        sample(WORDS, numpy.arange(-4, 1), numpy.arange(-1, 4)),
        sample(WORDS, numpy.int8(-100), numpy.uint8(100)),
    )

    def of_one(self, x: str, begin: Any, end: Any) -> str:
        return x[int(begin) : int(end)]

    def native(self, b: Scalars, data: Any, begin: Any, end: Any) -> Any:
        return b.of_strings("slice", "string", data, place(b, begin), place(b, end))


@operator("string.find")
class Find(StringFunction):
    """Where `part` begins in the string first, at `begin` or later; -1 if nowhere.

    relay> string.find("banana", "an", 2)
    3
    """

    operands = ("data", "part", "begin")
    takes = (STRING, STRING, INTEGRAL)
    makes = "int64"
    samples = (
        sample(WORDS, numpy.array(["", "a", "l", "b", "zebras"], object), numpy.int64(0)),
        sample(WORDS[:, None], numpy.array(["", "ebra", "l"], object), numpy.int32(-2)),
        sample(WORDS, WORDS, numpy.arange(5)),
    )

    def of_one(self, x: str, part: str, begin: Any) -> int:
        return x.find(part, int(begin))

    def native(self, b: Scalars, data: Any, part: Any, begin: Any) -> Any:
        return b.of_strings("find", "int64", data, part, place(b, begin))


@operator("string.from_value")
class FromValue(StringFunction):
    """The shortest text that reads back as the number in its dtype; `True`, `False`; a string as it is.

    relay> string.from_value([0.1, 1e20])
    ["0.1", "1e+20"]
    relay> string.from_value(True)
    "True"
    """

    operands = ("data",)
    takes = (ANY_DTYPE,)
    samples = (
        *[sample(f"3x5 {dtype}") for dtype in sorted(ANY_DTYPE - STRING)],
        sample("0x3 float32"),
        sample("float64"),
        sample(numpy.array([0.0, -0.0, 1e16, 1e-5, 5e-324, numpy.inf, numpy.nan, 1e22, 0.1])),
        sample(WORDS),
    )

    def reference(self, np: Numpy, *operands: Array) -> Array:
        (data,) = operands
        on_host(np, "strings")
        return super().reference(np, data if data.dtype == object else as_objects(np, data))

    def of_one(self, x: Any) -> str:
        if isinstance(x, str):
            return x
        return shortest(x) if is_float(dtype_name(x.dtype)) and numpy.isfinite(x) else str(x)

    def native(self, b: Scalars, data: Any) -> Any:
        return data if data.dtype == "string" else b.of_strings("from_value", "string", data)


@operator("string.is_int")
class IsInt(StringFunction):
    """Whether the string is an integer of 64 bits: digits, with a sign at will.

    relay> string.is_int(["12", "-3", "1.0", ""])
    [True, True, False, False]
    """

    operands = ("data",)
    makes = "bool"
    samples = (sample(NUMERALS), sample(WORDS[:0]))

    def of_one(self, x: str) -> bool:
        return integer_of(x) is not None

    def native(self, b: Scalars, data: Any) -> Any:
        return b.of_strings("is_int", "bool", data)


@operator("string.to_int")
class ToInt(StringFunction):
    """The integer of 64 bits that the string is; 0 where `string.is_int` is False.

    relay> string.to_int(["12", "-3", "1.0"])
    [12, -3, 0]
    """

    operands = ("data",)
    makes = "int64"
    samples = (sample(NUMERALS), sample(WORDS[:0]))

    def of_one(self, x: str) -> int:
        return integer_of(x) or 0

    def native(self, b: Scalars, data: Any) -> Any:
        return b.of_strings("to_int", "int64", data)


@operator("string.is_float")
class IsFloat(StringFunction):
    """Whether the string is a number: digits, with a sign, a point and an exponent at will, or `inf` or
    `nan`, with a sign at will.

    relay> string.is_float(["1.5", "-1e3", "inf", "1.5 "])
    [True, True, True, False]
    """

    operands = ("data",)
    makes = "bool"
    samples = (sample(NUMERALS), sample(WORDS[:0]))

    def of_one(self, x: str) -> bool:
        return FLOAT.fullmatch(x) is not None

    def native(self, b: Scalars, data: Any) -> Any:
        return b.of_strings("is_float", "bool", data)


@operator("string.to_float")
class ToFloat(StringFunction):
    """The float64 that is nearest to the number that the string is; NaN where `string.is_float` is False.

    relay> string.to_float(["1.5", "-1e3", ""])
    [1.5, -1000.0, nan]
    """

    operands = ("data",)
    makes = "float64"
    samples = (sample(NUMERALS), sample(WORDS[:0]))

    def of_one(self, x: str) -> float:
        return float(x) if FLOAT.fullmatch(x) else float("nan")

    def native(self, b: Scalars, data: Any) -> Any:
        return b.of_strings("to_float", "float64", data)


def place(b: Scalars, x: Any) -> Any:
    """A place in a string, of 64 bits; unsigned ones beyond that are far behind the end."""
    if x.dtype != "uint64":
        return b.cast(x, "int64")
    top = integer_range("int64")[1]
    return b.cast(b.select(b.compare("gt", x, b.const(top, x)), b.const(top, x), x), "int64")


def as_objects(np: Numpy, data: Array) -> Array:
    """Numbers as an array of NumPy's scalars."""
    found = np.empty(data.shape, object)
    for i in np.ndindex(data.shape):
        found[i] = data[i]
    return found


def integer_of(text: str) -> int | None:
    """The integer of 64 bits that a string is."""
    if INTEGER.fullmatch(text) is None or len(text.lstrip("+-0")) > DIGITS_IN_64_BITS:
        return None
    low, high = integer_range("int64")
    size = int(text.lstrip("+-0") or "0")
    found = -size if text[0] == "-" else size
    return found if low <= found <= high else None
