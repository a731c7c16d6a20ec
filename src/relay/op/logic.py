"""Logic on booleans, and on the bits of integers."""

from typing import Any

from relay.ir.dtype import bits, is_signed
from relay.op.base import BOOLEAN, INTEGRAL, sample
from relay.op.conversion import accumulator_name
from relay.op.family import Broadcast, Elementwise
from relay.op.kind import Derivative
from relay.op.native import Scalars
from relay.op.registry import operator

TRUTHS = (
    sample("3x5 bool", "3x5 bool"),
    sample("2x1 bool", "3 bool"),
    sample("bool", "bool"),
    sample("0 bool", "0 bool"),
)
BITS = (
    sample("3x5 int32", "3x5 int32"),
    sample("2x1 uint8", "3 uint8"),
    sample("int64", "int64"),
    sample("0x3 int16", "3 int16"),
    sample("5 int4", "5 int4"),
    sample("3 uint2", "uint2"),
)


class Logical(Broadcast):
    """A function of two truth values; both operands are evaluated (`&&` and `||` are not operators)."""

    commutative = True
    dtypes = BOOLEAN
    derivative = Derivative.ZERO
    samples = TRUTHS


class Bitwise(Broadcast):
    """A function of the bits of two numbers."""

    commutative = True
    dtypes = INTEGRAL | BOOLEAN
    derivative = Derivative.ZERO
    samples = (*BITS, *TRUTHS)


@operator("logical_and")
class LogicalAnd(Logical):
    """Whether both are True.

    relay> logical_and([True, False], True)
    [True, False]
    """

    ufunc = "logical_and"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.bits("and", lhs, rhs)


@operator("logical_or")
class LogicalOr(Logical):
    """Whether at least one is True.

    relay> logical_or([True, False], False)
    [True, False]
    """

    ufunc = "logical_or"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.bits("or", lhs, rhs)


@operator("logical_xor")
class LogicalXor(Logical):
    """Whether exactly one is True.

    relay> logical_xor([True, False], True)
    [False, True]
    """

    ufunc = "logical_xor"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.bits("xor", lhs, rhs)


@operator("logical_not")
class LogicalNot(Elementwise):
    """Whether the element is False.

    relay> logical_not([True, False])
    [False, True]
    """

    dtypes = BOOLEAN
    ufunc = "logical_not"
    derivative = Derivative.ZERO
    samples = (sample("3x5 bool"), sample("bool"), sample("0 bool"))

    def native(self, b: Scalars, data: Any) -> Any:
        return b.bits("xor", data, b.const(True, data))


@operator("bitwise_and")
class BitwiseAnd(Bitwise):
    """The bits that are set in both.

    relay> bitwise_and(12, 10)
    8
    """

    ufunc = "bitwise_and"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.bits("and", lhs, rhs)


@operator("bitwise_or")
class BitwiseOr(Bitwise):
    """The bits that are set in at least one.

    relay> bitwise_or(12, 10)
    14
    """

    ufunc = "bitwise_or"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.bits("or", lhs, rhs)


@operator("bitwise_xor")
class BitwiseXor(Bitwise):
    """The bits that are set in exactly one.

    relay> bitwise_xor(12, 10)
    6
    """

    ufunc = "bitwise_xor"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.bits("xor", lhs, rhs)


@operator("bitwise_not")
class BitwiseNot(Elementwise):
    """The bits that are not set.

    relay> bitwise_not([0, 5])
    [-1, -6]
    """

    dtypes = INTEGRAL | BOOLEAN
    ufunc = "bitwise_not"
    derivative = Derivative.ZERO
    samples = (
        sample("3x5 int32"),
        sample("uint8"),
        sample("0 int64"),
        sample("5 int4"),
        sample("3 uint2"),
        sample("2 bool"),
    )

    def native(self, b: Scalars, data: Any) -> Any:
        return b.bits("xor", data, b.const(True if data.dtype == "bool" else -1, data))


def left_shifted(b: Scalars, x: Any, distance: Any) -> Any:
    """`x` with its bits to the left; 0 for a distance beyond its width."""
    inside, by = _distance(b, distance)
    return b.select(inside, b.bits("shl", x, by), b.const(0, x))


def right_shifted(b: Scalars, x: Any, distance: Any) -> Any:
    """`x` with its bits to the right; 0 or -1 for a distance beyond its width."""
    inside, by = _distance(b, distance)
    if not is_signed(x.dtype):
        return b.select(inside, b.bits("lshr", x, by), b.const(0, x))
    return b.bits("ashr", x, b.select(inside, by, b.const(max(bits(x.dtype), 8) - 1, x)))


def _distance(b: Scalars, y: Any) -> tuple[Any, Any]:
    """Whether a distance is one of the places that a number has in memory, and the distance or 0."""
    wide = b.cast(y, accumulator_name(y.dtype))
    name = wide.dtype if wide.dtype.startswith("u") else f"u{wide.dtype}"
    inside = b.compare("lt", b.cast(wide, name), b.const(bits(name), name))
    return inside, b.select(inside, y, b.const(0, y))


class Shift(Broadcast):
    """A shift of bits; a negative distance counts as one beyond the width."""

    dtypes = INTEGRAL
    derivative = Derivative.ZERO
    samples = BITS


@operator("left_shift")
class LeftShift(Shift):
    """`x * 2 ** y` in wrapping arithmetic; 0 for a distance of the width or more.

    relay> left_shift([1, 3], [4, 32])
    [16, 0]
    """

    ufunc = "left_shift"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return left_shifted(b, lhs, rhs)


@operator("right_shift")
class RightShift(Shift):
    """`x / 2 ** y` rounded down; 0 or -1, by the sign, for a distance of the width or more.

    relay> right_shift([16, -1], [2, 32])
    [4, -1]
    """

    ufunc = "right_shift"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return right_shifted(b, lhs, rhs)
