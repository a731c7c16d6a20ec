"""Cotangents of the weights of convolutions as products of matrices.

The rows are the taps and channels of the weight, the columns are filters, and what is summed are the places
of the result: blocks of what windows see there are moved together and transposed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.backend.native.kernels.block_shape import ROWS
from relay.backend.native.kernels.blocks import Blocks
from relay.backend.native.kernels.convolutions import Convolutions
from relay.backend.native.kernels.operands import Factor, First
from relay.backend.native.kernels.sums import Put, Sums
from relay.backend.native.kernels.tile import MAX_TILE_DEPTH, PACKED_PITCH
from relay.backend.native.kernels.windows import Windows
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.views import View
from relay.op.native import WindowProduct
from relay.op.nn.layout import SPATIAL
from relay.op.nn.loops import sum_type

WORK_PIECES = 4
"""Pieces of work that are enough: each goes through all places."""


def is_weight_product(c: WindowProduct) -> bool:
    """Whether the kernel computes the cotangent of a weight: there is one group, and channels come last."""
    axes = SPATIAL[len(c.strides)]
    layouts = f"N{axes}C", f"N{axes}C", f"{axes}IO"
    return c.groups == 1 and (c.data_layout, c.out_layout, c.kernel_layout) == layouts


@dataclass(frozen=True)
class Shaped:
    """A weight of which there is but the shape."""

    sizes: Sequence[Index]
    dtype: str


class WeightGradients(Sums):
    """A call that is the cotangent of a convolution's weight."""

    def __init__(
        self, b: Builder, c: WindowProduct, views: Sequence[Any], sizes: Sequence[Index], dtype: str
    ) -> None:
        """`sizes` and `dtype` are those of the weight."""
        self.grad: View = views[0]
        self.data: View = views[1]
        super().__init__(b, sizes, dtype, sum_type(dtype, self.grad.dtype, self.data.dtype))
        weight = Shaped(sizes, self.sums)
        self.forward = Convolutions(b, c, (self.data, weight), self.grad.sizes, self.sums)
        """The convolution itself, which knows what its windows see."""
        self.blocks = Blocks(b, self.sums, b.count(sizes[:-1]), b.count(self.grad.sizes[:-1]), sizes[-1])
        self.blocks.gather(WORK_PIECES)

    def write(self, out: View, put: Put | None) -> None:
        """Block by block."""
        assert self.grad.data is not None
        assert out.data is not None
        grad = Factor(self.grad.data, self.grad.dtype, is_transposed=False)
        self.blocks.allocate(None, grad)
        first, second = self.seen_by(self.forward.geometry()), self.blocks.pack_second(grad)
        tail = None if put is None else self.tail(out, (), self.sizes[:-1], put, self.blocks.unit)
        self.blocks.multiply(first, second, out.data, tail)

    def seen_by(self, geometry: Value) -> First:
        """Rows of what each tap sees of a channel at the places of a round."""
        b, blocks = self.b, self.blocks
        how = Windows(blocks.machine, self.data.dtype, blocks.dtype, is_spread=False)

        def first(r: Index, top: Index, rows: Index) -> Value:
            seen = b.stack(MAX_TILE_DEPTH * PACKED_PITCH * blocks.size)
            to = b.stack((ROWS + blocks.height) * PACKED_PITCH * blocks.size)
            begin = b.times(r, blocks.deep)
            places = b.smaller(blocks.deep, b.minus(blocks.depth, begin))

            def move() -> None:
                b.invoke(how, self.forward.data, seen, geometry, begin, places, top, rows)
                what = Factor(seen, self.sums, is_transposed=True)
                blocks.pack(what, self.sums, 0, PACKED_PITCH, to, PACKED_PITCH, (places, rows), 0)

            b.when(b.is_less(0, places), move)
            return to

        return first
