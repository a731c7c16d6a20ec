"""Buffers of what came last, for convolutions over time."""

from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.axes import axis_of
from relay.op.base import sample
from relay.op.composite import Composite
from relay.op.numeric import apply, dims
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("nn.fifo_buffer")
class FifoBuffer(Composite):
    """The buffer without its oldest elements along `axis`, and the data after the others: as long as before.

    relay> nn.fifo_buffer([[4, 5]], [[1, 2, 3]], axis=1)
    [[3, 4, 5]]
    """

    axis: int
    samples = (sample("2x1x3 float32", "2x4x3 float32", axis=1), sample("5 int32", "3 int32", axis=-1))

    def infer(self, t: Typing, data: Type, buffer: Type) -> Type:
        own, held = t.shape(data), t.shape(buffer)
        t.equal(t.dtype(data), t.dtype(buffer), why="data and buffer have one dtype")
        at = axis_of(t, self.axis, len(held), of="`buffer`")
        if len(own) != len(held):
            t.fail("rank-mismatch", f"data of rank {len(own)} do not fit a buffer of rank {len(held)}")
        for k, (a, b) in enumerate(zip(own, held, strict=True)):
            if k != at:
                t.equal(a, b, why="data and buffer agree on all axes but one")
        return t.tensor(buffer)

    def decompose(self, types: Any, data: Expr, buffer: Expr) -> Expr:
        axis = self.axis % len(dims(types[1]))
        both = apply("concatenate", (buffer, data), axis=axis)
        new = dims(types[0])[axis]
        if isinstance(new, int):
            last = 2**31 - 1
            return apply("strided_slice", both, begin=(new,), end=(last,), axes=(axis,))
        turned = apply("reverse", both, axis=axis)
        kept = apply("slice_like", turned, buffer, axes=(axis,))
        return apply("reverse", kept, axis=axis)
