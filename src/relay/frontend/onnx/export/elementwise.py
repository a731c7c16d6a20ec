"""Arithmetic, comparisons, functions of one number, activations, conversions."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from relay.frontend.onnx.activations import OPERATORS
from relay.frontend.onnx.arithmetic import BINARY, UNARY
from relay.frontend.onnx.export.graph import Graph, Value, number_of, refuse
from relay.frontend.onnx.export.registry import Writer, exports
from relay.ir.dtype import integer_range, is_integer

SAME = {
    **{relay: onnx for onnx, relay in (UNARY | BINARY).items()},
    "copy": "Identity", "stop_gradient": "Identity", "maximum": "Max", "minimum": "Min", "isnan": "IsNaN",
    "isinf": "IsInf", "power": "Pow",
}  # fmt: skip
"""Operators that ONNX has under another name."""


def _same(kind: str) -> Writer:
    def write(g: Graph, op: Any, *xs: Value) -> str:
        return g.add(kind, *xs)

    return write


for _relay, _onnx in SAME.items():
    exports(_relay)(_same(_onnx))


def _activation(kind: str, attributes: Iterable[str]) -> Writer:
    def write(g: Graph, op: Any, x: Value) -> str:
        return g.add(kind, x, **{name: getattr(op, name) for name in attributes})

    return write


for _onnx, (_relay, _defaults) in OPERATORS.items():
    exports(_relay)(_activation(_onnx, _defaults))


@exports("nn.selu")
def selu(g: Graph, op: Any, x: Value) -> str:
    """`gamma * elu(x, alpha)`; attributes are float32, so that the numbers of float64 are operands."""
    if x.dtype != "float64":
        return g.add("Selu", x, alpha=op.alpha, gamma=op.gamma)
    below = g.add("Mul", g.add("Elu", x), g.scalar(op.alpha, x))
    found = g.add("Where", g.add("Greater", x, g.scalar(0, x)), x, below)
    return g.add("Mul", found, g.scalar(op.gamma, x))


@exports("nn.gelu")
def gelu(g: Graph, op: Any, x: Value) -> str:
    """`x` times the normal distribution's probability below it, or the usual approximation by `tanh`."""
    return g.add("Gelu", x, approximate=op.approximate)


@exports("nn.silu")
def silu(g: Graph, op: Any, x: Value) -> str:
    """`x * sigmoid(alpha * x)`, which has an operator from version 24 on."""
    inner = x if op.alpha == 1 else g.add("Mul", x, g.scalar(op.alpha, x))
    return g.add("Mul", x, g.add("Sigmoid", inner))


@exports("nn.softplus")
def softplus(g: Graph, op: Any, x: Value) -> str:
    """`log(1 + exp(beta * x)) / beta`."""
    if op.beta == 1:
        return g.add("Softplus", x)
    beta = g.scalar(op.beta, x)
    return g.add("Div", g.add("Softplus", g.add("Mul", x, beta)), beta)


@exports("erfc")
def erfc(g: Graph, op: Any, x: Value) -> str:
    """`1 - erf(x)`."""
    return g.add("Sub", g.scalar(1, x), g.add("Erf", x))


@exports("ndtr")
def ndtr(g: Graph, op: Any, x: Value) -> str:
    """`(1 + erf(x / sqrt(2))) / 2`."""
    below = g.add("Erf", g.add("Mul", x, g.scalar(0.5**0.5, x)))
    return g.add("Mul", g.add("Add", below, g.scalar(1, x)), g.scalar(0.5, x))


@exports("expm1")
def expm1(g: Graph, op: Any, x: Value) -> str:
    """`exp(x) - 1`; near 0 by the hyperbolic tangent `t` of half of it, as `2 * t / (1 - t)`."""
    one, two = g.scalar(1, x), g.scalar(2, x)
    half = g.add("Tanh", g.add("Div", x, two))
    near = g.add("Div", g.add("Mul", half, two), g.add("Sub", one, half))
    is_near = g.add("Less", g.add("Abs", x), g.scalar(0.5, x))
    return g.add("Where", is_near, near, g.add("Sub", g.add("Exp", x), one))


@exports("log1p")
def log1p(g: Graph, op: Any, x: Value) -> str:
    """`log(u) * (x / (u - 1))` for `u = x + 1`, and `x` where `u` is 1 (after Kahan)."""
    one = g.scalar(1, x)
    u = g.add("Add", x, one)
    log = g.add("Log", u)
    found = g.add("Mul", log, g.add("Div", x, g.add("Sub", u, one)))
    ends = g.add("Where", g.add("IsInf", x), log, found)
    return g.add("Where", g.add("Equal", u, one), x, ends)


@exports("hypot")
def hypot(g: Graph, op: Any, x: Value, y: Value) -> str:
    """`sqrt(x * x + y * y)`."""
    return g.add("Sqrt", g.add("Add", g.add("Mul", x, x), g.add("Mul", y, y)))


@exports("logaddexp")
def logaddexp(g: Graph, op: Any, x: Value, y: Value) -> str:
    """The greater one, and the softplus of how much less the other is."""
    apart = g.add("Neg", g.add("Abs", g.add("Sub", x, y)))
    return g.add("Add", g.add("Max", x, y), g.add("Softplus", apart))


@exports("rsqrt")
def rsqrt(g: Graph, op: Any, x: Value) -> str:
    """`1 / sqrt(x)`."""
    return g.add("Reciprocal", g.add("Sqrt", x))


@exports("log2", "log10")
def log_of_base(g: Graph, op: Any, x: Value) -> str:
    """A logarithm by the natural one."""
    return g.add("Div", g.add("Log", x), g.scalar(np.log(2 if op.name == "log2" else 10), x))


@exports("isfinite")
def is_finite(g: Graph, op: Any, x: Value) -> str:
    """Neither NaN nor infinite."""
    return g.add("Not", g.add("Or", g.add("IsNaN", x), g.add("IsInf", x)))


@exports("trunc")
def trunc(g: Graph, op: Any, x: Value) -> str:
    """Towards zero."""
    return g.add("Mul", g.add("Sign", x), g.add("Floor", g.add("Abs", x)))


@exports("mod", "trunc_mod")
def remainder(g: Graph, op: Any, x: Value, y: Value) -> str:
    """The remainder with the sign of the dividend."""
    return g.add("Mod", x, y, fmod=1)


@exports("floor_mod")
def floor_mod(g: Graph, op: Any, x: Value, y: Value) -> str:
    """The remainder with the sign of the divisor."""
    if is_integer(x.dtype):
        return g.add("Mod", x, y)
    rest, moved = _rest(g, x, y)
    return g.add("Where", moved, g.add("Add", rest, y), rest)


def _rest(g: Graph, x: Value, y: Value) -> tuple[str, str]:
    """The remainder of floats with the sign of the dividend, and whether that is not the divisor's."""
    rest, zero = g.add("Mod", x, y, fmod=1), g.scalar(0, x)
    apart = g.add("Xor", g.add("Less", rest, zero), g.add("Less", y, zero))
    return rest, g.add("And", apart, g.add("Not", g.add("Equal", rest, zero)))


@exports("floor_divide")
def floor_divide(g: Graph, op: Any, x: Value, y: Value) -> str:
    """The quotient rounded down."""
    if is_integer(x.dtype):
        return g.add("Div", g.add("Sub", x, g.add("Mod", x, y)), y)
    rest, moved = _rest(g, x, y)
    whole = g.add("Round", g.add("Div", g.add("Sub", x, rest), y))
    lower = g.add("Sub", whole, g.cast(moved, x.dtype))
    return g.add("Where", g.add("Equal", y, g.scalar(0, x)), g.add("Div", x, y), lower)


@exports("trunc_divide")
def trunc_divide(g: Graph, op: Any, x: Value, y: Value) -> str:
    """The quotient rounded towards zero."""
    if is_integer(x.dtype):
        return g.add("Div", x, y)
    found = g.add("Div", x, y)
    return g.add("Mul", g.add("Sign", found), g.add("Floor", g.add("Abs", found)))


@exports("not_equal")
def not_equal(g: Graph, op: Any, x: Value, y: Value) -> str:
    """Whether they differ."""
    return g.add("Not", g.add("Equal", x, y))


@exports("left_shift", "right_shift")
def shift(g: Graph, op: Any, x: Value, y: Value) -> str:
    """Bits moved; ONNX moves those of unsigned integers."""
    if not x.dtype.startswith("uint"):
        refuse(f"the dtype {x.dtype}")
    return g.add("BitShift", x, y, direction="LEFT" if op.name == "left_shift" else "RIGHT")


@exports("where")
def where(g: Graph, op: Any, condition: Value, x: Value, y: Value) -> str:
    """One or the other."""
    return g.add("Where", g.cast(condition, "bool"), x, y)


@exports("clip")
def clip(g: Graph, op: Any, x: Value) -> str:
    """Numbers moved into an interval."""
    low, high = op.a_min, op.a_max
    if is_integer(x.dtype):
        least, most = integer_range(x.dtype)
        low, high = (int(np.clip(v, least, most)) for v in (low, high))
    return g.add("Clip", x, g.scalar(low, x), g.scalar(high, x))


@exports("cast")
def cast(g: Graph, op: Any, x: Value) -> str:
    """Another dtype."""
    return g.add("Cast", x, to=number_of(op.dtype))


@exports("cast_like")
def cast_like(g: Graph, op: Any, x: Value, like: Value) -> str:
    """The dtype of another tensor."""
    return g.add("Cast", x, to=number_of(like.dtype))


@exports("nn.prelu")
def prelu(g: Graph, op: Any, x: Value, slope: Value) -> str:
    """`x` where it is positive, else a slope for each channel times `x`."""
    return g.add("PRelu", x, along(g, slope, x.rank, op.axis))


def along(g: Graph, vector: Value, rank: int, axis: int) -> str:
    """A vector laid along an axis of a tensor of that rank."""
    after = rank - 1 - axis % rank
    if not after:
        return vector.name
    if vector.array is not None:
        return g.reshaped(vector, (vector.size(0), *[1] * after))
    return g.add("Unsqueeze", vector, g.ints(range(1, after + 1)))


@exports("nn.dropout")
def dropout(g: Graph, op: Any, x: Value, *key: Value) -> tuple[str, str]:
    """The data, outside of training; and a mask of ones."""
    if key:
        refuse("a random key")
    one = g.scalar(1, x)
    return g.add("Identity", x), g.add("Expand", one, g.add("Shape", x))


@exports("nn.softmax", fits=lambda op: isinstance(op.axis, int))
def softmax(g: Graph, op: Any, x: Value) -> str:
    """`exp(x) / sum(exp(x))` along an axis."""
    return g.add("Softmax", x, axis=op.axis)


@exports("nn.safe_softmax", fits=lambda op: isinstance(op.axis, int))
def safe_softmax(g: Graph, op: Any, x: Value) -> str:
    """Write `softmax` with 0 in place of NaN where all numbers along the axis are `-inf`."""
    most = g.add("ReduceMax", x, g.ints([op.axis]))
    is_empty = g.add("Equal", most, g.scalar(-np.inf, x))
    return g.add("Where", is_empty, g.scalar(0, x), softmax(g, op, x))


@exports("nn.log_softmax", fits=lambda op: isinstance(op.axis, int))
def log_softmax(g: Graph, op: Any, x: Value) -> str:
    """The logarithm of `softmax`."""
    return g.add("LogSoftmax", x, axis=op.axis)
