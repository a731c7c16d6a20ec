"""Parts of a tensor along an axis, by index."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy

from relay.ir.dim import product
from relay.ir.expr import Expr, constant
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import as_index, attribute_fault, axis_of, check_indices, placed_index
from relay.op.base import INTEGRAL, Array, Numpy, sample
from relay.op.batching import axis_moved, row_rank, stretched
from relay.op.derivative import rank_of, tensor_type, zeros_like
from relay.op.index import axis_positions
from relay.op.native import Loops, View
from relay.op.numeric import apply, dims, index_numbers
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement, shaped_like
from relay.op.scattering import zeros_in_a_row


@operator("take")
class Take(Rearrangement):
    """The parts of `data` along `axis` at the indices; without an axis, elements of the flattened tensor.

    An index beyond the axis is moved to its nearest end (`mode="clip"`), counted modulo its size (`"wrap"`),
    or refused (`"fast"`, `index-out-of-range`).  The first `batch_dims` axes of both operands go together.

    relay> take([10, 20, 30], [2, 0, 9], axis=0)
    [30, 10, 30]
    """

    rereads = True
    samples = (
        sample("5x4 float32", numpy.array([[0, 4, 2], [1, 9, -1]]), axis=0),
        sample("5x4 int4", numpy.array([19, 20]), mode="wrap"),
        sample("3 bool", numpy.int32(1), axis=0, mode="fast"),
        sample("2x5x3 float32", numpy.array([[0, 4], [1, 2]]), axis=1, batch_dims=1),
        sample("5x4 bfloat16", "0x2 int64", axis=-1),
        sample("int32", "int8"),
    )

    axis: int | None = None
    batch_dims: int = 0
    mode: Literal["clip", "wrap", "fast"] = "clip"

    def infer(self, t: Typing, x: Type, indices: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        if self.axis is None:
            t.tensor(x)
            if self.batch_dims != 0:
                attribute_fault(
                    t, "batch_dims", self.batch_dims, "without an axis the data have no batch axes"
                )
            return TensorType(t.tensor(indices).shape, t.dtype(x))
        dims, places = t.shape(x), t.shape(indices)
        at = axis_of(t, self.axis, len(dims), of="`data`")
        batch = axis_of(t, self.batch_dims, len(places) + 1, "batch_dims", "`indices`, with its end,")
        if batch > at:
            attribute_fault(t, "batch_dims", self.batch_dims, f"the axis {at} is one of them")
        for a, b in zip(dims[:batch], places, strict=False):
            t.equal(a, b, why="the batch axes of data and indices go together")
        return TensorType((*dims[:at], *places[batch:], *dims[at + 1 :]), t.dtype(x))

    def reference(self, np: Numpy, data: Array, indices: Array) -> Array:
        x = np.reshape(data, (-1,)) if self.axis is None else data
        at = 0 if self.axis is None else self.axis % x.ndim
        places = self.placed(np, indices, x.shape[at])
        batch = self.batch_dims % (places.ndim + 1)
        if batch == 0:
            return np.take(x, places, at)
        outer, between = x.shape[:batch], x.shape[batch:at]
        rows = np.reshape(
            x,
            (*outer, int(numpy.prod(between, dtype=int)), x.shape[at], -1)
            if x.size
            else (
                *outer,
                int(numpy.prod(between, dtype=int)),
                x.shape[at],
                int(numpy.prod(x.shape[at + 1 :], dtype=int)),
            ),
        )
        flat = np.reshape(places, (*outer, 1, int(numpy.prod(places.shape[batch:], dtype=int)), 1))
        found = np.take_along_axis(rows, flat, batch + 1)
        return np.reshape(found, (*outer, *between, *places.shape[batch:], *x.shape[at + 1 :]))

    def placed(self, np: Numpy, indices: Array, size: int) -> Array:
        """Indices within the axis, by `mode`."""
        if self.mode == "fast" or size == 0:
            return check_indices(np, as_index(np, indices), size, negative=False)
        if self.mode == "clip":
            return np.clip(as_index(np, indices), 0, size - 1)
        is_wide = indices.dtype == numpy.uint64
        return (indices % numpy.uint64(size)).astype(numpy.int64) if is_wide else as_index(np, indices) % size

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, indices: Expr) -> Expr:
        if self.axis is None:
            if not which[0]:
                return self(data, indices)
            flat = apply("reshape", data, newshape=(0, -1))
            return replace(self, axis=1, batch_dims=int(which[1]))(flat, indices)
        at = self.axis % row_rank(data, which[0])
        count = row_rank(indices, which[1])
        shared = self.batch_dims % (count + 1)
        if which[0]:
            if shared and not which[1]:
                indices = stretched(n, indices, False)
            together = shared + 1 if shared or which[1] else 0
            return replace(self, axis=at + 1, batch_dims=together)(data, indices)
        rank = rank_of(data) + count - shared
        found = replace(self, axis=at, batch_dims=shared)(data, axis_moved(indices, count + 1, 0, shared))
        return axis_moved(found, rank, at, 0)

    def transpose(self, g: Expr, data: Expr, indices: Expr) -> tuple[Expr | None, ...]:
        if self.axis is None:
            points = apply("expand_dims", self.within(data, indices), axis=0)
            found = apply("scatter_nd", zeros_in_a_row(data), points, g, mode="add")
            return shaped_like(found, data), None
        rank, at, count = rank_of(data), self.axis % rank_of(data), rank_of(indices)
        batch = self.batch_dims % (count + 1)
        rows = self.within(data, indices)
        points = apply("stack", (*axis_positions(rows, batch), rows))
        # The batch axes and those of the indices come first, as `scatter_nd` has them.
        order = [*range(batch), at, *range(batch, at), *range(at + 1, rank)]
        last = at + count - batch
        order_of_g = [*range(batch), *range(at, last), *range(batch, at), *range(last, rank_of(g))]
        zeros = permute(zeros_like(data), order)
        found = apply("scatter_nd", zeros, points, permute(g, order_of_g), mode="add")
        return permute(found, [order.index(i) for i in range(rank)]), None

    def within(self, data: Expr, indices: Expr) -> Expr:
        """The indices as places within the axis, by `mode`, wide enough for any size."""
        dtype = tensor_type(indices).dtype
        is_modular = self.mode == "wrap" and dtype == "uint64"
        rows = indices if is_modular or dtype in ("int32", "int64") else index_numbers(indices, dtype)
        if self.mode == "fast":
            return rows
        at = None if self.axis is None else self.axis % rank_of(data)
        count = count_along(data, at)
        if self.mode == "clip" and count is not None:
            return apply("clip", rows, a_min=0, a_max=count - 1)
        size, zero = size_along(data, at, rows), apply("zeros_like", rows)
        if self.mode == "wrap":
            return apply("floor_mod", rows, size)
        last = apply("subtract", size, apply("ones_like", rows))
        return apply("maximum", apply("minimum", rows, last), zero)

    def element(self, b: Loops, index: Sequence[Any], data: View, indices: View) -> Any:
        """The element at the index that stands there."""
        if self.axis is None:
            size = b.count(data.sizes)
            return data.at(b.unravelled(self.place(b, indices.at(index), size), data.sizes))
        count = len(indices.sizes)
        at, batch = self.axis % len(data.sizes), self.batch_dims % (count + 1)
        last = at + count - batch
        i = indices.at([*index[:batch], *index[at:last]])
        return data.at([*index[:at], self.place(b, i, data.sizes[at]), *index[last:]])

    def place(self, b: Loops, x: Any, size: Any) -> Any:
        """An index within the axis, by `mode`."""
        if self.mode == "fast":
            return placed_index(b, x, size, negative=False)
        b.require(b.is_less(0, size), "index-out-of-range", "an index is out of range for an axis of size 0")
        if self.mode == "wrap" and x.dtype == "uint64":
            return b.as_index(b.remainder(x, b.as_number(b.larger(size, 1), x.dtype)))
        i = b.as_index(x)
        if self.mode == "clip":
            return b.larger(b.smaller(i, b.minus(size, 1)), 0)
        left = b.rest(i, b.larger(size, 1))
        return b.choose(b.is_less(left, 0), b.plus(left, size), left)


def count_along(x: Expr, axis: int | None) -> int | None:
    """The size of an axis of `x`, or the number of its elements, where it is known."""
    shape = dims(tensor_type(x))
    size = product(shape) if axis is None else shape[axis]
    return size if isinstance(size, int) else None


def size_along(x: Expr, axis: int | None, like: Expr) -> Expr:
    """The size of an axis of `x`, or the number of its elements, as a scalar of the dtype of `like`."""
    if axis is None:
        return apply("cast_like", apply("ndarray_size", x, "int64"), like)
    return apply("cast_like", apply("take", apply("shape_of", x, "int64"), constant(axis), axis=0), like)


def permute(x: Expr, order: Sequence[int]) -> Expr:
    """A tensor with its axes in another order."""
    return x if list(order) == sorted(order) else apply("transpose", x, axes=order)
