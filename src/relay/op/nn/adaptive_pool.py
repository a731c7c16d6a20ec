"""Adaptive pooling: the greatest or the mean element of each of a number of equal parts."""

from collections.abc import Callable, Sequence

import numpy

from relay.ir.dtype import dtype_name, is_integer
from relay.ir.type import Dim
from relay.op.attribute import Sizes
from relay.op.base import NUMERIC, Array, Numpy, sample
from relay.op.conversion import accumulator
from relay.op.family import family
from relay.op.kind import Precision, Wide
from relay.op.native import Index, Loops
from relay.op.nn.layout import Spatial, ntuple, per_axis
from relay.op.nn.loops import Line
from relay.op.nn.pool import Average, Greatest, truncated
from relay.op.nn.ranks import DATA_LAYOUT, by_rank, for_ranks
from relay.op.nn.window import Pooling, means
from relay.op.relation import Typing


@family
class Parts(Pooling):
    """Divides each spatial axis of `d` elements into `n` parts, part `i` from `i*d/n` to `(i+1)*d/n`
    rounded up.
    """

    output_size: Spatial | None = None
    layout: str = DATA_LAYOUT
    out_layout: str = ""

    def check(self, t: Typing, space: Sequence[Dim]) -> None:
        wanted = self.attributes()["output_size"]
        if wanted is not None:
            per_axis(t, wanted, self.rank, self.name, "output_size")
        for d in space:
            t.require(0, "<", d, f"`{self.name}` needs an element in each part")

    def lengths(self, space: Sequence[Dim]) -> list[Dim]:
        wanted = self.attributes()["output_size"]
        return [*space] if wanted is None else [*ntuple(wanted, self.rank)]

    def bounds(self, space: Sequence[int]) -> list[list[tuple[int, int]]]:
        """Where each part begins and ends, along each spatial axis."""
        sizes = [(d, n) for d, n in zip(space, self.lengths(space), strict=True) if isinstance(n, int)]
        return [[(i * d // n, -(-(i + 1) * d // n)) for i in range(n)] for d, n in sizes]

    def taps(self, space: Sequence[int]) -> list[Array]:
        found: list[Array] = []
        for parts in self.bounds(space):
            start, end = numpy.asarray(parts, "int64").reshape(-1, 2, 1).swapaxes(0, 1)
            at = start + numpy.arange(max((b - a for a, b in parts), default=0))
            found.append(numpy.where(at < end, at, -1))
        return found

    def averaging(self, space: Sequence[int]) -> list[Array]:
        found = zip(self.taps(space), space, strict=True)
        return [means(taps, (taps >= 0).sum(axis=1), d) for taps, d in found]

    def parts(self, np: Numpy, data: Array, combine: Callable[..., Array]) -> Array:
        """`combine` of each part, spatial axis after spatial axis."""
        x = self.opened(np, accumulator(data))
        for i, bounds in enumerate(self.bounds(x.shape[2:])):
            axis = i + 2
            if len(bounds) != x.shape[axis]:
                before = [slice(None)] * axis
                found = [combine(x[(*before, slice(*b))], axis=axis, keepdims=True) for b in bounds]
                x = np.concatenate(found, axis=axis)
        return self.closed(np, x, data.dtype)

    def lines(self, b: Loops, place: Sequence[Index], space: Sequence[Index]) -> list[Line]:
        wanted = self.attributes()["output_size"]
        counts = list(space) if wanted is None else ntuple(wanted, self.rank)
        found: list[Line] = []
        for i, d, n in zip(place, space, counts, strict=True):
            begin = b.quotient(b.times(i, d), n)
            end = b.quotient(b.plus(b.times(b.plus(i, 1), d), b.minus(n, 1)), n)
            found.append(Line(d, b.minus(end, begin), begin, inside=True))
        return found

    def seeing(
        self, b: Loops, place: Sequence[Index], space: Sequence[Index], counts: Sequence[Index]
    ) -> list[tuple[Index, Index]]:
        return [
            (b.quotient(b.times(i, n), d), b.plus(b.quotient(b.minus(b.plus(n, d), 1), d), 1))
            for i, d, n in zip(place, space, counts, strict=True)
        ]


@family
class AdaptiveMaxPool(Greatest, Parts):
    """The greatest element of each of `output_size` parts of data `(n, c, {axes})`; None leaves the size.

    Part `i` goes from `i * w / output_size` rounded down to `(i + 1) * w / output_size` rounded up.

    relay> nn.adaptive_max_pool1d([[[1.0, 3.0, 2.0, 0.0]]], output_size=2)
    [[[3.0, 2.0]]]
    relay> nn.adaptive_max_pool2d([[[[1.0, 3.0], [2.0, 0.0]]]], output_size=(1, 2))
    [[[[2.0, 3.0]]]]
    relay> nn.adaptive_max_pool3d([[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[3.0]]]]]
    """

    output_size: Sizes | None = None
    precision = Precision.FOLLOW
    samples = by_rank(
        (sample("2x3x7 float32", output_size=3), sample("2x3x7 float32")),
        (sample("1x3x7x5 float32", output_size=(3, 2)),),
        (sample("1x2x4x7x5 float32", output_size=(2, 3, 2)),),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.parts(np, data, np.max)


@family
class AdaptiveAvgPool(Average, Parts):
    """The mean of each of `output_size` parts of data `(n, c, {axes})`; None leaves the size.

    Part `i` goes from `i * w / output_size` rounded down to `(i + 1) * w / output_size` rounded up.  Integers
    truncate.

    relay> nn.adaptive_avg_pool1d([[[1.0, 3.0, 2.0, 0.0]]], output_size=2)
    [[[2.0, 1.0]]]
    relay> nn.adaptive_avg_pool2d([[[[1.0, 3.0], [2.0, 0.0]]]], output_size=(1, 2))
    [[[[1.5, 1.5]]]]
    relay> nn.adaptive_avg_pool3d([[[[[1.0, 3.0]]]]], output_size=1)
    [[[[[2.0]]]]]
    """

    wide = Wide.SUM
    output_size: Sizes | None = None
    precision = Precision.STORED
    dtypes = NUMERIC
    samples = by_rank(
        (sample("2x3x7 float32", output_size=3), sample("2x3x3 float32", output_size=5)),
        (
            sample("1x3x7x5 float32", output_size=(3, 2)),
            sample("1x7x5x3 float32", output_size=2, layout="NHWC"),
            sample("1x3x7x5 int32", output_size=(3, 2)),
        ),
        (sample("1x2x4x7x5 float32", output_size=(2, 3, 2)),),
    )

    def reference(self, np: Numpy, data: Array) -> Array:
        if not is_integer(dtype_name(data.dtype)):
            return self.parts(np, data, np.mean)
        space = self.opened(np, data).shape[2:]
        total = self.opened(np, self.parts(np, data.astype("int64"), np.sum))
        for i, bounds in enumerate(self.bounds(space)):
            several = numpy.asarray([1 if len(bounds) == space[i] else b - a for a, b in bounds])
            total = truncated(np, total, several.reshape((-1,) + (1,) * (self.rank - 1 - i)))
        return self.closed(np, total, data.dtype)


AdaptiveMaxPool1D, AdaptiveMaxPool2D, AdaptiveMaxPool3D = for_ranks(
    "nn.adaptive_max_pool{}d", AdaptiveMaxPool
)
AdaptiveAvgPool1D, AdaptiveAvgPool2D, AdaptiveAvgPool3D = for_ranks(
    "nn.adaptive_avg_pool{}d", AdaptiveAvgPool
)
