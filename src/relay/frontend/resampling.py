"""Resampling of some axes of a tensor: an operator where one says it, else what such an operator computes."""

from collections.abc import Sequence
from math import floor
from typing import Any

from relay.frontend.support import ascribed
from relay.frontend.value import Value, call, open_call
from relay.ir.type import ANY, Dim
from relay.op.base import NUMERIC
from relay.op.image.places import Way
from relay.op.image.resize import resized
from relay.op.nn.layout import SPATIAL
from relay.op.term import Term, size_of, term

WHOLE_AXIS = (0.0, 1.0)
"""The region that covers a whole axis, as fractions of it."""


def resampled(
    x: Value,
    axes: Sequence[int],
    sizes: Sequence[int | None],
    scales: Sequence[float | None],
    way: Way,
    roi: Sequence[float] = (),
) -> Value:
    """Data with the given axes resized.

    A size that is not known is that of the data times the scale; a scale that is not known is the ratio.
    """
    regions = [(roi[k], roi[k + len(axes)]) if roi else WHOLE_AXIS for k in range(len(axes))]
    asked = [
        (axis, out, scale, region)
        for axis, out, scale, region in zip(axes, sizes, scales, regions, strict=True)
        if not (scale == 1 and region == WHOLE_AXIS and out in (None, x.shape[axis]))
    ]
    if not asked:
        return x
    at, outs, factors, parts = (list(column) for column in zip(*asked, strict=True))
    corners = [p[0] for p in parts] + [p[1] for p in parts] if roi else []
    if is_operator(x, at, outs, factors, way):
        return by_operator(x, at, outs, way, corners)
    data = Term(x.stand_in, x.dtype)
    wanted = [
        multiplied(data, x, axis, scale or 1.0) if out is None else out
        for axis, out, scale in zip(at, outs, factors, strict=True)
    ]
    found = open_call(resized(data, (x.type,), at, wanted, way, corners, factors).expr, [x])
    dims = list(x.shape)
    for axis, out, scale in zip(at, outs, factors, strict=True):
        dims[axis] = out if out is not None else times(x.shape[axis], scale or 1.0)
    return ascribed(found, dims) if None in outs else found


def multiplied(data: Term, x: Value, axis: int, scale: float) -> Term:
    """The size of an axis times a scale, rounded down."""
    size = term(size_of(data.expr, x.type, axis), "float64")
    return (size * scale).of("floor").cast("int64")


def times(size: Dim, scale: float) -> Dim:
    """What a size that is not known becomes."""
    return ANY if scale != floor(scale) else size * int(scale)


def is_operator(
    x: Value, axes: Sequence[int], sizes: Sequence[int | None], scales: Sequence[float | None], way: Way
) -> bool:
    """Whether one of the operators of images resizes like this: spatial axes, by what the sizes are."""
    if way.antialias or x.rank - 2 not in SPATIAL or min(axes) < 2 or x.dtype not in NUMERIC:
        return False
    own = [x.shape[a] for a in axes]
    return all(
        isinstance(n, int) and out is not None and scale == out / n
        for n, out, scale in zip(own, sizes, scales, strict=True)
    )


def by_operator(x: Value, axes: Sequence[int], sizes: Sequence[Any], way: Way, roi: Sequence[float]) -> Value:
    """Data resized by `image.resize1d`, `image.resize2d` or `image.resize3d`."""
    count = x.rank - 2
    size = [x.size(a) for a in range(2, x.rank)]
    region = [0.0] * count + [1.0] * count
    for k, (axis, out) in enumerate(zip(axes, sizes, strict=True)):
        size[axis - 2] = out
        if roi:
            region[axis - 2], region[axis - 2 + count] = roi[k], roi[k + len(axes)]
    attrs: dict[str, Any] = {"coordinate_transformation_mode": way.coordinates}
    if way.mode == "nearest":
        attrs["rounding_method"] = way.rounding
    else:
        attrs["cubic_exclude"] = int(way.exclude_outside)
    if way.mode == "cubic":
        attrs["cubic_alpha"] = way.cubic
    if roi:
        attrs |= {"roi": tuple(region), "extrapolation_value": way.outside}
    method = "nearest_neighbor" if way.mode == "nearest" else way.mode
    return call(
        f"image.resize{count}d", x, size=tuple(size), layout="NC" + SPATIAL[count], method=method, **attrs
    )
