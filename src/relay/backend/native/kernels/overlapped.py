"""Windows on few channels, read where they are: neighbouring ones overlap, and their rows lie in lines.

The data is copied once with zeros around it.  What a window sees on a line of that is a run of numbers, and
the next window begins a few numbers later.  Numbers that are multiplied in groups begin with one: runs and
lines are filled up, and filters have zeros for what is between two lines.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relay.backend.native.kernels.block_shape import MAX_DEPTH_IN_PLACE, Lines
from relay.backend.native.kernels.inner_steps import InnerStep
from relay.backend.native.kernels.operands import MOVED_NANOSECONDS, First
from relay.backend.native.kernels.packing import Packing
from relay.backend.native.kernels.sums import Weight
from relay.backend.native.loops.nodes import Buffer, Index, Value
from relay.backend.native.memory.representation import SIZES, scalar

if TYPE_CHECKING:
    from relay.backend.native.kernels.convolutions import Convolutions

SMALL_BYTES = 1 << 16
"""Bytes of a copy that fits on the stack of a thread."""
MAX_WINDOW_STEP = 8
"""Numbers from one window to the next, at most: rows that are further apart are as quickly moved."""


@dataclass(frozen=True)
class Overlapped:
    """How the windows of a convolution lie on a copy of its data: `(images, height, width)` of it, places of
    padding before it, how many lines below each other two windows are, and how many a window sees.
    """

    lines: Lines
    height: int
    sizes: tuple[int, int, int]
    before: tuple[int, int]
    step: int
    taps_down: int

    @staticmethod
    def of(k: "Convolutions") -> "Overlapped | None":
        """That of a convolution, if that is quicker; `k` is its kernel."""
        c = k.convolution
        sizes = [n for n in (*k.sizes, *k.x.sizes, *k.window) if isinstance(n, int) and n]
        group = k.blocks.step.group
        if len(c.strides) != 2 or len(sizes) != 10 or not k.has_runs or set(c.dilation) != {1}:
            return None
        images, high, wide, _, *_, channels, taps_down, taps_across = sizes
        down, across = c.strides
        heights = [h for h in range(1, k.blocks.height + 1) if wide % h == 0]
        run, apart = -(-taps_across * channels // group), across * channels
        is_narrow = apart <= MAX_WINDOW_STEP and taps_down * taps_across > 1
        fits = group == 1 or (apart % group == 0 and isinstance(k.y, Weight))
        if (
            not (is_narrow and fits)
            or taps_down * run > MAX_DEPTH_IN_PLACE
            or 2 * heights[-1] <= k.blocks.height
        ):
            return None
        height, width = (high - 1) * down + taps_down, (wide - 1) * across + taps_across
        line = -(-width * channels // group)
        lines = Lines(wide, apart // group, run, line - run)
        before = c.before[0], c.before[1]
        return Overlapped(lines, heights[-1], (images, height, width), before, down, taps_down)

    @property
    def line(self) -> int:
        """Elements of a line of the copy."""
        return self.lines.run + self.lines.gap

    @property
    def depth(self) -> int:
        """Elements that a window sees."""
        return self.taps_down * self.lines.run

    def bytes(self, step: InnerStep) -> int:
        """Bytes of the copy."""
        images, height, _ = self.sizes
        return images * height * self.line * step.first_size

    def is_small(self, step: InnerStep) -> bool:
        """Whether the copy fits on the stack of a thread."""
        return self.bytes(step) <= SMALL_BYTES

    def first(self, k: "Convolutions") -> First:
        """Copy the data; where a line of rows begins."""
        b, blocks, data = k.b, k.blocks, self.copied(k)
        _, height, _ = self.sizes

        def line(r: Index, top: Index, rows: Index) -> Value:
            image, y, _ = b.unravelled(top, k.row_sizes)
            place = b.plus(b.times(image, height), b.times(y, self.step))
            return blocks.address(data, b.times(place, self.line), blocks.step.first_size)

        return line

    def copied(self, k: "Convolutions") -> Value:
        """The data with zeros around it."""
        b, step, (images, height, _) = k.b, k.blocks.step, self.sizes
        row = self.line * step.group
        if k.blocks.is_shared:
            to = b.room(step.first, [images * height, row]).buffer.data
        else:
            to = b.stack(self.bytes(step))
        how = Packing(k.blocks.machine, k.x.dtype, step.first, is_transposed=False)

        def one(i: Index) -> None:
            image, y = b.unravelled(i, [images, height])
            at = k.blocks.address(to, b.times(i, self.line), step.first_size)
            self.clear(k, at, row)
            y = b.minus(y, self.before[0])
            b.when(b.is_within(y, k.x.sizes[1]), lambda: self.copy_line(k, how, (image, y), at))

        def share(begin: Index, end: Index) -> None:
            b.loop(b.minus(end, begin), (), lambda i, _: one(b.plus(begin, i)))

        k.blocks.ranges(images * height, share, MOVED_NANOSECONDS, row)
        return to

    def clear(self, k: "Convolutions", at: Value, count: Index) -> None:
        """Zeros from an address on."""
        b, dtype = k.b, k.blocks.step.first
        to, zero = Buffer(at, dtype, (count,)), b.const(0, dtype)
        lanes = k.blocks.machine.lanes(scalar(dtype))
        b.vector_loop(count, lanes, lambda i: b.write(to, (i,), zero))

    def copy_line(self, k: "Convolutions", how: Packing, line: tuple[Index, Index], to: Value) -> None:
        """Copy a line of an image, as far as windows see it."""
        b, left = k.b, self.before[1]
        _, high, wide, channels = k.x.sizes
        place = b.times(b.plus(b.times(line[0], high), line[1]), b.times(wide, channels))
        count = b.times(b.smaller(wide, max(self.sizes[2] - left, 0)), channels)
        source = k.blocks.address(k.data, place, SIZES[scalar(k.x.dtype)])
        to = k.blocks.address(to, b.times(left, channels), SIZES[scalar(k.blocks.step.first)])
        b.invoke(how, source, 0, to, 0, 1, count, 0)
