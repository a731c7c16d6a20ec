"""Cotangents by the numbers of elements: what each element of a rearrangement came from, added up there."""

from collections.abc import Callable

from relay.ir.expr import Expr
from relay.op.derivative import static_shape, tensor_type
from relay.op.numeric import apply
from relay.op.reshape import shaped_like


def flattened(x: Expr) -> Expr:
    """The elements of a tensor in a row."""
    return apply("reshape", x, newshape=(-1,))


def numbered(x: Expr) -> Expr:
    """The shape of `x` with the number of each element in row-major order, as int64."""
    sizes = static_shape(x)
    if sizes is None:
        ones = flattened(apply("ones_like", apply("cast", x, dtype="int64")))
        return apply("reshape_like", apply("cumsum", ones, axis=0, exclusive=True), x)
    numbers = apply("arange", 0, product_of(sizes), dtype="int64")
    return apply("reshape", numbers, newshape=sizes, allowzero=True)


def zeros_in_a_row(x: Expr) -> Expr:
    """Zeros in the dtype of `x`, as many as it has elements, in a row."""
    sizes, dtype = static_shape(x), tensor_type(x).dtype
    if sizes is None or not isinstance(dtype, str):
        return apply("zeros_like", flattened(x))
    return apply("zeros", shape=(product_of(sizes),), dtype=dtype)


def product_of(sizes: tuple[int, ...]) -> int:
    """How many elements a tensor of this shape has."""
    count = 1
    for size in sizes:
        count *= size
    return count


def scattered(g: Expr, rearranged: Callable[[Expr], Expr], x: Expr) -> Expr:
    """The cotangent of `x`, when `g` is that of `rearranged(x)`, whose elements are elements of `x`."""
    places = flattened(rearranged(numbered(x)))
    found = apply("scatter_elements", zeros_in_a_row(x), places, flattened(g), axis=0, reduction="add")
    return shaped_like(found, x)
