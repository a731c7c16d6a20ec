"""Weights in one dtype, arithmetic in another."""

from typing import Any

from relay.ir.dtype import dtype_name, is_float
from relay.tracing.function import function
from relay.tracing.pytree import LEAF, flatten, unflatten


def cast(values: Any, dtype: str) -> Any:
    """A nested value of arrays or traced values, its floating-point tensors in another dtype.

    What else is in it stays as it is.  In a function that is differentiated, the gradient has the dtypes of
    `values`: weights stay in float32 while the network computes in float16 or bfloat16.
    """

    def made(values: Any) -> Any:
        parts, tree = flatten(values, lambda x, _: (_in(x, dtype), LEAF), "values")
        return unflatten(tree, parts, lambda x, _: x, lambda x, i: x[i])

    return function(made)(values)


def _in(x: Any, dtype: str) -> Any:
    return x.astype(dtype) if is_float(dtype_name(x.dtype)) else x
