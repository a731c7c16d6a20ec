"""Values of XLA beside those of the interpreter."""

from typing import Any

import numpy as np

from relay.interpreter.value import ConstructorValue, FunctionValue, RefValue
from relay.ir.dtype import dtype_name, is_float


def assert_near(found: Any, wanted: Any) -> None:
    """Demand the same structure and types, and floating-point numbers that differ by rounding."""
    pairs = [(found, wanted)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(b, tuple):
            pairs += zip(a, b, strict=True)
        elif isinstance(b, ConstructorValue):
            assert a.constructor == b.constructor
            pairs += zip(a.fields, b.fields, strict=True)
        elif isinstance(b, RefValue):
            pairs.append((a.value, b.value))
        elif isinstance(b, FunctionValue | str):
            assert type(a) is type(b)
        else:
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if is_float(dtype_name(b.dtype)):
                np.testing.assert_allclose(np.float64(a), np.float64(b), rtol=2e-5, atol=2e-5)
            else:
                np.testing.assert_array_equal(a, b)
