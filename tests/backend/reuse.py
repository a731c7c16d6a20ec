"""What programs that reuse memory are asked: their most bytes of tensors, and whether values are equal."""

from typing import Any

import numpy as np

from relay.backend.native.host.context import read_leaf
from relay.backend.native.memory.layout import PEAK_BYTES_OFFSET

MEGABYTE = 1 << 20


def peak(built: Any) -> int:
    """The most bytes of tensors that calls have had at once."""
    return sum([read_leaf(at + PEAK_BYTES_OFFSET, "i64") for at in built.program.contexts.known])


def flat(x: Any) -> list[Any]:
    """The arrays of a value."""
    return [z for y in x for z in flat(y)] if isinstance(x, tuple) else [np.asarray(x)]


def assert_same(found: Any, expected: Any, where: str) -> None:
    """Equal but for rounding, which is of the greatest numbers that sums went through."""
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        tolerance = 2e-2 if a.dtype.itemsize < 4 and a.dtype.kind not in "iu" else 1e-4
        x, y = a.astype("float64"), b.astype("float64")
        scale = max(1.0, np.abs(y[np.isfinite(y)]).max(initial=0) / 100)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale, err_msg=where)
