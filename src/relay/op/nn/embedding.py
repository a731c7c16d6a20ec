"""Rows of a table by number: how tokens become vectors."""

from typing import Any

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.base import FLOATING, INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.numeric import apply, dims, scalar
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("nn.embedding")
class Embedding(Composite):
    """The rows of `weight` `(n, units)` at the `indices` `(...)`: `(..., units)`.

    An index outside the rows is an error (`index-out-of-range`).  The row `padding_idx`, if there is one, has
    no gradient.

    relay> nn.embedding([2, 0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    [[5.0, 6.0], [1.0, 2.0]]
    """

    padding_idx: int | None = None
    samples = (
        sample(_np.asarray([[0, 4], [2, 2]]), "5x3 float32"),
        sample(_np.asarray([1, 0], "int32"), "5x3 float64", padding_idx=3),
        sample(_np.int64(1), "2x3 float32"),
    )

    def infer(self, t: Typing, indices: Type, weight: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        t.dtype_in(weight, FLOATING, "the weight")
        _, units = t.shape(weight, 2, "the weight")
        return TensorType((*t.shape(indices), units), t.dtype(weight))

    def decompose(self, types: Any, indices: Expr, weight: Expr) -> Expr:
        rows = apply("take", weight, indices, axis=0, mode="fast")
        if self.padding_idx is None:
            return rows
        is_padding = apply("equal", indices, scalar(self.padding_idx, types[0].dtype))
        along = apply("expand_dims", is_padding, axis=len(dims(types[0])))
        return apply("where", along, apply("stop_gradient", rows), rows)
