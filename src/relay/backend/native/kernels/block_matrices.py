"""Matrices of weights in blocks, or in groups with scales beside them, as kernels are given them."""

from collections.abc import Sequence
from typing import Any

from relay.backend.native.kernels.decoding import Decoding
from relay.backend.native.kernels.group_weights import GroupDecoding, Groups, Kept
from relay.backend.native.kernels.row_products import row_bytes
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.deferred import Deferred
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.views import View
from relay.op.blocks.dequantize import DequantizeBlocks, DequantizeGroups


class BlockMatrix:
    """A matrix in blocks or groups, a row for each column of a product."""

    call = None

    def __init__(self, views: Sequence[View], sizes: Sequence[Index], kept: Kept) -> None:
        """`views` are its bytes, and scales and zero points of groups; `sizes` are those of its numbers."""
        self.data, *self.beside = [data_of(v) for v in views]
        self.sizes = list(sizes)
        self.dtype = "float32"
        self.kept = kept

    def rows_beside(self, b: Builder, left: Index) -> list[Value | Index]:
        """Where the scales of groups are from a row on, the bytes from a row's to those of the next one, and
        the same of zero points; nothing for blocks.
        """
        if not isinstance(self.kept, Groups):
            return []
        depth = self.sizes[-1]
        scales, zeros = self.beside[0], self.beside[-1]
        first, second = self.kept.scale_bytes(b, depth), self.kept.zero_bytes(b, depth)
        at = b.address(scales, b.times(left, first)), b.address(zeros, b.times(left, second))
        return [at[0], first, at[1], second]

    def decode(self, b: Builder, first: Index, count: Index, to: Value) -> None:
        """Write the numbers of some rows, as float32."""
        depth = self.sizes[-1]
        pitch = row_bytes(b, self.kept, depth)
        if not isinstance(self.kept, Groups):
            how = Decoding(self.kept)
            blocks = b.times(count, b.quotient(depth, how.form.size))
            b.invoke(how, b.address(self.data, b.times(first, pitch)), blocks, to)
            return
        way, blocks = GroupDecoding(self.kept), b.quotient(depth, self.kept.size)

        def row(i: Index, _: Any) -> None:
            n = b.plus(first, i)
            scales, _, zeros, _ = self.rows_beside(b, n)
            place = b.address(to, b.times(b.times(i, depth), 4))
            b.invoke(way, b.address(self.data, b.times(n, pitch)), scales, zeros, blocks, place)

        b.loop(count, (), row)


def data_of(view: View) -> Value:
    """Where the elements of a tensor are."""
    assert view.data is not None
    return view.data


def as_kept(y: Any) -> Any:
    """The second operand of a product in the form in which it is kept, where it is decoded as it is read."""
    if not isinstance(y, Deferred):
        return y
    op: Any = y.call.attrs
    if isinstance(op, DequantizeBlocks):
        return BlockMatrix(y.views, y.sizes, op.format)
    if isinstance(op, DequantizeGroups):
        _, scale, *zero = y.views
        kept = Groups(op.bits, op.group, scale.dtype, zero[0].dtype if zero else "")
        return BlockMatrix(y.views, y.sizes, kept)
    return y.views[0]
