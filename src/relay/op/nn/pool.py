"""Pooling over windows: the greatest or the mean element of each."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from relay.ir.dtype import dtype_name, is_integer, to_numpy
from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.attribute import Sizes
from relay.op.base import NUMERIC, Array, Numpy, sample
from relay.op.conversion import accumulator, accumulator_name
from relay.op.family import family
from relay.op.kind import Derivative, Precision, Wide
from relay.op.native import Index, Loops, View
from relay.op.nn.loops import reading, seen
from relay.op.nn.ranks import by_rank, each_axis, for_ranks
from relay.op.nn.window import Pooling, Sliding, slide
from relay.op.numeric import apply, least_value, precise
from relay.op.relation import Typing


@family
class Greatest(Pooling):
    """The greatest element of each window, among equals the first."""

    derivative = Derivative.RULES
    dtypes = NUMERIC

    def infer(self, t: Typing, data: Type) -> Type:
        return self.pooled(t, data)

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr]:
        """To each greatest element."""
        return (apply(f"{self.name}_grad", g, data, **self.attributes()),)

    def jvp(self, dxs: Sequence[Expr], y: Expr, data: Expr) -> Expr:
        """Of each greatest element."""
        return apply(f"{self.name}_tangent", dxs[0], data, **self.attributes())

    def element(self, b: Loops, index: Sequence[Index], data: View) -> Any:
        """The greatest element that the window sees; NaN stays."""
        front, lines = self.seen_by(b, index, data)
        acc = accumulator_name(data.dtype)
        least = b.const(least_value(numpy, to_numpy(acc)), acc)

        def step(taps: Sequence[Index], totals: Sequence[Any]) -> Sequence[Any]:
            at, is_there = seen(b, lines, taps)
            x = b.where(is_there, lambda: b.cast(data.at(self.place_in([*front, *at])), acc), lambda: least)
            keeps = b.bits("or", b.compare("ge", totals[0], x), b.compare("ne", totals[0], totals[0]))
            return [b.select(keeps, totals[0], x)]

        return b.cast(b.fold([line.count for line in lines], [least], step)[0], data.dtype)


@family
class Average(Pooling):
    """The mean of each window."""

    derivative = Derivative.TRANSPOSE

    def infer(self, t: Typing, data: Type) -> Type:
        return self.pooled(t, data)

    def transpose(self, g: Expr, data: Expr) -> tuple[Expr]:
        """To each element its part of the means."""
        return (apply(f"{self.name}_grad", g, data, **self.attributes()),)

    def element(self, b: Loops, index: Sequence[Index], data: View) -> Any:
        """The sum of what the window sees, divided by how many elements it is of."""
        front, lines = self.seen_by(b, index, data)
        acc = "int64" if is_integer(data.dtype) else accumulator_name(data.dtype)

        def term(taps: Sequence[Index]) -> Any:
            at, is_there = seen(b, lines, taps)
            return reading(b, is_there, data, self.place_in([*front, *at]), acc)

        total = b.add_up([line.count for line in lines], b.const(0, acc), term)
        return b.cast(b.divide(total, b.cast(self.counted(b, lines), acc)), data.dtype)


@family
class SlidingPool(Sliding):
    """Combines the elements of windows."""

    def windows(self, np: Numpy, x: Array, start: Any, combine: Callable[..., Array]) -> Array:
        """All windows combined, spatial axis after spatial axis, over data padded with `start`."""
        for i, s in enumerate(self.slides):
            out = s.steps(x.shape[i + 2])
            assert isinstance(out, int)
            x = slide(np, x, i + 2, s.size, s.stride, s.dilation, s.before, out, start, combine)
        return x


@family
class MaxPool(Greatest, SlidingPool):
    """The greatest element of each window of data `(n, c, {axes})`.

    There are `(w + padding - dilation * (pool_size - 1) - 1) / strides + 1` windows along `w`, rounded down.
    `ceil_mode` rounds up, but for a window that would begin after the data.  Padding is the least value, and
    NaN propagates.

    relay> nn.max_pool1d([[[1.0, 3.0, 2.0, 4.0]]], pool_size=2, strides=2)
    [[[3.0, 4.0]]]
    relay> nn.max_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], pool_size=(2, 2))
    [[[[4.0]]]]
    relay> nn.max_pool3d([[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[3.0]]]]]
    """

    pool_size: Sizes = each_axis(1)
    precision = Precision.FOLLOW
    samples = by_rank(
        (
            sample("2x3x8 float32", pool_size=3, strides=2),
            sample("2x8x3 float32", pool_size=2, layout="NWC"),
        ),
        (
            sample("2x3x8x7 float32", pool_size=3, strides=2, padding=1),
            sample("1x7x7x2 float32", pool_size=(2, 2), strides=2, ceil_mode=True, layout="NHWC"),
            sample("1x2x6x6 int8", pool_size=2, dilation=2),
        ),
        (sample("1x2x4x5x6 float32", pool_size=2, strides=2),),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        x = self.opened(np, accumulator(data))
        return self.closed(np, self.windows(np, x, least_value(np, x.dtype), np.maximum), data.dtype)


@family
class AvgPool(Average, SlidingPool):
    """The mean of each window of data `(n, c, {axes})`; windows as in `nn.max_pool{rank}d`.

    Padding counts only with `count_include_pad`.  Integers truncate.

    relay> nn.avg_pool1d([[[1.0, 3.0, 2.0, 4.0]]], pool_size=2, strides=2)
    [[[2.0, 3.0]]]
    relay> nn.avg_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], pool_size=(2, 2))
    [[[[2.5]]]]
    relay> nn.avg_pool3d([[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[2.0]]]]]
    """

    wide = Wide.SUM
    pool_size: Sizes = each_axis(1)
    count_include_pad: bool = False
    precision = Precision.STORED
    dtypes = NUMERIC
    samples = by_rank(
        (sample("2x3x8 float32", pool_size=3, strides=2, padding=1),),
        (
            sample("2x3x8x7 float32", pool_size=3, strides=2, padding=1),
            sample(
                "1x2x7x7 float32", pool_size=2, strides=2, ceil_mode=True, padding=1, count_include_pad=True
            ),
            sample("1x2x4x4 int32", pool_size=2),
        ),
        (sample("1x2x4x5x6 float32", pool_size=2, strides=2),),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        whole = is_integer(dtype_name(data.dtype))
        x = self.opened(np, data.astype("int64") if whole else precise(np, data))
        total = self.windows(np, x, 0, np.add)
        for i, counts in enumerate(self.counts(x.shape[2:])):
            several = counts.reshape((-1,) + (1,) * (self.rank - 1 - i))
            total = truncated(np, total, several) if whole else total / several.astype(total.dtype)
        return self.closed(np, total, data.dtype)


def truncated(np: Numpy, a: Array, b: Array) -> Array:
    """`a / b` for `b > 0`, rounded towards zero; dividing twice in a row truncates as dividing once does."""
    return np.sign(a) * (np.abs(a) // b)


MaxPool1D, MaxPool2D, MaxPool3D = for_ranks("nn.max_pool{}d", MaxPool)
AvgPool1D, AvgPool2D, AvgPool3D = for_ranks("nn.avg_pool{}d", AvgPool)
