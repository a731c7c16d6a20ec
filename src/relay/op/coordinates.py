"""Sparse tensors as a list of coordinates: a row of `(elements, rank)` for each element."""

from typing import Any

import numpy

from relay.ir.expr import Call, Expr, Op, Tuple, as_expr
from relay.ir.type import ANY, Dimension, TensorType, TupleType, Type
from relay.op.attribute import Size
from relay.op.axes import check_sizes
from relay.op.base import ANY_NUMBER, INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.dynamic_shape import result_rank
from relay.op.kind import Derivative
from relay.op.numeric import apply, dims
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, iota, term

POINTS = numpy.array([[0, 1], [0, 3], [2, 0], [3, 1]], "int64")


def check_points(t: Typing, points: Type, values: Type, rank: int) -> None:
    """Demand coordinates for a tensor of some rank: `(n, rank)`, or `(n,)` or a scalar for a vector."""
    t.dtype_in(points, INTEGRAL, "the coordinates")
    shape, own = t.shape(points), t.shape(values)
    if len(shape) > 2 or len(own) > 1:
        t.fail("rank-mismatch", "a coordinate is a row, and an element a number")
    if len(shape) == 2:
        t.equal(shape[1], rank, why="a coordinate has a place on each axis")
    if shape and own:
        t.equal(shape[0], own[0], why="each element has a coordinate")


def scatter_points(whole: Expr, types: Any, points: Expr, values: Expr) -> Expr:
    """A tensor with elements at some coordinates."""
    rank = len(dims(types[0]))
    at = apply("reshape", points, newshape=(-1, 1)) if rank < 2 else points
    count = apply("take", at, term(0, "int64").expr, axis=1)
    spread = apply("broadcast_to_like", values, apply("cast_like", count, values))
    return apply("scatter_nd", whole, apply("transpose", at), spread, mode="update")


@operator("sparse_to_dense")
class SparseToDense(Composite):
    """A tensor of `output_shape` with some elements at their coordinates, and `default_value` elsewhere.

    relay> sparse_to_dense([[0, 1], [1, 0]], [3, 4], 0, output_shape=(2, 2))
    [[0, 3], [4, 0]]
    """

    dtypes = ANY_NUMBER
    output_shape: tuple[Size, ...]
    samples = (
        sample(POINTS, "4 float32", numpy.float32(0.5), output_shape=(4, 5)),
        sample(numpy.array([1, 3], "int32"), "2 int32", numpy.int32(0), output_shape=(5,)),
        sample(numpy.int64(2), "float32", numpy.float32(0), output_shape=(4,)),
    )

    @staticmethod
    def builder(sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = 0) -> Expr:
        """As the operator; an `output_shape` that is an expression makes it `dyn.sparse_to_dense`."""
        given = (sparse_indices, sparse_values, default_value)
        xs = [as_expr(numpy.asarray(x) if isinstance(x, list) else x) for x in given]  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(output_shape, int | tuple | list | Dimension):
            shape = (output_shape,) if isinstance(output_shape, int | Dimension) else tuple(output_shape)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return Call(Op.get("sparse_to_dense"), tuple(xs), {"output_shape": shape})  # pyright: ignore[reportUnknownArgumentType]
        return DynSparseToDense()(xs[0], as_expr(output_shape), *xs[1:])

    def infer(self, t: Typing, sparse_indices: Type, sparse_values: Type, default_value: Type) -> Type:
        t.equal(t.dtype(default_value), t.dtype(sparse_values), why="all elements have one dtype")
        t.shape(default_value, rank=0, what="the value elsewhere")
        check_points(t, sparse_indices, sparse_values, len(self.output_shape))
        return TensorType(check_sizes(t, self.output_shape, "output_shape"), t.dtype(sparse_values))

    def decompose(self, types: Any, sparse_indices: Expr, sparse_values: Expr, default_value: Expr) -> Expr:
        whole = apply("broadcast_to", default_value, shape=self.output_shape)
        return scatter_points(whole, types, sparse_indices, sparse_values)


@operator("dyn.sparse_to_dense")
class DynSparseToDense(Composite):
    """`sparse_to_dense` with a shape that is a tensor of rank 1.

    relay> dyn.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [3, 4], 0)
    [[0, 3], [4, 0]]
    """

    dtypes = ANY_NUMBER
    samples = (sample(POINTS, numpy.array([4, 5]), "4 float32", numpy.float32(0.5)),)

    def infer(
        self, t: Typing, sparse_indices: Type, output_shape: Type, sparse_values: Type, default_value: Type
    ) -> Type:
        t.equal(t.dtype(default_value), t.dtype(sparse_values), why="all elements have one dtype")
        t.shape(default_value, rank=0, what="the value elsewhere")
        rank = result_rank(t, output_shape)
        check_points(t, sparse_indices, sparse_values, rank)
        return TensorType([ANY] * rank, t.dtype(sparse_values))

    def decompose(
        self, types: Any, sparse_indices: Expr, output_shape: Expr, sparse_values: Expr, default_value: Expr
    ) -> Expr:
        whole = apply("dyn.broadcast_to", default_value, output_shape)
        return scatter_points(whole, types, sparse_indices, sparse_values)


@operator("sparse_reshape")
class SparseReshape(Composite):
    """The coordinates of a sparse tensor under another shape, in which a size of -1 is what is left over.

    The result is the new coordinates and the new shape.

    relay> sparse_reshape([[0, 1], [1, 0]], [2, 3], [3, -1])
    ([[0, 1], [1, 1]], [3, 2])
    """

    results = 2
    derivative = Derivative.ZERO
    samples = (
        sample(POINTS, numpy.array([4, 5]), numpy.array([2, -1, 5])),
        sample(POINTS.astype("int32"), numpy.array([4, 5], "int32"), numpy.array([20], "int32")),
    )

    def infer(self, t: Typing, sparse_indices: Type, prev_shape: Type, new_shape: Type) -> Type:
        t.dtype_in(sparse_indices, INTEGRAL, "the coordinates")
        for x in (prev_shape, new_shape):
            t.equal(t.dtype(x), t.dtype(sparse_indices), why="coordinates and sizes have one dtype")
        count, rank = t.shape(sparse_indices, 2, "the coordinates")
        t.equal(rank, result_rank(t, prev_shape), why="a coordinate has a place on each axis")
        return TupleType(
            [TensorType((count, result_rank(t, new_shape)), t.dtype(sparse_indices)), t.tensor(new_shape)]
        )

    def decompose(self, types: Any, sparse_indices: Expr, prev_shape: Expr, new_shape: Expr) -> Expr:
        points, old, new = (
            Term(x, t.dtype).as_index()
            for x, t in zip((sparse_indices, prev_shape, new_shape), types, strict=True)
        )
        total, known = old.of("prod"), new.of("abs").of("prod")
        open_size = total.of("floor_divide", known.of("maximum", 1))
        sizes = (new < 0).where(open_size, new)
        place = (points * _strides(old)).of("sum", axis=(1,), keepdims=True)
        found = place.of("floor_divide", _strides(sizes)).of("floor_mod", sizes)
        dtype = str(types[0].dtype)
        return Tuple((found.cast(dtype).expr, sizes.cast(dtype).expr))


def _strides(sizes: Term) -> Term:
    """How far apart neighbours along each axis are, and never 0."""
    turned = sizes.of("maximum", 1).of("reverse", axis=0)
    return turned.of("cumprod", axis=0, exclusive=True).of("reverse", axis=0)


@operator("sparse_fill_empty_rows")
class SparseFillEmptyRows(Composite):
    """A sparse matrix in which rows without elements get one, `default_value` in the first column.

    The result is the coordinates in the order of rows, the elements, and which rows were empty.

    relay> sparse_fill_empty_rows([[0, 1], [2, 0]], [5, 6], [3, 4], 9)
    ([[0, 1], [1, 0], [2, 0]], [5, 9, 6], [False, True, False])
    """

    dtypes = ANY_NUMBER
    results = 3
    samples = (
        sample(POINTS, "4 float32", numpy.array([5, 4]), numpy.float32(0.5)),
        sample(POINTS[:, :1], "4 int32", numpy.array([4]), numpy.int32(7)),
    )

    def infer(
        self, t: Typing, sparse_indices: Type, sparse_values: Type, dense_shape: Type, default_value: Type
    ) -> Type:
        t.dtype_in(dense_shape, INTEGRAL, "the shape")
        t.equal(t.dtype(default_value), t.dtype(sparse_values), why="all elements have one dtype")
        t.equal(t.dtype(sparse_indices), t.dtype(dense_shape), why="coordinates and sizes have one dtype")
        rank = result_rank(t, dense_shape)
        check_points(t, sparse_indices, sparse_values, rank)
        t.shape(sparse_indices, 2, "the coordinates")
        t.shape(sparse_values, 1, "the elements")
        points = TensorType((ANY, rank), t.dtype(sparse_indices))
        return TupleType([points, TensorType((ANY,), t.dtype(sparse_values)), TensorType((ANY,), "bool")])

    def decompose(
        self, types: Any, sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr
    ) -> Expr:
        points, shape = Term(sparse_indices, types[0].dtype), Term(dense_shape, types[2].dtype)
        rank = dims(types[2])[0]
        assert isinstance(rank, int)
        rows = points.of("take", term(0, "int64"), axis=1).as_index()
        all_rows = iota(shape.of("take", term(0, "int64"), axis=0))
        held = all_rows.of("zeros_like").of("scatter_elements", rows, rows.of("ones_like"), axis=0)
        empty = held.equals(0)
        missing = Term(apply("argwhere", empty.expr), "int32").cast("int64")  # (k, 1)
        column = missing.cast(str(points.dtype))
        parts = (column.expr, *[column.of("zeros_like").expr] * (rank - 1))
        new = apply("concatenate", parts, axis=1) if rank > 1 else column.expr
        fill = apply(
            "broadcast_to_like",
            default_value,
            apply("cast_like", missing.of("squeeze", axis=(1,)).expr, default_value),
        )
        order = Term(apply("concatenate", (rows.expr, missing.of("squeeze", axis=(1,)).expr)), "int64")
        order = order.of("argsort", dtype="int64")
        found = apply("take", apply("concatenate", (sparse_indices, new)), order.expr, axis=0)
        values = apply("take", apply("concatenate", (sparse_values, fill)), order.expr, axis=0)
        return Tuple((found, values, empty.expr))
