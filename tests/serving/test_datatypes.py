"""Tensors from bytes."""

import numpy as np
import pytest

from relay.serving.datatypes import from_bytes


@pytest.mark.parametrize("begin", [0, 1, 4, 7])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8"])
def test_bytes_that_begin_anywhere_become_an_aligned_tensor(begin: int, dtype: str) -> None:
    x = np.arange(12).astype(dtype).reshape(3, 4)
    body = memoryview(bytes(begin) + x.tobytes())
    found = from_bytes(body[begin:], dtype, (3, 4), "x")
    assert found.flags.aligned
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x)


def test_no_bytes_are_an_empty_tensor() -> None:
    assert from_bytes(memoryview(b"x")[1:], "float32", (0, 4), "x").shape == (0, 4)
