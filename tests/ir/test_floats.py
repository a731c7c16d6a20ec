"""Floats as text give themselves back, with exponents where Python has them, whichever NumPy it is."""

import ml_dtypes
import numpy as np
import pytest

from relay.ir.floats import shortest

TYPES = [
    (np.float64, np.uint64),
    (np.float32, np.uint32),
    (np.float16, np.uint16),
    (ml_dtypes.bfloat16, np.uint16),
    (ml_dtypes.float8_e4m3fn, np.uint8),
    (ml_dtypes.float8_e5m2, np.uint8),
]


@pytest.mark.parametrize(("kind", "bits"), TYPES, ids=lambda t: t.__name__)
def test_random_bits_come_back(kind, bits):
    whole = np.random.default_rng(0).integers(0, np.iinfo(bits).max, 5000, dtype=bits, endpoint=True)
    for value in whole.view(kind):
        if np.isfinite(float(value)):
            text = shortest(value)
            assert kind(float(text)) == value, text
            assert "." in text or "e" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(3628800), "3628800.0"),
        (np.float16(1234), "1234.0"),
        (ml_dtypes.bfloat16(100), "100.0"),
        (np.float32(1 / 3), "0.33333334"),
        (np.float32(-0.0), "-0.0"),
        (np.float32(1e-5), "1e-05"),
        (np.float32(1e20), "1e+20"),
        (np.float64(1e15), "1000000000000000.0"),
    ],
)
def test_the_form_is_that_of_python(value, text):
    assert shortest(value) == text
