"""Matrices that are mostly zero, kept by rows of blocks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def in_block_rows(matrix: Any, block: Sequence[int], least: float) -> Mapping[str, Any] | None:
    """The blocks `(rows, columns)` of a matrix that have numbers other than 0, as `data` `(n, rows, columns)`
    with their columns, `indices`, and where each row of blocks begins, `indptr`, int32.

    None if less than the share `least` of its elements is 0, or if blocks do not divide it.
    """
    (rows, columns), (height, width) = matrix.shape, block
    if np.mean(matrix == 0) < least or rows % height or columns % width:
        return None
    blocks = matrix.reshape(rows // height, height, columns // width, width).swapaxes(1, 2)
    is_kept = (blocks != 0).any(axis=(2, 3))
    starts = np.concatenate([[0], np.cumsum(is_kept.sum(axis=1))])
    return {
        "data": blocks[is_kept],
        "indices": np.nonzero(is_kept)[1].astype("int32"),
        "indptr": starts.astype("int32"),
    }
