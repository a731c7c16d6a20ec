"""Parts of tensors between places along axes."""

from typing import Any

from relay.frontend.support import axes_in, axis_in, cast, sizes_as_value
from relay.frontend.value import NeedsValueError, Value, call, constant


def between(x: Value, starts: Value, ends: Value, axes: list[int], steps: list[int]) -> Value:
    """A slice between places that are known at run time, cut at the ends of the axes."""
    first: list[Value] = []
    last: list[Value] = []
    strides: list[int] = []
    sizes = sizes_as_value(x)
    along = axes_in(axes, x.rank)
    if min(steps) < 1:
        raise NeedsValueError("where a slice goes backwards", starts.sources | ends.sources)
    for a in range(max(along) + 1):
        size = call("strided_slice", sizes, begin=(a,), end=(a + 1,))
        if a in along:
            k = along.index(a)
            for places, found in ((starts, first), (ends, last)):
                place = cast(call("strided_slice", places, begin=(k,), end=(k + 1,)), "int64")
                place = call("where", call("less", place, 0), place + size, place)
                found.append(call("maximum", call("minimum", place, size), 0))
            last[-1] = call("maximum", first[-1], last[-1])
            strides.append(steps[k])
        else:
            first.append(constant([0], "int64"))
            last.append(size)
            strides.append(1)
    places = [call("concatenate", tuple(p), axis=0) if len(p) > 1 else p[0] for p in (first, last)]
    return call("dyn.strided_slice", x, *places, constant(strides, "int64"))


def sliced(x: Value, starts: list[int], ends: list[Any], axes: list[int], steps: list[int]) -> Value:
    """A slice between places that are numbers; an end may be the size of its axis, or beyond it."""
    begins: list[int] = []
    lasts: list[Any] = []
    kept: list[int] = []
    strides: list[int] = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        a = axis_in(axis, x.rank)
        d = x.shape[a]
        if isinstance(d, int) and isinstance(end, int):
            begin, last, step = slice(start, end, step).indices(d)
            begin = min(begin, d)
            last = max(begin, last) if step > 0 else min(begin, last)
            if (begin, last, step) == (0, d, 1):
                continue
        elif end == d or (isinstance(end, int) and end >= 1 << 31):
            begin, last = start, None
            if (start, step) == (0, 1):
                continue
        else:
            begin, last = start, end
        kept.append(a)
        begins.append(begin)
        lasts.append(last if last is None or step > 0 or last >= 0 else None)
        strides.append(step)
    if not kept:
        return x
    if any(last is not None and not isinstance(last, int) for last in lasts):
        raise NeedsValueError("where a slice ends", x.sources)
    return call(
        "strided_slice", x, begin=tuple(begins), end=tuple(lasts), strides=tuple(strides), axes=tuple(kept)
    )
