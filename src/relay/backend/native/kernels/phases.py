"""Transposes of convolutions with strides: one without strides for each of the places that see the same taps.

Places that are a stride apart see the same taps of the window, and data that lies side by side.  They are
computed together, beside the result, and go from there to where they belong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod
from typing import Any

from relay.backend.native.kernels.convolutions import Convolutions
from relay.backend.native.kernels.images import by_images
from relay.backend.native.kernels.sums import LANES, Put, Taps, Weight, Windowed
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.views import View
from relay.op.native import WindowProduct
from relay.op.nn.layout import SPATIAL
from relay.op.nn.loops import sum_type

MAX_PHASES = 8
"""Phases at most: each has code of its own."""


@dataclass(frozen=True)
class Phase:
    """Some places along an axis: the first, the taps that they see, and what the first of each sees."""

    first: int
    taps: Taps
    begin: int
    step: int
    """From what a tap sees to what the next one does, back."""


class SomeTaps:
    """A weight without some of its taps."""

    data = None

    def __init__(self, b: Builder, weight: View, taps: Sequence[Taps | None]) -> None:
        """`taps` are those of each axis that are left, None for all that there is."""
        self.b = b
        self.weight = weight
        self.taps = taps
        self.dtype = weight.dtype
        self.sizes = [d if t is None else t.count for d, t in zip(weight.sizes, taps, strict=True)]

    def at(self, index: Sequence[Index]) -> Value:
        """The number at an index."""
        b = self.b
        places = [
            i if t is None else b.plus(t.first, b.times(i, t.step))
            for i, t in zip(index, self.taps, strict=True)
        ]
        return self.weight.at(places)


def has_phases(c: WindowProduct, weight: View | Weight) -> bool:
    """Whether a convolution is computed phase by phase."""
    is_known = all(isinstance(n, int) for n in weight.sizes)
    return c.is_transposed and is_known and 1 < prod(c.strides) <= MAX_PHASES


class Phases(Windowed):
    """A call that is the transpose of a convolution with strides."""

    def __init__(
        self, b: Builder, c: WindowProduct, views: Sequence[Any], sizes: Sequence[Index], dtype: str
    ) -> None:
        """`sizes` and `dtype` are those of the result."""
        self.convolution = c
        self.x = views[0]
        self.y: View | Weight = views[1]
        super().__init__(b, sizes, dtype, sum_type(dtype, self.x.dtype, self.y.dtype))

    def write(self, out: View, put: Put | None) -> None:
        """Phase by phase."""
        for several in product(*[self.along_axis(a) for a in range(len(self.convolution.strides))]):
            self.phase(several, out, put)

    def along_axis(self, axis: int) -> list[Phase]:
        """The phases along an axis."""
        c = self.convolution
        stride, before, dilation = c.strides[axis], c.before[axis], c.dilation[axis]
        count = self.y.sizes[c.kernel_layout.index(SPATIAL[len(c.strides)][axis])]
        assert isinstance(count, int), "the taps are known"
        apart = stride // gcd(stride, dilation)
        found: list[Phase] = []
        for first in range(stride):
            fits = [k for k in range(min(apart, count)) if (first + before - k * dilation) % stride == 0]
            tap = fits[0] if fits else count
            taps = Taps(tap, apart, -(-(count - tap) // apart))
            begin = (first + before - tap * dilation) // stride
            found.append(Phase(first, taps, begin, apart * dilation // stride))
        return found

    def phase(self, several: Sequence[Phase], out: View, put: Put | None) -> None:
        """The places of a phase along each axis."""
        b, c = self.b, self.convolution
        steps = list(zip(several, c.strides, strict=True))
        sizes = [
            b.quotient(b.plus(b.minus(d, p.first), s - 1), s)
            for d, (p, s) in zip(self.sizes[1:-1], steps, strict=True)
        ]
        part = replace(
            c,
            strides=tuple([1] * len(several)),
            before=tuple([p.begin for p in several]),
            dilation=tuple([p.step for p in several]),
        )
        whole = [self.sizes[0], *sizes, self.sizes[-1]]
        part_sums = b.room(self.sums, whole)

        def move(index: Sequence[Index]) -> None:
            batch, *places, channel = index
            there = [b.plus(p.first, b.times(i, s)) for i, (p, s) in zip(places, steps, strict=True)]
            out.put([batch, *there, channel], part_sums.at(index))
            if put is not None:
                put([batch, *there, channel])

        weight = self.some([p.taps for p in several])

        def kernel_for(data: View, result: Sequence[Index]) -> Convolutions:
            return Convolutions(b, part, (data, weight), result, self.sums)

        kernel = by_images(b, part, (self.x, weight), whole, kernel_for)
        kernel.run(part_sums, move, self.lanes or LANES)

    def some(self, taps: Sequence[Taps]) -> SomeTaps | Weight:
        """The weight with some taps along each axis."""
        c, axes = self.convolution, SPATIAL[len(self.convolution.strides)]
        by = dict(zip(axes, taps, strict=True))
        each = [by.get(letter) for letter in c.kernel_layout]
        if isinstance(self.y, Weight):
            return Weight(self.y.constant, each)
        return SomeTaps(self.b, self.y, each)
