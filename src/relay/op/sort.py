"""Order: sorting, the greatest few, searching in sorted data, distinct elements.

NaN counts as greater than every number; equal elements keep the order they had, in either direction.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, TensorType, TupleType, Type
from relay.op.attribute import DTypeName, Size, is_dimension
from relay.op.axes import axis_of
from relay.op.base import INTEGRAL, NUMERIC, ORDERED, Array, Numpy, Operator, sample
from relay.op.batching import all_stretched, behind_rows, by, row_rank, shifted, stretched
from relay.op.conversion import accumulator
from relay.op.derivative import zeros_like
from relay.op.family import family
from relay.op.kind import Batching, Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import SameType, apply, narrow
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.sorting import is_before, sort_lines
from relay.op.traced import DECIDES, values_of


def order(np: Numpy, data: Array, axis: int, ascending: bool) -> Array:
    """The stable permutation that sorts `data` along `axis`, as int64."""
    x = accumulator(data)
    if ascending:
        return np.argsort(x, axis=axis, stable=True)
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)


@operator("sort")
class Sort(SameType):
    """The elements in order along `axis`: ascending with NaN last, or descending with NaN first.

    relay> sort([3, 1, 2], is_ascend=False)
    [3, 2, 1]
    """

    axis: int = -1
    is_ascend: bool = True
    dtypes = ORDERED
    batch = shifted
    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32"),
        sample("3x4 int32", axis=0, is_ascend=False),
        sample("0 float32"),
        sample("5 bool"),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        axis_of(t, self.axis, len(t.shape(data)))
        return data

    def reference(self, np: Numpy, data: Array) -> Array:
        if self.is_ascend:
            return narrow(np.sort(accumulator(data), axis=self.axis, stable=True), data.dtype)
        return np.take_along_axis(data, order(np, data, self.axis, ascending=False), axis=self.axis)

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr, ...]:
        places = apply("argsort", self.permutation(data), axis=self.axis)
        return (apply("gather", g, self.axis, places),)

    def jvp(self, dxs: Sequence[Any], y: Expr, data: Expr) -> Expr:
        return apply("gather", dxs[0], self.axis, self.permutation(data))

    def permutation(self, data: Expr) -> Expr:
        """Where each element of the result comes from."""
        return apply("argsort", data, axis=self.axis, is_ascend=self.is_ascend)

    def compute(self, b: Loops, out: Output, data: View) -> None:
        """The elements in the order of their places."""

        def emit(index: list[Index], place: Any) -> None:
            out.put(index, data.at(moved_to(b, index, self.axis, place)))

        sort_lines(b, data, self.axis, self.is_ascend, data.sizes[self.axis], emit)


@operator("argsort")
class ArgSort(Operator):
    """The indices that sort the elements along `axis`; equal elements in the order they had.

    relay> argsort([30, 10, 20])
    [1, 2, 0]
    """

    axis: int = -1
    is_ascend: bool = True
    dtype: DTypeName = "int32"  # pyright: ignore[reportAssignmentType]
    dtypes = ORDERED
    batch = shifted
    derivative = Derivative.ZERO
    samples = (sample("3x4 float32"), sample("3x4 int32", axis=0, is_ascend=False, dtype="int64"))

    def infer(self, t: Typing, data: Type) -> Type:
        axis_of(t, self.axis, len(t.shape(data)))
        return TensorType(t.tensor(data).shape, self.dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        return narrow(order(np, data, self.axis, self.is_ascend), self.dtype)

    def compute(self, b: Loops, out: Output, data: View) -> None:
        """The places in order."""

        def emit(index: list[Index], place: Any) -> None:
            out.put(index, b.cast(place, self.dtype))

        sort_lines(b, data, self.axis, self.is_ascend, data.sizes[self.axis], emit)


@family
class _TopK(Operator):
    """What the two forms of `topk` share."""

    axis: int = -1
    ret_type: Literal["both", "values", "indices"] = "both"
    is_ascend: bool = False
    dtype: DTypeName = "int32"  # pyright: ignore[reportAssignmentType]
    dtypes = ORDERED
    derivative = Derivative.RULES

    def result_count(self, operands: Sequence[Any]) -> int | None:
        return 2 if self.ret_type == "both" else None

    def result(self, values: TensorType) -> Type:
        """The type of what `ret_type` asks for, given that of the values."""
        indices = TensorType(values.shape, self.dtype)
        return {"both": TupleType([values, indices]), "values": values, "indices": indices}[self.ret_type]

    def pick(self, np: Numpy, data: Array, k: int) -> Any:
        """What `ret_type` asks for, of the first `k` in order."""
        axis = self.axis % data.ndim
        indices = np.take(order(np, data, axis, self.is_ascend), np.arange(k), axis=axis)
        values = np.take_along_axis(data, indices, axis=axis)
        indices = narrow(indices, self.dtype)
        return {"both": (values, indices), "values": values, "indices": indices}[self.ret_type]

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *k: Expr) -> Expr | None:
        if not which[0] or any(which[1:]):
            return None  # each row would have a length of its own
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True)))(data, *k)

    def vjp(self, g: Any, y: Any, data: Expr, *k: Expr) -> tuple[Expr | None, ...]:
        given = g[0] if self.ret_type == "both" else g
        return scatter_cotangent(given, self.axis, self.indices(y, data, *k), data), *(None,) * len(k)

    def jvp(self, dxs: Sequence[Any], y: Any, data: Expr, *k: Expr) -> Any:
        values = apply("gather", dxs[0], self.axis, self.indices(y, data, *k))
        return (values, None) if self.ret_type == "both" else values

    def indices(self, y: Any, data: Expr, *k: Expr) -> Expr:
        """Where the elements that are taken come from."""
        return y[1] if self.ret_type == "both" else replace(self, ret_type="indices")(data, *k)

    def compute(self, b: Loops, out: Any, data: View, *k: View) -> None:
        """The first places in order, or what stands there, or both."""
        outs: dict[str, Output] = {self.ret_type: out}
        if self.ret_type == "both":
            outs = dict(zip(("values", "indices"), out, strict=True))

        def emit(index: list[Index], place: Any) -> None:
            if "values" in outs:
                outs["values"].put(index, data.at(moved_to(b, index, self.axis, place)))
            if "indices" in outs:
                outs["indices"].put(index, b.cast(place, self.dtype))

        sort_lines(b, data, self.axis, self.is_ascend, b.sizes[self.axis], emit)


def scatter_cotangent(g: Expr, axis: int, indices: Expr, x: Expr) -> Expr:
    """The cotangent of `x`, from which elements at the indices along an axis were taken."""
    return apply("scatter_elements", zeros_like(x), indices, g, axis=axis, reduction="add")


@operator("dyn.topk")
class DynTopK(_TopK):
    """`topk` for a `k` that is known at run time: a scalar, or a tensor of one element.

    relay> dyn.topk([3.0, 9.0, 5.0], 2, ret_type="values")
    [9.0, 5.0]
    """

    builder_order = ("data", "k", "axis", "ret_type", "is_ascend", "dtype")
    samples = (sample("3x4 float32", _np.int32(2)), sample("5 float32", _np.asarray([3]), ret_type="indices"))

    def infer(self, t: Typing, data: Type, k: Type) -> Type:
        shape = list(t.shape(data))
        t.dtype_in(k, INTEGRAL, "k")
        shape[axis_of(t, self.axis, len(shape), of="`data`")] = ANY
        return self.result(TensorType(shape, t.dtype(data)))

    def check_dtype(self, t: Typing, operand: Type) -> None:
        """Either operand may have any dtype that has an order."""
        t.dtype_in(operand, ORDERED)

    def reference(self, np: Numpy, data: Array, k: Array) -> Any:
        size = data.shape[self.axis]
        wanted = values_of(k.reshape(()), DECIDES)
        return self.pick(np, data, min(wanted, size) if wanted >= 1 else size)

    def extent(self, b: Loops, data: View, k: View) -> Any:
        """As many as `k` says, if there are so many."""
        size, wanted = data.sizes[self.axis], b.as_index(k.at([0] * len(k.sizes)))
        taken = b.choose(b.is_less(wanted, 1), size, b.smaller(wanted, size))
        at = self.axis % len(data.sizes)
        sizes = [*data.sizes[:at], taken, *data.sizes[at + 1 :]]
        return [sizes, sizes] if self.ret_type == "both" else sizes


@operator("topk")
class TopK(_TopK):
    """The `k` greatest elements along `axis` in order (the least with `is_ascend`), and where they are.

    `k` below 1 takes all.  NaN is the greatest; of equal elements the first comes first.

    relay> topk([3.0, 9.0, 5.0], k=2)
    ([9.0, 5.0], [1, 2])
    """

    builder_order = ("data", "k", "axis", "ret_type", "is_ascend", "dtype")
    dynamic_form = "dyn.topk"

    k: Size = 1
    samples = (
        sample("3x4 float32", k=2),
        sample("3x4 int32", k=0, axis=0, is_ascend=True, dtype="int64"),
        sample("5 float32", k=3, ret_type="values"),
        sample("5 float32", k=3, ret_type="indices"),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        shape = list(t.shape(data))
        axis = axis_of(t, self.axis, len(shape))
        if is_dimension(self.k) or self.k >= 1:
            t.require(self.k, "<=", shape[axis], f"`topk` takes {self.k} elements along axis {axis}")
            shape[axis] = self.k
        return self.result(TensorType(shape, t.dtype(data)))

    def reference(self, np: Numpy, data: Array) -> Any:
        return self.pick(np, data, self.k if self.k >= 1 else data.shape[self.axis])


@operator("searchsorted")
class SearchSorted(Operator):
    """Where each of `values` would go into `sorted_sequence` to keep it ascending along its last axis.

    The sequence has rank 1, or the rank of `values` and its leading dimensions.  An equal element is
    passed only
    with `right`.

    relay> searchsorted([1.0, 3.0, 5.0], [3.0, 9.0])
    [1, 3]
    """

    right: bool = False
    dtype: DTypeName = "int32"  # pyright: ignore[reportAssignmentType]
    dtypes = NUMERIC
    derivative = Derivative.ZERO
    samples = (
        sample(_np.asarray([1.0, 3.0, 5.0]), "2x3 float64"),
        sample(_np.asarray([[1, 3, 5], [2, 2, 4]]), "2x4 int64", right=True),
        sample("0x3 float32", "0x2 float32"),
        sample("2x0 int32", "2x3 int32"),
    )

    def infer(self, t: Typing, sorted_sequence: Type, values: Type) -> Type:
        t.equal(t.dtype(values), t.dtype(sorted_sequence), why="values and sequence have one dtype")
        sequence = t.shape(sorted_sequence)
        if not sequence:
            t.fail("rank-mismatch", "`searchsorted` needs a sequence of rank 1 or more")
        if len(sequence) > 1:
            shape = t.shape(values, len(sequence), "the values")
            for a, b in zip(sequence[:-1], shape[:-1], strict=True):
                t.equal(b, a, why="the leading dimensions of sequence and values agree")
        return TensorType(t.tensor(values).shape, self.dtype)

    def reference(self, np: Numpy, sorted_sequence: Array, values: Array) -> Array:
        side = "right" if self.right else "left"
        sequence, x = accumulator(sorted_sequence), accumulator(values)
        if sequence.ndim == 1:
            return narrow(np.searchsorted(sequence, x, side=side), self.dtype)
        count = _np.prod(x.shape[:-1], dtype=int)
        rows, values = (a.reshape(count, a.shape[-1]) for a in (sequence, x))
        found = [np.searchsorted(row, v, side=side) for row, v in zip(rows, values, strict=True)]
        return narrow(np.reshape(np.asarray(found, "int64"), x.shape), self.dtype)

    def batch(self, n: Dim, which: Sequence[Any], sorted_sequence: Expr, values: Expr) -> Expr:
        if row_rank(sorted_sequence, which[0]) > 1:
            return self(*all_stretched(n, which, (sorted_sequence, values)))
        if not which[0]:
            return self(sorted_sequence, values)
        rows = stretched(n, values, which[1])
        flat = apply("reshape", rows, newshape=(0, -1))
        return apply("reshape_like", self(sorted_sequence, flat), rows)

    def element(self, b: Loops, index: Sequence[Any], sorted_sequence: View, values: View) -> Any:
        """Half of what is left at a time."""
        row = index[: len(sorted_sequence.sizes) - 1]
        n, v = sorted_sequence.sizes[-1], values.at(index)

        def step(_: Index, totals: Sequence[Any]) -> Sequence[Any]:
            low, high = totals
            middle = b.bits("ashr", b.add(low, high), b.const(1, low))

            def passes() -> Any:
                x = sorted_sequence.at([*row, b.as_index(middle)])
                return b.negation(is_before(b, v, x, True)) if self.right else is_before(b, x, v, True)

            is_open = b.compare("lt", low, high)
            on = b.where(is_open, passes, lambda: b.const(False, "bool"))
            narrower = b.select(is_open, middle, high)
            return [b.select(on, b.add(middle, b.const(1, low)), low), b.select(on, high, narrower)]

        rounds = n.bit_length() if isinstance(n, int) else 63
        found = b.loop(rounds, [b.const(0, "int64"), b.as_number(n, "int64")], step)
        return b.cast(found[0], self.dtype)


def moved_to(b: Loops, index: Sequence[Index], axis: int, place: Any) -> list[Index]:
    """An index with another place along an axis."""
    found = list(index)
    found[axis] = b.as_index(place)
    return found
