"""Indices as rows with one value that differs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from relay.ir.dtype import to_numpy
from relay.ir.expr import Expr, constant
from relay.ir.type import Dim, TensorType, Type
from relay.op.attribute import DTypeName, Size
from relay.op.axes import as_index, axis_of, check_sizes
from relay.op.base import ANY_NUMBER, INTEGRAL, Array, Numpy, Operator, sample
from relay.op.batching import behind_rows, by, row_rank, with_row_rank
from relay.op.conversion import converted
from relay.op.derivative import cast_back, const_like, masked, tensor_type
from relay.op.kind import Batching, Derivative, Fusion
from relay.op.native import Loops, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("one_hot")
class OneHot(Operator):
    """A new axis of size `depth` at `axis`, with `on_value` at the index and `off_value` elsewhere.

    An index outside 0 to `depth - 1` gives `off_value` throughout.

    relay> one_hot([2, 0], 1.0, 0.0, depth=3)
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    dynamic_form = "dyn.one_hot"
    fusion = Fusion.BROADCAST
    derivative = Derivative.RULES
    dtypes = ANY_NUMBER
    samples = (
        sample(numpy.array([2, 0, 5]), numpy.float32(1), numpy.float32(0), depth=3),
        sample(numpy.int32(1), numpy.int32(5), numpy.int32(-1), depth=2, dtype="int32"),
        sample(numpy.array([1, 0]), numpy.float32(1.5), numpy.int32(3), depth=2),
        sample("2x3 int64", "bool", "bool", depth=4, axis=0, dtype="bool"),
        sample("0 int8", numpy.float32(1), numpy.float32(0), depth=3, axis=1),
    )

    depth: Size
    axis: int = -1
    dtype: DTypeName = DTypeName("float32")

    def infer(self, t: Typing, indices: Type, on: Type, off: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        for value in (on, off):
            t.shape(value, rank=0, what="a value of `one_hot`")
            if not isinstance(t.dtype(value), str):
                t.equal(t.dtype(value), self.dtype)
        check_sizes(t, (self.depth,), "depth")
        shape = t.shape(indices)
        at = axis_of(t, self.axis, len(shape) + 1, of="the result")
        return TensorType((*shape[:at], self.depth, *shape[at:]), self.dtype)

    def reference(self, np: Numpy, indices: Array, on_value: Array, off_value: Array) -> Array:
        at = self.axis % (indices.ndim + 1)
        places = np.arange(self.depth).reshape((-1,) + (1,) * (indices.ndim - at))
        hit = np.expand_dims(as_index(np, indices), at) == places
        on, off = (converted(np, v, self.dtype) for v in (on_value, off_value))
        return np.where(hit, on, off).astype(to_numpy(self.dtype))

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], indices: Expr, *values: Expr) -> Expr:
        rank = row_rank(indices, which[0]) + 1
        shifted = replace(self, axis=behind_rows(self.axis, rank)) if which[0] else self
        if not any(which[1:]):
            return shifted(indices, *values)
        hit = replace(shifted, dtype=DTypeName("bool"))(indices, constant(True), constant(False))
        spread = [with_row_rank(v, rank) if w else v for v, w in zip(values, which[1:], strict=True)]
        return apply("where", hit, *[apply("cast", v, dtype=self.dtype) for v in spread])

    def vjp(self, g: Expr, y: Expr, indices: Expr, *values: Expr) -> tuple[Expr | None, ...]:
        hit = apply(
            "one_hot", indices, constant(True), constant(False), **self.attributes() | {"dtype": "bool"}
        )
        parts = (masked(hit, g), masked(apply("logical_not", hit), g))
        dtype = tensor_type(g).dtype
        return None, *[cast_back(apply("sum", d), v, dtype) for d, v in zip(parts, values, strict=True)]

    def jvp(self, dxs: Sequence[Any], y: Expr, *xs: Expr) -> Expr:
        on, off = (const_like(0, y) if d is None else d for d in dxs[1:])
        return self(xs[0], on, off)

    def element(self, b: Loops, index: Sequence[Any], indices: View, on_value: View, off_value: View) -> Any:
        """One value where the place is the index, the other elsewhere."""
        at = self.axis % len(index)
        wanted = b.as_index(indices.at([*index[:at], *index[at + 1 :]]))
        on, off = (b.cast(x.at(()), self.dtype) for x in (on_value, off_value))
        return b.select(b.is_same(wanted, index[at]), on, off)
