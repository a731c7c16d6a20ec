"""Normalisations: data less a mean, divided by a deviation, scaled and shifted for each channel."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as _np

from relay.ir.expr import Expr, Tuple
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op.axes import axis_of
from relay.op.base import FLOATING, Array, Numpy, sample
from relay.op.batching import behind_rows, by, folded, row_rank
from relay.op.composite import Composite
from relay.op.conversion import accumulator
from relay.op.family import family
from relay.op.kind import Batching, Precision, Wide
from relay.op.numeric import (
    SameType,
    along_channels,
    apply,
    computing_dtype,
    dims,
    narrow,
    narrowed,
    precise,
    scalar,
    widened,
)
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.statistics import mean_of


def per_channel(t: Typing, data: Type, channels: Dim, op: str, **vectors: Type) -> None:
    """Demand a vector of the data's channels of each of `vectors`."""
    for name, vector in vectors.items():
        (n,) = t.shape(vector, 1, f"`{name}`")
        found, wanted = t.static(n), t.static(channels)
        if found is not None and wanted is not None and found != wanted:
            t.fail(
                "channel-mismatch",
                f"`{op}` has data of {wanted} channels, and a `{name}` of {found}",
                hint="look at `axis`, the axis of the channels",
            )
        t.equal(vector, TensorType((channels,), t.dtype(data)), why=f"`{name}` has a number for each channel")


def scaled_and_shifted(x: Expr, gamma: Expr | None, beta: Expr | None, axis: int, rank: int) -> Expr:
    """`x * gamma + beta` along the channels; None leaves a step out."""
    if gamma is not None:
        x = apply("multiply", x, along_channels(gamma, axis, rank))
    return x if beta is None else apply("add", x, along_channels(beta, axis, rank))


def normalised(x: Expr, axes: tuple[int, ...], epsilon: Expr) -> Expr:
    """`(x - mean) / sqrt(variance + epsilon)` over `axes`."""
    away = apply("subtract", x, apply("mean", x, axis=axes, keepdims=True))
    variance = apply("mean", apply("multiply", away, away), axis=axes, keepdims=True)
    return apply("multiply", away, apply("rsqrt", apply("add", variance, epsilon)))


def standard(np: Numpy, x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """`normalised` on arrays."""
    away = x - mean_of(np, x, axes)
    variance = mean_of(np, away * away, axes)
    return away / np.sqrt(variance + x.dtype.type(epsilon))


def _positive(n: int, dtype: str = "float32") -> Array:
    """Numbers that can be variances."""
    return _np.linspace(0.5, 1.5, n).astype(dtype)


def channel_view(x: Array, axis: int, rank: int) -> Array:
    """A vector of channels so that it broadcasts along `axis`."""
    return accumulator(x).reshape((-1,) + (1,) * (rank - 1 - axis % rank))


@operator("nn.batch_norm")
class BatchNorm(Composite):
    """`(data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta`, for each channel along `axis`.

    The result is `(y, moving_mean, moving_var)`, the moving statistics as they were given.  `center`
    and `scale`
    say whether `beta` and `gamma` count.  Source: Ioffe and Szegedy, 2015.

    relay> nn.batch_norm([[1.0, 4.0]], [1.0, 2.0], [0.0, 1.0], [0.0, 2.0], [1.0, 1.0], epsilon=0.0)
    ([[1.0, 5.0]], [0.0, 2.0], [1.0, 1.0])
    """

    wide = Wide.ARITHMETIC
    precision = Precision.STORED
    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True
    dtypes = FLOATING
    results = 3
    samples = (
        sample("2x3x4x4 float32", *[_positive(3)] * 4),
        sample("4x3 float64", *[_positive(3, "float64")] * 4),
        sample("2x4x3 float32", *[_positive(3)] * 4, axis=-1, center=False),
        sample("2x3 float32", *[_positive(3)] * 4, scale=False),
    )

    def infer(
        self, t: Typing, data: Type, gamma: Type, beta: Type, moving_mean: Type, moving_var: Type
    ) -> Type:
        shape = t.shape(data)
        channels = shape[axis_of(t, self.axis, len(shape), of="`data`")]
        per_channel(
            t,
            data,
            channels,
            self.name,
            gamma=gamma,
            beta=beta,
            moving_mean=moving_mean,
            moving_var=moving_var,
        )
        return TupleType([data, moving_mean, moving_var])

    def decompose(
        self, types: Any, data: Expr, gamma: Expr, beta: Expr, moving_mean: Expr, moving_var: Expr
    ) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        x, mean, variance = (widened(e, dtype) for e in (data, moving_mean, moving_var))
        factor = apply("rsqrt", apply("add", variance, scalar(self.epsilon, computing_dtype(dtype))))
        if self.scale:
            factor = apply("multiply", factor, widened(gamma, dtype))
        shift = apply("negative", apply("multiply", mean, factor))
        if self.center:
            shift = apply("add", shift, widened(beta, dtype))
        out = scaled_and_shifted(x, factor, shift, self.axis, rank)
        return Tuple((narrowed(out, dtype), moving_mean, moving_var))

    def reference(
        self, np: Numpy, data: Array, gamma: Array, beta: Array, moving_mean: Array, moving_var: Array
    ) -> Any:
        x, rank = accumulator(data), data.ndim
        variance = accumulator(moving_var)
        factor = 1 / np.sqrt(variance + variance.dtype.type(self.epsilon))
        if self.scale:
            factor = factor * accumulator(gamma)
        shift = -accumulator(moving_mean) * factor
        if self.center:
            shift = shift + accumulator(beta)
        y = x * channel_view(factor, self.axis, rank) + channel_view(shift, self.axis, rank)
        return narrow(y, data.dtype), moving_mean, moving_var


@family
class _Affine(SameType, Composite):
    """Data standardised over some axes, then scaled and shifted by channel."""

    wide = Wide.NORMALIZATION
    dtypes = FLOATING

    def check(self, t: Typing, data: Type, gamma: Type, beta: Type, axis: int) -> tuple[Dim, ...]:
        """The data's shape, of which `gamma` and `beta` have the channels."""
        shape = t.shape(data)
        per_channel(
            t, data, shape[axis_of(t, axis, len(shape), of="`data`")], self.name, gamma=gamma, beta=beta
        )
        return shape

    def affine(self, x: Expr, gamma: Expr, beta: Expr, axis: int, rank: int, dtype: Any) -> Expr:
        """Scale and shift as `scale` and `center` say."""
        a = self.attributes()
        return narrowed(
            scaled_and_shifted(
                x,
                widened(gamma, dtype) if a["scale"] else None,
                widened(beta, dtype) if a["center"] else None,
                axis,
                rank,
            ),
            dtype,
        )

    def affine_value(self, x: Array, gamma: Array, beta: Array, axis: int, dtype: Any) -> Array:
        """`affine` on arrays."""
        a = self.attributes()
        if a["scale"]:
            x = x * channel_view(gamma, axis, x.ndim)
        if a["center"]:
            x = x + channel_view(beta, axis, x.ndim)
        return narrow(x, dtype)


@operator("nn.layer_norm")
class LayerNorm(_Affine):
    """Data with mean 0 and variance 1 along `axis`, times `gamma` plus `beta`.

    `(x - mean) / sqrt(variance + epsilon)`, with the biased variance.  `center` and `scale` say whether
    `beta` and
    `gamma` count.  Source: Ba, Kiros and Hinton, 2016.

    relay> nn.layer_norm([[1.0, 3.0]], [1.0, 1.0], [0.0, 0.0], epsilon=0.0)
    [[-1.0, 1.0]]
    """

    axis: int = -1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True
    samples = (
        sample("2x3x4 float32", "4 float32", "4 float32"),
        sample("2x3x4 float32", "3 float32", "3 float32", axis=1, scale=False),
        sample("2x4 float16", "4 float16", "4 float16"),
    )

    def infer(self, t: Typing, data: Type, gamma: Type, beta: Type) -> Type:
        self.check(t, data, gamma, beta, self.axis)
        return data

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]):
            return None
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True)))(data, *vectors)

    def decompose(self, types: Any, data: Expr, gamma: Expr, beta: Expr) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        y = normalised(
            widened(data, dtype), (self.axis % rank,), scalar(self.epsilon, computing_dtype(dtype))
        )
        return self.affine(y, gamma, beta, self.axis, rank, dtype)

    def reference(self, np: Numpy, data: Array, gamma: Array, beta: Array) -> Array:
        y = standard(np, precise(np, data), (self.axis % data.ndim,), self.epsilon)
        return self.affine_value(y, gamma, beta, self.axis, data.dtype)


@operator("nn.rms_norm")
class RmsNorm(SameType, Composite):
    """Data divided by its root mean square along `axis`, times `gamma`.

    `x / sqrt(mean(x * x) + epsilon)`; `gamma` may be left out.  Source: Zhang and Sennrich, 2019.

    relay> nn.rms_norm([[1.0, 7.0]], [5.0, 10.0], epsilon=0.0)
    [[1.0, 14.0]]
    """

    wide = Wide.NORMALIZATION
    axis: int = -1
    epsilon: float = 1e-5
    dtypes = FLOATING
    samples = (
        sample("2x3x4 float32", "4 float32"),
        sample("2x3x4 float32", "3 float32", axis=1),
        sample("2x4 float16", epsilon=1e-3),
    )

    def infer(self, t: Typing, data: Type, gamma: Type | None = None) -> Type:
        shape = t.shape(data)
        channels = shape[axis_of(t, self.axis, len(shape), of="`data`")]
        if gamma is not None:
            per_channel(t, data, channels, self.name, gamma=gamma)
        return data

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]):
            return None
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True)))(data, *vectors)

    def decompose(self, types: Any, data: Expr, gamma: Expr | None = None) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        x = widened(data, dtype)
        square = apply("mean", apply("multiply", x, x), axis=self.axis, keepdims=True)
        share = apply("rsqrt", apply("add", square, scalar(self.epsilon, computing_dtype(dtype))))
        gamma = None if gamma is None else widened(gamma, dtype)
        return narrowed(scaled_and_shifted(apply("multiply", x, share), gamma, None, self.axis, rank), dtype)

    def reference(self, np: Numpy, data: Array, gamma: Array | None = None) -> Array:
        x = precise(np, data)
        square = mean_of(np, x * x, (self.axis % x.ndim,))
        y = x / np.sqrt(square + x.dtype.type(self.epsilon))
        return narrow(y if gamma is None else y * channel_view(gamma, self.axis, x.ndim), data.dtype)


@operator("nn.instance_norm")
class InstanceNorm(_Affine):
    """Each channel of each item of a batch with mean 0 and variance 1, times `gamma` plus `beta`.

    Axis 0 is the batch, `axis` the channels; statistics are over all others.
    Source: Ulyanov, Vedaldi and Lempitsky, 2016.

    relay> nn.instance_norm([[[1.0, 3.0]]], [2.0], [1.0], epsilon=0.0)
    [[[-1.0, 3.0]]]
    """

    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True
    samples = (
        sample("2x3x4x5 float32", "3 float32", "3 float32"),
        sample("2x4x5x3 float32", "3 float32", "3 float32", axis=3, center=False),
    )

    def infer(self, t: Typing, data: Type, gamma: Type, beta: Type) -> Type:
        self.check(t, data, gamma, beta, self.axis)
        return data

    def over(self, rank: int) -> tuple[int, ...]:
        """The axes of the statistics."""
        return tuple([a for a in range(1, rank) if a != self.axis % rank])

    @by(Batching.FOLDED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]) or self.axis % row_rank(data, True) == 0:
            return None
        return folded(self, n, which, data, *vectors)

    def decompose(self, types: Any, data: Expr, gamma: Expr, beta: Expr) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        y = normalised(widened(data, dtype), self.over(rank), scalar(self.epsilon, computing_dtype(dtype)))
        return self.affine(y, gamma, beta, self.axis, rank, dtype)

    def reference(self, np: Numpy, data: Array, gamma: Array, beta: Array) -> Array:
        y = standard(np, precise(np, data), self.over(data.ndim), self.epsilon)
        return self.affine_value(y, gamma, beta, self.axis, data.dtype)


@operator("nn.group_norm")
class GroupNorm(_Affine):
    """Each group of channels of each item of a batch with mean 0 and variance 1, times `gamma` plus `beta`.

    Axis 0 is the batch, `axis` the channels, which `num_groups` divides.  Source: Wu and He, 2018.

    relay> nn.group_norm([[1.0, 3.0, 5.0, 5.0]], [1.0, 2.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], num_groups=2)
    [[-0.999995, 1.99999, 1.0, 1.0]]
    """

    num_groups: int
    axis: int = 1
    epsilon: float = 1e-5
    center: bool = True
    scale: bool = True
    samples = (
        sample("2x4x3x3 float32", "4 float32", "4 float32", num_groups=2),
        sample("2x3x6 float32", "6 float32", "6 float32", num_groups=3, axis=-1),
    )

    def infer(self, t: Typing, data: Type, gamma: Type, beta: Type) -> Type:
        shape = self.check(t, data, gamma, beta, self.axis)
        channels, n = shape[self.axis], t.static(shape[self.axis])
        if self.num_groups < 1 or (n is not None and n % self.num_groups):
            t.fail(
                "groups-mismatch",
                f"`nn.group_norm` cannot split {n} channels into {self.num_groups} groups",
                hint="num_groups must divide the number of channels",
            )
        t.require(self.num_groups, "divides", channels, "groups divide the channels", code="groups-mismatch")
        return data

    def over(self, rank: int) -> tuple[int, ...]:
        """The axes of the statistics, when the channels have become two axes, groups and channels within."""
        group = self.axis % rank
        return tuple([a for a in range(1, rank + 1) if a != group])

    @by(Batching.FOLDED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]) or self.axis % row_rank(data, True) == 0:
            return None
        return folded(self, n, which, data, *vectors)

    def decompose(self, types: Any, data: Expr, gamma: Expr, beta: Expr) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        before, after = (0,) * (self.axis % rank), (0,) * (rank - 1 - self.axis % rank)
        whole = widened(data, dtype)
        x = apply("reshape", whole, newshape=(*before, -4, self.num_groups, -1, *after))
        y = normalised(x, self.over(rank), scalar(self.epsilon, computing_dtype(dtype)))
        return self.affine(apply("reshape_like", y, whole), gamma, beta, self.axis, rank, dtype)

    def reference(self, np: Numpy, data: Array, gamma: Array, beta: Array) -> Array:
        axis = self.axis % data.ndim
        channels = data.shape[axis]
        split = (*data.shape[:axis], self.num_groups, channels // self.num_groups, *data.shape[axis + 1 :])
        y = standard(np, precise(np, data).reshape(split), self.over(data.ndim), self.epsilon)
        return self.affine_value(y.reshape(data.shape), gamma, beta, self.axis, data.dtype)
