"""What the derivative rules of contractions and windows share: base types that meet, and types that fit."""

from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, DType, Type
from relay.op.derivative import tensor_type
from relay.op.numeric import apply


def meeting(g: Expr, *xs: Expr) -> tuple[DType, tuple[Expr, ...]]:
    """A base type, and a cotangent and operands in it: the wider of theirs, if the result had another."""
    dtype, other = tensor_type(g).dtype, tensor_type(xs[0]).dtype
    if dtype == other:
        return dtype, (g, *xs)
    if isinstance(dtype, Type) or isinstance(other, Type):
        return other, (apply("cast_like", g, xs[0]), *xs)
    wide = "float64" if "float64" in (dtype, other) else "float32"
    return wide, tuple(
        [x if tensor_type(x).dtype == wide else apply("cast", x, dtype=wide) for x in (g, *xs)]
    )


def into(dtype: DType, x: Expr) -> dict[str, Any]:
    """The attribute of a contraction of tensors of base type `dtype` that gives one of that of `x`."""
    wanted = tensor_type(x).dtype
    return {} if wanted == dtype else {"out_dtype": wanted}


def fitted(d: Expr, shape: Sequence[Dim], x: Expr) -> Expr:
    """`d` with the type of `x`, which has as many elements; `shape` is what inference says of `d`."""
    return d if tuple(shape) == tensor_type(x).shape else apply("reshape_like", d, x)


def leading(d: Expr, shape: Sequence[Dim], x: Expr) -> Expr:
    """The part of `d` from the front that has the size of `x`; `shape` is what inference says of `d`."""
    known = ANY not in shape and tuple(shape) == tensor_type(x).shape
    return d if known else apply("slice_like", d, x)


def rows(x: Expr, rank: int) -> Expr:
    """A tensor as a matrix of the rows along its last axis."""
    return x if rank == 2 else apply("reverse_reshape", x, newshape=(-1, 0))
