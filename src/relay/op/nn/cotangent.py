"""What the derivative rules of contractions and windows share: dtypes that meet, and types that fit."""

from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import Dim, DType
from relay.op.derivative import tensor_type
from relay.op.numeric import apply


def meeting(*xs: Expr, dtypes: Sequence[DType] = ()) -> tuple[DType, list[Expr]]:
    """A dtype, and the factors of a product in it: the widest of theirs.

    They differ where a contraction gave a result wider than its operands, and now its cotangent meets one.
    """
    found = dtypes or [tensor_type(x).dtype for x in xs]
    names = [d for d in found if isinstance(d, str)]
    if len(set(found)) == 1:
        return found[0], [*xs]
    if len(names) < len(found):
        like = next(x for x, d in zip(xs, found, strict=True) if not isinstance(d, str))
        return tensor_type(like).dtype, [
            apply("cast_like", x, like) if isinstance(d, str) else x for x, d in zip(xs, found, strict=True)
        ]
    wide = "float64" if "float64" in names else "float32"
    return wide, [x if d == wide else apply("cast", x, dtype=wide) for x, d in zip(xs, found, strict=True)]


def into(dtype: DType, wanted: DType) -> dict[str, Any]:
    """The attribute of a product of tensors of dtype `dtype` that gives one of dtype `wanted`."""
    return {} if wanted == dtype else {"out_dtype": wanted}


def reshaped_like(d: Expr, shape: Sequence[Dim], x: Expr) -> Expr:
    """`d` with the type of `x`, which has as many elements; `shape` is what inference says of `d`."""
    return d if tuple(shape) == tensor_type(x).shape else apply("reshape_like", d, x)


def rows(x: Expr, rank: int) -> Expr:
    """A tensor as a matrix of the rows along its last axis."""
    return x if rank == 2 else apply("reverse_reshape", x, newshape=(-1, 0))
