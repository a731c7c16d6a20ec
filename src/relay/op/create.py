"""Tensors made from nothing, or from the shape of another."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy

from relay.diagnostic import fail
from relay.ir.dim import least, maximum
from relay.ir.dtype import is_integer, to_numpy
from relay.ir.expr import Call, Constant, Expr, Op, as_expr
from relay.ir.type import ANY, Dim, TensorType, Type
from relay.op.attribute import DTypeName, Size, is_dimension, is_size
from relay.op.axes import attribute_fault, check_sizes
from relay.op.base import ANY_NUMBER, NUMERIC, Array, Numpy, Operator, sample
from relay.op.batching import stretched, with_row_rank
from relay.op.conversion import converted
from relay.op.derivative import broadcast_like, cast_back, rank_of, tensor_type, times, total
from relay.op.family import Elementwise
from relay.op.kind import Derivative, Fusion, Precision
from relay.op.native import Index, Loops, Scalars, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.traced import DECIDES, values_of

MOST_STEPS = 2.0**60
"""How many elements an `arange` may count: fewer than the bytes that 64 bits can address."""
NO_SIZE = "`arange` has no size: a limit is NaN or infinite, or the limits are too many steps apart"
NO_SIZE_HINT = "check the limits and the step before the call"


class Fill(Operator):
    """A tensor of one value."""

    computes = False
    fusion = Fusion.ELEMENTWISE
    derivative = Derivative.ZERO
    samples = (
        sample(shape=(2, 3), dtype="float32"),
        sample(shape=(), dtype="int4"),
        sample(shape=(0, 3), dtype="bool"),
        sample(shape=(5,), dtype="bfloat16"),
    )
    value: ClassVar[int]

    def element(self, b: Loops, index: Sequence[Any]) -> Any:
        """The value itself."""
        return b.const(self.value, str(self.attributes()["dtype"]))


@operator("zeros")
class Zeros(Fill):
    """A tensor of zeros.

    relay> zeros(shape=(2, 3), dtype="int32")
    [[0, 0, 0], [0, 0, 0]]
    """

    dynamic_form = "dyn.zeros"
    value = 0
    shape: tuple[Size, ...]
    dtype: DTypeName

    def infer(self, t: Typing) -> Type:
        return TensorType(check_sizes(t, self.shape, "shape"), self.dtype)

    def reference(self, np: Numpy) -> Array:
        return np.zeros(self.shape, to_numpy(self.dtype))


@operator("ones")
class Ones(Fill):
    """A tensor of ones.

    relay> ones(shape=(3,), dtype="float32")
    [1.0, 1.0, 1.0]
    """

    dynamic_form = "dyn.ones"
    value = 1
    shape: tuple[Size, ...]
    dtype: DTypeName

    def infer(self, t: Typing) -> Type:
        return TensorType(check_sizes(t, self.shape, "shape"), self.dtype)

    def reference(self, np: Numpy) -> Array:
        return np.ones(self.shape, to_numpy(self.dtype))


@operator("full")
class Full(Operator):
    """A tensor of `fill_value`, a scalar; its dtype is the scalar's unless `dtype` gives another.

    relay> full(7, shape=(2, 2))
    [[7, 7], [7, 7]]
    """

    dynamic_form = "dyn.full"
    computes = False
    fusion = Fusion.BROADCAST
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("float32", shape=(2, 3)),
        sample("int32", shape=(0,), dtype="float64"),
        sample("bool", shape=()),
        sample("int4", shape=(5,)),
    )

    shape: tuple[Size, ...] = ()
    dtype: DTypeName | None = None

    def check_made(self, t: Typing, args: Sequence[Type]) -> None:
        """A string fills a tensor of strings, and a number one of numbers."""
        if self.dtype and "string" in (self.dtype, t.dtype(args[0])):
            t.equal(t.dtype(args[0]), self.dtype)

    def infer(self, t: Typing, fill: Type) -> Type:
        t.shape(fill, rank=0, what="the value to fill with")
        return TensorType(check_sizes(t, self.shape, "shape"), self.dtype or t.dtype(fill))

    def reference(self, np: Numpy, fill_value: Array) -> Array:
        value = converted(np, fill_value, self.dtype) if self.dtype else fill_value
        return np.broadcast_to(np.asarray(value), self.shape)

    def batch(self, n: Dim, which: Sequence[Any], fill_value: Expr) -> Expr:
        found = apply("broadcast_to", with_row_rank(fill_value, len(self.shape)), shape=(n, *self.shape))
        return apply("cast", found, dtype=self.dtype) if self.dtype else found

    def transpose(self, g: Expr, fill_value: Expr) -> tuple[Expr, ...]:
        return (cast_back(apply("sum", g), fill_value, tensor_type(g).dtype),)

    def element(self, b: Loops, index: Sequence[Any], fill_value: View) -> Any:
        """The value itself."""
        return b.cast(fill_value.at(()), self.dtype or fill_value.dtype)


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

    start: Size | float | None = None
    stop: Size | float | None = None
    step: Size | float | None = None
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
        dtypes = [t.dtype(limit) for limit in limits]
        other = next((d for d in dtypes if isinstance(d, str) and d != self.dtype), None)
        if other is not None:
            message = f"`arange` makes {self.dtype}, and a limit is {other}"
            t.fail("dtype-mismatch", message, hint=f"write arange(…, dtype={other})")
        for limit, dtype in zip(limits, dtypes, strict=True):
            t.shape(limit, rank=0, what="a limit of `arange`")
            t.equal(dtype, self.dtype, why="the limits have the dtype of the result")
        if self.dtype not in NUMERIC:
            attribute_fault(t, "dtype", self.dtype, "it is not a type of numbers")
        if self.step == 0:
            attribute_fault(t, "step", self.step, "it would never arrive")
        attributes = {"start": self.start, "stop": self.stop, "step": self.step}
        for name in ("stop",) if len(limits) == 1 else tuple(attributes)[: len(limits)]:
            if attributes[name] is not None:
                message = f"`{name}` of `arange` is an operand and an attribute"
                t.fail("duplicate-attribute", message, hint=f"write {name}=… only")
        for name, x in attributes.items():
            if isinstance(x, float) and not math.isfinite(x):
                attribute_fault(t, name, x, "it is not finite")
        if self.stop is not None:
            return TensorType(
                (_arange_size(self.start or 0, self.stop, 1 if self.step is None else self.step),), self.dtype
            )
        if not limits:
            t.fail("missing-attribute", "`arange` needs the attribute `stop`", hint="write arange(…, stop=…)")
        return TensorType((ANY,), self.dtype)

    def reference(
        self, np: Numpy, start: Array | None = None, stop: Array | None = None, step: Array | None = None
    ) -> Array:
        if stop is None and start is not None:
            start, stop = None, start
        first = (self.start or 0) if start is None else values_of(start, DECIDES)
        last: Any = self.stop if stop is None else values_of(stop, DECIDES)
        by = (1 if self.step is None else self.step) if step is None else values_of(step, DECIDES)
        if by == 0:
            fail("divide-by-zero", "`arange` with step 0 would never arrive")
        if not abs((float(last) - float(first)) / float(by)) < MOST_STEPS:
            fail("dimension-out-of-range", NO_SIZE, hint=NO_SIZE_HINT)
        count = np.arange(_arange_size(first, last, by))
        whole = all(isinstance(x, int) for x in (first, by))
        values = count * by + first if whole else count.astype(numpy.float64) * float(by) + float(first)
        return converted(np, values, self.dtype)

    def vjp(self, g: Expr, y: Expr, *limits: Expr) -> tuple[Expr | None, ...]:
        start = apply("sum", g) if len(limits) > 1 else None
        return (start, None, apply("sum", times(g, _places(y))))[: len(limits)]

    def jvp(self, dxs: Sequence[Any], y: Expr, *limits: Expr) -> Expr | None:
        start, _, step = (*dxs, None, None)[:3] if len(limits) > 1 else (None, None, None)
        return total([*([] if start is None else [broadcast_like(start, y)]),
                      *([] if step is None else [times(step, _places(y))])])  # fmt: skip

    def limits(self, b: Loops, operands: Sequence[View]) -> list[Any]:
        """Start, stop and step: a number of Python, or one that the code computes."""
        given: list[Any] = [self.start or 0, self.stop, 1 if self.step is None else self.step]
        names = (1,) if len(operands) == 1 else (0, 1, 2)
        for i, x in zip(names, operands, strict=False):
            given[i] = x.at(())
        return given

    def element(self, b: Loops, index: Sequence[Any], *operands: View) -> Any:
        """So many steps from the start."""
        start, _, step = self.limits(b, operands)
        wide = "int64" if all(is_whole(x) for x in (start, step)) else "float64"
        count = b.as_number(index[0], wide)
        start, step = (
            b.const(x, wide) if isinstance(x, int | float) else b.cast(x, wide) for x in (start, step)
        )
        return b.cast(b.add(b.multiply(count, step), start), self.dtype)

    def extent(self, b: Loops, *operands: View) -> Sequence[Index]:
        """How many steps there are before the stop."""
        given = self.limits(b, operands)
        wide = "int64" if all(is_whole(x) for x in given) else "float64"
        start, stop, step = (in_type(b, x, wide) for x in given)
        zero = b.const(0, wide)
        message = "`arange` with step 0 would never arrive"
        b.require(b.compare("ne", step, zero), "divide-by-zero", message)
        first, final, by = (in_type(b, x, "float64") for x in given)
        count = b.divide(b.subtract(final, first), by)
        few = b.compare("lt", b.function("fabs", count), b.const(MOST_STEPS, count))
        b.require(few, "dimension-out-of-range", NO_SIZE, NO_SIZE_HINT)
        if wide == "float64":
            return [b.larger(b.as_index(b.function("ceil", count)), 0)]
        way = b.subtract(stop, start)
        last = b.select(b.compare("gt", step, zero), b.const(1, wide), b.const(-1, wide))
        steps = b.divide(b.subtract(b.add(way, step), last), step)
        arrives = b.compare("gt", b.multiply(way, last), zero)
        return [b.as_index(b.select(arrives, steps, zero))]


def _places(y: Expr) -> Expr:
    """0, 1, 2, … in the type of a vector."""
    return apply("cumsum", apply("ones_like", y), axis=0, exclusive=True)


def _number(x: Any) -> Any:
    """A number, the value of a scalar constant, or a dimension; None for an expression."""
    value: Any = x.value if isinstance(x, Constant) and x.is_scalar else x
    if isinstance(value, numpy.ndarray | numpy.generic):
        return cast(int | float, value.item())
    return value if isinstance(value, int | float) or is_dimension(value) else None


def _arange_size(start: Any, stop: Any, step: Any) -> Any:
    """How many numbers there are; `?` where dimensions leave that open."""
    if any(is_dimension(x) for x in (start, stop, step)):
        if not (isinstance(step, int) and step > 0 and is_size(start) and is_size(stop)):
            return ANY
        count = (stop - start + (step - 1)) // step
        return count if start == 0 and least(stop) >= 0 else maximum(count, 0)
    if all(isinstance(x, int) for x in (start, stop, step)):
        return max(0, -((start - stop) // step))
    return max(0, math.ceil((stop - start) / step))


class FillLike(Elementwise):
    """One value in the shape and dtype of the operand."""

    computes = False
    derivative = Derivative.ZERO
    dtypes = ANY_NUMBER
    carried = ("data",)
    samples = (sample("2x3 float32"), sample("int4"), sample("0x3 bool"), sample("5 bfloat16"))


@operator("zeros_like")
class ZerosLike(FillLike):
    """Zeros in the shape and dtype of the operand.

    relay> zeros_like([1.5, 2.5])
    [0.0, 0.0]
    """

    precision = Precision.FOLLOW

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.zeros_like(data)

    def native(self, b: Scalars, x: Any) -> Any:
        """Zero."""
        return b.const(0, x)


@operator("ones_like")
class OnesLike(FillLike):
    """Ones in the shape and dtype of the operand.

    relay> ones_like([1.5, 2.5])
    [1.0, 1.0]
    """

    precision = Precision.FOLLOW

    def reference(self, np: Numpy, data: Array) -> Array:
        return np.ones_like(data)

    def native(self, b: Scalars, x: Any) -> Any:
        """One."""
        return b.const(1, x)


@operator("full_like")
class FullLike(Operator):
    """The scalar `fill_value` in the shape of the first operand, whose dtype it has.

    relay> full_like([1.5, 2.5], 7)
    [7.0, 7.0]
    """

    computes = False
    fusion = Fusion.BROADCAST
    derivative = Derivative.TRANSPOSE
    carried = ("data",)
    samples = (sample("2x3 float32", "float32"), sample("int4", "int4"), sample("0x3 bool", "bool"))

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        x, fill = args
        t.equal(out, x)
        t.equal(fill, TensorType((), t.dtype(x)), why="the value to fill with is a scalar of the same dtype")

    def reference(self, np: Numpy, data: Array, fill_value: Array) -> Array:
        return np.broadcast_to(np.asarray(fill_value), data.shape)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, fill_value: Expr) -> Expr:
        value = with_row_rank(fill_value, rank_of(data))
        return apply("broadcast_to_like", value, stretched(n, data, False))

    def transpose(self, g: Expr, data: Expr, fill_value: Expr) -> tuple[Expr | None, ...]:
        return None, apply("sum", g)

    def element(self, b: Loops, index: Sequence[Any], data: View, fill_value: View) -> Any:
        """The value itself."""
        return fill_value.at(())

    def extent(self, b: Loops, data: View, fill_value: View) -> Sequence[Index]:
        """The shape is the first operand's."""
        return data.sizes


def is_whole(x: Any) -> bool:
    """Whether a limit of `arange` is an integer."""
    return isinstance(x, int) or (not isinstance(x, float) and is_integer(x.dtype))


def in_type(b: Loops, x: Any, dtype: str) -> Any:
    """A limit of `arange` as a number of a dtype."""
    return b.const(x, dtype) if isinstance(x, int | float) else b.cast(x, dtype)
