"""Stretching a tensor to a shape, summing back to one, and choosing between two."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.diagnostic import Span
from relay.ir.expr import Expr, constant
from relay.ir.module import IRModule
from relay.ir.type import Dim, TensorType, Type
from relay.op.attribute import Size
from relay.op.axes import check_sizes
from relay.op.base import NUMERIC, Array, Numpy, Operator, sample
from relay.op.batching import row_rank, stretched, with_row_rank
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import broadcast_like, const_like, masked, rank_of, unbroadcast
from relay.op.family import Broadcast
from relay.op.kind import Derivative, Fusion, Precision
from relay.op.native import Loops, Scalars, View
from relay.op.numeric import apply, for_squares, narrow, squaring_dtype
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement


@operator("broadcast_to")
class BroadcastTo(Rearrangement):
    """The tensor stretched to `shape` as operands of arithmetic are.

    relay> broadcast_to([1, 2], shape=(2, 2))
    [[1, 2], [1, 2]]
    """

    dynamic_form = "dyn.broadcast_to"
    fusion = Fusion.BROADCAST
    samples = (
        sample("3 float32", shape=(2, 3)),
        sample("2x1 int4", shape=(5, 2, 4)),
        sample("float32", shape=()),
        sample("bool", shape=(0, 2)),
        sample("1 bfloat16", shape=(0,)),
    )

    shape: tuple[Size, ...]

    def infer(self, t: Typing, x: Type) -> Type:
        shape = check_sizes(t, self.shape, "shape")
        t.equal(t.broadcast(t.tensor(x).shape, shape), shape, why="the tensor is stretched to this shape")
        return TensorType(shape, t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.broadcast_to(data, self.shape)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        return apply("broadcast_to", with_row_rank(data, len(self.shape)), shape=(n, *self.shape))

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (unbroadcast(g, data, g),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The element that is stretched over the place."""
        return data.at(b.spread(index, data))


@operator("broadcast_to_like")
class BroadcastToLike(Rearrangement):
    """The first tensor stretched to the shape of the second.

    relay> broadcast_to_like([1, 2], [[0.0, 0.0], [0.0, 0.0]])
    [[1, 2], [1, 2]]
    """

    fusion = Fusion.BROADCAST
    carried = ("broadcast_type",)
    samples = (
        sample("3 float32", "2x3 int32"),
        sample("2x1 int4", "5x2x4 bool"),
        sample("float32", "float32"),
    )

    def infer(self, t: Typing, x: Type, like: Type) -> Type:
        shape = t.tensor(like).shape
        t.equal(t.broadcast(t.tensor(x).shape, shape), shape, why="the tensor is stretched to this shape")
        return TensorType(shape, t.dtype(x))

    def reference(self, np: Numpy, data: Array, broadcast_type: Array) -> Array:
        return np.broadcast_to(data, broadcast_type.shape)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, broadcast_type: Expr) -> Expr:
        return self(with_row_rank(data, rank_of(broadcast_type)), stretched(n, broadcast_type, False))

    def transpose(self, g: Expr, data: Expr, broadcast_type: Expr) -> tuple[Expr | None, ...]:
        return unbroadcast(g, data, g), None

    def element(self, b: Loops, index: Sequence[Any], data: View, broadcast_type: View) -> Any:
        """The element that is stretched over the place."""
        return data.at(b.spread(index, data))


def collapsed(np: Numpy, x: Array, shape: Sequence[int]) -> Array:
    """`x` summed over the axes along which `shape` would have to be stretched."""
    extra = x.ndim - len(shape)
    axes = tuple([i for i, d in enumerate(x.shape) if i < extra or (shape[i - extra] == 1 and d != 1)])
    if not axes:
        return x
    wide = for_squares(accumulator(x))
    return np.reshape(narrow(np.sum(wide, axis=axes, dtype=wide.dtype), x.dtype), tuple(shape))


@operator("collapse_sum_to")
class CollapseSumTo(Operator):
    """The sum over the axes along which `shape` is stretched to the operand's shape: the transpose of
    `broadcast_to`.

    relay> collapse_sum_to([[1, 2], [3, 4]], shape=(2,))
    [4, 6]
    """

    fusion = Fusion.REDUCTION
    dtypes = NUMERIC
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("2x3 float32", shape=(3,)),
        sample("5x2x4 int4", shape=(2, 1)),
        sample("float32", shape=()),
        sample("0x2 int8", shape=()),
        sample("0x3 bfloat16", shape=(1, 3)),
    )

    shape: tuple[Size, ...]

    def infer(self, t: Typing, x: Type) -> Type:
        shape = check_sizes(t, self.shape, "shape")
        t.equal(
            t.broadcast(shape, t.tensor(x).shape), t.tensor(x).shape, why="the sum is stretched to this shape"
        )
        return TensorType(shape, t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        return collapsed(np, data, self.shape)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        extra = row_rank(data, True) - len(self.shape)
        found = apply("collapse_sum_to", data, shape=(n, *(1,) * extra, *self.shape))
        return without_axes(found, extra)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        return (broadcast_like(g, data, g),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The sum of what is stretched from there."""
        return collapsed_element(b, index, data)


@operator("collapse_sum_like")
class CollapseSumLike(Operator):
    """As `collapse_sum_to`, to the shape of the second operand.

    relay> collapse_sum_like([[1, 2], [3, 4]], [0, 0])
    [4, 6]
    """

    fusion = Fusion.REDUCTION
    derivative = Derivative.TRANSPOSE
    carried = ("collapse_type",)
    samples = (
        sample("2x3 float32", "3 int32"),
        sample("5x2x4 int4", "2x1 bool"),
        sample("float32", "float32"),
    )

    def infer(self, t: Typing, x: Type, like: Type) -> Type:
        t.dtype_in(x, NUMERIC)
        shape = t.tensor(like).shape
        t.equal(
            t.broadcast(shape, t.tensor(x).shape), t.tensor(x).shape, why="the sum is stretched to this shape"
        )
        return TensorType(shape, t.dtype(x))

    def reference(self, np: Numpy, data: Array, collapse_type: Array) -> Array:
        return collapsed(np, data, collapse_type.shape)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, collapse_type: Expr) -> Expr:
        extra, like = row_rank(data, True) - rank_of(collapse_type), stretched(n, collapse_type, False)
        if not extra:
            return self(data, like)
        return without_axes(self(data, apply("expand_dims", like, axis=1, num_newaxis=extra)), extra)

    def transpose(self, g: Expr, data: Expr, collapse_type: Expr) -> tuple[Expr | None, ...]:
        return broadcast_like(g, data, g), None

    def element(self, b: Loops, index: Sequence[Any], data: View, collapse_type: View) -> Any:
        """The sum of what is stretched from there."""
        return collapsed_element(b, index, data)


@operator("where")
class Where(Operator):
    """`x` where the condition is True, else `y`; all three broadcast, and both values are evaluated.

    A condition of numbers is true where they are not 0.

    relay> where([True, False], [1, 2], 0)
    [1, 0]
    """

    precision = Precision.FOLLOW
    fusion = Fusion.BROADCAST
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("3x1 bool", "3x4 float32", "4 float32"),
        sample("bool", "int4", "int4"),
        sample("2 bool", "bfloat16", "2 bfloat16"),
        sample("0x1 bool", "3 int64", "int64"),
        sample(numpy.array([0, 2, -1], "int32"), "3 float32", "3 float32"),
    )
    is_resolved = True

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        condition, x, y = args
        if t.dtype(condition) not in NUMERIC:
            t.equal(t.dtype(condition), "bool", why="a condition is of booleans")
        t.equal(t.dtype(y), t.dtype(x), why="both values have one dtype")
        t.equal(t.dtype(out), t.dtype(x))
        t.equal(t.tensor(out).shape, t.broadcast(*[t.tensor(a).shape for a in args]))

    def reference(self, np: Numpy, condition: Array, x: Array, y: Array) -> Array:
        return np.where(condition, x, y)

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        """A choice by numbers compares them with 0."""
        known = types[0]
        if not isinstance(known, TensorType) or known.dtype == "bool" or not isinstance(known.dtype, str):
            return None
        return self(apply("not_equal", args[0], constant(0, known.dtype)), *args[1:])

    def transpose(self, g: Expr, condition: Expr, x: Expr, y: Expr) -> tuple[Expr | None, ...]:
        no = apply("where", condition, const_like(0, g), g)
        return None, unbroadcast(masked(condition, g), x, g), unbroadcast(no, y, g)

    element = Broadcast.element
    is_pointwise = True

    def native(self, b: Scalars, condition: Any, x: Any, y: Any) -> Any:
        return b.select(condition, x, y)

    extent = Broadcast.extent


def collapsed_element(b: Loops, index: Sequence[Any], data: View) -> Any:
    """The sum over the elements of `data` over which the place of the result would be stretched."""
    extra = len(data.sizes) - len(index)
    sizes, stretched = list(data.sizes), [True] * extra
    for i, d in enumerate(b.sizes, extra):
        stretched.append(d == 1)
        if d != 1:
            sizes[i] = 1 if isinstance(d, int) else b.choose(b.is_same(d, 1), sizes[i], 1)

    def step(place: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
        own = [
            i if is_stretched else b.plus(i, index[k - extra])
            for k, (i, is_stretched) in enumerate(zip(place, stretched, strict=True))
        ]
        return [b.add(totals[0], b.cast(data.at(own), totals[0].dtype))]

    zero = b.const(0, str(squaring_dtype(accumulator_name(data.dtype))))
    return b.cast(b.fold(sizes, [zero], step)[0], data.dtype)


def without_axes(y: Expr, count: int) -> Expr:
    """Rows without their first axes, of size 1."""
    return apply("squeeze", y, axis=tuple(range(1, count + 1))) if count else y
