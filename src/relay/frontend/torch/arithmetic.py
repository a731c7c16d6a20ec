"""Arithmetic of two operands, comparisons, and choices."""

from collections.abc import Callable
from typing import Any

from relay.frontend.support import cast
from relay.frontend.torch.elementwise import has_sign
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import in_type, operands
from relay.frontend.value import Value, call, constant
from relay.ir.dtype import is_float


@converts("aten.add", "aten.sub", "aten.subtract")
def add(node: Node, x: Any, y: Any, alpha: Any = 1) -> Value:
    """`x + alpha * y`, or `x - alpha * y`."""
    a, b = in_type(node.dtype, x, y)
    alpha = node.option("alpha", alpha)
    b = b if alpha == 1 else b * alpha
    if node.dtype == "bool":
        return call("logical_or", a, b)
    return a - b if "sub" in node.operator else a + b


@converts("aten.rsub")
def rsub(node: Node, x: Value, y: Any, alpha: Any = 1) -> Value:
    """`y - alpha * x`."""
    a, b = in_type(node.dtype, x, y)
    alpha = node.option("alpha", alpha)
    return b - (a if alpha == 1 else a * alpha)


@converts("aten.mul", "aten.multiply")
def mul(node: Node, x: Any, y: Any) -> Value:
    """`x * y`."""
    a, b = in_type(node.dtype, x, y)
    return call("logical_and", a, b) if node.dtype == "bool" else a * b


@converts("aten.div", "aten.divide", "aten.true_divide")
def div(node: Node, x: Any, y: Any) -> Value:
    """`x / y`, exactly, or rounded as asked for."""
    match node.option("rounding_mode"):
        case None:
            a, b = in_type(node.dtype, x, y)
            return a / b
        case "floor":
            return floor_divide(node, x, y)
        case _:
            a, b = in_type(node.dtype, x, y)
            return call("trunc", a / b) if a.is_float else call("trunc_divide", a, b)


@converts("aten.floor_divide")
def floor_divide(node: Node, x: Any, y: Any) -> Value:
    """`x / y`, rounded down."""
    return call("floor_divide", *in_type(node.dtype, x, y))


@converts("aten.remainder")
def remainder(node: Node, x: Any, y: Any) -> Value:
    """The remainder of `x / y` rounded down."""
    return call("floor_mod", *in_type(node.dtype, x, y))


@converts("aten.fmod")
def fmod(node: Node, x: Any, y: Any) -> Value:
    """The remainder of `x / y` rounded towards zero."""
    return call("trunc_mod", *in_type(node.dtype, x, y))


@converts("aten.pow")
def convert_pow(node: Node, x: Any, y: Any) -> Value:
    """`x ** y`; small powers are products."""
    if isinstance(x, Value) and isinstance(y, int | float):
        base = cast(x, node.dtype)
        match y:
            case 0.5:
                return call("sqrt", base)
            case -0.5:
                return call("rsqrt", base)
            case 1:
                return base
            case 2:
                return base * base
            case 3:
                return base * base * base
            case -1 if base.is_float:
                return 1 / base
            case _:
                pass
    return call("power", *in_type(node.dtype, x, y))


for _name, _ours in {
    "maximum": "maximum", "minimum": "minimum", "max.other": "maximum", "min.other": "minimum",
    "atan2": "atan2", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
    "__lshift__": "left_shift", "__rshift__": "right_shift",
}.items():  # fmt: skip

    def _same(node: Node, x: Any, y: Any, ours: str = _ours) -> Value:
        a, b = in_type(node.dtype, x, y)
        if node.dtype == "bool":
            return call("logical_or" if ours == "maximum" else "logical_and", a, b)
        return call(ours, a, b)

    converts(f"aten.{_name}")(_same)


@converts("aten.fmax", "aten.fmin")
def fmax(node: Node, x: Value, y: Value) -> Value:
    """The greater or the less, of NaN and a number the number."""
    a, b = in_type(node.dtype, x, y)
    best = call("maximum" if "fmax" in node.operator else "minimum", a, b)
    if not a.is_float:
        return best
    return call("where", call("isnan", a), b, call("where", call("isnan", b), a, best))


for _name, _ours in {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal",
}.items():  # fmt: skip

    def _comparison(node: Node, x: Any, y: Any, ours: str = _ours) -> Value:
        return call(ours, *operands(x, y))

    converts(f"aten.{_name}")(_comparison)


def _logic(name: str) -> Callable[..., Value]:
    def convert(node: Node, x: Any, y: Any) -> Value:
        return call(f"logical_{name}", *in_type("bool", x, y))

    return convert


def _bitwise(name: str) -> Callable[..., Value]:
    def convert(node: Node, x: Any, y: Any) -> Value:
        kind = "logical" if node.dtype == "bool" else "bitwise"
        return call(f"{kind}_{name}", *in_type(node.dtype, x, y))

    return convert


for _name in ("and", "or", "xor"):
    converts(f"aten.logical_{_name}")(_logic(_name))
    converts(f"aten.bitwise_{_name}", f"aten.__{_name}__")(_bitwise(_name))


@converts("aten.where")
def where(node: Node, condition: Value, x: Any, y: Any) -> Value:
    """`x` where a condition holds, else `y`."""
    return call("where", cast(condition, "bool"), *in_type(node.dtype, x, y))


@converts("aten.masked_fill")
def masked_fill(node: Node, x: Value, mask: Value, value: Any) -> Value:
    """A number where a mask holds, else `x`."""
    return call("where", mask, *in_type(node.dtype, value), cast(x, node.dtype))


@converts("aten.addcmul", "aten.addcdiv")
def addcmul(node: Node, x: Value, y: Value, z: Value) -> Value:
    """`x + value * y * z`, or `x + value * y / z`."""
    x, y, z = in_type(node.dtype, x, y, z)
    term = y * z if "mul" in node.operator else y / z
    value = node.option("value", 1)
    return x + (term if value == 1 else term * value)


@converts("aten.lerp")
def lerp(node: Node, x: Value, y: Value, weight: Any) -> Value:
    """`x + weight * (y - x)`."""
    return x + (y - x) * weight


@converts("aten.copysign")
def copysign(node: Node, x: Any, y: Any) -> Value:
    """The size of `x` with the sign of `y`."""
    a, b = in_type(node.dtype, x, y)
    size = call("abs", a)
    return call("where", has_sign(b), -size, size)


@converts("aten.xlogy")
def xlogy(node: Node, x: Any, y: Any) -> Value:
    """`x * log(y)`, and 0 where `x` is."""
    a, b = in_type(node.dtype, x, y)
    none = call("logical_and", call("equal", a, 0), call("logical_not", call("isnan", b)))
    return call("where", none, constant(0, a.dtype), a * call("log", b))


@converts("aten.hypot", "aten.logaddexp")
def of_floats(node: Node, x: Value, y: Value) -> Value:
    """A function of two floats that Relay has under the same name."""
    return call(node.operator.split(".")[1], *in_type(node.dtype, x, y))


@converts("aten.isclose")
def isclose(
    node: Node, x: Value, y: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Value:
    """Whether elements differ by little."""
    dtype = x.dtype if is_float(x.dtype) else "float32"
    a, b = in_type(dtype, x, y)
    near = call("less_equal", call("abs", a - b), call("abs", b) * rtol + atol)
    near = call("logical_or", call("logical_and", near, call("isfinite", b)), call("equal", a, b))
    return (
        call("logical_or", near, call("logical_and", call("isnan", a), call("isnan", b)))
        if equal_nan
        else near
    )
