"""Order: sorting, the greatest few, searching in sorted data, distinct elements.

NaN counts as greater than every number; equal elements keep the order they had, in either direction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as _np

from relay.ir.expr import Call, Expr, Op, RelayExpr, as_expr
from relay.ir.type import ANY, TensorType, TupleType, Type
from relay.op.axes import axis_of
from relay.op.base import (
    INTEGRAL,
    NUMERIC,
    Array,
    Derivative,
    DTypeName,
    Numpy,
    Operator,
    builders,
    operator,
    sample,
)
from relay.op.conversion import accumulator
from relay.op.derivative import zeros_like
from relay.op.numeric import SameType, apply, narrow
from relay.op.relation import Typing


def order(np: Numpy, data: Array, axis: int, ascending: bool) -> Array:
    """The stable permutation that sorts `data` along `axis`, as int64."""
    x = accumulator(data)
    if ascending:
        return np.argsort(x, axis=axis, kind="stable")
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


@operator("sort")
class Sort(SameType):
    """The elements in order along `axis`: ascending with NaN last, or descending with NaN first.

    relay> sort([3, 1, 2], is_ascend=False)
    [3, 2, 1]
    """

    axis: int = -1
    is_ascend: bool = True
    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (sample("3x4 float32"), sample("3x4 int32", axis=0, is_ascend=False), sample("0 float32"))

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


@operator("argsort")
class ArgSort(Operator):
    """The indices that sort the elements along `axis`; equal elements in the order they had.

    relay> argsort([30, 10, 20])
    [1, 2, 0]
    """

    axis: int = -1
    is_ascend: bool = True
    dtype: DTypeName = "int32"  # pyright: ignore[reportAssignmentType]
    dtypes = NUMERIC
    derivative = Derivative.ZERO
    samples = (sample("3x4 float32"), sample("3x4 int32", axis=0, is_ascend=False, dtype="int64"))

    def infer(self, t: Typing, data: Type) -> Type:
        axis_of(t, self.axis, len(t.shape(data)))
        return TensorType(t.tensor(data).shape, self.dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        return narrow(order(np, data, self.axis, self.is_ascend), self.dtype)


@dataclass(frozen=True)
class _TopK(Operator):
    """What the two forms of `topk` share."""

    axis: int = -1
    ret_type: Literal["both", "values", "indices"] = "both"
    is_ascend: bool = False
    dtype: DTypeName = "int32"  # pyright: ignore[reportAssignmentType]
    dtypes = NUMERIC
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

    def vjp(self, g: Any, y: Any, data: Expr, *k: Expr) -> tuple[Expr | None, ...]:
        given = g[0] if self.ret_type == "both" else g
        return placed(given, self.axis, self.indices(y, data, *k), data), *(None,) * len(k)

    def jvp(self, dxs: Sequence[Any], y: Any, data: Expr, *k: Expr) -> Any:
        values = apply("gather", dxs[0], self.axis, self.indices(y, data, *k))
        return (values, None) if self.ret_type == "both" else values

    def indices(self, y: Any, data: Expr, *k: Expr) -> Expr:
        """Where the elements that are taken come from."""
        return y[1] if self.ret_type == "both" else replace(self, ret_type="indices")(data, *k)


def placed(g: Expr, axis: int, indices: Expr, x: Expr) -> Expr:
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
        shape[axis_of(t, self.axis, len(shape))] = ANY
        return self.result(TensorType(shape, t.dtype(data)))

    def check_dtype(self, t: Typing, operand: Type) -> None:
        """Either operand may have any base type that has an order."""
        t.dtype_in(operand, NUMERIC)

    def reference(self, np: Numpy, data: Array, k: Array) -> Any:
        size = data.shape[self.axis]
        wanted = int(np.reshape(k, ()))
        return self.pick(np, data, min(wanted, size) if wanted >= 1 else size)


@operator("topk")
class TopK(_TopK):
    """The `k` greatest elements along `axis` in order (the least with `is_ascend`), and where they are.

    `k` below 1 takes all.  NaN is the greatest; of equal elements the first comes first.

    relay> topk([3.0, 9.0, 5.0], k=2)
    ([9.0, 5.0], [1, 2])
    """

    k: int = 1
    samples = (
        sample("3x4 float32", k=2),
        sample("3x4 int32", k=0, axis=0, is_ascend=True, dtype="int64"),
        sample("5 float32", k=3, ret_type="values"),
        sample("5 float32", k=3, ret_type="indices"),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        shape = list(t.shape(data))
        axis = axis_of(t, self.axis, len(shape))
        if self.k >= 1:
            t.require(self.k, "<=", shape[axis], f"`topk` takes {self.k} elements along axis {axis}")
            shape[axis] = self.k
        return self.result(TensorType(shape, t.dtype(data)))

    def reference(self, np: Numpy, data: Array) -> Any:
        return self.pick(np, data, self.k if self.k >= 1 else data.shape[self.axis])

    @staticmethod
    def builder(
        data: Any,
        k: Any = 1,
        axis: int = -1,
        ret_type: str = "both",
        is_ascend: bool = False,
        dtype: str = "int32",
    ) -> Expr:
        """`topk(data, k)`; an expression for `k` makes a `dyn.topk`."""
        attrs: dict[str, Any] = {"axis": axis, "ret_type": ret_type, "is_ascend": is_ascend, "dtype": dtype}
        if isinstance(k, RelayExpr):
            return builders["dyn.topk"](data, k, **attrs)
        return Call(Op.get("topk"), (as_expr(data),), {**attrs, "k": k})


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
    )

    def infer(self, t: Typing, sorted_sequence: Type, values: Type) -> Type:
        t.equal(t.dtype(values), t.dtype(sorted_sequence), why="values and sequence have one base type")
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
        rows = sequence.reshape(-1, sequence.shape[-1])
        found = [
            np.searchsorted(row, v, side=side) for row, v in zip(rows, x.reshape(len(rows), -1), strict=True)
        ]
        return narrow(np.reshape(np.asarray(found, "int64"), x.shape), self.dtype)


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
    dtypes = NUMERIC
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
        return (placed(g[0], 0, y[1], data),)

    def jvp(self, dxs: Sequence[Any], y: Any, data: Expr) -> Any:
        return apply("gather", dxs[0], 0, y[1]), *(None,) * (len(y) - 1)
