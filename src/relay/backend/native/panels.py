"""Constant matrices as panels: strips of columns, each as wide as a tile, one after the other."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.ir.dtype import to_numpy
from relay.ir.expr import Constant


@dataclass(frozen=True)
class Panels:
    """A constant matrix in panels of `width` columns, the last one filled with zeros."""

    matrix: Constant
    turned: bool
    """Whether its rows are the columns of the product."""
    dtype: str
    width: int

    @property
    def value(self) -> Any:
        """The numbers, panel after panel, row after row."""
        matrix = self.matrix.value
        rows = (matrix.T if self.turned else matrix).astype(to_numpy(self.dtype))
        depth, columns = rows.shape
        count = -(-columns // self.width)
        whole = np.zeros((depth, count * self.width), rows.dtype)
        whole[:, :columns] = rows
        return np.ascontiguousarray(whole.reshape(depth, count, self.width).swapaxes(0, 1)).reshape(-1)
