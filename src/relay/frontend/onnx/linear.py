"""Products of matrices."""

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.products import matmul
from relay.frontend.support import cast, merged
from relay.frontend.value import Value, call
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
    if (a.rank, b.rank) != (2, 2):
        raise ValueError(f"it takes matrices, not tensors of rank {a.rank} and {b.rank}")
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
    """The determinant of each square matrix."""
    return call("linalg.det", x)
