"""Multiplication of integers by fractions: the arithmetic that quantised networks are made of."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from relay.ir.expr import Expr
from relay.ir.type import Dim, Type
from relay.op.axes import axes_of
from relay.op.base import Array, Numpy, Operator, sample
from relay.op.batching import all_stretched, behind_rows, by, row_rank
from relay.op.family import Elementwise
from relay.op.kind import Batching, Derivative, Fusion
from relay.op.logic import left_shifted, right_shifted
from relay.op.native import Loops, Scalars, View
from relay.op.registry import operator
from relay.op.relation import Typing

BITS = 31
"""A multiplier is a fraction of 2 ** 31."""
INT32 = frozenset({"int32"})


def fixed_multiply(np: Numpy, x: Array, multiplier: Any, left: Any, right: Any) -> Array:
    """`x * multiplier * 2 ** (left - right - 31)` in int64, rounded to nearest and halves up, as int32."""
    wide = np.left_shift(np.asarray(x).astype(numpy.int64), left) * multiplier
    half = np.left_shift(numpy.int64(1), right + (BITS - 1))
    return np.right_shift(wide + half, right + BITS).astype(numpy.int32)


def _scaled(b: Scalars, x: Any, multiplier: Any, left: Any, right: Any) -> Any:
    """Emit the multiplication for one number."""
    far = b.add(right, b.const(BITS - 1, right))
    half = left_shifted(b, b.const(1, "int64"), far)
    wide = b.multiply(left_shifted(b, b.cast(x, "int64"), left), multiplier)
    return b.cast(right_shifted(b, b.add(wide, half), b.add(far, b.const(1, right))), "int32")


@operator("fixed_point_multiply")
class FixedPointMultiply(Elementwise):
    """`x * multiplier / 2 ** 31 * 2 ** shift`, rounded to nearest, halves up.

    relay> fixed_point_multiply([10, -3], multiplier=1073741824, shift=1)
    [10, -3]
    """

    dtypes = INT32
    derivative = Derivative.ZERO
    samples = (
        sample("3x4 int32", multiplier=1 << 30, shift=0),
        sample("int32", multiplier=3 << 28, shift=-2),
    )

    multiplier: int
    shift: int

    def reference(self, np: Numpy, data: Array) -> Array:
        left, right = max(self.shift, 0), max(-self.shift, 0)
        return fixed_multiply(np, data, numpy.int64(self.multiplier), numpy.int64(left), numpy.int64(right))

    def native(self, b: Scalars, data: Any) -> Any:
        left, right, multiplier = (
            b.const(n, "int64") for n in (max(self.shift, 0), max(-self.shift, 0), self.multiplier)
        )
        return _scaled(b, data, multiplier, left, right)


@operator("fixed_point_multiply_per_axis")
class FixedPointMultiplyPerAxis(Operator):
    """As `fixed_point_multiply`, with multipliers and shifts to the left and right that vary along `axes`.

    relay> fixed_point_multiply_per_axis([[10, 10]], [1073741824, 1073741824], [1, 0], [0, 1], axes=(1,))
    [[10, 3]]
    """

    fusion = Fusion.BROADCAST
    dtypes = INT32
    derivative = Derivative.ZERO
    samples = (
        sample(
            "2x3 int32",
            numpy.array([1 << 30, 1 << 29, 3], "int32"),
            numpy.array([0, 1, 2], "int32"),
            numpy.array([1, 0, 0], "int32"),
            axes=(1,),
            is_rshift_required=True,
            is_lshift_required=True,
        ),
    )

    is_lshift_required: bool = True
    is_rshift_required: bool = True
    axes: tuple[int, ...] = ()

    def infer(self, t: Typing, x: Type, *scales: Type) -> Type:
        dims = t.shape(x)
        along = tuple([dims[a] for a in axes_of(t, self.axes, len(dims), of="`data`")])
        for s in scales:
            t.equal(
                t.shape(s, rank=len(along), what="a scale"),
                along,
                why="there is a scale for each place of `axes`",
            )
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, multiplier: Array, lshift: Array, rshift: Array) -> Array:
        y, left, right = (self.spread(np, s, data.ndim) for s in (multiplier, lshift, rshift))
        return fixed_multiply(
            np,
            data,
            y,
            left if self.is_lshift_required else left * 0,
            right if self.is_rshift_required else right * 0,
        )

    def spread(self, np: Numpy, scale: Array, rank: int) -> Array:
        """A scale as int64 that broadcasts with the tensor."""
        places: Sequence[int] = sorted(a % rank for a in self.axes)
        shape = [1] * rank
        for place, size in zip(places, scale.shape, strict=True):
            shape[place] = size
        return np.asarray(scale).astype(numpy.int64).reshape(shape)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *scales: Expr) -> Expr:
        axes = behind_rows(self.axes, row_rank(data, which[0]))
        if not any(which[1:]):
            return replace(self, axes=axes)(data, *scales)
        return replace(self, axes=(0, *axes))(*all_stretched(n, which, (data, *scales)))

    def extent(self, b: Loops, data: View, *scales: View) -> Sequence[Any]:
        """The operand's shape."""
        return data.sizes

    def element(self, b: Loops, index: Sequence[Any], data: View, *scales: View) -> Any:
        """An element of the result."""
        place = [index[a] for a in sorted(a % len(index) for a in self.axes)]
        multiplier, left, right = (b.cast(s.at(place), "int64") for s in scales)
        none = b.const(0, "int64")
        left = left if self.is_lshift_required else none
        right = right if self.is_rshift_required else none
        return _scaled(b, data.at(index), multiplier, left, right)
