"""Pooling over windows: the greatest or the mean element of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from relay.ir.dim import floor_divide, minimum
from relay.ir.dtype import dtype_name, is_integer
from relay.ir.type import Dim, TensorType, Type
from relay.op.base import (
    NUMERIC,
    Array,
    Derivative,
    Kernel,
    Numpy,
    Operator,
    operator,
    sample,
)
from relay.op.conversion import accumulator
from relay.op.nn.layout import (
    SPATIAL,
    Spatial,
    checked_pads,
    pads,
    per_axis,
    permutation,
    positions,
    spread,
    to_layout,
)
from relay.op.numeric import least_value, narrow
from relay.op.relation import Typing


@dataclass(frozen=True)
class Channels(Operator):
    """What poolings share: data in some layout, of which the spatial axes change."""

    rank: ClassVar[int]

    @property
    def data_axes(self) -> str:
        """The layout that the rules compute in: `NCHW`."""
        return "NC" + SPATIAL[self.rank]

    def open(self, t: Typing, data: Type, layout: str, out_layout: str = "") -> list[Dim]:
        """The dimensions of the data in the order of `data_axes`."""
        order = permutation(t, layout, self.data_axes, self.name, "layout")
        if out_layout:
            permutation(t, out_layout, self.data_axes, self.name, "out_layout")
        shape = t.shape(data, self.rank + 2, "the data")
        return [shape[i] for i in order]

    def close(self, t: Typing, data: Type, shape: Sequence[Dim], layout: str) -> TensorType:
        """The type of a result whose dimensions are in the order of `data_axes`."""
        return TensorType([shape[i] for i in positions(self.data_axes, layout)], t.dtype(data))


@dataclass(frozen=True)
class Pool(Channels, Kernel):
    """Slides a window over the padded data."""

    derivative = Derivative.RULES
    dtypes = NUMERIC

    def infer(self, t: Typing, data: Type) -> Type:
        a, n, op = self.attributes(), self.rank, self.name
        window = per_axis(t, a["pool_size"], n, op, "pool_size")
        strides = per_axis(t, a["strides"], n, op, "strides")
        dilation = per_axis(t, a["dilation"], n, op, "dilation")
        padding = checked_pads(t, a["padding"], n, op)
        batch, channels, *space = self.open(t, data, a["layout"], a["out_layout"])
        sizes: list[Dim] = []
        for d, k, s, r, (lo, hi) in zip(space, window, strides, dilation, padding, strict=True):
            t.require(
                (k - 1) * r + 1, "<=", d + lo + hi, f"the window of `{op}` must fit into the padded data"
            )
            sizes.append(steps(d, k, s, r, lo, hi, a["ceil_mode"]))
        return self.close(t, data, [batch, channels, *sizes], a["out_layout"] or a["layout"])

    def windows(self, np: Numpy, data: Array, start: Any, combine: Callable[..., Array]) -> Array:
        """All windows combined, spatial axis after spatial axis, over data padded with `start`."""
        a, n = self.attributes(), self.rank
        x = to_layout(np, data, a["layout"], self.data_axes)
        settings = zip(
            spread(a["pool_size"], n),
            spread(a["strides"], n),
            spread(a["dilation"], n),
            pads(a["padding"], n),
            strict=True,
        )
        for i, (k, s, r, (lo, hi)) in enumerate(settings):
            axis, size = i + 2, x.shape[i + 2]
            out = steps(size, k, s, r, lo, hi, a["ceil_mode"])
            assert isinstance(out, int)
            x = slide(np, x, axis, k, s, r, lo, out, start, combine)
        return x

    def restore(self, np: Numpy, x: Array, dtype: Any) -> Array:
        """A result in the layout and base type that is wanted."""
        a = self.attributes()
        return narrow(to_layout(np, x, self.data_axes, a["out_layout"] or a["layout"]), dtype)


def steps(d: Dim, k: int, stride: int, dilation: int, lo: int, hi: int, ceil_mode: bool) -> Dim:
    """How many windows there are; with `ceil_mode` a last partial one counts if it begins on data or
    left padding.
    """
    free = d + lo + hi - ((k - 1) * dilation + 1)
    if not ceil_mode:
        return floor_divide(free, stride) + 1
    return minimum(floor_divide(free + (stride - 1), stride), floor_divide(d + (lo - 1), stride)) + 1


def slide(
    np: Numpy,
    x: Array,
    axis: int,
    k: int,
    stride: int,
    dilation: int,
    lo: int,
    out: int,
    start: Any,
    combine: Callable[..., Array],
) -> Array:
    """`combine` of the `k` elements of each of `out` windows along one axis, over `x` padded with `start`."""
    needed = max(0, (out - 1) * stride + (k - 1) * dilation + 1 - lo - x.shape[axis])
    if lo or needed:
        widths = [(0, 0)] * x.ndim
        widths[axis] = (lo, needed)
        x = np.pad(x, widths, constant_values=start)
    found: Array | None = None
    for tap in range(k):
        begin = tap * dilation
        part = x[
            (*[slice(None)] * axis, slice(begin, begin + (out - 1) * stride + 1 if out else begin, stride))
        ]
        found = part if found is None else combine(found, part)
    return found


@dataclass(frozen=True)
class MaxPool(Pool):
    """The greatest element of each window; padding counts as the least value, and NaN propagates."""

    def reference(self, np: Numpy, data: Array) -> Array:
        x = accumulator(data)
        return self.restore(np, self.windows(np, x, least_value(np, x.dtype), np.maximum), data.dtype)


@dataclass(frozen=True)
class AvgPool(Pool):
    """The mean of each window: over its elements that are data, or with `count_include_pad` padding too."""

    def reference(self, np: Numpy, data: Array) -> Array:
        whole = is_integer(dtype_name(data.dtype))
        x = data.astype("int64") if whole else accumulator(data)
        total = self.windows(np, x, 0, np.add)
        a, n = self.attributes(), self.rank
        space = [data.shape[i] for i in positions(a["layout"], self.data_axes)[2:]]
        settings = zip(
            space,
            total.shape[2:],
            spread(a["pool_size"], n),
            spread(a["strides"], n),
            spread(a["dilation"], n),
            pads(a["padding"], n),
            strict=True,
        )
        for i, (size, out, k, s, r, (lo, hi)) in enumerate(settings):
            at = np.arange(out)[:, None] * s + np.arange(k) * r - lo
            low, high = (-lo, size + hi) if a["count_include_pad"] else (0, size)
            counts = np.maximum(1, ((at >= low) & (at < high)).sum(axis=1))
            shape = [1] * total.ndim
            shape[i + 2] = out
            counts = counts.reshape(shape)
            total = _truncated(np, total, counts) if whole else total / counts.astype(total.dtype)
        return self.restore(np, total, data.dtype)


def _truncated(np: Numpy, a: Array, b: Array) -> Array:
    """`a / b` for `b > 0`, rounded towards zero; dividing twice in a row truncates as dividing once does."""
    return np.sign(a) * (np.abs(a) // b)


@operator("nn.max_pool1d")
class MaxPool1D(MaxPool):
    """The greatest element of each window of data `(n, c, w)`.

    There are `(w + padding - dilation * (pool_size - 1) - 1) / strides + 1` windows, rounded down.
    `ceil_mode`
    rounds up, but for a window that would begin after the data.  Padding is the least value.

    relay> nn.max_pool1d([[[1.0, 3.0, 2.0, 4.0]]], pool_size=2, strides=2)
    [[[3.0, 4.0]]]
    """

    pool_size: Spatial = (1,)
    strides: Spatial = (1,)
    dilation: Spatial = (1,)
    padding: Spatial = (0,)
    layout: str = "NCW"
    out_layout: str = ""
    ceil_mode: bool = False
    rank = 1
    samples = (
        sample("2x3x8 float32", pool_size=3, strides=2),
        sample("2x8x3 float32", pool_size=2, layout="NWC"),
    )


@operator("nn.max_pool2d")
class MaxPool2D(MaxPool):
    """The greatest element of each window of data `(n, c, h, w)`.

    There are `(h + padding - dilation * (pool_size - 1) - 1) / strides + 1` windows along `h`, rounded down.
    `ceil_mode` rounds up, but for a window that would begin after the data.  Padding is the least value.

    relay> nn.max_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], pool_size=(2, 2))
    [[[[4.0]]]]
    """

    pool_size: Spatial = (1, 1)
    strides: Spatial = (1, 1)
    dilation: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False
    rank = 2
    samples = (
        sample("2x3x8x7 float32", pool_size=3, strides=2, padding=1),
        sample("1x7x7x2 float32", pool_size=(2, 2), strides=2, ceil_mode=True, layout="NHWC"),
        sample("1x2x6x6 int8", pool_size=2, dilation=2),
    )


@operator("nn.max_pool3d")
class MaxPool3D(MaxPool):
    """The greatest element of each window of data `(n, c, d, h, w)`; as `nn.max_pool2d` with one axis more.

    relay> nn.max_pool3d([[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[3.0]]]]]
    """

    pool_size: Spatial = (1, 1, 1)
    strides: Spatial = (1, 1, 1)
    dilation: Spatial = (1, 1, 1)
    padding: Spatial = (0, 0, 0)
    layout: str = "NCDHW"
    out_layout: str = ""
    ceil_mode: bool = False
    rank = 3
    samples = (sample("1x2x4x5x6 float32", pool_size=2, strides=2),)


@operator("nn.avg_pool1d")
class AvgPool1D(AvgPool):
    """The mean of each window of data `(n, c, w)`; windows as in `nn.max_pool1d`.

    Padding counts only with `count_include_pad`.  Integers truncate.

    relay> nn.avg_pool1d([[[1.0, 3.0, 2.0, 4.0]]], pool_size=2, strides=2)
    [[[2.0, 3.0]]]
    """

    pool_size: Spatial = (1,)
    strides: Spatial = (1,)
    dilation: Spatial = (1,)
    padding: Spatial = (0,)
    layout: str = "NCW"
    out_layout: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False
    rank = 1
    samples = (sample("2x3x8 float32", pool_size=3, strides=2, padding=1),)


@operator("nn.avg_pool2d")
class AvgPool2D(AvgPool):
    """The mean of each window of data `(n, c, h, w)`; windows as in `nn.max_pool2d`.

    Padding counts only with `count_include_pad`.  Integers truncate.

    relay> nn.avg_pool2d([[[[1.0, 3.0], [2.0, 4.0]]]], pool_size=(2, 2))
    [[[[2.5]]]]
    """

    pool_size: Spatial = (1, 1)
    strides: Spatial = (1, 1)
    dilation: Spatial = (1, 1)
    padding: Spatial = (0, 0)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False
    rank = 2
    samples = (
        sample("2x3x8x7 float32", pool_size=3, strides=2, padding=1),
        sample("1x2x7x7 float32", pool_size=2, strides=2, ceil_mode=True, padding=1, count_include_pad=True),
        sample("1x2x4x4 int32", pool_size=2),
    )


@operator("nn.avg_pool3d")
class AvgPool3D(AvgPool):
    """The mean of each window of data `(n, c, d, h, w)`; as `nn.avg_pool2d` with one axis more.

    relay> nn.avg_pool3d([[[[[1.0, 3.0]]]]], pool_size=(1, 1, 2))
    [[[[[2.0]]]]]
    """

    pool_size: Spatial = (1, 1, 1)
    strides: Spatial = (1, 1, 1)
    dilation: Spatial = (1, 1, 1)
    padding: Spatial = (0, 0, 0)
    layout: str = "NCDHW"
    out_layout: str = ""
    ceil_mode: bool = False
    count_include_pad: bool = False
    rank = 3
    samples = (sample("1x2x4x5x6 float32", pool_size=2, strides=2),)
