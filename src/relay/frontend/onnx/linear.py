"""Products of matrices."""

import numpy as np

from relay.frontend.onnx.index import gather_elements
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.products import matmul
from relay.frontend.support import cast, merged
from relay.frontend.value import Value, call, constant
from relay.ir.dtype import is_integer


@converts("MatMul")
def convert_matmul(node: Node, x: Value, y: Value) -> Value:
    """The product, as in NumPy."""
    return matmul(x, y)


@converts("Gemm")
def gemm(node: Node, a: Value, b: Value, c: Value | None = None) -> Value:
    """`alpha * a @ b + beta * c`, each of `a` and `b` transposed where it is asked for."""
    if node.version < 7:
        a = merged(a, 1) if a.rank > 2 else a
    flip_a, flip_b = bool(node.int("transA", 0)), bool(node.int("transB", 0))
    alpha, beta = node.float("alpha", 1.0), node.float("beta", 1.0)
    if flip_b and not flip_a:
        found = call("nn.dense", a, b)
    else:
        found = call("nn.matmul", a, b, transpose_a=flip_a, transpose_b=flip_b)
    found = _scaled(found, alpha)
    return found if c is None or beta == 0 else found + _scaled(c, beta)


def _scaled(x: Value, factor: float) -> Value:
    if factor == 1:
        return x
    if is_integer(x.dtype):
        return cast(cast(x, "float64") * factor, x.dtype)
    return x * factor


@converts("Einsum")
def einsum(node: Node, *xs: Value) -> Value:
    """A product of tensors, summed over letters."""
    return call("einsum", tuple(xs), equation=node.text("equation").replace(" ", ""))


@converts("Det")
def det(node: Node, x: Value) -> Value:
    """The determinant of each square matrix, by elimination on the rows."""
    size = x.size(-1)
    if size == 0:
        return call("prod", x, axis=(-1, -2))
    found = None
    for k in range(size):
        column = _column(x, k)
        pivot = call("argmax", call("abs", column), axis=-1)
        x, swapped = _swapped(x, pivot, k)
        head = _element(x, k, k)
        sign = call("where", swapped, -head, head)
        found = sign if found is None else found * sign
        x = _eliminated(x, head, k)
    assert found is not None
    return found


def _part(x: Value, axis: int, begin: int, end: int | None) -> Value:
    return call("strided_slice", x, begin=(begin,), end=(end,), axes=(axis % x.rank,))


def _element(x: Value, i: int, j: int) -> Value:
    return call("squeeze", _part(_part(x, -2, i, i + 1), -1, j, j + 1), axis=(x.rank - 2, x.rank - 1))


def _column(x: Value, k: int) -> Value:
    """Column `k` from row `k` on, and zeros before."""
    below = constant([[i >= k] for i in range(x.size(-1))])
    return call(
        "squeeze", call("where", below, _part(x, -1, k, k + 1), constant(0, x.dtype)), axis=(x.rank - 1,)
    )


def _swapped(x: Value, pivot: Value, k: int) -> tuple[Value, Value]:
    """Rows `k` and `pivot` exchanged, and whether they differ."""
    size = x.size(-1)
    rows = constant(np.arange(size), "int32")
    at = call("expand_dims", pivot, axis=pivot.rank)
    other = call("equal", rows, at)
    order = call("where", other, constant(k, "int32"), rows)
    order = call("where", constant(np.arange(size) == k), at, order)
    places = call("broadcast_to", call("expand_dims", order, axis=order.rank), shape=x.sizes())
    return gather_elements(x, places, x.rank - 2), call("not_equal", pivot, constant(k, "int32"))


def _eliminated(x: Value, head: Value, k: int) -> Value:
    """Row `k` subtracted from those below it so that their column `k` is zero."""
    at = call("expand_dims", head, axis=head.rank, num_newaxis=2)
    zero = constant(0, x.dtype)
    safe = call("where", call("equal", at, zero), constant(1, x.dtype), at)
    below = constant(np.arange(x.size(-1))[:, None] > k)
    factors = call("where", below, _part(x, -1, k, k + 1) / safe, zero)
    return x - factors * _part(x, -2, k, k + 1)
