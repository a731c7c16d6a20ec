"""Comparisons of two operands that broadcast; the result is of booleans.  NaN equals nothing."""

from typing import Any

from relay.op.base import ANY_DTYPE, Array, Numpy, sample
from relay.op.conversion import wide
from relay.op.family import Broadcast
from relay.op.kind import Derivative
from relay.op.native import Scalars
from relay.op.registry import operator

PAIRS = (
    sample("3x5 float32", "3x5 float32"),
    sample("2x1x4 int32", "3x1 int32"),
    sample("float64", "float64"),
    sample("0x3 int8", "3 int8"),
    sample("bfloat16", "2x3 bfloat16"),
    sample("5 int4", "5 int4"),
    sample("4 bool", "4 bool"),
    sample("3 uint2", "uint2"),
    sample("2 float8_e4m3fn", "2 float8_e4m3fn"),
)


class Comparison(Broadcast):
    """A comparison."""

    relation_name = "BroadcastCompare"
    dtypes = ANY_DTYPE
    derivative = Derivative.ZERO
    samples = PAIRS

    def reference(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        return getattr(np, self.ufunc)(wide(lhs), wide(rhs))


@operator("equal")
class Equal(Comparison):
    """Whether `x == y`.

    relay> equal([1, 2, 3], 2)
    [False, True, False]
    """

    commutative = True
    ufunc = "equal"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.compare("eq", lhs, rhs)


@operator("not_equal")
class NotEqual(Comparison):
    """Whether `x != y`.

    relay> not_equal([1, 2, 3], 2)
    [True, False, True]
    """

    commutative = True
    ufunc = "not_equal"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.compare("ne", lhs, rhs)


@operator("less")
class Less(Comparison):
    """Whether `x < y`.

    relay> less([1, 2, 3], 2)
    [True, False, False]
    """

    ufunc = "less"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.compare("lt", lhs, rhs)


@operator("less_equal")
class LessEqual(Comparison):
    """Whether `x <= y`.

    relay> less_equal([1, 2, 3], 2)
    [True, True, False]
    """

    ufunc = "less_equal"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.compare("le", lhs, rhs)


@operator("greater")
class Greater(Comparison):
    """Whether `x > y`.

    relay> greater([1, 2, 3], 2)
    [False, False, True]
    """

    ufunc = "greater"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.compare("gt", lhs, rhs)


@operator("greater_equal")
class GreaterEqual(Comparison):
    """Whether `x >= y`.

    relay> greater_equal([1, 2, 3], 2)
    [False, True, True]
    """

    ufunc = "greater_equal"

    def native(self, b: Scalars, lhs: Any, rhs: Any) -> Any:
        return b.compare("ge", lhs, rhs)
