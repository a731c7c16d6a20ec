"""Elements by index: gathering them, and scattering others into their places."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from relay.ir.expr import Expr, constant
from relay.ir.type import ANY, Dim, TensorType, Type
from relay.op.axes import as_index, attribute_fault, axis_of, check_indices, placed_index
from relay.op.base import BOOLEAN, INTEGRAL, NUMERIC, Array, Numpy, Operator, sample
from relay.op.batching import aligned, axis_moved, row_numbers, row_rank, row_shape, shifted, stretched
from relay.op.conversion import wide
from relay.op.derivative import rank_of, tensor_type, total, zeros_like
from relay.op.family import Injective
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, dims, index_numbers
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement
from relay.op.traced import DECIDES, on_host, overwritten


@operator("gather")
class Gather(Rearrangement):
    """Element `[i, …, indices[i, j, …], …]` of `data`, the index along `axis`, in the shape of the indices.

    Indices count from the end when negative, and must lie within the axis (`index-out-of-range`).

    relay> gather([[1, 2], [3, 4]], [[0, 0], [1, 0]], axis=1)
    [[1, 1], [4, 3]]
    """

    rereads = True
    builder_order = ("data", "axis", "indices")
    batch = shifted
    samples = (
        sample("3x4 float32", numpy.array([[0, 3, -1], [1, 1, 2]]), axis=1),
        sample("3 int4", numpy.array([2, 0, 1, 1], "int32"), axis=0),
        sample("3x4 bool", "0x4 int64", axis=0),
    )

    axis: int

    def infer(self, t: Typing, x: Type, indices: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        dims = t.shape(x)
        places = t.shape(indices, rank=len(dims), what="the indices")
        at = axis_of(t, self.axis, len(dims), of="`data`")
        for i, (p, d) in enumerate(zip(places, dims, strict=True)):
            if i != at:
                t.require(p, "<=", d, f"the indices cover at most axis {i} of the data")
        return TensorType(places, t.dtype(x))

    def reference(self, np: Numpy, data: Array, indices: Array) -> Array:
        return data[indices_along(np, as_index(np, indices), data.shape, self.axis % data.ndim)]

    def transpose(self, g: Expr, data: Expr, indices: Expr) -> tuple[Expr | None, ...]:
        zeros = zeros_like(data)
        return apply("scatter_elements", zeros, indices, g, axis=self.axis, reduction="add"), None

    def element(self, b: Loops, index: Sequence[Any], data: View, indices: View) -> Any:
        """The element at the index that stands there."""
        return data.at(place_along(b, index, indices.at(index), self.axis, data))


def indices_along(np: Numpy, indices: Array, shape: Sequence[int], axis: int) -> tuple[Array, ...]:
    """A full index: `indices` along `axis`, each place itself along the others."""
    found = check_indices(np, indices, shape[axis])
    grid = numpy.ogrid[tuple([slice(d) for d in indices.shape])]
    return tuple([found if i == axis else g for i, g in enumerate(grid)])


@operator("gather_nd")
class GatherND(Rearrangement):
    """The parts of `data` at points; the first axis of the indices holds the coordinates of each point.

    The first `batch_dims` axes of the data and of the points go together; `index_rank` says how many
    coordinates there are where the indices' shape does not.  Coordinates must lie within their axes
    (`index-out-of-range`).

    relay> gather_nd([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    [2, 3]
    """

    rereads = True
    samples = (
        sample("3x4 float32", numpy.array([[0, 2, 1], [3, -1, 0]])),
        sample("3x4 int4", numpy.array([[2, 0]])),
        sample("2x3x4 float32", numpy.array([[[0, 2, 1], [1, 1, 0]]]), batch_dims=1),
        sample("3 bool", "1x0 int64"),
    )

    batch_dims: int = 0
    index_rank: int | None = None

    def infer(self, t: Typing, x: Type, indices: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        dims, places = t.shape(x), t.shape(indices)
        depth = coordinates_of(t, places, self.index_rank)
        batch = self.batch_dims
        if not 0 <= batch < len(places) or batch + depth > len(dims):
            attribute_fault(
                t, "batch_dims", batch, f"the data has rank {len(dims)}, a point {depth} coordinates"
            )
        for a, b in zip(dims[:batch], places[1:], strict=False):
            t.equal(a, b, why="the batch axes of data and indices go together")
        return TensorType((*places[1:], *dims[batch + depth :]), t.dtype(x))

    def reference(self, np: Numpy, data: Array, indices: Array) -> Array:
        points, batch = as_index(np, indices), self.batch_dims
        grid = numpy.ogrid[tuple([slice(d) for d in points.shape[1:]])]
        coordinates = [check_indices(np, p, data.shape[batch + i]) for i, p in enumerate(points)]
        at = (*grid[:batch], *coordinates)
        return data[at] if at else np.broadcast_to(data, (*points.shape[1:], *data.shape))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, indices: Expr) -> Expr:
        count, shared = row_rank(indices, which[1]), self.batch_dims
        points = axis_moved(stretched(n, indices, which[1]), count + 1, 0, 1 if which[0] else shared + 1)
        if which[0]:
            return replace(self, batch_dims=shared + 1)(data, points)
        found = self(data, points)
        return axis_moved(found, self.result_rank(data, indices, which) + 1, shared, 0)

    def result_rank(self, data: Expr, indices: Expr, which: Sequence[Any]) -> int:
        """The rank of the result of a row."""
        sizes = row_shape(indices, which[1])
        depth = sizes[0] if isinstance(sizes[0], int) else self.index_rank
        assert isinstance(depth, int)
        return len(sizes) - 1 + row_rank(data, which[0]) - self.batch_dims - depth

    def transpose(self, g: Expr, data: Expr, indices: Expr) -> tuple[Expr | None, ...]:
        depth = rank_of(data) - self.batch_dims - (rank_of(g) - (rank_of(indices) - 1))
        if depth == 0:
            axes = tuple(range(self.batch_dims, rank_of(indices) - 1))
            return apply("sum", g, axis=axes) if axes else g, None
        points = indices
        if self.batch_dims or not isinstance(dims(tensor_type(indices))[0], int):
            wide = index_numbers(indices, tensor_type(indices).dtype)
            rows = [apply("take", wide, constant(i), axis=0) for i in range(depth)]
            points = apply("stack", (*axis_positions(rows[0], self.batch_dims), *rows))
        return apply("scatter_nd", zeros_like(data), points, g, mode="add"), None

    def element(self, b: Loops, index: Sequence[Any], data: View, indices: View) -> Any:
        """The element at a point."""
        batch, count = self.batch_dims, len(indices.sizes) - 1
        depth = len(data.sizes) - batch - (len(index) - count)
        point = [
            placed_index(b, indices.at([i, *index[:count]]), data.sizes[batch + i]) for i in range(depth)
        ]
        return data.at([*index[:batch], *point, *index[count:]])


def axis_positions(x: Expr, count: int) -> list[Expr]:
    """For each of the first axes of `x`, of integers, a tensor of its shape with the places along it."""
    ones = apply("ones_like", x)
    return [apply("cumsum", ones, axis=i, exclusive=True) for i in range(count)]


def coordinates_of(t: Typing, places: Sequence[Dim], index_rank: int | None) -> int:
    """How many coordinates a point has: the size of the first axis of the indices."""
    if not places:
        t.fail("rank-mismatch", "the indices need an axis of coordinates", hint="their rank is 1 or more")
    depth = t.static(t.settled(places[0]) if index_rank is None else places[0])
    if depth is None and index_rank is None:
        t.fail("missing-attribute", "how many coordinates a point has is not known", hint="give index_rank=…")
    if index_rank is not None:
        t.equal(places[0], index_rank, why="`index_rank` is the number of coordinates")
    return index_rank if depth is None and index_rank is not None else depth or 0


@operator("adv_index")
class AdvIndex(Injective):
    """The first tensor of a tuple at the indices in the others, which broadcast; as `x[i, j]` in NumPy.

    relay> adv_index(([[1, 2], [3, 4]], [0, 1], [1, 1]))
    [2, 4]
    """

    rereads = True
    derivative = Derivative.TRANSPOSE
    samples = (
        sample(("3x4 float32", numpy.array([0, 2, -1]))),
        sample(("3 bool", numpy.int64(1))),
        sample(("3x4x2 int4", numpy.array([[0], [2]]), numpy.array([1, 3, 0]))),
    )

    def infer(self, t: Typing, inputs: Type) -> Type:
        fields = t.fields(inputs)
        if not fields:
            t.fail("empty-tuple", "the tuple has no tensors", hint="give the tensor and its indices")
        dims = t.shape(fields[0])
        if len(fields) - 1 > len(dims):
            t.fail("rank-mismatch", f"{len(fields) - 1} indices into a tensor of rank {len(dims)}")
        for f in fields[1:]:
            t.dtype_in(f, INTEGRAL, "an index")
        places = t.broadcast(*[t.shape(f) for f in fields[1:]]) if fields[1:] else ()
        return TensorType((*places, *dims[len(fields) - 1 :]), t.dtype(fields[0]))

    def reference(self, np: Numpy, inputs: tuple[Array, ...]) -> Array:
        x, *indices = inputs
        return np.asarray(x)[
            tuple([check_indices(np, as_index(np, i), d) for i, d in zip(indices, x.shape, strict=False)])
        ]

    def batch(self, n: Dim, which: Sequence[Any], inputs: tuple[Expr, ...]) -> Expr:
        (data, *indices), (is_batched, *others) = inputs, which[0]
        if not indices:
            return data
        rows = aligned(others, indices)
        if is_batched:
            rank = max([row_rank(x, w) for x, w in zip(indices, others, strict=True)])
            rows.insert(0, row_numbers(n, rank))
        return self((data, *rows))

    def transpose(self, g: Expr, inputs: tuple[Expr, ...]) -> tuple[tuple[Expr | None, ...]]:
        data, *indices = inputs
        if not indices:
            return ((g,),)
        rows = [index_numbers(i, tensor_type(i).dtype) for i in indices]
        if len(rows) > 1:
            whole = total(rows)
            assert whole is not None
            rows = [apply("broadcast_to_like", row, whole) for row in rows]
        found = apply("scatter_nd", zeros_like(data), apply("stack", rows), g, mode="add")
        return ((found, *[None for _ in indices]),)

    def element(self, b: Loops, index: Sequence[Any], inputs: Sequence[View]) -> Any:
        """The element at the indices that stand there."""
        data, *indices = inputs
        own = index[: len(index) - (len(data.sizes) - len(indices))]
        place = [
            placed_index(b, x.at(b.spread(own, x)), d) for x, d in zip(indices, data.sizes, strict=False)
        ]
        return data.at([*place, *index[len(own) :]])


@operator("unravel_index")
class UnravelIndex(Operator):
    """The coordinates of places in a flattened tensor of the given shape, on a new first axis.

    relay> unravel_index([5, 3], [2, 3])
    [[1, 1], [2, 0]]
    """

    derivative = Derivative.ZERO
    samples = (
        sample(numpy.array([5, 3, 0]), numpy.array([2, 3])),
        sample(numpy.int32(1), numpy.array([2, 3], "int32")),
        sample("0 int64", numpy.array([2, 3])),
    )

    def infer(self, t: Typing, indices: Type, shape: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        t.dtype_in(shape, INTEGRAL, "the shape")
        (rank,) = t.shape(shape, rank=1, what="the shape")
        return TensorType((rank, *t.shape(indices)), t.dtype(indices))

    def reference(self, np: Numpy, indices: Array, shape: Array) -> Array:
        sizes = as_index(np, shape)
        places = check_indices(np, as_index(np, indices), np.prod(sizes), negative=False)
        steps = np.flip(np.cumprod(np.flip(np.concatenate([sizes[1:], np.ones_like(sizes[:1])]))))
        sizes, steps = (x.reshape(-1, *(1,) * indices.ndim) for x in (sizes, steps))
        return (places // steps % sizes).astype(indices.dtype)

    def batch(self, n: Dim, which: Sequence[Any], indices: Expr, shape: Expr) -> Expr | None:
        return None if which[1] else axis_moved(self(indices, shape), row_rank(indices, True) + 2, 1, 0)

    def compute(self, b: Loops, out: Output, indices: View, shape: View) -> None:
        """Each place divided by the sizes, from the last."""
        rank = shape.sizes[0]

        def factor(place: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            return [b.multiply(totals[0], b.cast(shape.at(place), "int64"))]

        whole = b.as_index(b.fold([rank], [b.const(1, "int64")], factor)[0])

        def one(index: Sequence[Any]) -> None:
            start = b.as_number(placed_index(b, indices.at(index), whole, negative=False), "int64")

            def step(k: Any, totals: Sequence[Any]) -> Sequence[Any]:
                axis = b.minus(b.minus(rank, 1), k)
                size, place = b.as_index(shape.at([axis])), b.as_index(totals[0])
                out.put([axis, *index], b.as_number(b.rest(place, size), out.dtype))
                return [b.as_number(b.quotient(place, size), "int64")]

            b.loop(rank, [start], step)

        b.nest(indices.sizes, one)


@operator("argwhere")
class ArgWhere(Operator):
    """The coordinates of the elements that are not zero, a row for each, in order; how many is known at run
    time.

    relay> argwhere([[0, 5], [7, 0]])
    [[0, 1], [1, 0]]
    """

    dtypes = NUMERIC | BOOLEAN
    derivative = Derivative.ZERO
    samples = (sample("3x4 bool"), sample("3 float32"), sample("int4"), sample("0x3 int64"))

    def infer(self, t: Typing, condition: Type) -> Type:
        return TensorType((ANY, len(t.shape(condition))), "int32")

    def reference(self, np: Numpy, condition: Array) -> Array:
        on_host(np, DECIDES)
        return np.argwhere(wide(condition)).astype(numpy.int32)

    def compute(self, b: Loops, out: Output, condition: View) -> None:
        """A row for each element that is not zero."""

        def step(index: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            x = condition.at(index)
            here = b.cast(x, "bool")

            def row() -> None:
                for k, i in enumerate(index):
                    out.put([b.as_index(totals[0]), k], b.as_number(i, "int32"))

            b.when(here, row)
            return [b.add(totals[0], b.cast(here, "int64"))]

        b.fold(condition.sizes, [b.const(0, "int64")], step)

    def extent(self, b: Loops, condition: View) -> Sequence[Index]:
        """As many rows as there are elements that are not zero."""

        def step(index: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            return [b.add(totals[0], b.cast(b.cast(condition.at(index), "bool"), "int64"))]

        return [b.as_index(b.fold(condition.sizes, [b.const(0, "int64")], step)[0]), len(condition.sizes)]


@operator("invert_permutation")
class InvertPermutation(Operator):
    """The permutation that undoes the given one, which holds each of 0 to n - 1 once.

    relay> invert_permutation([2, 0, 1])
    [1, 2, 0]
    """

    dtypes = INTEGRAL
    derivative = Derivative.ZERO
    samples = (sample(numpy.array([2, 0, 1])), sample(numpy.array([0], "int8")), sample("0 int32"))

    def infer(self, t: Typing, x: Type) -> Type:
        return TensorType(t.shape(x, rank=1), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        at = check_indices(np, as_index(np, data), len(data), negative=False)
        return overwritten(np, np.zeros_like(data), at, numpy.arange(len(data)).astype(data.dtype))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        # A negative index is out of range here; `scatter_elements` would count it from the end.
        wide = apply("cast", data, dtype="int64")
        size = apply("sum", apply("ones_like", wide), axis=1, keepdims=True)
        places = apply("where", apply("less", wide, constant(0, "int64")), size, wide)
        numbers = apply("cumsum", apply("ones_like", wide), axis=1, exclusive=True)
        return apply("scatter_elements", data, places, apply("cast_like", numbers, data), axis=1)

    def compute(self, b: Loops, out: Output, data: View) -> None:
        """Each place goes to where its number says."""

        def clear(index: Sequence[Any]) -> None:
            out.put(index, b.const(0, data.dtype))

        def one(index: Sequence[Any]) -> None:
            at = placed_index(b, data.at(index), data.sizes[0], negative=False)
            out.put([at], b.as_number(index[0], data.dtype))

        b.nest(data.sizes, clear)
        b.nest(data.sizes, one)


def place_along(b: Loops, index: Sequence[Any], x: Any, axis: int, data: View) -> list[Any]:
    """A place of `data`: an index along an axis, and the given place along the others."""
    at = axis % len(index)
    return [*index[:at], placed_index(b, x, data.sizes[at]), *index[at + 1 :]]
