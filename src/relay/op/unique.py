"""The distinct elements of a vector."""

from collections.abc import Sequence
from typing import Any

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import ANY, TensorType, TupleType, Type
from relay.op.base import ORDERED, Array, Numpy, Operator, sample
from relay.op.conversion import accumulator
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, narrow
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.sort import scatter_cotangent
from relay.op.sorting import is_before, ordering
from relay.op.traced import DECIDES, on_host


@operator("unique")
class Unique(Operator):
    """The distinct elements of a vector: `(unique, indices, inverse_indices, num_unique)`, int32 but
    the first.

    `indices` says where each occurs first, `inverse_indices` which of them each element is;
    `return_counts` adds
    how often each occurs.  They ascend, or come in the order they occur without `is_sorted`.

    relay> unique([4, 2, 4])
    ([2, 4], [1, 0], [1, 0, 1], [2])
    """

    is_sorted: bool = True
    return_counts: bool = False
    dtypes = ORDERED
    derivative = Derivative.RULES
    samples = (
        sample(_np.asarray([4, 2, 4, 1])),
        sample(_np.asarray([4, 2, 4]), is_sorted=False),
        sample("4 float64", is_sorted=False),
        sample("0 int32", return_counts=True),
    )

    def result_count(self, operands: Sequence[Any]) -> int | None:
        return 5 if self.return_counts else 4

    def infer(self, t: Typing, data: Type) -> Type:
        (n,) = t.shape(data, 1, "the data")
        found = TensorType((ANY,), "int32")
        parts = [
            TensorType((ANY,), t.dtype(data)),
            found,
            TensorType((n,), "int32"),
            TensorType((1,), "int32"),
        ]
        return TupleType([*parts, found] if self.return_counts else parts)

    def reference(self, np: Numpy, data: Array) -> Any:
        on_host(np, DECIDES)
        values, first, inverse, counts = np.unique(
            accumulator(data), return_index=True, return_inverse=True, return_counts=True
        )
        if not self.is_sorted:
            by_place = np.argsort(first)
            rank = np.argsort(by_place)
            values, first, counts = values[by_place], first[by_place], counts[by_place]
            inverse = rank[inverse]
        parts = [first, inverse, np.asarray([len(values)]), *([counts] if self.return_counts else [])]
        return (narrow(values, data.dtype), *[narrow(p.reshape(-1), "int32") for p in parts])

    def vjp(self, g: Any, y: Any, data: Expr) -> tuple[Expr, ...]:
        return (scatter_cotangent(g[0], 0, y[1], data),)

    def jvp(self, dxs: Sequence[Any], y: Any, data: Expr) -> Any:
        return apply("gather", dxs[0], 0, y[1]), *(None,) * (len(y) - 1)

    def extent(self, b: Loops, data: View) -> Any:
        """As many as there are steps upwards in order."""
        n = data.sizes[0]
        count = self.grouped(b, data, b.room("int64", [n]), b.room("int64", [n]), b.room("int64", [n]))
        return [[count], [count], [n], [1], *([[count]] if self.return_counts else [])]

    def grouped(self, b: Loops, data: View, group: Output, first: Output, tally: Output) -> Index:
        """Number the groups of equal elements in order: of each place, the first of each, how many."""
        n = data.sizes[0]
        room, ordered = ordering(b, data.dtype, n, n, True)
        begin = ordered(lambda i: data.at([i]))
        one = b.const(1, "int64")

        def step(k: Index, totals: Sequence[Any]) -> Sequence[Any]:
            place = room.at([b.plus(begin, k)])
            before = b.as_index(room.at([b.plus(begin, b.larger(b.minus(k, 1), 0))]))
            here = b.as_index(place)
            rises = is_before(b, data.at([before]), data.at([here]), True)
            is_new = b.bits("or", b.is_same(k, 0), rises)
            count = b.add(totals[0], b.cast(is_new, "int64"))
            number = b.as_index(b.subtract(count, one))

            def begins() -> None:
                first.put([number], place)
                tally.put([number], b.const(0, "int64"))

            b.when(is_new, begins)
            tally.put([number], b.add(tally.at([number]), one))
            group.put([here], b.subtract(count, one))
            return [count]

        return b.as_index(b.loop(n, [b.const(0, "int64")], step)[0])

    def compute(self, b: Loops, out: Sequence[Output], data: View) -> None:
        """Each group when its first element comes."""
        values, indices, inverse, total, *counts = out
        n = data.sizes[0]
        group, first, tally, number = (b.room("int64", [n]) for _ in range(4))
        self.grouped(b, data, group, first, tally)

        def step(i: Index, totals: Sequence[Any]) -> Sequence[Any]:
            g = b.as_index(group.at([i]))
            is_first = b.is_same(b.as_index(first.at([g])), i)

            def emit() -> None:
                new = group.at([i]) if self.is_sorted else totals[0]
                at = [b.as_index(new)]
                number.put([g], new)
                values.put(at, data.at([i]))
                indices.put(at, b.as_number(i, "int32"))
                for c in counts:
                    c.put(at, b.cast(tally.at([g]), "int32"))

            b.when(is_first, emit)
            inverse.put([i], b.cast(number.at([g]), "int32"))
            return [b.add(totals[0], b.cast(is_first, "int64"))]

        found = b.loop(n, [b.const(0, "int64")], step)
        total.put([0], b.cast(found[0], "int32"))
