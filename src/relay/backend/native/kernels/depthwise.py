"""Depthwise convolutions with the channels last: several places of a row at once.

Vectors are runs of channels.  For each of them the sums of a few neighbouring places stay in registers, and a
tap of the weight is read once for all of these, as is an element of the data that several windows see.  What
follows the convolution is computed from those registers.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from math import prod
from typing import Any, cast

from relay.backend.native.kernels.ranges import each
from relay.backend.native.llvm.machine import host
from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.cost import COMPUTED_NANOSECONDS, COSTS, MOVED_NANOSECONDS
from relay.backend.native.loops.deferred import Deferred, below
from relay.backend.native.loops.nodes import Index, Value
from relay.backend.native.loops.views import View
from relay.backend.native.memory.representation import SIZES, scalar
from relay.ir.dtype import is_float
from relay.op.native import WindowProduct
from relay.op.nn.layout import SPATIAL
from relay.op.nn.loops import sum_type, times_added

PLACES_OF_STRIP = {True: 6, False: 4}
"""Places of a strip, so that their sums stay in registers beside a tap of the weight: for 32 and 16."""
FEW_ROWS, MAX_CHANNEL_PARTS = 16, 3
"""Rows that are few, and into how many parts channels go then at most."""
VECTORS_OF_CHANNELS = 2
"""Registers of channels at a time."""


def depthwise(b: Builder, outs: Mapping[Deferred, View]) -> bool:
    """Compute tensors if they are made of one depthwise convolution of their shape; else False."""
    found = [x for x in below(outs) if isinstance(x, Deferred) and x.call.attrs.window_product() is not None]
    if len(found) != 1 or any(x.sizes != found[0].sizes for x in outs) or not is_depthwise(found[0]):
        return False
    Strips(b, outs, found[0]).write()
    return True


def is_depthwise(x: Deferred) -> bool:
    """Whether a convolution has one channel in each group, which come last, and rows of known length; filters
    are in the order of the channels of the result.
    """
    c: WindowProduct = x.call.attrs.window_product()
    data, weight = x.views
    wanted = f"N{SPATIAL[len(c.strides)]}C"
    if c.is_transposed or c.groups < 2 or (c.data_layout, c.out_layout) != (wanted, wanted):
        return False
    if not isinstance(data, View) or not isinstance(weight, View) or data.sizes[-1] != c.groups:
        return False
    if any(not isinstance(d, int) for d in (*x.sizes[-2:], data.sizes[-2], *weight.sizes)):
        return False
    is_in_order = weight.sizes[-2] == 1 or c.kernel_layout[-2:] == "OI"
    return is_in_order and c.kernel_layout[:-2] == SPATIAL[len(c.strides)]


class Strips:
    """The rows of the result in strips of neighbouring places."""

    def __init__(self, b: Builder, outs: Mapping[Deferred, View], x: Deferred) -> None:
        """`x` is the convolution."""
        self.b = b
        self.outs = outs
        self.x = x
        self.window: WindowProduct = x.call.attrs.window_product()
        self.data, weight = x.views
        self.places = PLACES_OF_STRIP[host().is_wide]
        self.count, self.filters, self.size, *self.taps = cast(
            "list[int]", [*x.sizes[-2:], self.data.sizes[-2], *weight.sizes[:-2]]
        )
        self.weight = copy(weight)
        self.weight.sizes = [*self.taps, self.filters]
        self.sums = sum_type(x.dtype, self.data.dtype, weight.dtype)
        self.lanes = VECTORS_OF_CHANNELS * host().vector // SIZES[scalar(self.sums)]
        while self.lanes >= 2 * self.filters and self.lanes > 1:
            self.lanes //= 2
        self.share = self.filters
        """Channels that go together, from `begin` on."""
        self.begin: Index = 0

    def write(self) -> None:
        """The loops over the rows, for some channels after the other where rows are few."""
        b, rows = self.b, self.x.sizes[:-2]
        costs = [COSTS.get(x.call.attrs.name, 1) for x in below(self.outs) if isinstance(x, Deferred)]
        takes = MOVED_NANOSECONDS + COMPUTED_NANOSECONDS * (sum(costs) + prod(self.taps))
        parts = self.parts(b.count(rows))
        self.share = self.filters // parts

        def row(index: tuple[Index, ...]) -> None:
            self.begin = b.times(index[0], self.share) if parts > 1 else 0
            self.row(index[-len(rows) :])

        each(b, [parts, *rows] if parts > 1 else rows, row, takes, self.count * self.share)

    def parts(self, rows: Index) -> int:
        """How many parts of whole vectors the channels are in: several where rows are few, which overlap then
        in the first level of the cache, and threads cannot share well.
        """
        vectors, rest = divmod(self.filters, self.lanes)
        is_few = isinstance(rows, int) and rows < FEW_ROWS and set(self.window.strides) == {1}
        if rest or not vectors or not is_few:
            return 1
        return max([n for n in range(1, MAX_CHANNEL_PARTS + 1) if vectors % n == 0])

    def row(self, front: tuple[Index, ...]) -> None:
        """One row: strips at the ends, where windows may see less, are apart."""
        b, c, n = self.b, self.window, self.places
        count = self.count
        stride, before, dilation = c.strides[-1], c.before[-1], c.dilation[-1]
        self.spot(front)
        begin = -(-before // (stride * n)) * n
        whole = (self.size - 1 - (self.taps[-1] - 1) * dilation + before) // stride + 1
        strips = max(0, min(whole, count) - begin) // n
        for first in range(0, min(begin, count), n):
            self.strip(front, first, min(n, count - first))
        if strips:
            b.loop(strips, (), lambda i, _: self.strip(front, b.plus(b.times(i, n), begin), n))
        for first in range(begin + strips * n, count, n):
            self.strip(front, first, min(n, count - first))

    def spot(self, front: Sequence[Index]) -> None:
        """Where the windows of a row begin on the other axes, and which of their taps see data."""
        b, c = self.b, self.window
        self.tops: list[Index] = []
        self.firsts: list[Index] = []
        self.counts: list[Index] = []
        steps = zip(
            front[1:], self.data.sizes[1:-2], self.taps, c.strides, c.before, c.dilation, strict=False
        )
        for i, size, taps, stride, before, dilation in steps:
            top = b.minus(b.times(i, stride), before)
            first = b.quotient(b.larger(b.minus(dilation - 1, top), 0), dilation) if before else 0
            end = b.quotient(b.larger(b.plus(b.minus(size, top), dilation - 1), 0), dilation)
            self.tops.append(top)
            self.firsts.append(first)
            self.counts.append(b.larger(b.minus(b.smaller(end, taps), first), 0))

    def strip(self, front: Sequence[Index], first: Index, count: int) -> None:
        """Some places of a row from `first` on."""
        b = self.b

        def channels(index: tuple[Index, ...], _: Any) -> None:
            i = b.plus(index[0], self.begin)
            sums = b.fold(
                self.counts, [b.const(0, self.sums)] * count, lambda k, t: self.tap(front, first, i, k, t)
            )
            places = [(*front, b.plus(first, j), i) for j in range(count)]
            for place, x in zip(places, sums, strict=True):
                b.once((self.x, self.x.place(place)), lambda x=x: b.cast(x, self.x.dtype))
            found = [(out, place, x.at(place)) for place in places for x, out in self.outs.items()]
            for out, place, x in found:
                out.put(place, x)

        b.for_each([self.share], (), channels, any_order=True, lanes=self.lanes)

    def tap(
        self, front: Sequence[Index], first: Index, i: Index, k: Sequence[Index], totals: Sequence[Value]
    ) -> Sequence[Value]:
        """The sums of some places with the taps of a row of the window more."""
        b, c = self.b, self.window
        taps = [b.plus(x, y) for x, y in zip(k, self.firsts, strict=True)]
        at = [b.plus(top, b.times(x, r)) for top, x, r in zip(self.tops, taps, c.dilation, strict=False)]
        channel = b.quotient(i, self.filters // c.groups)
        found = list(totals)
        for tap in range(self.taps[-1]):
            weight = self.weight.at([*taps, tap, i])
            for j, total in enumerate(found):
                place = b.plus(b.times(b.plus(first, j), c.strides[-1]), tap * c.dilation[-1] - c.before[-1])
                if isinstance(place, int) and not 0 <= place < self.size:
                    continue
                found[j] = self.added(total, self.data.at([front[0], *at, place, channel]), weight)
        return found

    def added(self, total: Value, x: Value, weight: Value) -> Value:
        """`total + x * weight`, rounded once where the machine can."""
        b = self.b
        if not is_float(self.sums):
            return times_added(b, total, x, weight)
        return b.function("fmuladd", b.cast(x, self.sums), b.cast(weight, self.sums), total)
