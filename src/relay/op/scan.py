"""Running sums and products along an axis, and linear recurrences."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from relay.ir.dim import product
from relay.ir.expr import Expr
from relay.ir.type import Dim, DType, TensorType, Type
from relay.op.attribute import DTypeName
from relay.op.axes import axis_of
from relay.op.base import FLOATING, Array, Numpy, sample
from relay.op.batching import behind_rows, by, row_rank, shifted
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import cast_back, tensor_type, times
from relay.op.family import family
from relay.op.kind import Batching, Derivative, Wide
from relay.op.native import Loops, Output, View
from relay.op.numeric import SameType, apply, dims, for_squares, narrow, squaring_dtype
from relay.op.reduce import Accumulating
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import shaped_like
from relay.op.traced import loop, placed


@family
class Scan(Accumulating):
    """Combines each element with all before it; without `axis`, over the elements in row-major order.

    `exclusive` leaves the element itself out, so that the first is the neutral one.  Totals of float32 are
    float64, so that long ones are rounded once.
    """

    wide = Wide.SUM
    axis: int | None = None
    dtype: DTypeName | None = None
    exclusive: bool | None = None
    builder_order = ("data", "axis", "dtype", "exclusive", "keep_dtype")

    def infer(self, t: Typing, data: Type) -> Type:
        shape = t.shape(data)
        if self.axis is None:
            shape = (product(shape),)
        else:
            axis_of(t, self.axis, len(shape))
        return TensorType(shape, self.accumulated(t.dtype(data)))

    def accumulated(self, dtype: DType) -> DType:
        return super().accumulated(dtype) if self.dtype is None else self.dtype

    def scan(self, np: Numpy, data: Array, run: Any, neutral: int) -> Array:
        """`run` (a cumulative function) over `data`, shifted by one place if this is exclusive."""
        data = self.integers(data)
        wanted = data.dtype if self.dtype is None else self.dtype
        x = for_squares(accumulator(narrow(data, wanted)))
        axis = 0 if self.axis is None else self.axis % data.ndim
        if self.axis is None:
            x = x.reshape(-1)
        if self.exclusive and x.shape[axis]:
            first = np.full_like(np.take(x, np.arange(1), axis=axis), neutral)
            x = np.concatenate([first, np.take(x, np.arange(x.shape[axis] - 1), axis=axis)], axis=axis)
        return narrow(run(x, axis=axis, dtype=x.dtype), wanted)

    def prepared(self, x: Expr) -> Expr:
        """The operand, or its tangent, as it is run over."""
        x = x if self.dtype is None else apply("cast", x, dtype=self.dtype)
        return apply("reshape", x, newshape=(-1,)) if self.axis is None else x

    def restored(self, g: Expr, data: Expr) -> Expr:
        """A cotangent of what `prepared` makes as one of the operand."""
        g = shaped_like(g, data) if self.axis is None else g
        return g if self.dtype is None else cast_back(g, data, self.dtype)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        if self.axis is None:
            return replace(self, axis=1)(apply("reshape", data, newshape=(0, -1)))
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True)))(data)

    def extent(self, b: Loops, data: View) -> Sequence[Any]:
        """The operand's shape, or as one axis."""
        if self.axis is not None:
            return data.sizes
        return [reduce(b.times, data.sizes, 1)]

    def run(self, b: Loops, out: Output, data: View, neutral: int, combined: Any) -> None:
        """Write the running totals by `combined(total, x)`."""
        wide, wanted = str(squaring_dtype(accumulator_name(out.dtype))), out.dtype
        first = b.const(neutral, wide)

        def step(index: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            source = index if self.axis is not None else b.unravelled(index[0], data.sizes)
            x = b.cast(b.cast(data.at(source), wanted), wide)
            following = combined(totals[0], x)
            out.put(index, b.cast(totals[0] if self.exclusive else following, wanted))
            return [following]

        scan_axis(b, out, 0 if self.axis is None else self.axis, [first], step)


def scan_axis(
    b: Loops,
    out: Output,
    axis: int,
    first: Sequence[Any],
    step: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
    reverse: bool = False,
) -> None:
    """Run `step(index, totals)` along an axis for each place on the others; it returns the next totals."""
    axis %= len(out.sizes)
    n = out.sizes[axis]

    def line(others: Sequence[Any]) -> None:
        def place(i: Any, totals: Sequence[Any]) -> Sequence[Any]:
            i = b.minus(b.minus(n, 1), i) if reverse else i
            return step((*others[:axis], i, *others[axis:]), totals)

        b.loop(n, first, place)

    b.nest([*out.sizes[:axis], *out.sizes[axis + 1 :]], line)


@operator("cumsum")
class CumSum(Scan):
    """The sum of each element and those before it along `axis`, in `dtype` (the operand's if None).

    Sums of booleans count, as int64; with `keep_dtype`, as in TVM, they say whether any is true.  Other
    integers wrap in their dtype: `cumsum(x, dtype=int64)` adds them up in a wider one.

    relay> cumsum([1, 2, 3], exclusive=True)
    [0, 1, 3]
    """

    derivative = Derivative.TRANSPOSE
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3 int32"),
        sample("0x3 float32", axis=0),
        sample("3x4 float32", axis=0, exclusive=True),
        sample("5 int8", axis=0, dtype="int32"),
        sample("2x3 bool", axis=1),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.scan(np, data, np.cumsum, 0)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr, ...]:
        axis = self.axis or 0
        found = apply("cumsum", apply("reverse", g, axis=axis), axis=axis, exclusive=self.exclusive)
        return (self.restored(apply("reverse", found, axis=axis), data),)

    def compute(self, b: Loops, out: Output, data: View) -> None:
        """Write the result."""
        self.run(b, out, data, 0, b.add)


@operator("cumprod")
class CumProd(Scan):
    """The product of each element and those before it along `axis`, in `dtype` (the operand's if None).

    Products of booleans are int64, as those of `cumsum` are, or with `keep_dtype` whether all are true.

    relay> cumprod([1, 2, 3])
    [1, 2, 6]
    """

    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32", axis=1),
        sample("2x3 int32"),
        sample("3x4 float32", axis=0, exclusive=True),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.scan(np, data, np.cumprod, 1)

    # The derivative of a product by a factor is the product before it times that after it, up to each place;
    # the latter add up in a linear recurrence, so that zeros need no division.

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr, ...]:
        x, axis = self.prepared(data), self.axis or 0
        later = moved(g, axis, tensor_type(y), -1) if self.exclusive else g
        after = apply("linear_scan", x, later, axis=axis, reverse=True)
        return (self.restored(times(self.before(x), after), data),)

    def jvp(self, dxs: Sequence[Any], y: Expr, data: Expr) -> Expr:
        x, axis = self.prepared(data), self.axis or 0
        found = apply("linear_scan", x, times(self.before(x), self.prepared(dxs[0])), axis=axis)
        return moved(found, axis, tensor_type(y), 1) if self.exclusive else found

    def before(self, x: Expr) -> Expr:
        """The product of all elements before each one."""
        return apply("cumprod", x, axis=self.axis or 0, exclusive=True)

    def compute(self, b: Loops, out: Output, data: View) -> None:
        """Write the result."""
        self.run(b, out, data, 1, b.multiply)


def moved(x: Expr, axis: int, t: TensorType, by: int) -> Expr:
    """`x`, of type `t`, one place later (`by=1`) or earlier (-1) along an axis; the place left over is 0."""
    widths = [(0, 0)] * len(dims(t))
    widths[axis] = (1, 0) if by > 0 else (0, 1)
    begin, end = (0, -1) if by > 0 else (1, None)
    padded = apply("nn.pad", x, pad_width=widths)
    return apply("strided_slice", padded, begin=(begin,), end=(end,), axes=(axis,))


@operator("linear_scan")
class LinearScan(SameType):
    """`y[i] = decay[i] * y[i - 1] + data[i]` along `axis`, where `y[-1]` is 0: a linear recurrence.

    With `reverse` it is the transpose, `y[i] = decay[i + 1] * y[i + 1] + data[i]`.

    relay> linear_scan([0.5, 0.5, 0.5], [8.0, 0.0, 1.0])
    [8.0, 4.0, 3.0]
    """

    wide = Wide.SUM
    axis: int = -1
    reverse: bool = False
    dtypes = FLOATING
    batch = shifted
    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32", "3x4 float32"),
        sample("3x2 float64", "3x2 float64", axis=0, reverse=True),
        sample("0x3 bfloat16", "0x3 bfloat16", axis=0),
    )

    def infer(self, t: Typing, decay: Type, data: Type) -> Type:
        t.equal(data, decay, why="there is a factor for each element")
        axis_of(t, self.axis, len(t.shape(decay)))
        return decay

    def reference(self, np: Numpy, decay: Array, data: Array) -> Array:
        factors, y = (np.moveaxis(accumulator(x), self.axis, 0) for x in (decay, np.array(data)))
        last = len(y) - 1

        def step(k: Any, y: Array) -> Array:
            i = last - 1 - k if self.reverse else k + 1
            carried = factors[i + 1] * y[i + 1] if self.reverse else factors[i] * y[i - 1]
            return placed(np, y, i, y[i] + carried)

        y = loop(np, max(last, 0), step, y)
        return narrow(np.moveaxis(y, 0, self.axis), data.dtype)

    def vjp(self, g: Expr, y: Expr, decay: Expr, data: Expr) -> tuple[Expr, Expr]:
        back = apply("linear_scan", decay, g, axis=self.axis, reverse=not self.reverse)
        later, earlier = (y, back) if self.reverse else (back, y)
        return times(later, moved(earlier, self.axis, tensor_type(y), 1)), back

    def jvp(self, dxs: Sequence[Any], y: Expr, decay: Expr, data: Expr) -> Expr:
        faster, more = dxs
        if faster is not None:
            other = y if self.reverse else moved(y, self.axis, tensor_type(y), 1)
            change = times(faster, other)
            change = moved(change, self.axis, tensor_type(y), -1) if self.reverse else change
            more = change if more is None else apply("add", more, change)
        return self(decay, more)

    def extent(self, b: Loops, decay: View, data: View) -> Sequence[Any]:
        """The operands' shape."""
        return data.sizes

    def compute(self, b: Loops, out: Output, decay: View, data: View) -> None:
        """Write the result; narrow floats are carried on in float32."""
        wide = accumulator_name(out.dtype)
        one = b.const(1, wide)

        def step(index: Sequence[Any], totals: Sequence[Any]) -> Sequence[Any]:
            carried, factor = totals
            own = b.cast(decay.at(index), wide)
            y = b.add(b.multiply(factor if self.reverse else own, carried), b.cast(data.at(index), wide))
            out.put(index, b.cast(y, out.dtype))
            return [y, own]

        scan_axis(b, out, self.axis, [b.const(0, wide), one], step, self.reverse)
