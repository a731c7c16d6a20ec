"""Several tensors as one, one as several, and repetition."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import accumulate
from typing import Any, Literal

from relay.ir.dim import product
from relay.ir.expr import Expr, Tuple, TupleGetItem, constant
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op.attribute import Size, is_dimension
from relay.op.axes import Checker, attribute_fault, axis_of, check_sizes
from relay.op.base import Array, Numpy, sample
from relay.op.batching import (
    behind_rows,
    by,
    row_rank,
    shifted,
    stretched,
    with_row_rank,
)
from relay.op.derivative import rank_of, static_shape, zeros_like
from relay.op.family import Injective
from relay.op.kind import Batching, Derivative
from relay.op.native import Loops, Output, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement, shaped_like, with_type_of
from relay.op.reshape_codes import SPLIT
from relay.op.slice_range import BEYOND


def same_fields(t: Typing, data: Type) -> tuple[Type, ...]:
    """The fields of a tuple operand, at least one, all of one dtype (`empty-tuple`)."""
    fields = t.fields(data)
    if not fields:
        t.fail("empty-tuple", "the tuple has no tensors", hint="give at least one")
    for f in fields[1:]:
        t.equal(t.dtype(f), t.dtype(fields[0]), why="the tensors have one dtype")
    return fields


@operator("concatenate")
class Concatenate(Injective):
    """The tensors of a tuple one after another along `axis`; their other sizes are equal.

    relay> concatenate(([1, 2], [3]), axis=0)
    [1, 2, 3]
    """

    more_means = "its operand is a tuple: `concatenate((a, b))`"
    derivative = Derivative.TRANSPOSE
    samples = (
        sample(("2x3 float32", "4x3 float32")),
        sample(("2x3 int4", "2x0 int4", "2x1 int4"), axis=-1),
        sample(("0x3 bfloat16",), axis=1),
        sample(("1x2 bool", "1x2 bool"), axis=1),
    )

    axis: int = 0

    def infer(self, t: Typing, data: Type) -> Type:
        fields = same_fields(t, data)
        shapes = [t.shape(fields[0])]
        rank = len(shapes[0])
        shapes += [t.shape(f, rank=rank, what="a tensor to concatenate") for f in fields[1:]]
        at = axis_of(t, self.axis, rank, of="each tensor")
        total: Dim = shapes[0][at]
        for i, shape in enumerate(shapes[1:], 1):
            for j, (d, first) in enumerate(zip(shape, shapes[0], strict=True)):
                if j != at:
                    t.equal(
                        d, first, why=f"tensors 0 and {i} are joined along axis {at}, so axis {j} is the same"
                    )
            total = total + shape[at]
        return TensorType((*shapes[0][:at], total, *shapes[0][at + 1 :]), t.dtype(fields[0]))

    def reference(self, np: Numpy, data: tuple[Array, ...]) -> Array:
        return np.concatenate(data, self.axis)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: tuple[Expr, ...]) -> Expr:
        axis = behind_rows(self.axis, row_rank(data[0], which[0][0]))
        return Concatenate(axis=axis)(stretched(n, data, which[0]))

    def transpose(self, g: Expr, data: tuple[Expr, ...]) -> tuple[tuple[Expr, ...]]:
        axis = self.axis % rank_of(g)
        shapes = [static_shape(x) for x in data]
        if None in shapes:
            return (_parts_at_run_time(g, data, axis),)
        cuts = tuple(accumulate([shape[axis] for shape in shapes[:-1] if shape is not None]))
        parts = apply("split", g, cuts, axis)
        return (tuple([TupleGetItem(parts, i) for i in range(len(data))]),)

    def element(self, b: Loops, index: Sequence[Any], data: Sequence[View]) -> Any:
        """The element of the tensor within whose part of the axis the place is."""
        at = self.axis % len(index)

        def of(x: View, begin: Any) -> Any:
            return x.at([*index[:at], b.minus(index[at], begin), *index[at + 1 :]])

        begin, ways = 0, list[Any]()
        for x in data[:-1]:
            end = b.plus(begin, x.sizes[at])
            ways.append((b.is_less(index[at], end), partial(of, x, begin)))
            begin = end
        return b.among(ways, partial(of, data[-1], begin))


def _parts_at_run_time(g: Expr, xs: tuple[Expr, ...], axis: int) -> tuple[Expr, ...]:
    """The parts of `g` along an axis that have the shapes of `xs`, whose sizes are known at run time."""
    first: Expr = constant([0] * (axis + 1), "int64")
    ones = constant([1] * (axis + 1), "int64")
    found: list[Expr] = []
    for x in xs:
        size = apply("strided_slice", apply("shape_of", x, "int64"), begin=(axis,), end=(axis + 1,))
        along = apply("nn.pad", size, pad_width=((axis, 0),))
        others = constant([BEYOND] * axis + [0], "int64")
        last = apply("add", first, along)
        part = apply("dyn.strided_slice", g, first, apply("add", last, others), ones)
        found.append(apply("reshape_like", part, x))
        first = last
    return tuple(found)


@operator("stack")
class Stack(Injective):
    """The tensors of a tuple, all of one type, along a new axis.

    relay> stack(([1, 2], [3, 4]), axis=1)
    [[1, 3], [2, 4]]
    """

    more_means = "its operand is a tuple: `stack((a, b))`"
    derivative = Derivative.TRANSPOSE
    samples = (
        sample(("2x3 float32", "2x3 float32")),
        sample(("int4", "int4", "int4")),
        sample(("0x3 bfloat16",), axis=-1),
        sample(("2 bool", "2 bool"), axis=1),
    )

    axis: int = 0

    def infer(self, t: Typing, data: Type) -> Type:
        fields = same_fields(t, data)
        for f in fields[1:]:
            t.equal(f, fields[0], why="the tensors that are stacked have one type")
        dims = t.shape(fields[0])
        at = axis_of(t, self.axis, len(dims) + 1, of="the result")
        return TensorType((*dims[:at], len(fields), *dims[at:]), t.dtype(fields[0]))

    def reference(self, np: Numpy, data: tuple[Array, ...]) -> Array:
        return np.stack(data, self.axis)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: tuple[Expr, ...]) -> Expr:
        axis = behind_rows(self.axis, row_rank(data[0], which[0][0]) + 1)
        return Stack(axis=axis)(stretched(n, data, which[0]))

    def transpose(self, g: Expr, data: tuple[Expr, ...]) -> tuple[tuple[Expr, ...]]:
        axis = self.axis % rank_of(g)
        return (tuple([apply("take", g, constant(i), axis=axis) for i in range(len(data))]),)

    def element(self, b: Loops, index: Sequence[Any], data: Sequence[View]) -> Any:
        """The element of the tensor with that number."""
        at = self.axis % len(index)
        place = [*index[:at], *index[at + 1 :]]
        ways = [(b.is_same(index[at], i), partial(x.at, place)) for i, x in enumerate(data[:-1])]
        return b.among(ways, partial(data[-1].at, place))


@operator("split")
class Split(Injective):
    """A tuple of parts along `axis`: so many equal ones, or cut before each of the given indices.

    relay> split([1, 2, 3, 4, 5], indices_or_sections=(2, 3))
    ([1, 2], [3], [4, 5])
    """

    batch = shifted
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("6x3 float32", indices_or_sections=3),
        sample("2x5 int4", indices_or_sections=(1, 4), axis=-1),
        sample("0x3 bfloat16", indices_or_sections=2),
        sample("3 bool", indices_or_sections=(0, 3)),
    )

    indices_or_sections: int | tuple[Size, ...]
    axis: int = 0

    def result_count(self, operands: Sequence[Any]) -> int | None:
        cuts = self.indices_or_sections
        return cuts if isinstance(cuts, int) else len(cuts) + 1

    def infer(self, t: Typing, x: Type) -> Type:
        dims = t.shape(x)
        at = axis_of(t, self.axis, len(dims))
        sizes = self.sizes(t, dims[at])
        return TupleType([TensorType((*dims[:at], d, *dims[at + 1 :]), t.dtype(x)) for d in sizes])

    def sizes(self, t: Checker, d: Dim) -> list[Dim]:
        """The size of each part."""
        cuts = self.indices_or_sections
        if isinstance(cuts, int):
            if cuts < 1:
                attribute_fault(t, "indices_or_sections", cuts, "there is at least one part")
            t.require(cuts, "divides", d, f"the axis is split into {cuts} equal parts", "split-size")
            return [d // cuts] * cuts
        for a, b in zip((0, *cuts), cuts, strict=False):
            if is_dimension(a) or is_dimension(b):
                t.require(a, "<=", b, "indices do not decrease", "split-size")
            elif b < a:
                attribute_fault(t, "indices_or_sections", cuts, "indices count from 0 and do not decrease")
        if cuts:
            t.require(cuts[-1], "<=", d, "the indices lie within the axis", "split-size")
        return [b - a for a, b in zip((0, *cuts), (*cuts, d), strict=True)]

    def reference(self, np: Numpy, data: Array) -> tuple[Array, ...]:
        return tuple(np.split(data, self.indices_or_sections, self.axis))

    def transpose(self, g: tuple[Expr, ...], data: Expr) -> tuple[Expr, ...]:
        return (with_type_of(apply("concatenate", g, axis=self.axis), data),)

    def compute(self, b: Loops, out: Sequence[Output], data: View) -> None:
        """Each part is copied."""
        at, begin = self.axis % len(data.sizes), 0
        for part in out:
            copy_part(b, part, data, at, begin)
            begin = b.plus(begin, part.sizes[at])


@operator("tile")
class Tile(Rearrangement):
    """The tensor repeated as a whole, `reps[i]` times along axis `i`; the shorter of shape and `reps` is
    extended by 1s.

    relay> tile([1, 2], reps=(2, 2))
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """

    dynamic_form = "dyn.tile"
    rereads = True
    samples = (
        sample("2x3 float32", reps=(2,)),
        sample("3 int4", reps=(2, 1, 2)),
        sample("float32", reps=()),
        sample("0x3 bfloat16", reps=(3, 2)),
        sample("2 bool", reps=(0,)),
    )

    reps: tuple[Size, ...]

    def infer(self, t: Typing, x: Type) -> Type:
        check_sizes(t, self.reps, "reps", "a count")
        dims = t.shape(x)
        rank = max(len(dims), len(self.reps))
        reps = (1,) * (rank - len(self.reps)) + self.reps
        return TensorType(
            [d * r for d, r in zip((1,) * (rank - len(dims)) + dims, reps, strict=True)], t.dtype(x)
        )

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.tile(data, self.reps)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        rank = max(row_rank(data, True), len(self.reps))
        reps = (*(1,) * (rank + 1 - len(self.reps)), *self.reps)
        return Tile(reps=reps)(with_row_rank(data, rank))

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        if 0 in self.reps:
            return (zeros_like(data),)
        reps = (1,) * (rank_of(g) - len(self.reps)) + self.reps
        copies = apply("reshape", g, newshape=[code for r in reps for code in (SPLIT, r, -1)])
        return (shaped_like(apply("sum", copies, axis=tuple(range(0, 2 * len(reps), 2))), data),)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The element at the place within the copy."""
        own = index[len(index) - len(data.sizes) :]
        return data.at([b.rest(i, d) for i, d in zip(own, data.sizes, strict=True)])


@operator("repeat")
class Repeat(Rearrangement):
    """Each element `repeats` times in a row along `axis`; without an axis, of the flattened tensor.

    relay> repeat([1, 2], repeats=2, axis=0)
    [1, 1, 2, 2]
    """

    rereads = True
    samples = (
        sample("2x3 float32", repeats=2, axis=1),
        sample("2x3 int4", repeats=3),
        sample("float32", repeats=2),
        sample("0x3 bfloat16", repeats=2, axis=-1),
        sample("2 bool", repeats=0, axis=0),
    )

    repeats: Size
    axis: int | None = None

    def infer(self, t: Typing, x: Type) -> Type:
        check_sizes(t, (self.repeats,), "repeats", "a count")
        dims = t.shape(x)
        if self.axis is None:
            return TensorType((product(dims) * self.repeats,), t.dtype(x))
        at = axis_of(t, self.axis, len(dims))
        return TensorType((*dims[:at], dims[at] * self.repeats, *dims[at + 1 :]), t.dtype(x))

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.repeat(data, self.repeats, self.axis)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        if self.axis is None:
            return replace(self, axis=1)(apply("reshape", data, newshape=(0, -1)))
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True)))(data)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        if self.repeats == 0:
            return (zeros_like(data),)
        at = 0 if self.axis is None else self.axis % rank_of(data)
        rest = rank_of(g) - 1 - at
        copies = apply("reshape", g, newshape=(*(0,) * at, SPLIT, -1, self.repeats, *(0,) * rest))
        found = apply("sum", copies, axis=at + 1)
        return (shaped_like(found, data) if self.axis is None else found,)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """The element that stands there in a row of its kind."""
        at = 0 if self.axis is None else self.axis % len(index)
        place = [*index[:at], b.quotient(index[at], max(self.repeats, 1)), *index[at + 1 :]]
        return data.at(b.unravelled(place[0], data.sizes) if self.axis is None else place)


@operator("meshgrid")
class Meshgrid(Injective):
    """The coordinates of a grid: for tensors of rank 1 (or 0) one tensor each that varies along its own axis
    alone.

    With `indexing="ij"` tensor `i` varies along axis `i`; with `"xy"` the first two are exchanged.

    relay> meshgrid(([1, 2], [3, 4, 5]))
    ([[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]])
    """

    rereads = True
    derivative = Derivative.TRANSPOSE
    samples = (
        sample(("2 float32", "3 float32")),
        sample(("2 int4", "int4", "0 int4"), indexing="xy"),
        sample(("3 bool",)),
    )

    indexing: Literal["ij", "xy"] = "ij"

    def axes(self, count: int) -> list[int]:
        """The axis along which each tensor varies."""
        axes = list(range(count))
        return [1, 0, *axes[2:]] if self.indexing == "xy" and count > 1 else axes

    def result_count(self, operands: Sequence[Any]) -> int | None:
        return len(operands[0].fields) if isinstance(operands[0], Tuple) else None

    def infer(self, t: Typing, data: Type) -> Type:
        fields = same_fields(t, data)
        dims: list[Dim] = []
        for f in fields:
            shape = t.shape(f)
            if len(shape) > 1:
                t.fail("rank-mismatch", f"`meshgrid` takes tensors of rank 1, not {len(shape)}")
            dims.append(shape[0] if shape else 1)
        if self.indexing == "xy" and len(dims) > 1:
            dims[:2] = dims[1::-1]
        return TupleType([TensorType(dims, t.dtype(fields[0]))] * len(fields))

    def reference(self, np: Numpy, data: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple(np.meshgrid(*[np.atleast_1d(x) for x in data], indexing=self.indexing))

    def batch(self, n: Dim, which: Sequence[Any], data: tuple[Expr, ...]) -> tuple[Expr, ...]:
        count, axes = len(data), self.axes(len(data))
        lines: list[Expr] = []
        for x, is_batched, axis in zip(data, which[0], axes, strict=True):
            front = (0,) if is_batched else ()
            sizes = (*front, *(1,) * axis, -1, *(1,) * (count - 1 - axis))
            lines.append(apply("reshape", x, newshape=sizes))
        # A choice that is none has the shape of both sides.
        whole = reduce(lambda x, y: apply("where", constant(True), x, y), lines)
        return tuple([apply("broadcast_to_like", line, whole) for line in lines])

    def transpose(self, g: tuple[Expr, ...], data: tuple[Expr, ...]) -> tuple[tuple[Expr, ...]]:
        axes = self.axes(len(data))
        sums = [apply("sum", d, axis=axis, exclude=True) for d, axis in zip(g, axes, strict=True)]
        return (tuple([d if rank_of(x) else shaped_like(d, x) for d, x in zip(sums, data, strict=True)]),)

    def compute(self, b: Loops, out: Sequence[Output], data: Sequence[View]) -> None:
        """Each tensor along its own axis."""
        for grid, x, axis in zip(out, data, self.axes(len(data)), strict=True):
            spread_along(b, grid, x, axis)


def copy_part(b: Loops, out: Output, x: View, axis: int, begin: Any) -> None:
    """Copy the part of a tensor that begins at a place of an axis."""

    def one(index: Sequence[Any]) -> Any:
        return x.at([*index[:axis], b.plus(index[axis], begin), *index[axis + 1 :]])

    b.fill(out, one)


def spread_along(b: Loops, out: Output, x: View, axis: int) -> None:
    """Copy a vector along an axis, the same for all places of the others."""
    b.fill(out, lambda index: x.at([index[axis]] if x.sizes else []))
