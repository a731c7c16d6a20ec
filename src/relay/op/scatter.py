"""Updates of a tensor at indexed places."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy

from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import as_index, axis_of, check_indices, placed_index
from relay.op.base import ANY_NUMBER, INTEGRAL, Array, Numpy, Operator, sample
from relay.op.batching import axis_moved, row_numbers, row_rank, shifted, stretched
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import const_like, tensor_type, times, written, zeros_like
from relay.op.index import coordinates_of, indices_along, place_along
from relay.op.kind import Derivative, Wide
from relay.op.native import Loops, Output, View
from relay.op.numeric import apply, index_numbers
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.scattering import numbered
from relay.op.traced import accumulated, overwritten

Reduction = Literal["update", "add", "mul", "min", "max"]


class Scatter(Operator):
    """`data` with updates combined into it; where an element is updated twice with `"update"`, the last
    stays.
    """

    wide = Wide.STATE
    derivative = Derivative.RULES

    def picked(self, x: Expr, indices: Expr) -> Expr:
        """The elements of `x` at the indices, in the shape of the updates."""
        raise AssertionError(f"{self.name} does not say how it picks")

    def put(self, data: Expr, indices: Expr, updates: Expr, how: Reduction) -> Expr:
        """The scatter with another reduction."""
        raise AssertionError(f"{self.name} does not say how it puts")

    @property
    def how(self) -> Reduction:
        """How updates are combined into the tensor."""
        raise AssertionError(f"{self.name} does not say how it combines")

    def vjp(self, g: Expr, y: Expr, data: Expr, indices: Expr, updates: Expr) -> tuple[Expr | None, ...]:
        back = self.picked(g, indices)
        if self.how == "add":
            return g, None, back
        kept, taken = self.weights(y, data, indices, updates)
        return times(g, kept), None, times(back, taken)

    def jvp(self, dxs: Sequence[Any], y: Expr, data: Expr, indices: Expr, updates: Expr) -> Expr:
        change, _, more = (written(d, x) for d, x in zip(dxs, (data, indices, updates), strict=True))
        if self.how != "add":
            kept, taken = self.weights(y, data, indices, updates)
            change, more = times(change, kept), times(more, taken)
        return self.put(change, indices, more, "add")

    def weights(self, y: Expr, data: Expr, indices: Expr, updates: Expr) -> tuple[Expr, Expr]:
        """The derivatives of what is there in the end by the element of the tensor, and by each update."""
        match self.how:
            case "update":
                return self.last_one(data, indices, updates)
            case "mul":
                return self.factors(data, indices, updates)
            case _:
                return self.extremes(y, data, indices, updates)

    def last_one(self, data: Expr, indices: Expr, updates: Expr) -> tuple[Expr, Expr]:
        """Of several updates of an element the last one counts alone."""
        untouched = self.put(apply("ones_like", data), indices, zeros_like(updates), "update")
        numbers = numbered(updates)
        winners = self.put(zeros_like(apply("cast", data, dtype="int64")), indices, numbers, "update")
        won = apply("equal", self.picked(winners, indices), numbers)
        return untouched, apply("cast_like", won, updates)

    def factors(self, data: Expr, indices: Expr, updates: Expr) -> tuple[Expr, Expr]:
        """The product of all other factors, by the number of those that are 0."""
        zero = apply("equal", updates, const_like(0, updates))
        gone = apply("cast_like", zero, updates)
        product = self.put(apply("ones_like", data), indices, updates, "mul")
        safe = apply("where", zero, const_like(1, updates), updates)
        others = times(data, self.put(apply("ones_like", data), indices, safe, "mul"))
        zeros = self.put(zeros_like(data), indices, gone, "add")
        alone = apply("equal", apply("subtract", self.picked(zeros, indices), gone), const_like(0, updates))
        by_update = apply("divide", self.picked(others, indices), safe)
        return product, apply("where", alone, by_update, const_like(0, updates))

    def extremes(self, y: Expr, data: Expr, indices: Expr, updates: Expr) -> tuple[Expr, Expr]:
        """All that equal the extreme share the derivative evenly, as in PyTorch."""
        stays = apply("cast_like", apply("equal", data, y), data)
        equal = apply("cast_like", apply("equal", updates, self.picked(y, indices)), updates)
        count = self.put(stays, indices, equal, "add")
        return apply("divide", stays, count), apply("divide", equal, self.picked(count, indices))

    def check_dtype(self, t: Typing, operand: Type) -> None:
        """Strings can be put in place of others, and that is all."""
        if self.how != "update":
            t.dtype_in(operand, ANY_NUMBER)

    def combined(self, np: Numpy, data: Array, at: Any, updates: Array, how: Reduction) -> Array:
        """A copy of `data` with `updates` at the places `at`."""
        if how == "update":
            return overwritten(np, np.array(data), at, updates)
        return accumulated(np, np.array(accumulator(data)), at, accumulator(updates), how).astype(data.dtype)

    def scattered(
        self, b: Loops, out: Output, data: View, updates: View, place: Callable[[Sequence[Any]], Any]
    ) -> None:
        """A copy of `data`, in which each update is combined with what is at its place."""
        dtype = data.dtype if self.how == "update" else accumulator_name(data.dtype)
        room: Output = out if dtype == data.dtype else b.room(dtype, data.sizes)

        def one(index: Sequence[Any]) -> None:
            at = place(index)
            x = b.cast(updates.at(index), dtype)
            room.put(at, x if self.how == "update" else combined(b, self.how, room.at(at), x))

        b.begin_as(room, data, None if room is out else lambda x: b.cast(x, dtype))
        b.nest(updates.sizes, one)
        if room is not out:
            b.nest(data.sizes, lambda index: out.put(index, b.cast(room.at(index), data.dtype)))


@operator("scatter_elements")
class ScatterElements(Scatter):
    """`data` with `updates[i, j, …]` at `[i, …, indices[i, j, …], …]`, the index along `axis`: the inverse of
    `gather`.

    relay> scatter_elements([1, 2, 3], [2, 0], [30, 10], axis=0)
    [10, 2, 30]
    """

    batch = shifted
    samples = (
        sample("3x4 float32", numpy.array([[0, 3], [1, -1]]), "2x2 float32", axis=1, reduction="add"),
        sample("3 int4", numpy.array([2, 0, 2]), "3 int4"),
        sample("3x4 bool", "0x4 int64", "0x4 bool"),
        *[
            sample("5 bfloat16", numpy.array([2, 2]), "2 bfloat16", reduction=r)
            for r in ("update", "mul", "min", "max")
        ],
    )

    axis: int = 0
    reduction: Reduction = "update"

    def infer(self, t: Typing, x: Type, indices: Type, updates: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        dims = t.shape(x)
        places = t.shape(indices, rank=len(dims), what="the indices")
        at = axis_of(t, self.axis, len(dims), of="`data`")
        t.equal(
            updates,
            TensorType(places, t.dtype(x)),
            why="there is an update for each index, of the dtype of the data",
        )
        for i, (p, d) in enumerate(zip(places, dims, strict=True)):
            if i != at:
                t.require(p, "<=", d, f"the indices cover at most axis {i} of the data")
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, indices: Array, updates: Array) -> Array:
        at = indices_along(np, as_index(np, indices), data.shape, self.axis % data.ndim)
        return self.combined(np, data, at, updates, self.reduction)

    @property
    def how(self) -> Reduction:
        return self.reduction

    def picked(self, x: Expr, indices: Expr) -> Expr:
        return apply("gather", x, self.axis, indices)

    def put(self, data: Expr, indices: Expr, updates: Expr, how: Reduction) -> Expr:
        return replace(self, reduction=how)(data, indices, updates)

    def compute(self, b: Loops, out: Output, data: View, indices: View, updates: View) -> None:
        """Each update goes to its index along the axis."""

        def place(index: Sequence[Any]) -> Any:
            return place_along(b, index, indices.at(index), self.axis, data)

        self.scattered(b, out, data, updates, place)


@operator("scatter_nd")
class ScatterND(Scatter):
    """`data` with updates at points, whose coordinates the first axis of the indices holds: the inverse of
    `gather_nd`.

    relay> scatter_nd([1, 2, 3], [[0, 2]], [10, 30], mode="add")
    [11, 2, 33]
    """

    samples = (
        sample("3x4 float32", numpy.array([[0, 2], [3, -1]]), "2 float32"),
        sample("3x4 int4", numpy.array([[2, 2]]), "2x4 int4", mode="add"),
        *[sample("5 bfloat16", numpy.array([[2, 2]]), "2 bfloat16", mode=m) for m in ("mul", "min", "max")],
    )

    mode: Reduction = "update"

    def infer(self, t: Typing, x: Type, indices: Type, updates: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        dims, places = t.shape(x), t.shape(indices)
        depth = coordinates_of(t, places, None)
        if depth > len(dims):
            t.fail("rank-mismatch", f"points of {depth} coordinates in a tensor of rank {len(dims)}")
        t.equal(
            updates,
            TensorType((*places[1:], *dims[depth:]), t.dtype(x)),
            why="there is an update for each point",
        )
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, indices: Array, updates: Array) -> Array:
        at = tuple([check_indices(np, p, data.shape[i]) for i, p in enumerate(as_index(np, indices))])
        return self.combined(np, data, at, updates, self.mode)

    @property
    def how(self) -> Reduction:
        return self.mode

    def picked(self, x: Expr, indices: Expr) -> Expr:
        return apply("gather_nd", x, indices)

    def put(self, data: Expr, indices: Expr, updates: Expr, how: Reduction) -> Expr:
        return replace(self, mode=how)(data, indices, updates)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, indices: Expr, updates: Expr) -> Expr:
        rank = row_rank(indices, which[1])
        every_row = axis_moved(stretched(n, indices, which[1]), rank + 1, 0, 1)
        points = index_numbers(every_row, tensor_type(indices).dtype)
        front = apply("expand_dims", row_numbers(n, rank - 1), axis=0)
        first = apply("strided_slice", points, begin=(0,), end=(1,))
        numbers = apply("broadcast_to_like", front, first)
        every = [stretched(n, x, w) for x, w in ((data, which[0]), (updates, which[2]))]
        return self(every[0], apply("concatenate", (numbers, points)), every[1])

    def compute(self, b: Loops, out: Output, data: View, indices: View, updates: View) -> None:
        """Each update goes to its point."""
        count = len(indices.sizes) - 1
        depth = len(data.sizes) - (len(updates.sizes) - count)

        def place(index: Sequence[Any]) -> Any:
            point = [placed_index(b, indices.at([i, *index[:count]]), data.sizes[i]) for i in range(depth)]
            return [*point, *index[count:]]

        self.scattered(b, out, data, updates, place)


def combined(b: Loops, how: Reduction, x: Any, y: Any) -> Any:
    """Two numbers combined; NaN stays."""
    match how:
        case "add":
            return b.add(x, y)
        case "mul":
            return b.multiply(x, y)
        case "min" | "max":
            better = b.compare("lt" if how == "min" else "gt", x, y)
            keeps = b.bits("or", better, b.compare("ne", x, x))
            return b.select(keeps, x, y)
        case "update":
            return y
