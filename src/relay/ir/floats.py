"""Floating-point numbers as text: the fewest digits that give the number back, the same with every NumPy."""

from typing import Any

import numpy as np

POSITIONAL_MIN, POSITIONAL_LIMIT = 1e-4, 1e16
"""Between these a number is written without an exponent, as Python does it."""


def shortest(value: Any) -> str:
    """A finite floating-point scalar with a point or an exponent: `1.5`, `100.0`, `1e-05`, `1e+20`."""
    number = float(value)
    if type(value) is np.float64:
        return repr(number)
    if type(value) in (np.float32, np.float16):
        if number == 0 or POSITIONAL_MIN <= abs(number) < POSITIONAL_LIMIT:
            return np.format_float_positional(value, unique=True, trim="0")
        return np.format_float_scientific(value, unique=True, trim="-", exp_digits=2)
    narrow: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    for digits in range(1, 10):
        rounded = float(f"{number:.{digits}g}")
        if float(narrow(rounded)) == number:
            return repr(rounded)
    return repr(number)
