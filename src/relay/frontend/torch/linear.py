"""Products of matrices."""

from typing import Any

import numpy as np

from relay.frontend.products import matmul
from relay.frontend.support import cast, p_norm
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call, constant
from relay.ir.dtype import is_integer


@converts("aten.mm", "aten.bmm", "aten.matmul", "aten.mv", "aten.dot", "aten.vdot")
def convert_matmul(node: Node, x: Value, y: Value) -> Value:
    """The product, as in NumPy."""
    return matmul(x, y)


@converts("aten.linear")
def linear(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Value:
    """`x @ weight.T + bias`."""
    if weight.rank == 1:
        found = matmul(x, weight)
    elif x.rank == 1:
        found = call("squeeze", call("nn.dense", call("expand_dims", x, axis=0), weight), axis=(0,))
    else:
        found = call("nn.dense", x, weight)
    return found if bias is None else found + bias


@converts("aten.addmm", "aten.addmv", "aten.baddbmm", "aten.addbmm")
def addmm(node: Node, c: Value, x: Value, y: Value) -> Value:
    """`beta * c + alpha * x @ y`; the products of `addbmm` are summed."""
    alpha, beta = node.option("alpha", 1), node.option("beta", 1)
    product = matmul(x, y)
    product = call("sum", product, axis=(0,)) if ".addbmm" in node.operator else product
    found = scaled(product, alpha)
    return found if beta == 0 else found + scaled(cast(c, found.dtype), beta)


def scaled(x: Value, factor: Any) -> Value:
    """`x * factor`."""
    return x if factor == 1 else x * (int(factor) if is_integer(x.dtype) else float(factor))


@converts("aten.outer", "aten.ger")
def outer(node: Node, x: Value, y: Value) -> Value:
    """The product of each element with each."""
    return call("expand_dims", cast(x, node.dtype), axis=1) * cast(y, node.dtype)


@converts("aten.einsum")
def einsum(node: Node, equation: str, xs: list[Value], *_: Any) -> Value:
    """A product of tensors, summed over letters."""
    return call("einsum", tuple(xs), equation=equation.replace(" ", ""))


@converts("aten._cdist_forward")
def cdist(node: Node, x: Value, y: Value, p: float, *_: Any) -> Value:
    """The distance of each row of one from each row of the other."""
    away = call("expand_dims", x, axis=x.rank - 1) - call("expand_dims", y, axis=y.rank - 2)
    axis = (away.rank - 1,)
    match p:
        case 0:
            return call("sum", cast(call("not_equal", away, 0), x.dtype), axis=axis)
        case 1:
            return call("sum", call("abs", away), axis=axis)
        case _ if p == float("inf"):
            return call("max", call("abs", away), axis=axis)
        case _:
            return p_norm(away, p, lambda powers: call("sum", powers, axis=axis))


@converts("aten._pdist_forward")
def pdist(node: Node, x: Value, p: float = 2.0) -> Value:
    """The distance of each row from each later one."""
    first, second = np.triu_indices(x.size(0), 1)
    rows = [call("take", x, constant(at, "int64"), axis=0) for at in (first, second)]
    away = call("expand_dims", rows[0] - rows[1], axis=1)
    return call("squeeze", cdist(node, away, call("zeros_like", away), p), axis=(1, 2))


@converts("aten._trilinear")
def trilinear(
    node: Node, x: Value, y: Value, z: Value, at_x: list[int], at_y: list[int], at_z: list[int],
    over: list[int], *_: Any,
) -> Value:  # fmt: skip
    """The product of three tensors with new axes, summed over some."""
    product: Value | None = None
    for v, places in ((x, at_x), (y, at_y), (z, at_z)):
        for a in sorted(places):
            v = call("expand_dims", v, axis=a)
        product = v if product is None else product * v
    assert product is not None
    return call("sum", product, axis=tuple(over)) if over else product
