"""Products of arrays."""

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from relay.numpy import dtypes
from relay.numpy.call import AnyArray, array, axis_of, call, common
from relay.numpy.manipulation import matrix_transpose, moveaxis

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Any, x2: Any, /) -> AnyArray:
    """The products of stacks of matrices, which broadcast; a vector is a row before them, a column behind."""
    a, b = _numbers(x1, x2)
    return call("nn.matmul", a, b)


def _numbers(x1: Any, x2: Any) -> list[AnyArray]:
    found = common(array(x1), array(x2))
    if found[0].dtype == dtypes.bool:
        raise TypeError("products are of numbers, not of truth values")
    return found


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> AnyArray:
    """The sums of the products of elements along an axis, counted from the end, of arrays that broadcast."""
    a, b = _numbers(x1, x2)
    for x in (a, b):
        if not -x.ndim <= axis < 0:
            raise IndexError(f"an axis of vecdot is from {-x.ndim} to -1, not {axis}")
    a, b = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    if a.shape[-1] != b.shape[-1] and isinstance(a.shape[-1], int) and isinstance(b.shape[-1], int):
        raise ValueError(f"vectors of {a.shape[-1]} and {b.shape[-1]} elements have no product")
    product = call("multiply", a, b)
    return call("sum", product, axis=(product.ndim - 1,))


def tensordot(x1: Any, x2: Any, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> AnyArray:
    """The sums of products along axes of both arrays: the last ones of the first and the first of the second,
    as many as `axes` says, or those that it names.
    """
    a, b = _numbers(x1, x2)
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ValueError(f"arrays of rank {a.ndim} and {b.ndim} have no {axes} axes in common")
        of_a, of_b = range(a.ndim - axes, a.ndim), range(axes)
    else:
        of_a, of_b = ([axis_of(i, x.ndim) for i in given] for given, x in zip(axes, (a, b), strict=True))
    if [a.shape[i] for i in of_a] != [b.shape[i] for i in of_b]:
        raise ValueError("the axes that are summed differ in size")
    letters = iter(ascii_letters)
    left = [next(letters) for _ in range(a.ndim)]
    right = [next(letters) for _ in range(b.ndim)]
    for i, j in zip(of_a, of_b, strict=True):
        right[j] = left[i]
    kept = [x for i, x in enumerate(left) if i not in of_a] + [
        x for j, x in enumerate(right) if j not in of_b
    ]
    return call("einsum", (a, b), equation=f"{''.join(left)},{''.join(right)}->{''.join(kept)}")
