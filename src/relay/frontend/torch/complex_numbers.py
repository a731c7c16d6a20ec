"""Operators on complex numbers."""

from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch import registry
from relay.frontend.torch.complex_value import Complex, as_complex, by_parts, converts_complex
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call, constant

by_parts |= {
    f"aten.{name}" for name in (
        "view", "reshape", "_unsafe_view", "slice", "select", "permute", "transpose", "t", "unsqueeze",
        "squeeze", "expand", "clone", "contiguous", "alias", "detach", "cat", "stack", "roll", "flip",
        "index_select", "gather", "index", "split", "split_with_sizes", "unbind", "chunk", "constant_pad_nd",
        "repeat", "sum", "mean", "cumsum", "neg", "_neg_view", "lift_fresh", "lift_fresh_copy", "unfold",
        "diagonal", "narrow", "flatten", "detach_", "_to_copy", "to", "tril", "triu", "zeros_like", "mT",
        "numpy_T", "swapaxes", "movedim", "unflatten", "diag_embed", "positive",
    )
} | {"operator.getitem"}  # fmt: skip


# --- to and from complex numbers ---


@converts("aten.complex")
def complex_of(node: Node, real: Value, imaginary: Value) -> Complex:
    """From real and imaginary parts."""
    return Complex(*in_one_shape(node, real, imaginary))


def in_one_shape(node: Node, x: Value, y: Value) -> tuple[Value, Value]:
    """Two values in the shape that they broadcast to."""
    x, y = (cast(v, node.dtype) for v in (x, y))
    if x.shape == y.shape:
        return x, y
    whole = x + y
    return call("broadcast_to_like", x, whole), call("broadcast_to_like", y, whole)


@converts("aten.polar")
def polar(node: Node, size: Value, angle: Value) -> Complex:
    """From sizes and angles."""
    size, angle = in_one_shape(node, size, angle)
    return Complex(size * call("cos", angle), size * call("sin", angle))


@converts("aten.view_as_complex", "aten.view_as_complex_copy")
def view_as_complex(node: Node, pairs: Value) -> Complex:
    """From pairs."""
    return Complex.of(pairs)


@converts("aten.view_as_real", "aten.view_as_real_copy")
def view_as_real(node: Node, x: Complex) -> Value:
    """Pairs, a last axis of size 2."""
    return x.pairs


@converts("aten.real", "aten.resolve_conj", "aten.resolve_neg", "aten._conj", "aten._conj_physical",
          "aten.conj_physical", "aten.conj")  # fmt: skip
def of_real(node: Node, x: Value) -> Value:
    """Of real numbers they themselves."""
    return x


@converts("aten._neg_view")
def negated_view(node: Node, x: Value) -> Value:
    """`-x`."""
    return -x


@converts("aten.imag")
def imag(node: Node, x: Value) -> Value:
    """The imaginary part: 0 of real numbers."""
    return call("zeros_like", x)


converts_complex("aten.view_as_real", "aten.view_as_real_copy")(view_as_real)


@converts_complex("aten.real")
def real_part(node: Node, x: Complex) -> Value:
    """The real parts."""
    return x.real


@converts_complex("aten.imag")
def imaginary_part(node: Node, x: Complex) -> Value:
    """The imaginary parts."""
    return x.imaginary


@converts_complex("aten.resolve_conj", "aten.resolve_neg")
def resolved(node: Node, x: Complex) -> Complex:
    """As they are: nothing waits to be negated."""
    return x


@converts_complex("aten._conj", "aten._conj_physical", "aten.conj_physical", "aten.conj")
def conjugated(node: Node, x: Complex) -> Complex:
    """With the imaginary part negated."""
    return Complex(x.real, -x.imaginary)


@converts_complex("aten.abs")
def absolute(node: Node, x: Complex) -> Value:
    """The distance from 0."""
    return call("hypot", x.real, x.imaginary)


@converts("aten.angle")
def angle_of_real(node: Node, x: Value) -> Value:
    """0, and half a turn where `x < 0`."""
    x = cast(x, node.dtype)
    turned = call("where", call("less", x, 0), constant(np.pi, x.dtype), call("zeros_like", x))
    return call("where", call("isnan", x), x, turned)


@converts_complex("aten.angle")
def angle(node: Node, x: Complex) -> Value:
    """The angle from the positive real numbers."""
    return call("atan2", x.imaginary, x.real)


# --- arithmetic ---


def promoted_parts(node: Node, *xs: Any) -> list[Complex]:
    """Operands as complex numbers, whose parts have the dtype of the result's."""
    return [as_complex(x).map(lambda v: cast(v, node.dtype)) for x in xs]


@converts_complex("aten.add", "aten.sub", "aten.rsub")
def add_complex(node: Node, x: Any, y: Any, alpha: Any = 1) -> Complex:
    """`x + alpha * y`, `x - alpha * y`, `y - alpha * x`."""
    x, y = (y, x) if "rsub" in node.operator else (x, y)
    a, b, by = promoted_parts(node, x, y, node.option("alpha", alpha))
    if node.option("alpha", alpha) != 1:
        b = complex_product(b, by)
    if "add" in node.operator:
        return Complex(a.real + b.real, a.imaginary + b.imaginary)
    return Complex(a.real - b.real, a.imaginary - b.imaginary)


@converts_complex("aten.mul")
def multiply_complex(node: Node, x: Any, y: Any) -> Complex:
    """`x * y`."""
    a, b = promoted_parts(node, x, y)
    if not isinstance(y, Complex | complex):
        return Complex(a.real * b.real, a.imaginary * b.real)
    if not isinstance(x, Complex | complex):
        return Complex(a.real * b.real, a.real * b.imaginary)
    return complex_product(a, b)


def complex_product(a: Complex, b: Complex) -> Complex:
    """`a * b`."""
    real = a.real * b.real - a.imaginary * b.imaginary
    return Complex(real, a.real * b.imaginary + a.imaginary * b.real)


@converts_complex("aten.div", "aten.true_divide")
def divide_complex(node: Node, x: Any, y: Any) -> Complex:
    """`x / y`."""
    a, b = promoted_parts(node, x, y)
    if not isinstance(y, Complex | complex):
        return Complex(a.real / b.real, a.imaginary / b.real)
    return complex_quotient(a, b)


def complex_quotient(a: Complex, b: Complex) -> Complex:
    """`a / b`, by numbers that are no greater than 1: squares of parts might overflow."""
    size = call("maximum", call("abs", b.real), call("abs", b.imaginary))
    c, d = b.real / size, b.imaginary / size
    whole = (c * c + d * d) * size
    real = (a.real * c + a.imaginary * d) / whole
    return Complex(real, (a.imaginary * c - a.real * d) / whole)


@converts_complex("aten.reciprocal")
def reciprocal_of_complex(node: Node, x: Complex) -> Complex:
    """`1 / x`."""
    a, b = promoted_parts(node, 1.0, x)
    return complex_quotient(a, b)


@converts_complex("aten.square")
def square_of_complex(node: Node, x: Complex) -> Complex:
    """`x * x`."""
    return complex_product(x, x)


@converts_complex("aten.pow.Tensor_Scalar")
def power_of_complex(node: Node, x: Complex, exponent: Any) -> Complex:
    """`x` times itself, so often."""
    if not isinstance(exponent, int) or not 1 <= exponent <= MOST_FACTORS:
        return node.fail(f"complex numbers are raised to whole powers from 1 to {MOST_FACTORS}")
    found = x
    for _ in range(exponent - 1):
        found = complex_product(found, x)
    return found


MOST_FACTORS = 8
"""Of a product that is written out."""


@converts_complex("aten.exp")
def exponential(node: Node, x: Complex) -> Complex:
    """`exp(x)`."""
    size = call("exp", x.real)
    return Complex(size * call("cos", x.imaginary), size * call("sin", x.imaginary))


@converts_complex("aten.log")
def logarithm(node: Node, x: Complex) -> Complex:
    """`log(x)`."""
    return Complex(call("log", absolute(node, x)), angle(node, x))


@converts_complex("aten.mm", "aten.bmm", "aten.matmul", "aten.dot", "aten.mv")
def matmul_of_complex(node: Node, x: Any, y: Any) -> Complex:
    """The product of matrices, from four of their parts."""
    rule = registry.find(node.fx.target)
    assert rule is not None, "real matrices have a product"
    a, b = promoted_parts(node, x, y)
    ac, bd, ad, bc = (
        rule(node, p, q)
        for p, q in (
            (a.real, b.real), (a.imaginary, b.imaginary), (a.real, b.imaginary), (a.imaginary, b.real),
        )
    )  # fmt: skip
    return Complex(ac - bd, ad + bc)


@converts_complex("aten.where")
def where_complex(node: Node, condition: Value, x: Any, y: Any) -> Complex:
    """`x` where a condition holds, else `y`."""
    a, b = promoted_parts(node, x, y)
    return Complex(
        call("where", condition, a.real, b.real), call("where", condition, a.imaginary, b.imaginary)
    )
