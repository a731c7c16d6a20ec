"""Matrices in the block formats of GGUF files, which the operator `dequantize_blocks` reads."""

from typing import Any, NamedTuple, cast

import numpy as np

from relay.op.blocks.formats import FORMATS

Array = np.ndarray[Any, Any]

BYTES = {name: (f.size, f.bytes) for name, f in FORMATS.items()}
"""Of each format how many numbers a block has, and how many bytes."""


class Blocks(NamedTuple):
    """`(..., bytes)`, uint8, that stand for `(..., k)` numbers."""

    format: str
    data: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        numbers, size = BYTES[self.format]
        return (*self.data.shape[:-1], self.data.shape[-1] // size * numbers)

    def rows(self, index: Any) -> "Blocks":
        """Some of the rows, or one of a stack of matrices."""
        return Blocks(self.format, self.data[index])

    def numbers(self) -> Array:
        """The numbers, float32."""
        from relay.op.blocks.dequantize import DequantizeBlocks

        return np.asarray(
            DequantizeBlocks(format=cast("Any", self.format)).reference(np, self.data), "float32"
        )


def part_of(x: Any, index: Any) -> Any:
    """Some rows of a matrix, or a matrix of a stack, of an array or of `Blocks`."""
    return x.rows(index) if isinstance(x, Blocks) else x[index]


def numbers_of(x: Any) -> Array:
    """An array, or the numbers of `Blocks`."""
    return x.numbers() if isinstance(x, Blocks) else x
