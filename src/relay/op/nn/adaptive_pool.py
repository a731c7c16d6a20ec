"""Adaptive pooling: the greatest or the mean element of each of a number of equal parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay.ir.type import Dim, Type
from relay.op.base import FLOATING, NUMERIC, Array, Derivative, Kernel, Numpy, operator, sample
from relay.op.conversion import accumulator
from relay.op.nn.layout import Spatial, per_axis, spread, to_layout
from relay.op.nn.pool import Channels
from relay.op.numeric import narrow
from relay.op.relation import Typing


@dataclass(frozen=True)
class AdaptivePool(Channels, Kernel):
    """Divides each spatial axis of `d` elements into `n` parts, part `i` from `i*d/n` to `(i+1)*d/n`
    rounded up.
    """

    derivative = Derivative.RULES

    def infer(self, t: Typing, data: Type) -> Type:
        a = self.attributes()
        batch, channels, *space = self.open(t, data, a["layout"], a["out_layout"])
        wanted = a["output_size"]
        sizes: Sequence[Dim] = (
            space if wanted is None else per_axis(t, wanted, self.rank, self.name, "output_size")
        )
        for d in space:
            t.require(0, "<", d, f"`{self.name}` needs an element in each part")
        return self.close(t, data, [batch, channels, *sizes], a["out_layout"] or a["layout"])

    def parts(self, np: Numpy, data: Array, combine: Callable[..., Array]) -> Array:
        """`combine` of each part, spatial axis after spatial axis."""
        a = self.attributes()
        x = to_layout(np, accumulator(data), a["layout"], self.data_axes)
        sizes = x.shape[2:] if a["output_size"] is None else spread(a["output_size"], self.rank)
        for i, n in enumerate(sizes):
            axis, d = i + 2, x.shape[i + 2]
            if n != d:
                x = np.concatenate(
                    [
                        combine(
                            x[(*[slice(None)] * axis, slice(j * d // n, -(-(j + 1) * d // n)))],
                            axis=axis,
                            keepdims=True,
                        )
                        for j in range(n)
                    ],
                    axis=axis,
                )
        return narrow(to_layout(np, x, self.data_axes, a["out_layout"] or a["layout"]), data.dtype)


@dataclass(frozen=True)
class AdaptiveMaxPool(AdaptivePool):
    """The greatest element of each part."""

    dtypes = NUMERIC

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.parts(np, data, np.max)


@dataclass(frozen=True)
class AdaptiveAvgPool(AdaptivePool):
    """The mean of each part."""

    dtypes = FLOATING

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.parts(np, data, np.mean)


@operator("nn.adaptive_max_pool1d")
class AdaptiveMaxPool1D(AdaptiveMaxPool):
    """The greatest element of each of `output_size` parts of data `(n, c, w)`; None leaves the size.

    Part `i` goes from `i * w / output_size` rounded down to `(i + 1) * w / output_size` rounded up.

    relay> nn.adaptive_max_pool1d([[[1.0, 3.0, 2.0, 0.0]]], output_size=2)
    [[[3.0, 2.0]]]
    """

    output_size: Spatial | None = None
    layout: str = "NCW"
    out_layout: str = ""
    rank = 1
    samples = (sample("2x3x7 float32", output_size=3), sample("2x3x7 float32"))


@operator("nn.adaptive_max_pool2d")
class AdaptiveMaxPool2D(AdaptiveMaxPool):
    """The greatest element of each of `output_size` parts of data `(n, c, h, w)`; as
    `nn.adaptive_max_pool1d`.

    relay> nn.adaptive_max_pool2d([[[[1.0, 3.0], [2.0, 0.0]]]], output_size=(1, 2))
    [[[[2.0, 3.0]]]]
    """

    output_size: Spatial | None = None
    layout: str = "NCHW"
    out_layout: str = ""
    rank = 2
    samples = (sample("1x3x7x5 float32", output_size=(3, 2)),)


@operator("nn.adaptive_max_pool3d")
class AdaptiveMaxPool3D(AdaptiveMaxPool):
    """The greatest element of each of `output_size` parts of data `(n, c, d, h, w)`.

    relay> nn.adaptive_max_pool3d([[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[3.0]]]]]
    """

    output_size: Spatial | None = None
    layout: str = "NCDHW"
    out_layout: str = ""
    rank = 3
    samples = (sample("1x2x4x7x5 float32", output_size=(2, 3, 2)),)


@operator("nn.adaptive_avg_pool1d")
class AdaptiveAvgPool1D(AdaptiveAvgPool):
    """The mean of each of `output_size` parts of data `(n, c, w)`; None leaves the size.

    Part `i` goes from `i * w / output_size` rounded down to `(i + 1) * w / output_size` rounded up.

    relay> nn.adaptive_avg_pool1d([[[1.0, 3.0, 2.0, 0.0]]], output_size=2)
    [[[2.0, 1.0]]]
    """

    output_size: Spatial | None = None
    layout: str = "NCW"
    out_layout: str = ""
    rank = 1
    samples = (sample("2x3x7 float32", output_size=3), sample("2x3x3 float32", output_size=5))


@operator("nn.adaptive_avg_pool2d")
class AdaptiveAvgPool2D(AdaptiveAvgPool):
    """The mean of each of `output_size` parts of data `(n, c, h, w)`; as `nn.adaptive_avg_pool1d`.

    relay> nn.adaptive_avg_pool2d([[[[1.0, 3.0], [2.0, 0.0]]]], output_size=(1, 2))
    [[[[1.5, 1.5]]]]
    """

    output_size: Spatial | None = None
    layout: str = "NCHW"
    out_layout: str = ""
    rank = 2
    samples = (
        sample("1x3x7x5 float32", output_size=(3, 2)),
        sample("1x7x5x3 float32", output_size=2, layout="NHWC"),
    )


@operator("nn.adaptive_avg_pool3d")
class AdaptiveAvgPool3D(AdaptiveAvgPool):
    """The mean of each of `output_size` parts of data `(n, c, d, h, w)`.

    relay> nn.adaptive_avg_pool3d([[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[2.0]]]]]
    """

    output_size: Spatial | None = None
    layout: str = "NCDHW"
    out_layout: str = ""
    rank = 3
    samples = (sample("1x2x4x7x5 float32", output_size=(2, 3, 2)),)
