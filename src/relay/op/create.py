"""Tensors made from nothing, or from the shape of another."""

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy

from relay.diagnostic import fail
from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Constant, Expr, Op, as_expr, constant
from relay.ir.type import ANY, TensorType, Type
from relay.op.axes import attribute_fault, axis_of
from relay.op.base import (
    INTEGRAL,
    NUMERIC,
    Array,
    Derivative,
    DTypeName,
    Elementwise,
    Fusion,
    Numpy,
    Operator,
    operator,
    sample,
)
from relay.op.conversion import converted
from relay.op.derivative import cast_back, masked, number, spread, tensor_type, times, total
from relay.op.numeric import apply
from relay.op.relation import Typing


def check_shape(t: Typing, shape: Sequence[int], name: str = "shape") -> tuple[int, ...]:
    """A shape given as an attribute (`attribute-value` if a size is negative)."""
    if any(d < 0 for d in shape):
        attribute_fault(t, name, tuple(shape), "a size is never negative")
    return tuple(shape)


class Fill(Operator):
    """A tensor of one value."""

    fusion = Fusion.ELEMENTWISE
    derivative = Derivative.ZERO
    samples = (
        sample(shape=(2, 3), dtype="float32"),
        sample(shape=(), dtype="int4"),
        sample(shape=(0, 3), dtype="bool"),
        sample(shape=(5,), dtype="bfloat16"),
    )


@operator("zeros")
class Zeros(Fill):
    """A tensor of zeros.

    relay> zeros(shape=(2, 3), dtype="int32")
    [[0, 0, 0], [0, 0, 0]]
    """

    shape: tuple[int, ...]
    dtype: DTypeName

    def infer(self, t: Typing) -> Type:
        return TensorType(check_shape(t, self.shape), self.dtype)

    def reference(self, np: Numpy) -> Array:
        return np.zeros(self.shape, to_numpy(self.dtype))


@operator("ones")
class Ones(Fill):
    """A tensor of ones.

    relay> ones(shape=(3,), dtype="float32")
    [1.0, 1.0, 1.0]
    """

    shape: tuple[int, ...]
    dtype: DTypeName

    def infer(self, t: Typing) -> Type:
        return TensorType(check_shape(t, self.shape), self.dtype)

    def reference(self, np: Numpy) -> Array:
        return np.ones(self.shape, to_numpy(self.dtype))


@operator("full")
class Full(Operator):
    """A tensor of `fill_value`, a scalar; its base type is the scalar's unless `dtype` gives another.

    relay> full(7, shape=(2, 2))
    [[7, 7], [7, 7]]
    """

    fusion = Fusion.BROADCAST
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("float32", shape=(2, 3)),
        sample("int32", shape=(0,), dtype="float64"),
        sample("bool", shape=()),
        sample("int4", shape=(5,)),
    )

    shape: tuple[int, ...] = ()
    dtype: DTypeName | Literal[""] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype == "":  # how version 0.0.5 writes None
            object.__setattr__(self, "dtype", None)

    def infer(self, t: Typing, fill: Type) -> Type:
        t.shape(fill, rank=0, what="the value to fill with")
        return TensorType(check_shape(t, self.shape), self.dtype or t.dtype(fill))

    def reference(self, np: Numpy, fill_value: Array) -> Array:
        value = converted(np, fill_value, self.dtype) if self.dtype else fill_value
        return np.broadcast_to(np.asarray(value), self.shape)

    def transpose(self, g: Expr, fill_value: Expr) -> tuple[Expr, ...]:
        return (cast_back(apply("sum", g), fill_value, tensor_type(g).dtype),)


@operator("arange")
class Arange(Operator):
    """The numbers from `start` (0) up to but not including `stop`, `step` (1) apart.

    With attributes the size is known; with operands, which are scalars of type `dtype`, it is not (`?`).

    relay> arange(start=1, stop=10, step=4, dtype="int32")
    [1, 5, 9]
    relay> arange(0, 3, 1, dtype="int32")
    [0, 1, 2]
    """

    fusion = Fusion.INJECTIVE
    derivative = Derivative.RULES
    samples = (
        sample(stop=5),
        sample(start=1, stop=10, step=4, dtype="int32"),
        sample(start=0, stop=1, step=0.3),
        sample(start=5, stop=0, step=-2, dtype="int8"),
        sample(start=3, stop=0, dtype="int64"),
        sample(numpy.int32(0), numpy.int32(5), numpy.int32(2), dtype="int32"),
        sample(numpy.float32(0.5), numpy.float32(3.25), numpy.float32(0.5)),
    )

    start: int | float | None = None
    stop: int | float | None = None
    step: int | float | None = None
    dtype: DTypeName = DTypeName("float32")

    @staticmethod
    def builder(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Expr:
        """As `numpy.arange`; numbers and scalar constants become attributes, expressions operands."""
        if stop is None:
            start, stop = 0, start
        step = 1 if step is None else step
        limits = [_number(x) for x in (start, stop, step)]
        if None not in limits:
            return Call(
                Op.get("arange"),
                (),
                dict(zip(("start", "stop", "step"), limits, strict=True)) | {"dtype": dtype},
            )
        return Call(Op.get("arange"), tuple([as_expr(x) for x in (start, stop, step)]), {"dtype": dtype})

    def infer(self, t: Typing, *limits: Type) -> Type:
        for limit in limits:
            t.shape(limit, rank=0, what="a limit of `arange`")
            t.equal(t.dtype(limit), self.dtype, why="the limits have the base type of the result")
        if self.dtype not in NUMERIC:
            attribute_fault(t, "dtype", self.dtype, "it is not a type of numbers")
        if self.step == 0:
            attribute_fault(t, "step", self.step, "it would never arrive")
        if self.stop is not None:
            return TensorType(
                (_length(self.start or 0, self.stop, 1 if self.step is None else self.step),), self.dtype
            )
        if not limits:
            t.fail("missing-attribute", "`arange` needs the attribute `stop`", hint="write arange(…, stop=…)")
        return TensorType((ANY,), self.dtype)

    def reference(
        self, np: Numpy, start: Array | None = None, stop: Array | None = None, step: Array | None = None
    ) -> Array:
        if stop is None and start is not None:
            start, stop = None, start
        first = (self.start or 0) if start is None else start.item()
        last = self.stop if stop is None else stop.item()
        by = (1 if self.step is None else self.step) if step is None else step.item()
        if by == 0:
            fail("divide-by-zero", "`arange` with step 0 would never arrive")
        count = np.arange(_length(first, last, by))
        whole = all(isinstance(x, int) for x in (first, by))
        values = count * by + first if whole else count.astype(numpy.float64) * float(by) + float(first)
        return converted(np, values, self.dtype)

    def vjp(self, g: Expr, y: Expr, *limits: Expr) -> tuple[Expr | None, ...]:
        start = apply("sum", g) if len(limits) > 1 else None
        return (start, None, apply("sum", times(g, _places(y))))[: len(limits)]

    def jvp(self, dxs: Sequence[Any], y: Expr, *limits: Expr) -> Expr | None:
        start, _, step = (*dxs, None, None)[:3] if len(limits) > 1 else (None, None, None)
        return total([*([] if start is None else [spread(start, y)]),
                      *([] if step is None else [times(step, _places(y))])])  # fmt: skip


def _places(y: Expr) -> Expr:
    """0, 1, 2, … in the type of a vector."""
    return apply("cumsum", apply("ones_like", y), axis=0, exclusive=True)


def _number(x: Any) -> int | float | None:
    """A number, or the value of a scalar constant; None for an expression."""
    value: Any = x.value if isinstance(x, Constant) and x.is_scalar else x
    if isinstance(value, numpy.ndarray | numpy.generic):
        return cast(int | float, value.item())
    return value if isinstance(value, int | float) else None


def _length(start: int | float, stop: Any, step: int | float) -> int:
    """How many numbers there are."""
    if all(isinstance(x, int) for x in (start, stop, step)):
        return max(0, -((start - stop) // step))
    return max(0, math.ceil((stop - start) / step))


class FillLike(Elementwise):
    """One value in the shape and base type of the operand."""

    derivative = Derivative.ZERO
    carried = ("data",)
    samples = (sample("2x3 float32"), sample("int4"), sample("0x3 bool"), sample("5 bfloat16"))


@operator("zeros_like")
class ZerosLike(FillLike):
    """Zeros in the shape and base type of the operand.

    relay> zeros_like([1.5, 2.5])
    [0.0, 0.0]
    """

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.zeros_like(data)


@operator("ones_like")
class OnesLike(FillLike):
    """Ones in the shape and base type of the operand.

    relay> ones_like([1.5, 2.5])
    [1.0, 1.0]
    """

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.ones_like(data)


@operator("full_like")
class FullLike(Operator):
    """The scalar `fill_value` in the shape of the first operand, whose base type it has.

    relay> full_like([1.5, 2.5], 7)
    [7.0, 7.0]
    """

    fusion = Fusion.BROADCAST
    derivative = Derivative.TRANSPOSE
    carried = ("data",)
    samples = (sample("2x3 float32", "float32"), sample("int4", "int4"), sample("0x3 bool", "bool"))

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        x, fill = args
        t.equal(out, x)
        t.equal(
            fill, TensorType((), t.dtype(x)), why="the value to fill with is a scalar of the same base type"
        )

    def reference(self, np: Numpy, data: Array, fill_value: Array) -> Array:
        return np.broadcast_to(np.asarray(fill_value), data.shape)

    def transpose(self, g: Expr, data: Expr, fill_value: Expr) -> tuple[Expr | None, ...]:
        return None, apply("sum", g)


@operator("shape_of")
class ShapeOf(Operator):
    """The shape of the operand as a tensor of rank 1.

    relay> shape_of([[1, 2, 3], [4, 5, 6]])
    [2, 3]
    """

    derivative = Derivative.ZERO
    carried = ("data",)
    samples = (sample("2x3 float32"), sample("int4"), sample("0x3 bool", dtype="int64"))

    dtype: DTypeName = DTypeName("int32")

    def infer(self, t: Typing, x: Type) -> Type:
        return TensorType((len(t.shape(x)),), self.dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.asarray(data.shape, to_numpy(self.dtype))


@operator("ndarray_size")
class NdarraySize(Operator):
    """The number of elements of the operand, a scalar.

    relay> ndarray_size([[1, 2, 3], [4, 5, 6]])
    6
    """

    derivative = Derivative.ZERO
    carried = ("data",)
    samples = (sample("2x3 float32"), sample("int4"), sample("0x3 bool", dtype="int64"))

    dtype: DTypeName = DTypeName("int32")

    def infer(self, t: Typing, x: Type) -> Type:
        t.tensor(x)
        return TensorType((), self.dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.asarray(data.size, to_numpy(self.dtype))


@operator("one_hot")
class OneHot(Operator):
    """A new axis of size `depth` at `axis`, with `on_value` at the index and `off_value` elsewhere.

    An index outside 0 to `depth - 1` gives `off_value` throughout.

    relay> one_hot([2, 0], 1.0, 0.0, depth=3)
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    fusion = Fusion.BROADCAST
    derivative = Derivative.RULES
    samples = (
        sample(numpy.array([2, 0, 5]), numpy.float32(1), numpy.float32(0), depth=3),
        sample(numpy.int32(1), numpy.int32(5), numpy.int32(-1), depth=2, dtype="int32"),
        sample(numpy.array([1, 0]), numpy.float32(1.5), numpy.int32(3), depth=2),
        sample("2x3 int64", "bool", "bool", depth=4, axis=0, dtype="bool"),
        sample("0 int8", numpy.float32(1), numpy.float32(0), depth=3, axis=1),
    )

    depth: int
    axis: int = -1
    dtype: DTypeName = DTypeName("float32")

    def infer(self, t: Typing, indices: Type, on: Type, off: Type) -> Type:
        t.dtype_in(indices, INTEGRAL, "the indices")
        for value in (on, off):
            t.shape(value, rank=0, what="a value of `one_hot`")
            if not isinstance(t.dtype(value), str):
                t.equal(t.dtype(value), self.dtype)
        if self.depth < 0:
            attribute_fault(t, "depth", self.depth, "a size is never negative")
        shape = t.shape(indices)
        at = axis_of(t, self.axis, len(shape) + 1)
        return TensorType((*shape[:at], self.depth, *shape[at:]), self.dtype)

    def reference(self, np: Numpy, indices: Array, on_value: Array, off_value: Array) -> Array:
        at = self.axis % (indices.ndim + 1)
        places = np.arange(self.depth).reshape((-1,) + (1,) * (indices.ndim - at))
        hit = np.expand_dims(np.asarray(indices).astype(numpy.int64), at) == places
        on, off = (converted(np, v, self.dtype) for v in (on_value, off_value))
        return np.where(hit, on, off).astype(to_numpy(self.dtype))

    def vjp(self, g: Expr, y: Expr, indices: Expr, *values: Expr) -> tuple[Expr | None, ...]:
        hit = apply(
            "one_hot", indices, constant(True), constant(False), **self.attributes() | {"dtype": "bool"}
        )
        parts = (masked(hit, g), masked(apply("logical_not", hit), g))
        dtype = tensor_type(g).dtype
        return None, *[cast_back(apply("sum", d), v, dtype) for d, v in zip(parts, values, strict=True)]

    def jvp(self, dxs: Sequence[Any], y: Expr, *xs: Expr) -> Expr:
        on, off = (number(0, y) if d is None else d for d in dxs[1:])
        return self(xs[0], on, off)
