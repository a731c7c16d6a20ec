"""Sums of products on NumPy: matrix products that are exact on integers and accumulate narrow floats in
float32.
"""

from typing import Any

import numpy

from relay.op.base import Array, Numpy
from relay.op.conversion import accumulator
from relay.op.numeric import narrow

EXACT = 2.0**53


def common_type(np: Numpy, dtype: Any, *operands: Array) -> Any:
    """The NumPy type to accumulate in: the widest of the operands' and the result's, narrow floats as
    float32.
    """
    return np.result_type(
        accumulator(np.zeros((), dtype)).dtype, *[accumulator(x[:0] if x.ndim else x).dtype for x in operands]
    )


def matmul(np: Numpy, a: Array, b: Array) -> Array:
    """`a @ b` of one type; integers go through float64, which is many times faster, where that is exact."""
    if np is numpy and a.dtype.kind in "iu" and a.size and b.size:
        bound = (
            float(np.abs(a.astype("float64")).max()) * float(np.abs(b.astype("float64")).max()) * a.shape[-1]
        )
        if bound < EXACT:
            return np.matmul(a.astype("float64"), b.astype("float64")).astype("int64").astype(a.dtype)
    return np.matmul(a, b)


def product(np: Numpy, a: Array, b: Array, dtype: Any) -> Array:
    """`a @ b` accumulated in `common_type`, in `dtype`."""
    acc = common_type(np, dtype, a, b)
    if np is not numpy:
        return narrow(np.matrix_product(a, b, acc), dtype)
    return narrow(matmul(np, a.astype(acc, copy=False), b.astype(acc, copy=False)), dtype)
