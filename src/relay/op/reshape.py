"""Reshaping, transposing, and adding or dropping axes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy

from relay.ir.dim import product
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.attribute import Size
from relay.op.axes import SIZES, UNCHECKED, Checker, attribute_fault, axes_of, axis_of
from relay.op.base import Array, Numpy, sample
from relay.op.batching import behind_rows, by, in_front, is_unknown, row_rank, row_shape, some_row
from relay.op.derivative import rank_of, static_shape
from relay.op.family import Injective
from relay.op.kind import Batching, Derivative
from relay.op.native import Loops, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape_codes import flipped_codes, reshaped


class Rearrangement(Injective):
    """The elements of the first operand, elsewhere; the result has its dtype."""

    derivative = Derivative.TRANSPOSE

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        dtype = t.dtype(args[0])  # waits for the operand before it says anything of the result
        t.equal(t.dtype(out), dtype)
        super().relate(t, args, out)


class Reshaping(Rearrangement):
    """Operators that keep the row-major order of the elements."""

    keeps_order = True

    def transpose(self, g: Expr, data: Expr, *like: Expr) -> tuple[Expr | None, ...]:
        return shaped_like(g, data), *(None,) * len(like)

    def element(self, b: Loops, index: Sequence[Any], data: View, *like: View) -> Any:
        """The element with the same number in the order of memory."""
        return b.at_reshaped(data, index, b.sizes)


def shaped_like(g: Expr, x: Expr) -> Expr:
    """`g` in the shape of `x`."""
    sizes = static_shape(x)
    if sizes is None:
        return apply("reshape_like", g, x)
    return apply("reshape", g, newshape=sizes, allowzero=True)


def with_type_of(g: Expr, x: Expr) -> Expr:
    """`g`, which has the shape of `x`, with its type where that is not seen from symbolic sizes."""
    return g if static_shape(x) is not None else apply("reshape_like", g, x)


@operator("reshape")
class Reshape(Reshaping):
    """Reshape, in row-major order (`reshape-size`).

    A size in `newshape` is a number or a code: 0 copies the operand's next size (unless `allowzero`), -1 is
    whatever is left over, -2 copies all further sizes, -3 multiplies the next two, -4 splits the next into
    the two sizes after the code, of which one may be -1.

    relay> reshape([[1, 2, 3], [4, 5, 6]], newshape=(3, -1))
    [[1, 2], [3, 4], [5, 6]]
    """

    dynamic_form = "dyn.reshape"
    samples = (
        sample("2x3 float32", newshape=(3, 2)),
        sample("2x3x4 int32", newshape=(0, -1)),
        sample("2x3x4 float32", newshape=(-2,)),
        sample("2x3x4 float32", newshape=(-3, 0)),
        sample("2x3x4 float32", newshape=(-4, 1, -1, -2)),
        sample("float32", newshape=(1, 1)),
        sample("1 int4", newshape=()),
        sample("0x3 bfloat16", newshape=(3, 0), allowzero=True),
        sample("2x3x4 float32", newshape=(-4, 1, 2, -3)),
    )

    newshape: tuple[Size, ...]
    allowzero: bool = False

    def infer(self, t: Typing, x: Type) -> Type:
        return TensorType(reshaped(t, t.shape(x), self.newshape, allowzero=self.allowzero), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.reshape(data, reshaped(SIZES, data.shape, self.newshape, allowzero=self.allowzero))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        return replace(self, newshape=(n if self.allowzero else 0, *self.newshape))(data)


@operator("contrib_reverse_reshape")
class ReverseReshape(Reshaping):
    """As `reshape`, with the codes read from right to left.

    relay> shape_of(contrib_reverse_reshape(zeros(shape=(10, 5, 4), dtype="float32"), newshape=(-1, 0)))
    [50, 4]
    """

    aliases = ("reverse_reshape",)
    samples = (
        sample("10x5x4 float32", newshape=(-1, 0)),
        sample("2x3x4 int32", newshape=(-3, 0)),
        sample("float32", newshape=(1,)),
    )

    newshape: tuple[Size, ...]

    def infer(self, t: Typing, x: Type) -> Type:
        dims = tuple(reversed(t.shape(x)))
        return TensorType(
            reshaped(t, dims, flipped_codes(t, self.newshape), allowzero=False)[::-1], t.dtype(x)
        )

    def reference(self, np: Numpy, data: Array) -> Array:
        codes = flipped_codes(SIZES, self.newshape)
        return np.reshape(data, reshaped(SIZES, data.shape[::-1], codes, allowzero=False)[::-1])

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        own, codes = row_shape(data, True), flipped_codes(UNCHECKED, self.newshape)
        found = reshaped(UNCHECKED, own[::-1], codes, allowzero=False)[::-1]
        if any(map(is_unknown, found)):
            sizes = apply("shape_of", self(some_row(data)), dtype="int64")
            return apply("dyn.reshape", data, in_front(n, sizes), allowzero=True)
        return apply("reshape", data, newshape=(n, *found), allowzero=True)


@operator("reshape_like")
class ReshapeLike(Reshaping):
    """The axes from `lhs_begin` to `lhs_end` take the sizes that `shape_like` has from `rhs_begin` to
    `rhs_end`.

    relay> reshape_like([1, 2, 3, 4], [[0.0, 0.0], [0.0, 0.0]])
    [[1, 2], [3, 4]]
    """

    carried = ("shape_like",)
    samples = (
        sample("2x3 float32", "6 int32"),
        sample("1x2x3x4 float32", "2x12 float32", lhs_begin=2, rhs_begin=1),
        sample("float32", "1x1 bool"),
        sample("0 int4", "3x0 float32"),
    )

    lhs_begin: int = 0
    lhs_end: int | None = None
    rhs_begin: int = 0
    rhs_end: int | None = None

    def target(self, t: Checker, dims: Sequence[Dim], like: Sequence[Dim]) -> tuple[Dim, ...]:
        """The shape of the result."""
        first, last = _range(t, "lhs", self.lhs_begin, self.lhs_end, len(dims))
        begin, end = _range(t, "rhs", self.rhs_begin, self.rhs_end, len(like))
        t.require(
            product(dims[first:last]),
            "==",
            product(like[begin:end]),
            "reshape_like keeps the number of elements",
            "reshape-size",
        )
        return (*dims[:first], *like[begin:end], *dims[last:])

    def infer(self, t: Typing, x: Type, like: Type) -> Type:
        return TensorType(self.target(t, t.shape(x), t.shape(like)), t.dtype(x))

    def reference(self, np: Numpy, data: Array, shape_like: Array) -> Array:
        return np.reshape(data, self.target(SIZES, data.shape, shape_like.shape))

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, shape_like: Expr) -> Expr:
        first, last = _range(SIZES, "lhs", self.lhs_begin, self.lhs_end, row_rank(data, True))
        return replace(self, lhs_begin=first + 1, lhs_end=last + 1)(data, shape_like)


def _range(t: Checker, side: str, begin: int, end: int | None, rank: int) -> tuple[int, int]:
    """Two axes of `reshape_like`, counted from the front; the end may be the rank."""
    of = "`data`" if side == "lhs" else "`shape_like`"

    def place(at: int, name: str) -> int:
        """An axis, or the end behind the last one."""
        return axis_of(t, at, rank + (at >= 0), f"{side}_{name}", f"{of}, with its end," if at >= 0 else of)

    first = place(begin, "begin")
    last = rank if end is None else place(end, "end")
    if first > last:
        attribute_fault(t, f"{side}_begin", begin, f"it is after `{side}_end`")
    return first, last


@operator("transpose")
class Transpose(Rearrangement):
    """Axis `i` of the result is axis `axes[i]` of the operand; without `axes` they are reversed.

    relay> transpose([[1, 2, 3], [4, 5, 6]])
    [[1, 4], [2, 5], [3, 6]]
    """

    samples = (
        sample("2x3 float32"),
        sample("2x3x4 int32", axes=(1, 2, 0)),
        sample("float32"),
        sample("0x3 int4", axes=(-1, 0)),
    )

    axes: tuple[int, ...] | None = None

    def order(self, t: Checker, rank: int) -> tuple[int, ...]:
        """The operand's axis for each axis of the result."""
        if not self.axes and (self.axes is None or rank):
            return tuple(range(rank))[::-1]
        if len(self.axes) != rank:
            attribute_fault(t, "axes", self.axes, f"it must name each of {rank} axes")
        return axes_of(t, self.axes, rank)

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        return TensorType([dims[a] for a in self.order(t, len(dims))], t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.transpose(data, self.order(SIZES, data.ndim))

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        rank = row_rank(data, True)
        return Transpose(axes=(0, *behind_rows(self.order(SIZES, rank), rank)))(data)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        order = self.order(SIZES, rank_of(data))
        return (apply("transpose", g, axes=[order.index(i) for i in range(len(order))]),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        order = self.order(SIZES, len(index))
        return data.at([index[order.index(i)] for i in range(len(order))])


@operator("expand_dims")
class ExpandDims(Reshaping):
    """`num_newaxis` new axes of size 1, the first of them at `axis` of the result.

    relay> expand_dims([1, 2], axis=0)
    [[1, 2]]
    """

    dynamic_form = "dyn.expand_dims"
    samples = (
        sample("2x3 float32", axis=1),
        sample("float32", axis=0, num_newaxis=3),
        sample("0 int4", axis=-1),
        sample("2x3 int32", axis=-2, num_newaxis=2),
    )

    axis: int
    num_newaxis: int = 1

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        if self.num_newaxis < 0:
            attribute_fault(t, "num_newaxis", self.num_newaxis, "a number of axes is never negative")
        at = axis_of(t, self.axis, len(dims) + 1, of="the operand with a new axis")
        return TensorType((*dims[:at], *(1,) * self.num_newaxis, *dims[at:]), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        at = self.axis % (data.ndim + 1)
        return np.reshape(data, (*data.shape[:at], *(1,) * self.num_newaxis, *data.shape[at:]))

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True) + 1))(data)


@operator("squeeze")
class Squeeze(Reshaping):
    """Without the axes in `axis`, whose size must be 1; by default all axes of size 1.

    relay> squeeze([[1, 2]])
    [1, 2]
    """

    dynamic_form = "dyn.squeeze"
    samples = (
        sample("1x3x1 float32"),
        sample("1x3x1 int32", axis=(0,)),
        sample("float32"),
        sample("1x0 int4", axis=0),
        sample("1x2 float32", axis=(-2,)),
    )

    axis: int | tuple[int, ...] | None = None

    def dropped(self, t: Checker, dims: Sequence[Dim]) -> tuple[int, ...]:
        """The axes that go; without `axis` a size that is not known stays, and must then not be 1."""
        if self.axis is not None:
            given = (self.axis,) if isinstance(self.axis, int) else self.axis
            return axes_of(t, given, len(dims), "axis")
        for d in dims:
            if t.static(d) is None:
                t.require(d, "!=", 1, "squeeze without `axis` drops every axis of size 1")
        return tuple([i for i, d in enumerate(dims) if t.static(d) == 1])

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        gone = self.dropped(t, dims if self.axis is not None else [t.settled(d) for d in dims])
        for i in gone:
            t.require(dims[i], "==", 1, f"squeeze drops axis {i}, so its size is 1")
        return TensorType([d for i, d in enumerate(dims) if i not in gone], t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        gone = self.dropped(SIZES, data.shape)
        return np.reshape(data, [d for i, d in enumerate(data.shape) if i not in gone])

    def compile_reference(self, types: Sequence[Type]) -> Callable[..., Any]:
        x = types[0]
        if self.axis is not None or not isinstance(x, TensorType) or not isinstance(x.shape, tuple):
            return super().compile_reference(types)
        # The static type says which axes go; at run time a further one may turn out to have size 1.
        open_axes = [i for i, d in enumerate(x.shape) if not isinstance(d, int)]
        drop = Squeeze(axis=tuple([i for i, d in enumerate(x.shape) if d == 1])).evaluate

        def squeeze(data: Array) -> Array:
            for i in open_axes:
                SIZES.require(data.shape[i], "!=", 1, "squeeze without `axis` drops every axis of size 1")
            return drop(data)

        return squeeze

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        gone = self.dropped(UNCHECKED, row_shape(data, True))
        return Squeeze(axis=behind_rows(gone, row_rank(data, True)))(data)


@operator("nn.batch_flatten")
class BatchFlatten(Reshaping):
    """The first axis, and all others as one.

    relay> nn.batch_flatten([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    [[1, 2, 3, 4], [5, 6, 7, 8]]
    """

    samples = (sample("2x3x4 float32"), sample("3 int32"), sample("0x3x2 int4"))

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        if not dims:
            t.fail(
                "rank-mismatch", "a scalar has no batch axis", hint="`nn.batch_flatten` takes rank 1 or more"
            )
        return TensorType((dims[0], product(dims[1:])), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.reshape(data, (data.shape[0], int(numpy.prod(data.shape[1:], dtype=numpy.int64))))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        return apply("reshape", data, newshape=(0, 0, -1))
