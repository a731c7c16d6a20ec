"""Which of some boxes are kept, best first, so that none overlaps a better one of its group too much."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.ir.dtype import dtype_name, to_numpy
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import as_index
from relay.op.base import BOOLEAN, FLOATING, INTEGRAL, Array, Numpy, Operator, sample
from relay.op.batching import all_stretched, by, merged, row_rank, row_shape, split, stretched
from relay.op.conversion import accumulator_name
from relay.op.kind import Batching, Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.traced import loop, may_hold, placed

BOXES = numpy.array(
    [
        [
            [0, 0, 1, 1],
            [0, 0.1, 1, 1.1],
            [0, -0.1, 1, 0.9],
            [0, 10, 1, 11],
            [0, 10.1, 1, 11.1],
            [0, 100, 1, 101],
        ]
    ],
    "float32",
)


def overlaps(np: Numpy, one: Array, others: Array) -> Array:
    """The area that boxes `(n, boxes, 4)` share with one, `(n, 4)`, as a part of the area that both cover."""
    one = one[:, None]
    low, high = (f(one, others) for f in (np.maximum, np.minimum))
    sides = np.maximum(high[..., 2:] - low[..., :2], 0)
    shared = sides[..., 0] * sides[..., 1]
    together = area(one) + area(others) - shared
    nothing = together <= 0
    return np.where(nothing, 0, shared / np.where(nothing, 1, together))


def area(x: Array) -> Array:
    """The area of boxes whose first corner is below the second."""
    return (x[..., 2] - x[..., 0]) * (x[..., 3] - x[..., 1])


@operator("vision.greedy_suppression")
class GreedySuppression(Operator):
    """Which boxes `(n, boxes, 4)` are kept, going through them in their order: `(n, boxes)`.

    A box is kept that is `alive`, as long as fewer than `limit` are (a negative limit is none), unless one
    that was kept before, of the same group, overlaps it by more than `iou_threshold` (or as much, with
    `inclusive`).  Corners may stand in any order.  The threshold and the limit are numbers, or `(n,)`.

    relay> vision.greedy_suppression(ones(shape=(1, 2, 4), dtype="float32"), [[0, 0]], [[True, True]], 0.5, 1)
    [[True, False]]
    """

    inclusive: bool = False
    derivative = Derivative.ZERO
    samples = (
        sample(
            BOXES, numpy.zeros((1, 6), "int32"), numpy.ones((1, 6), bool), numpy.float32(0.5), numpy.int32(9)
        ),
        sample("2x7x4 float32", "2x7 int32", "2x7 bool", numpy.float32(0.1), numpy.int64(3), inclusive=True),
        sample("2x5x4 float32", "2x5 int32", "2x5 bool", numpy.array([0.1, 0.3]), numpy.array([3, 1])),
        sample("1x0x4 float32", "1x0 int32", "1x0 bool", numpy.float32(0.1), numpy.int64(3)),
    )

    def infer(
        self, t: Typing, boxes: Type, groups: Type, alive: Type, iou_threshold: Type, limit: Type
    ) -> Type:
        t.dtype_in(boxes, FLOATING, "the boxes")
        t.dtype_in(groups, INTEGRAL, "the groups")
        t.dtype_in(alive, BOOLEAN, "`alive`")
        t.dtype_in(limit, INTEGRAL, "the limit")
        t.dtype_in(iou_threshold, FLOATING, "the threshold")
        n, count, four = t.shape(boxes, 3, "the boxes")
        t.equal(four, 4, why="a box has two corners")
        for x in (groups, alive):
            t.equal(t.shape(x, 2, "what is said of boxes"), (n, count), why="it is said of each box")
        for x in (iou_threshold, limit):
            if t.shape(x) != ():
                t.equal(t.shape(x), (n,), why="there is one for all boxes, or one for each of the `n`")
        return TensorType((n, count), "bool")

    def reference(
        self, np: Numpy, boxes: Array, groups: Array, alive: Array, iou_threshold: Array, limit: Array
    ) -> Array:
        x = boxes.astype(to_numpy(accumulator_name(dtype_name(boxes.dtype))))
        corners = np.concatenate([np.minimum(x[..., :2], x[..., 2:]), np.maximum(x[..., :2], x[..., 2:])], -1)
        rows, count = alive.shape
        limit = as_index(np, limit)
        most = np.broadcast_to(np.where(limit >= 0, limit, count), (rows,))
        edge = np.broadcast_to(iou_threshold.astype(x.dtype), (rows,))[:, None]
        places = numpy.arange(int(count))

        def step(i: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
            kept, taken = state
            stays = kept[:, i] & (taken < most)
            if not may_hold(np, stays):
                return placed(np, kept, (slice(None), i), stays), taken
            part = overlaps(np, corners[:, i], corners)
            over = part >= edge if self.inclusive else part > edge
            struck = stays[:, None] & over & (groups == groups[:, i, None]) & (places > i)
            kept = placed(np, kept, (slice(None), i), stays)
            return kept & ~struck, taken + stays

        return loop(np, count, step, (np.array(alive), np.zeros(rows, "int64")))[0]

    @by(Batching.FOLDED)
    def batch(
        self, n: Dim, which: Sequence[bool], boxes: Expr, groups: Expr, alive: Expr, *numbers: Expr
    ) -> Expr:
        whole = all_stretched(n, which[:3], (boxes, groups, alive))
        of_images = apply("any", whole[2], axis=2)

        def of_each(x: Expr, is_batched: bool) -> Expr:
            if row_rank(x, is_batched):
                return merged(stretched(n, x, is_batched))
            if not is_batched:
                return x
            return merged(apply("broadcast_to_like", apply("expand_dims", x, axis=1), of_images))

        rest = [of_each(x, w) for x, w in zip(numbers, which[3:], strict=True)]
        return split(self(*map(merged, whole), *rest), n, row_shape(boxes, which[0])[0])

    def extent(self, b: Loops, boxes: View, *rest: View) -> Sequence[Index]:
        """A truth value for each box."""
        return boxes.sizes[:2]

    def compute(
        self, b: Loops, out: Output, boxes: View, groups: View, alive: View, iou_threshold: View, limit: View
    ) -> None:
        """Each box that is kept strikes out those after it."""
        rows, count = boxes.sizes[:2]
        wide = accumulator_name(boxes.dtype)
        corners = b.room(wide, [*boxes.sizes[:2], 4])

        def ordered(index: Sequence[Index]) -> None:
            for k in range(2):
                x, y = (b.cast(boxes.at([*index, k + s]), wide) for s in (0, 2))
                below = b.compare("lt", y, x)
                corners.put([*index, k], b.select(below, y, x))
                corners.put([*index, k + 2], b.select(below, x, y))
            out.put(index, alive.at(index))

        def strike(row: Index, edge: Any, i: Index, j: Index) -> None:
            one, other = ([corners.at([row, at, k]) for k in range(4)] for at in (i, j))
            part = overlap(b, one, other)
            over = b.compare("ge" if self.inclusive else "gt", part, edge)
            same = b.compare("eq", groups.at([row, i]), groups.at([row, j]))
            b.when(b.both(over, same), lambda: out.put([row, j], b.const(False, "bool")))

        def through(row: Index) -> None:
            edge = b.cast(iou_threshold.at(b.spread([row], iou_threshold)), wide)
            most = b.as_number(b.as_index(limit.at(b.spread([row], limit))), "int64")
            most = b.select(b.compare("lt", most, b.const(0, most)), b.as_number(count, "int64"), most)

            def step(i: Index, totals: Sequence[Any]) -> Sequence[Any]:
                kept = b.both(out.at([row, i]), b.compare("lt", totals[0], most))
                out.put([row, i], kept)
                first = b.plus(i, 1)

                def later(index: Sequence[Index]) -> None:
                    j = b.plus(first, index[0])
                    b.when(out.at([row, j]), lambda: strike(row, edge, i, j))

                b.when(kept, lambda: b.nest([b.minus(count, first)], later))
                return [b.add(totals[0], b.cast(kept, "int64"))]

            b.loop(count, [b.const(0, "int64")], step)

        b.nest([rows, count], ordered)
        b.nest([rows], lambda index: through(index[0]))


def overlap(b: Loops, one: Sequence[Any], other: Sequence[Any]) -> Any:
    """`overlaps` of two boxes."""
    zero = b.const(0, one[0])

    def larger(x: Any, y: Any) -> Any:
        return b.select(b.compare("lt", x, y), y, x)

    def smaller(x: Any, y: Any) -> Any:
        return b.select(b.compare("lt", y, x), y, x)

    sides = [
        larger(b.subtract(smaller(one[k + 2], other[k + 2]), larger(one[k], other[k])), zero)
        for k in range(2)
    ]
    shared = b.multiply(*sides)
    sizes = [b.multiply(b.subtract(x[2], x[0]), b.subtract(x[3], x[1])) for x in (one, other)]
    together = b.subtract(b.add(*sizes), shared)
    nothing = b.compare("le", together, zero)
    return b.select(nothing, zero, b.divide(shared, b.select(nothing, b.const(1, zero), together)))
