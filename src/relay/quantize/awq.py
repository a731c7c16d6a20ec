"""AWQ: channels that matter get a finer grid, by factors on their weights that inputs are divided by.

Source: Lin, Tang, Tang, Yang, Chen, Wang, Xiao, Dang, Gan and Han, 2024, "AWQ: activation-aware weight
quantization", equations 4 and 5.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.quantize.groups import Matrix, nearest, output_error

STRENGTHS = 20
"""Exponents that are tried, from 0 on, below 1."""
LEAST_MAGNITUDE = 1e-4
"""Magnitudes of inputs are held above this part of their mean."""


def awq_factors(
    weights: Sequence[Matrix], magnitudes: Matrix, products: Matrix, bits: int, size: int, symmetric: bool
) -> Any:
    """The factors `s`, float32 `(k,)`, for weights `(n, k)` that read one input.

    `s` is `magnitudes ** alpha`, the means of `|x|` by channel, scaled to have the geometric mean of its
    extremes at 1, for the `alpha` of the least error of `(x / s) @ rounded(w * s).T`.
    """
    magnitudes = np.maximum(magnitudes, max(float(magnitudes.mean()) * LEAST_MAGNITUDE, 1e-30))
    best, least = np.ones(len(magnitudes), "float32"), np.inf
    for step in range(STRENGTHS):
        s = magnitudes ** (step / STRENGTHS)
        s = (s / np.sqrt(s.max() * s.min())).astype("float32")
        error = 0.0
        for w in weights:
            found = nearest((w * s).astype("float32"), bits, size, symmetric).matrix() / s
            error += output_error(w, found, products)
        if error < least:
            best, least = s, error
    return best
