"""Functions of elements."""

from collections.abc import Callable
from typing import Any

from relay.ir.dtype import dtype_name
from relay.numpy import dtypes
from relay.numpy.call import AnyArray, array, call, cast, common, common_dtype, floating, is_number, number


def of_floats(operator: str, doc: str) -> Callable[[Any], AnyArray]:
    """A function of one array, of integers too: `operator` on its elements as floats."""

    def function(x: Any, /) -> AnyArray:
        return call(operator, floating(x))

    return _documented(function, operator, doc)


def of_numbers(operator: str, doc: str) -> Callable[[Any], AnyArray]:
    """A function of one array of numbers that keeps its dtype."""

    def function(x: Any, /) -> AnyArray:
        return call(operator, _numeric(x, operator))

    return _documented(function, operator, doc)


def rounding(operator: str, doc: str) -> Callable[[Any], AnyArray]:
    """A function of one array that leaves integers as they are."""

    def function(x: Any, /) -> AnyArray:
        given = _numeric(x, operator)
        return call(operator, given) if dtypes.is_floating(given.dtype) else given

    return _documented(function, operator, doc)


def of_two(operator: str, doc: str) -> Callable[[Any, Any], AnyArray]:
    """A function of two arrays or numbers, in the dtype to which they promote."""

    def function(x1: Any, x2: Any, /) -> AnyArray:
        return call(operator, *common(x1, x2))

    return _documented(function, operator, doc)


def of_two_floats(operator: str, doc: str) -> Callable[[Any, Any], AnyArray]:
    """A function of two arrays or numbers, in the floating-point dtype to which they promote."""

    def function(x1: Any, x2: Any, /) -> AnyArray:
        return call(operator, *_common_floats(x1, x2))

    return _documented(function, operator, doc)


def of_truths(operator: str, doc: str) -> Callable[[Any, Any], AnyArray]:
    """A function of two arrays of truth values; a number is true where it is not 0."""

    def function(x1: Any, x2: Any, /) -> AnyArray:
        return call(operator, truths(x1), truths(x2))

    return _documented(function, operator, doc)


def of_bits(on_bools: str, operator: str, doc: str) -> Callable[[Any, Any], AnyArray]:
    """A function of two arrays of truth values or of the bits of integers."""

    def function(x1: Any, x2: Any, /) -> AnyArray:
        a, b = common(x1, x2)
        if dtypes.is_floating(a.dtype):
            raise TypeError(f"{operator} is of integers and truth values, not of {a.dtype}")
        return call(on_bools if a.dtype == dtypes.bool and on_bools else operator, a, b)

    function = _documented(function, operator, doc)
    function.__name__ = function.__qualname__ = f"bitwise_{operator.removeprefix('bitwise_')}"
    return function


def classifying(operator: str, on_integers: bool, doc: str) -> Callable[[Any], AnyArray]:
    """A question about floats that all integers answer alike."""

    def function(x: Any, /) -> AnyArray:
        given = array(x)
        if dtypes.is_floating(given.dtype):
            return call(operator, given)
        return call("equal" if on_integers else "not_equal", given, given)

    return _documented(function, operator, doc)


NAMES = {"floor_mod": "remainder", "power": "pow"}
"""What the standard calls an operator of another name."""


def _documented(function: Any, operator: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = NAMES.get(operator, operator)
    function.__doc__ = f"{doc}  The operator `{operator}`."
    return function


def _common_floats(x1: Any, x2: Any) -> list[AnyArray]:
    dtype = dtypes.floating_of(common_dtype((x1, x2)))
    return [number(x, dtype) if is_number(x) else cast(array(x), dtype) for x in (x1, x2)]


def _numeric(x: Any, operator: str) -> AnyArray:
    given = array(x)
    if given.dtype == dtypes.bool:
        raise TypeError(f"{operator} is of numbers, not of truth values: convert them with astype")
    return given


def truths(x: Any) -> AnyArray:
    """Whether the elements of an array are not 0."""
    given = array(x)
    return given if given.dtype == dtypes.bool else call("not_equal", given, number(0, given.dtype))


abs = of_numbers("abs", "The absolute value.")
negative = of_numbers("negative", "The negative.")
sign = of_numbers("sign", "-1, 0 or 1, and NaN of NaN.")
ceil = rounding("ceil", "The least integer that is not less.")
floor = rounding("floor", "The greatest integer that is not greater.")
trunc = rounding("trunc", "The next integer towards 0.")
round = rounding("round", "The nearest integer, the even one of two.")
isfinite = classifying("isfinite", True, "Whether an element is neither infinite nor NaN.")
isinf = classifying("isinf", False, "Whether an element is infinite.")
isnan = classifying("isnan", False, "Whether an element is NaN.")

acos = of_floats("acos", "The angle whose cosine this is.")
acosh = of_floats("acosh", "The inverse of the hyperbolic cosine.")
asin = of_floats("asin", "The angle whose sine this is.")
asinh = of_floats("asinh", "The inverse of the hyperbolic sine.")
atan = of_floats("atan", "The angle whose tangent this is.")
atanh = of_floats("atanh", "The inverse of the hyperbolic tangent.")
cos = of_floats("cos", "The cosine.")
cosh = of_floats("cosh", "The hyperbolic cosine.")
sin = of_floats("sin", "The sine.")
sinh = of_floats("sinh", "The hyperbolic sine.")
tan = of_floats("tan", "The tangent.")
tanh = of_floats("tanh", "The hyperbolic tangent.")
exp = of_floats("exp", "e to this power.")
expm1 = of_floats("expm1", "e to this power, minus 1, exact near 0.")
log = of_floats("log", "The natural logarithm.")
log1p = of_floats("log1p", "The natural logarithm of 1 and this, exact near 0.")
log2 = of_floats("log2", "The logarithm to the base 2.")
log10 = of_floats("log10", "The logarithm to the base 10.")
sqrt = of_floats("sqrt", "The square root.")

add = of_two("add", "The sum.")
subtract = of_two("subtract", "The difference.")
multiply = of_two("multiply", "The product.")
floor_divide = of_two("floor_divide", "The quotient, rounded down.")
remainder = of_two("floor_mod", "What the quotient, rounded down, leaves; it has the sign of the divisor.")
pow = of_two("power", "The first to the power of the second.")
maximum = of_two("maximum", "The greater of two, NaN if one is.")
minimum = of_two("minimum", "The lesser of two, NaN if one is.")
equal = of_two("equal", "Whether two are equal.")
not_equal = of_two("not_equal", "Whether two are not equal.")
less = of_two("less", "Whether the first is less.")
less_equal = of_two("less_equal", "Whether the first is less or equal.")
greater = of_two("greater", "Whether the first is greater.")
greater_equal = of_two("greater_equal", "Whether the first is greater or equal.")

divide = of_two_floats("divide", "The quotient; integers are divided as floats.")
atan2 = of_two_floats("atan2", "The angle of the point (x2, x1).")
hypot = of_two_floats("hypot", "The length of the vector (x1, x2).")
logaddexp = of_two_floats("logaddexp", "log(exp(x1) + exp(x2)), without overflow.")

logical_and = of_truths("logical_and", "Whether both are true.")
logical_or = of_truths("logical_or", "Whether one is true.")
logical_xor = of_truths("logical_xor", "Whether just one is true.")
bitwise_and = of_bits("logical_and", "bitwise_and", "The bits of both.")
bitwise_or = of_bits("logical_or", "bitwise_or", "The bits of either.")
bitwise_xor = of_bits("logical_xor", "bitwise_xor", "The bits of just one.")
bitwise_left_shift = of_bits("", "left_shift", "The bits moved up by the second; 0 beyond the width.")
bitwise_right_shift = of_bits("", "right_shift", "The bits moved down by the second; the sign beyond.")


def logical_not(x: Any, /) -> AnyArray:
    """Whether an element is not true."""
    return call("logical_not", truths(x))


def bitwise_invert(x: Any, /) -> AnyArray:
    """The other bits, or the other truth value."""
    given = array(x)
    if dtypes.is_floating(given.dtype):
        raise TypeError(f"bitwise_invert is of integers and truth values, not of {given.dtype}")
    return call("logical_not" if given.dtype == dtypes.bool else "bitwise_not", given)


def positive(x: Any, /) -> AnyArray:
    """The elements as they are."""
    return _numeric(x, "positive")


def square(x: Any, /) -> AnyArray:
    """The product with itself."""
    given = _numeric(x, "square")
    return call("multiply", given, given)


def reciprocal(x: Any, /) -> AnyArray:
    """1 divided by this."""
    return divide(1.0, floating(x))


def clip(x: Any, /, min: Any = None, max: Any = None) -> AnyArray:
    """The elements, and the bounds, numbers or arrays, in the place of what is beyond them.

    The result has the dtype of `x`; where the lower bound is greater, the upper one holds.
    """
    found = _numeric(x, "clip")
    for operator, bound in (("maximum", min), ("minimum", max)):
        if bound is not None:
            found = call(operator, found, _bound(bound, found.dtype))
    return found


def _bound(bound: Any, dtype: Any) -> AnyArray:
    """A bound in a dtype: beyond its range, the end of the range."""
    if not is_number(bound):
        return cast(array(bound), dtype)
    if dtypes.is_integral(dtype):
        limits = dtypes.iinfo(dtype)
        bound = limits.min if bound < limits.min else limits.max if bound > limits.max else bound
    return number(bound, dtype)


# --- real and complex: all arrays are real


def real(x: Any, /) -> AnyArray:
    """The real part, which is the array."""
    return _numeric(x, "real")


def conj(x: Any, /) -> AnyArray:
    """The complex conjugate, which is the array."""
    return _numeric(x, "conj")


def imag(x: Any, /) -> AnyArray:
    """The imaginary part, which is 0."""
    return call("zeros_like", _numeric(x, "imag"))


# --- the bits of floats


def _bits(x: AnyArray) -> tuple[AnyArray, Any]:
    """The bits of floats as signed integers, and the dtype of these."""
    dtype = dtypes.checked_dtype(f"int{x.dtype.itemsize * 8}")
    return call("reinterpret", x, dtype=dtype_name(dtype)), dtype


def signbit(x: Any, /) -> AnyArray:
    """Whether the sign bit is set: of negative numbers, of -0.0, and of some NaNs."""
    given = _numeric(x, "signbit")
    bits, dtype = _bits(given) if dtypes.is_floating(given.dtype) else (given, given.dtype)
    return call("less", bits, number(0, dtype))


def copysign(x1: Any, x2: Any, /) -> AnyArray:
    """The first with the sign of the second."""
    a, b = _common_floats(x1, x2)
    is_same = call("equal", signbit(a), signbit(b))
    a = call("broadcast_to_like", a, is_same)
    return call("where", is_same, a, call("negative", a))


def nextafter(x1: Any, x2: Any, /) -> AnyArray:
    """The next number after the first, towards the second."""
    a, b = _common_floats(x1, x2)
    bits, dtype = _bits(a)
    zero, one = number(0, a.dtype), number(1, dtype)
    goes_up = call("equal", call("less", a, b), call("greater", a, zero))
    moved = call("where", goes_up, call("add", bits, one), call("subtract", bits, one))
    stepped = call("reinterpret", moved, dtype=dtype_name(a.dtype))
    least = call("reinterpret", one, dtype=dtype_name(a.dtype))
    from_zero = call("where", call("less", b, zero), call("negative", least), least)
    stepped = call("where", call("equal", a, zero), from_zero, stepped)
    kept = call("where", call("equal", a, b), b, stepped)
    unordered = logical_or(isnan(a), isnan(b))
    return call("where", unordered, call("add", a, b), kept)
