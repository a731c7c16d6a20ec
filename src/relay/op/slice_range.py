"""What a slice takes of an axis: places between which so many elements lie, as sizes that may be symbolic."""

from dataclasses import dataclass

from relay.ir.dim import least, maximum, minimum, subtract
from relay.ir.type import ANY, Dim
from relay.op.attribute import is_dimension
from relay.op.axes import Checker, attribute_fault

BEYOND = 2**31 - 1
"""An end at least this far away is the end of the axis, whatever its size."""


@dataclass(frozen=True)
class Range:
    """What a slice takes of one axis: from `begin`, `length` elements, `stride` apart."""

    begin: Dim
    length: Dim
    stride: int

    @property
    def slice(self) -> slice:
        """The equivalent Python slice, if all bounds are known."""
        assert isinstance(self.begin, int)
        assert isinstance(self.length, int)
        end = self.begin + self.length * self.stride
        return slice(self.begin, end if end >= 0 else None, self.stride) if self.length else slice(0, 0)


def range_of(t: Checker, d: Dim, begin: int, end: int | None, stride: int) -> Range:
    """What `begin:end:stride` takes of an axis of size `d`.

    Negative places count from the end, and an end beyond the axis is its end; a slice that begins outside or
    ends before it begins is `slice-out-of-range`, and on a symbolic size a run-time check.
    """
    if stride == 0:
        attribute_fault(t, "strides", stride, "a stride is not 0")
    if is_dimension(begin) or is_dimension(end):
        return between(t, d, begin, end, stride, clips=False)
    why = f"the slice {begin}:{'' if end is None or abs(end) >= BEYOND else end} lies within the axis"
    if stride < 0:
        return _backwards(t, d, begin, end, stride, why)
    if begin < 0:
        t.require(-begin, "<=", d, why, "slice-out-of-range")
    elif begin > 0:
        t.require(begin, "<=", d, why, "slice-out-of-range")
    first = begin if begin >= 0 else d + begin
    last = d if end is None or end >= BEYOND else minimum(end, d) if end >= 0 else d + end
    if begin >= 0 and end is not None and end >= 0:
        if end < begin:
            t.require(begin, "<=", end, why, "slice-out-of-range")
    elif last is not d:
        t.require(first, "<=", last, why, "slice-out-of-range")
    return Range(first, (last - first + (stride - 1)) // stride, stride)


def _backwards(t: Checker, d: Dim, begin: int, end: int | None, stride: int, why: str) -> Range:
    first = minimum(begin, d - 1) if begin >= 0 else d + begin
    if begin < -1:
        t.require(-begin - 1, "<=", d, why, "slice-out-of-range")
    last: Dim = -1
    if end is not None and end > -BEYOND:
        last = minimum(end, d - 1) if end >= 0 else maximum(d + end, -1)
        t.require(last, "<=", first, why, "slice-out-of-range")
    return Range(first, (first - last + (-stride - 1)) // -stride, stride)


def clipped(t: Checker, d: Dim, begin: int, end: int | None, stride: int) -> Range:
    """What `begin:end:stride` takes of an axis of size `d` in NumPy: only what is there."""
    if stride == 0:
        attribute_fault(t, "strides", stride, "a stride is not 0")
    if is_dimension(begin) or is_dimension(end):
        return between(t, d, begin, end, stride, clips=True)
    size = t.static(d)
    if size is not None:
        first, last, _ = slice(begin, end, stride).indices(size)
        count = len(range(first, last, stride))
        return Range(first if count else 0, count, stride)
    if stride > 0:
        last = d if end is None or end >= BEYOND else minimum(end, d) if end >= 0 else d + end
        first = begin if begin >= 0 else maximum(d + begin, 0)
        if begin < 0 and last is d:
            span = minimum(d, -begin)
        else:
            span = last if begin == 0 and (end is None or end >= 0) else maximum(last - first, 0)
    else:
        first = d - 1 if begin >= BEYOND else minimum(begin, d - 1) if begin >= 0 else d + begin
        if end is None or end <= -BEYOND:
            span = d if begin >= BEYOND else maximum(first + 1, 0)
        else:
            last = minimum(end, d - 1) if end >= 0 else maximum(d + end, -1)
            span = maximum(first - last, 0)
    return Range(first, (span + (abs(stride) - 1)) // abs(stride), stride)


def between(t: Checker, d: Dim, begin: Dim, end: Dim | None, stride: int, *, clips: bool) -> Range:
    """What `begin:end:stride` takes of an axis of size `d` where one of the places is a dimension.

    Where that may be negative, which counts from the end, the length is `?`.
    """
    last = d if end is None or (isinstance(end, int) and end >= BEYOND) else end
    if stride < 0 or least(begin) < 0 or least(last) < 0:
        return Range(begin, ANY, stride)
    last = last if least(subtract(d, last)) >= 0 else minimum(last, d)
    if not clips:
        t.require(begin, "<=", last, "the slice lies within the axis", "slice-out-of-range")
    span = subtract(last, begin)
    if clips and least(span) < 0:
        span = maximum(span, 0)
    return Range(begin, (span + (stride - 1)) // stride, stride)


def sized(t: Checker, d: Dim, begin: int, size: int | None, *, exact: bool) -> Range:
    """`size` elements from `begin` on, or those that are left if they are fewer, unless it is `exact`; -1 is
    all that are left.
    """
    if is_dimension(begin) or is_dimension(size):
        if size is None or (not is_dimension(size) and size < 0):
            return between(t, d, begin, None, 1, clips=False)
        if least(size) < 0 or (least(begin) < 0 and not exact):
            return Range(begin, ANY, 1)
        if least(begin) >= 0:
            last = begin + size if exact else begin
            t.require(last, "<=", d, "the slice lies within the axis", "slice-out-of-range")
        return Range(begin, size if exact else minimum(size, subtract(d, begin)), 1)
    if size is None or size < 0:
        return range_of(t, d, begin, None, 1)
    first = begin if begin >= 0 else d + begin
    why = f"the slice of {size} elements from {begin} on lies within the axis"
    t.require(begin + (size if exact else 0) if begin >= 0 else -begin, "<=", d, why, "slice-out-of-range")
    if not exact:
        return Range(first, minimum(size, d - first if begin >= 0 else -begin), 1)
    if begin < 0:
        t.require(size, "<=", -begin, why, "slice-out-of-range")
    return Range(first, size, 1)
