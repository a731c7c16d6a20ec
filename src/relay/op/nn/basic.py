"""Small parts of networks: bias, dilation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relay.ir.dim import maximum
from relay.ir.expr import Expr
from relay.ir.type import Dim, TensorType, Type
from relay.op.axes import axis_of
from relay.op.base import NUMERIC, Array, Numpy, sample
from relay.op.batching import along_channels_of_rows, behind_rows, by, row_rank
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import tensor_type
from relay.op.family import Injective
from relay.op.kind import Batching, Derivative, Fusion, Precision, Wide
from relay.op.native import Loops, View
from relay.op.nn.cotangent import reshaped_like
from relay.op.numeric import SameType, apply, dims, narrow
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.traced import placed


@operator("nn.bias_add")
class BiasAdd(SameType):
    """`data` plus a number for each channel along `axis`.

    relay> nn.bias_add([[1.0, 2.0]], [10.0, 20.0])
    [[11.0, 22.0]]
    """

    wide = Wide.ARITHMETIC
    precision = Precision.STORED
    axis: int = 1
    dtypes = NUMERIC
    fusion = Fusion.BROADCAST
    derivative = Derivative.TRANSPOSE
    samples = (sample("2x3x4 float32", "3 float32"), sample("2x3x4 int32", "4 int32", axis=-1))

    def infer(self, t: Typing, data: Type, bias: Type) -> Type:
        shape = t.shape(data)
        channels = shape[axis_of(t, self.axis, len(shape), of="`data`")]
        (n,) = t.shape(bias, 1, "the bias")
        a, b = t.static(channels), t.static(n)
        if a is not None and b is not None and a != b:
            t.fail(
                "channel-mismatch",
                f"`nn.bias_add` has data of {a} channels, and a bias of {b}",
                hint="look at `axis`, the axis of the channels",
            )
        t.equal(bias, TensorType((channels,), t.dtype(data)), why="the bias has a number for each channel")
        return data

    def reference(self, np: Numpy, data: Array, bias: Array) -> Array:
        x = accumulator(data)
        return narrow(
            x + accumulator(bias).reshape((-1,) + (1,) * (x.ndim - 1 - self.axis % x.ndim)), data.dtype
        )

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, bias: Expr) -> Expr:
        rank = row_rank(data, which[0])
        if which[1]:
            return apply("add", data, along_channels_of_rows(bias, self.axis, rank))
        return BiasAdd(axis=behind_rows(self.axis, rank))(data, bias)

    def transpose(self, g: Expr, data: Expr, bias: Expr) -> tuple[Expr, Expr]:
        """All of it to the data, and to the bias its sum for each channel."""
        d_bias = apply("sum", g, axis=self.axis, exclude=True)
        return g, reshaped_like(d_bias, (dims(tensor_type(data))[self.axis],), bias)

    def element(self, b: Loops, index: Sequence[Any], data: View, bias: View) -> Any:
        """The sum of both, in the type that sums are taken in."""
        acc = accumulator_name(data.dtype)
        found = b.add(b.cast(data.at(index), acc), b.cast(bias.at([index[self.axis]]), acc))
        return b.cast(found, data.dtype)


@operator("nn.dilate")
class Dilate(Injective):
    """`data` with `strides - 1` times `dilation_value` between neighbours along each axis.

    relay> nn.dilate([1.0, 2.0], strides=(3,))
    [1.0, 0.0, 0.0, 2.0]
    """

    strides: tuple[int, ...]
    dilation_value: float = 0.0
    dtypes = NUMERIC
    derivative = Derivative.RULES
    samples = (
        sample("3x4 float32", strides=(2, 3)),
        sample("0x4 float32", strides=(2, 1)),
        sample("3 int32", strides=(2,), dilation_value=7),
    )

    def infer(self, t: Typing, data: Type) -> Type:
        shape = t.shape(data)
        if len(self.strides) != len(shape) or any(s < 1 for s in self.strides):
            t.fail(
                "attribute-value",
                f"`nn.dilate` cannot have strides={self.strides} on {len(shape)} axes",
                hint="give a number of at least 1 for each axis",
            )
        return TensorType([_dilated(d, s) for d, s in zip(shape, self.strides, strict=True)], t.dtype(data))

    def reference(self, np: Numpy, data: Array) -> Array:
        shape = [(d - 1) * s + 1 if d else 0 for d, s in zip(data.shape, self.strides, strict=True)]
        out = np.full(shape, self.dilation_value, data.dtype)
        return placed(np, out, tuple([slice(None, None, s) for s in self.strides]), data)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr) -> Expr:
        return replace(self, strides=(1, *self.strides))(data)

    def vjp(self, g: Expr, y: Expr, data: Expr) -> tuple[Expr]:
        """The places of the data."""
        rank = len(self.strides)
        taken = apply("strided_slice", g, begin=(0,) * rank, end=(None,) * rank, strides=self.strides)
        shape = [(d + (s - 1)) // s for d, s in zip(dims(tensor_type(y)), self.strides, strict=True)]
        return (reshaped_like(taken, shape, data),)

    def jvp(self, dxs: Sequence[Expr], y: Expr, data: Expr) -> Expr:
        """Dilated with zeros."""
        return Dilate(self.strides)(dxs[0])

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """An element, or what is between."""
        pairs = [(i, s) for i, s in zip(index, self.strides, strict=True) if s > 1]
        is_element = b.both(*[b.is_same(b.rest(i, s), 0) for i, s in pairs])
        place = [b.quotient(i, s) for i, s in zip(index, self.strides, strict=True)]
        between = b.cast(b.const(self.dilation_value, "float64"), data.dtype)
        return b.where(is_element, lambda: data.at(place), lambda: between)


def _dilated(d: Any, stride: int) -> Any:
    """The size of a dilated axis: `(d - 1) * stride + 1`, and nothing of nothing."""
    return d if stride == 1 else 0 if d == 0 else maximum((d - 1) * stride + 1, 0)
