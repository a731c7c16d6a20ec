"""Activations rounded to integers of 8 bits, group by group, to be multiplied with weights in blocks."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.ir.dtype import dtype_name
from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, Array, Numpy, sample
from relay.op.batching import same
from relay.op.blocks.dequantize import wide_of
from relay.op.derivative import const_like, rank_of, times
from relay.op.family import Kernel
from relay.op.kind import Derivative
from relay.op.native import Loops, Output, View
from relay.op.numeric import SameType, apply, narrow
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import shaped_like

GREATEST_CODE = 127
"""The greatest code of 8 bits, in both directions."""
POINT = numpy.asarray([[4.0, -1.0, 3.0, 0.32], [-0.16, 1.5, -2.0, 0.0]], "float32")
"""Numbers that are far from where they are rounded to another."""


@operator("round_groups")
class RoundGroups(SameType, Kernel):
    """Numbers rounded to multiples of `max|x| / 127`, where `x` are `group` neighbours along the last axis.

    These are integers of 8 bits times a scale.  `nn.dense(round_groups(x), dequantize_blocks(w))` is what
    ggml computes: products of integers, summed exactly in each group, which kernels do where the processor
    has instructions for it and groups are of 32.  Halves are rounded to even.  It is computed in float32,
    float64 in that.  Its derivative is that by the greatest number of a group, of which all are multiples;
    for one that passes cotangents on, there is `custom_vjp`.

    Raises `shape-constraint` where a group is not full.

    relay> round_groups([127.0, 1.4, -2.5, 0.6], group=4)
    [127.0, 1.0, -2.0, 1.0]
    """

    batch = same
    dtypes = FLOATING
    derivative = Derivative.RULES
    group: int = 32
    samples = (
        sample(POINT, group=4),
        sample("3x2x3 float16", group=1),
        sample("0x32 float64"),
        sample("2 bfloat16", group=1),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        if self.group < 1:
            attribute_fault(t, "group", self.group, "a group has at least one number")
        shape = t.shape(data)
        if not shape:
            t.fail("rank-mismatch", "`round_groups` needs data of rank 1 or more")
        t.require(self.group, "divides", shape[-1], "groups are full")
        return t.tensor(data)

    def reference(self, np: Numpy, data: Array) -> Array:
        wide = data.astype(wide_of(dtype_name(data.dtype)))
        x = np.reshape(wide, (*data.shape[:-1], data.shape[-1] // self.group, self.group))
        most = np.max(np.abs(x), axis=-1, keepdims=True, initial=0)
        scale = most / np.asarray(GREATEST_CODE, wide.dtype)
        inverse = np.where(scale == 0, scale, 1 / np.where(scale == 0, np.asarray(1, wide.dtype), scale))
        return narrow(np.reshape(np.rint(x * inverse) * scale, data.shape), dtype_name(data.dtype))

    def extent(self, b: Loops, data: View) -> Sequence[Any]:
        """The shape of the data."""
        return data.sizes

    def compute(self, b: Loops, out: Output, data: View) -> None:
        """Group by group."""
        *lead, size = data.sizes
        wide = wide_of(data.dtype)

        def group(index: tuple[Any, ...]) -> None:
            *row, g = index
            first = b.times(g, self.group)

            def number(i: Any) -> Any:
                return b.cast(data.at([*row, b.plus(first, i)]), wide)

            def step(i: Any, totals: Sequence[Any]) -> Sequence[Any]:
                return [b.function("maximum", totals[0], b.function("fabs", number(i)))]

            (most,) = b.loop(self.group, [b.const(0, wide)], step)
            scale = b.divide(most, b.const(GREATEST_CODE, wide))
            zero = b.const(0, wide)
            inverse = b.select(b.compare("eq", scale, zero), zero, b.divide(b.const(1, wide), scale))

            def put(i: Any, _: Any) -> Sequence[Any]:
                whole = b.function("rint", b.multiply(number(i), inverse))
                out.put([*row, b.plus(first, i)], b.cast(b.multiply(whole, scale), data.dtype))
                return []

            b.loop(self.group, [], put)

        b.each([*lead, b.quotient(size, self.group)], group)

    def shares(self, y: Expr, x: Expr) -> tuple[Expr, Expr]:
        """Of each number, in groups: its part of the derivative of the group's greatest, and what it is in
        terms of that.
        """
        rank = rank_of(x)
        given, whole = self.grouped(x, rank), self.grouped(y, rank)
        most = apply("max", apply("abs", given), axis=(rank,), keepdims=True)
        tops = apply("cast_like", apply("equal", apply("abs", given), most), given)
        count = apply("sum", tops, axis=(rank,), keepdims=True)
        is_zero = apply("equal", most, const_like(0, x))
        ratio = apply("divide", whole, apply("where", is_zero, const_like(1, x), most))
        return times(apply("sign", given), apply("divide", tops, count)), ratio

    def grouped(self, x: Expr, rank: int) -> Expr:
        """A tensor with an axis for groups."""
        return apply("reshape", x, newshape=(*(0,) * (rank - 1), -4, -1, self.group))

    def along(self, x: Expr, first: Expr, second: Expr, d: Expr) -> Expr:
        """`second` times the sums over groups of `first` times a cotangent or tangent."""
        rank = rank_of(x)
        total = apply("sum", times(first, self.grouped(d, rank)), axis=(rank,), keepdims=True)
        return shaped_like(times(second, total), x)

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr]:
        """What its group has in terms of the greatest number, for that."""
        top, ratio = self.shares(y, data)
        return (self.along(data, ratio, top, g),)

    def jvp(self, dxs: Sequence[Expr], y: Expr, data: Expr) -> Expr:
        """The tangent of the greatest number, for all of the group."""
        top, ratio = self.shares(y, data)
        return self.along(data, top, ratio, dxs[0])
