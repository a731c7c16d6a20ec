"""Normalisations: data less a mean, divided by a deviation, scaled and shifted for each channel."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, ClassVar

import numpy as _np

from relay.ir.expr import Expr, Tuple
from relay.ir.type import Dim, DType, TensorType, TupleType, Type
from relay.op.axes import axis_of
from relay.op.base import FLOATING, Array, Numpy, sample
from relay.op.batching import behind_rows, by, folded, row_rank
from relay.op.composite import Composite
from relay.op.conversion import accumulator
from relay.op.derivative import broadcast_like, const_like, rank_of, tensor_type, times, total
from relay.op.family import family
from relay.op.kind import Batching, Derivative, Precision, Wide
from relay.op.nn.cotangent import reshaped_like
from relay.op.numeric import (
    SameType,
    along_channels,
    apply,
    computing_dtype,
    dims,
    for_squares,
    in_dtype,
    narrow,
    narrowed,
    precise,
    scalar,
    squaring_dtype,
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


LEAST_SQUARE, GREATEST_SQUARE = 1e-24, 1e24
"""Between these, means of squares and their powers of -1.5 lose nothing in float32."""
FAR_SQUARE = 256.0
"""Most that the square of a mean may be of the variance without its rounding showing."""
SCALE = 2.0**100
"""Factor of rows whose deviation is below its inverse, and divisor of those whose deviation is above it."""


def mean_over(x: Expr, axes: tuple[int, ...]) -> Expr:
    """The mean along axes, which are kept."""
    return apply("mean", x, axis=axes, keepdims=True)


def normalised(
    x: Expr, dtype: DType, axes: tuple[int, ...], epsilon: float, is_centred: bool
) -> tuple[Expr, Sequence[Expr]]:
    """Return `(x - mean) / sqrt(variance + epsilon)` over `axes` and the factors of `1 / sqrt(...)`, in the
    dtype that `dtype` is computed in; the mean is 0 unless `is_centred`.

    Rows whose statistics float32 has no room for, or whose mean it rounds too much, have theirs in float64.
    The first of two factors is a power of 2 that such rows are scaled by.
    """
    computing, wide = computing_dtype(dtype), squaring_dtype(dtype)
    mean = mean_over(x, axes) if is_centred else scalar(0, computing)
    away = apply("subtract", x, mean) if is_centred else x
    square = apply("add", mean_over(times(away, away), axes), scalar(epsilon, computing))
    if wide == computing:
        factor = apply("rsqrt", square)
        return times(away, factor), [factor]
    least, most, share = (scalar(v, computing) for v in (LEAST_SQUARE, GREATEST_SQUARE, 1 / FAR_SQUARE))
    is_exact = apply("logical_and", apply("greater", square, least), apply("less", square, most))
    if is_centred:
        is_near = apply("less_equal", times(mean, times(mean, share)), square)  # infinite is not near
        is_exact = apply("logical_and", is_exact, is_near)
    # Where the other is chosen, the derivative of this is finite as well.
    factor = apply("rsqrt", apply("where", is_exact, square, scalar(1, computing)))

    def narrowed_where_inexact(exact: Expr, otherwise: float) -> Expr:
        return apply("where", is_exact, scalar(otherwise, computing), in_dtype(exact, wide, computing))

    exact = in_dtype(x, computing, wide)
    exact_mean = mean_over(exact, axes) if is_centred else scalar(0, wide)
    exact = apply("subtract", exact, exact_mean) if is_centred else exact
    exact_square = apply("add", mean_over(times(exact, exact), axes), scalar(epsilon, wide))
    size = apply("maximum", exact_square, times(exact_mean, exact_mean)) if is_centred else exact_square
    exact_scale = scale_of(size, wide)
    scale = narrowed_where_inexact(exact_scale, 1)
    scaled = times(x, scale)
    if is_centred:
        exact_mean = times(exact_mean, exact_scale)
        rounded = in_dtype(in_dtype(exact_mean, wide, computing), computing, wide)
        for part in (rounded, apply("subtract", exact_mean, rounded)):
            scaled = apply("subtract", scaled, narrowed_where_inexact(part, 0))
    exact_factor = narrowed_where_inexact(apply("divide", apply("rsqrt", exact_square), exact_scale), 1)
    normal = apply("where", is_exact, times(away, factor), times(scaled, exact_factor))
    return normal, [scale, apply("where", is_exact, factor, exact_factor)]


def scale_of(square: Expr, dtype: DType) -> Expr:
    """Return the power of 2 to multiply a row with some mean of squares by, before other factors.

    It takes the row nearer to 1 and never beyond, so that it overflows only if the product of all does.
    """
    least, most, scale, one = (scalar(v, dtype) for v in (SCALE**-2, SCALE**2, SCALE, 1))
    up, down = (apply("where", apply("less", a, b), scale, one) for a, b in ((square, least), (most, square)))
    return apply("divide", up, down)


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
class _Normalisation(SameType, Composite):
    """Data divided by its deviation over some axes, then scaled and shifted by channel."""

    wide = Wide.NORMALIZATION
    derivative = Derivative.RULES
    dtypes = FLOATING
    operands = ("data", "gamma", "beta")
    is_centred: ClassVar[bool] = True
    """True if the mean is taken off first."""

    def check(self, t: Typing, data: Type, axis: int, **vectors: Type) -> tuple[Dim, ...]:
        """Return the data's shape, of which the vectors have the channels."""
        shape = t.shape(data)
        per_channel(t, data, shape[axis_of(t, axis, len(shape), of="`data`")], self.name, **vectors)
        return shape

    @property
    def channels(self) -> int:
        """The axis of the channels."""
        return self.attributes()["axis"]

    def over(self, rank: int) -> tuple[int, ...]:
        """The axes of the statistics, of data as `split` returns it."""
        return (self.channels % rank,)

    def split(self, x: Expr, rank: int) -> Expr:
        """Return data with an axis for each group of channels, if there are groups."""
        return x

    def joined(self, x: Expr, data: Expr) -> Expr:
        """Return split data in the shape of `data`."""
        return x

    def used(self, gamma: Expr | None = None, beta: Expr | None = None) -> tuple[Expr | None, Expr | None]:
        """Return `gamma` and `beta`, None for what does not count."""
        a = self.attributes()
        return gamma if a["scale"] else None, beta if a["center"] else None

    def parts(self, data: Expr, dtype: DType, rank: int) -> tuple[Expr, Sequence[Expr]]:
        """Return the data normalised, and the factors, split."""
        a = self.attributes()
        x = self.split(widened(data, dtype), rank)
        return normalised(x, dtype, self.over(rank), a["epsilon"], self.is_centred)

    def decompose(self, types: Any, data: Expr, *vectors: Expr) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        y = self.joined(self.parts(data, dtype, rank)[0], data)
        gamma, beta = [None if v is None else widened(v, dtype) for v in self.used(*vectors)]
        return narrowed(scaled_and_shifted(y, gamma, beta, self.channels, rank), dtype)

    def change(self, dx: Expr, y: Expr, factors: Sequence[Expr], dtype: DType, rank: int) -> Expr:
        """Return the tangent of normalised split data, or its cotangent: the Jacobian is symmetric."""
        axes, epsilon = self.over(rank), scalar(self.attributes()["epsilon"], computing_dtype(dtype))
        *scales, factor = factors
        one = scalar(1, computing_dtype(dtype))
        dx = reduce(times, [apply("minimum", s, one) for s in scales], dx)
        moved = apply("subtract", dx, mean_over(dx, axes)) if self.is_centred else dx
        # Divided by 1, from the same numbers: the rounding of the factor does not show.
        rest = reduce(times, [*factors, *factors], epsilon)
        square = apply("add", mean_over(times(y, y), axes), rest)
        share = apply("divide", mean_over(times(moved, y), axes), square)
        moved = apply("subtract", moved, times(y, share))
        return times(factor, reduce(times, [apply("maximum", s, one) for s in scales], moved))

    def vjp(self, g: Expr, y: Expr, data: Expr, *vectors: Expr) -> tuple[Expr | None, ...]:
        dtype, rank, axis = tensor_type(data).dtype, rank_of(data), self.channels
        gamma, beta = self.used(*vectors)
        g = widened(g, dtype)
        own, factors = self.parts(data, dtype, rank)
        inner = scaled_and_shifted(g, None if gamma is None else widened(gamma, dtype), None, axis, rank)
        d_data = self.joined(self.change(self.split(inner, rank), own, factors, dtype, rank), data)
        by_vector = [
            None if v is None else apply("sum", x, axis=axis, exclude=True)
            for v, x in ((gamma, times(g, self.joined(own, data))), (beta, g))
        ]
        shape = (dims(tensor_type(data))[axis],)
        return narrowed(d_data, dtype), *[
            None if d is None else reshaped_like(narrowed(d, dtype), shape, v)
            for d, v in zip(by_vector, vectors, strict=False)
        ]

    def jvp(self, dxs: Sequence[Expr | None], y: Expr, data: Expr, *vectors: Expr) -> Expr:
        dtype, rank, axis = tensor_type(data).dtype, rank_of(data), self.channels
        gamma, _ = self.used(*vectors)
        d_gamma, d_beta = self.used(*dxs[1:])
        own, factors = self.parts(data, dtype, rank)
        terms: list[Expr] = []
        if dxs[0] is not None:
            moved = self.change(self.split(widened(dxs[0], dtype), rank), own, factors, dtype, rank)
            scale = None if gamma is None else widened(gamma, dtype)
            terms.append(scaled_and_shifted(self.joined(moved, data), scale, None, axis, rank))
        if d_gamma is not None:
            scale = along_channels(widened(d_gamma, dtype), axis, rank)
            terms.append(times(self.joined(own, data), scale))
        if d_beta is not None:
            terms.append(broadcast_like(along_channels(widened(d_beta, dtype), axis, rank), data))
        tangent = total(terms)
        return const_like(0, y) if tangent is None else narrowed(tangent, dtype)

    def affine_value(self, x: Array, gamma: Array, beta: Array, axis: int, dtype: Any) -> Array:
        """Scale and shift an array as `scale` and `center` say."""
        a = self.attributes()
        if a["scale"]:
            x = x * channel_view(gamma, axis, x.ndim)
        if a["center"]:
            x = x + channel_view(beta, axis, x.ndim)
        return narrow(x, dtype)


@operator("nn.layer_norm")
class LayerNorm(_Normalisation):
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
        self.check(t, data, self.axis, gamma=gamma, beta=beta)
        return data

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]):
            return None
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True)))(data, *vectors)

    def reference(self, np: Numpy, data: Array, gamma: Array, beta: Array) -> Array:
        y = standard(np, precise(np, for_squares(data)), (self.axis % data.ndim,), self.epsilon)
        return self.affine_value(y, gamma, beta, self.axis, data.dtype)


@operator("nn.rms_norm")
class RmsNorm(_Normalisation):
    """Data divided by its root mean square along `axis`, times `gamma`.

    `x / sqrt(mean(x * x) + epsilon)`; `gamma` may be left out.  Source: Zhang and Sennrich, 2019.

    relay> nn.rms_norm([[1.0, 7.0]], [5.0, 10.0], epsilon=0.0)
    [[1.0, 14.0]]
    """

    axis: int = -1
    epsilon: float = 1e-5
    operands = ("data", "gamma")
    optional = 1
    is_centred = False
    samples = (
        sample("2x3x4 float32", "4 float32"),
        sample("2x3x4 float32", "3 float32", axis=1),
        sample("2x4 float16", epsilon=1e-3),
    )

    def infer(self, t: Typing, data: Type, gamma: Type | None = None) -> Type:
        self.check(t, data, self.axis, **({} if gamma is None else {"gamma": gamma}))
        return data

    def used(self, gamma: Expr | None = None, beta: Expr | None = None) -> tuple[Expr | None, Expr | None]:
        return gamma, None

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]):
            return None
        return replace(self, axis=behind_rows(self.axis, row_rank(data, True)))(data, *vectors)

    def reference(self, np: Numpy, data: Array, gamma: Array | None = None) -> Array:
        x = precise(np, for_squares(data))
        square = mean_of(np, x * x, (self.axis % x.ndim,))
        y = x / np.sqrt(square + x.dtype.type(self.epsilon))
        return narrow(y if gamma is None else y * channel_view(gamma, self.axis, x.ndim), data.dtype)


@operator("nn.instance_norm")
class InstanceNorm(_Normalisation):
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
        self.check(t, data, self.axis, gamma=gamma, beta=beta)
        return data

    def over(self, rank: int) -> tuple[int, ...]:
        return tuple([a for a in range(1, rank) if a != self.axis % rank])

    @by(Batching.FOLDED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]) or self.axis % row_rank(data, True) == 0:
            return None
        return folded(self, n, which, data, *vectors)

    def reference(self, np: Numpy, data: Array, gamma: Array, beta: Array) -> Array:
        y = standard(np, precise(np, for_squares(data)), self.over(data.ndim), self.epsilon)
        return self.affine_value(y, gamma, beta, self.axis, data.dtype)


@operator("nn.group_norm")
class GroupNorm(_Normalisation):
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
        shape = self.check(t, data, self.axis, gamma=gamma, beta=beta)
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
        group = self.axis % rank
        return tuple([a for a in range(1, rank + 1) if a != group])

    def split(self, x: Expr, rank: int) -> Expr:
        before, after = (0,) * (self.axis % rank), (0,) * (rank - 1 - self.axis % rank)
        return apply("reshape", x, newshape=(*before, -4, self.num_groups, -1, *after))

    def joined(self, x: Expr, data: Expr) -> Expr:
        return apply("reshape_like", x, data)

    @by(Batching.FOLDED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *vectors: Expr) -> Expr | None:
        if any(which[1:]) or self.axis % row_rank(data, True) == 0:
            return None
        return folded(self, n, which, data, *vectors)

    def reference(self, np: Numpy, data: Array, gamma: Array, beta: Array) -> Array:
        axis = self.axis % data.ndim
        channels = data.shape[axis]
        split = (*data.shape[:axis], self.num_groups, channels // self.num_groups, *data.shape[axis + 1 :])
        y = standard(np, precise(np, for_squares(data)).reshape(split), self.over(data.ndim), self.epsilon)
        return self.affine_value(y.reshape(data.shape), gamma, beta, self.axis, data.dtype)
