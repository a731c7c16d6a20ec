"""Arithmetic on numbers, and functions of one number."""

from collections.abc import Callable
from functools import reduce
from typing import Any

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import as_rows, axis_in, cast
from relay.frontend.value import Value, call, constant
from relay.ir.dtype import bits, is_integer

UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp",
    "Floor": "floor", "Log": "log", "Neg": "negative", "Round": "round", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Not": "logical_not", "BitwiseNot": "bitwise_not",
}  # fmt: skip
BINARY = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "And": "logical_and",
    "Or": "logical_or", "Xor": "logical_xor", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor", "Equal": "equal", "Greater": "greater", "Less": "less",
    "GreaterOrEqual": "greater_equal", "LessOrEqual": "less_equal",
}  # fmt: skip


def _unary(name: str) -> Callable[..., Any]:
    def convert(node: Node, x: Value) -> Value:
        return call(name, x)

    return convert


def _binary(name: str) -> Callable[..., Any]:
    def convert(node: Node, x: Value, y: Value) -> Value:
        return call(name, x, spread(node, x, y))

    return convert


def spread(node: Node, x: Value, y: Value) -> Value:
    """The second operand of versions before 7, which say along which axis it lies."""
    if node.version >= 7 or not node.int("broadcast", 0) or not node.has("axis") or y.rank == 0:
        return y
    after = x.rank - axis_in(node.int("axis"), x.rank) - y.rank
    return call("expand_dims", y, axis=y.rank, num_newaxis=after) if after > 0 else y


for _onnx, _relay in UNARY.items():
    converts(_onnx)(_unary(_relay))
for _onnx, _relay in BINARY.items():
    converts(_onnx)(_binary(_relay))


@converts("Identity")
def identity(node: Node, x: Value) -> Value:
    """The operand."""
    return x


@converts("Reciprocal")
def reciprocal(node: Node, x: Value) -> Value:
    """`1 / x`."""
    return 1 / x


@converts("Pow")
def power(node: Node, x: Value, y: Value) -> Value:
    """`x ** y`, in the dtype of `x`."""
    y = spread(node, x, y)
    if x.dtype == y.dtype:
        return call("power", x, y)
    if is_integer(x.dtype) and y.is_float:
        return cast(call("power", cast(x, "float64"), cast(y, "float64")), x.dtype)
    if is_integer(x.dtype):
        wide = x.dtype if bits(x.dtype) >= bits(y.dtype) else y.dtype
        return cast(call("power", cast(x, wide), cast(y, wide)), x.dtype)
    return call("power", x, cast(y, x.dtype))


@converts("Mod")
def mod(node: Node, x: Value, y: Value) -> Value:
    """The remainder, with the sign of the divisor, or with `fmod` that of the dividend."""
    return call("mod" if node.int("fmod", 0) else "floor_mod", x, y)


@converts("BitShift")
def bit_shift(node: Node, x: Value, y: Value) -> Value:
    """Bits moved to the left or right."""
    return call("left_shift" if node.text("direction") == "LEFT" else "right_shift", x, y)


def _fold(name: str) -> Callable[..., Any]:
    def convert(node: Node, *xs: Value) -> Value:
        return reduce(lambda x, y: call(name, x, y), xs)

    return convert


for _onnx, _relay in {"Max": "maximum", "Min": "minimum", "Sum": "add"}.items():
    converts(_onnx)(_fold(_relay))


@converts("Mean")
def mean(node: Node, *xs: Value) -> Value:
    """The mean of some tensors."""
    return reduce(lambda x, y: x + y, xs) / len(xs)


@converts("Clip")
def clip_by_attributes(node: Node, x: Value) -> Value:
    """Numbers moved into an interval."""
    return call(
        "clip",
        x,
        a_min=node.float("min", -3.4028234663852886e38),
        a_max=node.float("max", 3.4028234663852886e38),
    )


@converts("Clip", since=11)
def clip(node: Node, x: Value, least: Value | None = None, most: Value | None = None) -> Value:
    """Numbers moved into an interval."""
    if least is not None:
        x = call("maximum", x, least)
    return x if most is None else call("minimum", x, most)


@converts("PRelu")
def prelu(node: Node, x: Value, slope: Value) -> Value:
    """`x` where it is positive, else `slope * x`."""
    if node.version < 7 and slope.rank == 1 and x.rank > 2:
        slope = as_rows(slope, x.rank)
    zero = constant(0, x.dtype)
    return call("where", call("less", x, zero), x * slope, x)


@converts("IsNaN")
def is_nan(node: Node, x: Value) -> Value:
    """Whether it is NaN."""
    return call("isnan", x)


@converts("IsInf")
def is_inf(node: Node, x: Value) -> Value:
    """Whether it is infinite, of the signs asked for."""
    found = call("isinf", x)
    if not node.int("detect_negative", 1):
        found = call("logical_and", found, call("greater", x, constant(0, x.dtype)))
    if not node.int("detect_positive", 1):
        found = call("logical_and", found, call("less", x, constant(0, x.dtype)))
    return found


@converts("Where")
def where(node: Node, condition: Value, x: Value, y: Value) -> Value:
    """`x` where the condition holds, else `y`."""
    return call("where", condition, x, y)


@converts("CumSum")
def cumsum(node: Node, x: Value, axis: Value) -> Value:
    """Running sums."""
    return running("cumsum", node, x, axis)


@converts("CumProd")
def cumprod(node: Node, x: Value, axis: Value) -> Value:
    """Running products."""
    return running("cumprod", node, x, axis)


def running(name: str, node: Node, x: Value, axis: Value) -> Value:
    """Running totals, from either end."""
    along = axis_in(int(axis.number("the axis")), x.rank)
    back = node.int("reverse", 0)
    x = call("reverse", x, axis=along) if back else x
    x = call(name, x, axis=along, exclusive=bool(node.int("exclusive", 0)))
    return call("reverse", x, axis=along) if back else x
