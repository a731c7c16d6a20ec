"""Resampling, axis by axis: each place of the result is a sum of a few places of the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.value import Value, call, constant
from relay.ir.dtype import is_integer

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Way:
    """How data are resized."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    rounding: str = "round_prefer_floor"
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    outside: float = 0.0


def source(way: Way, out: int, size: int, scale: float, roi: tuple[float, float]) -> Array:
    """Where each of `out` places lies on an axis of `size` places.

    `out` counts places, of which a scale may ask for a broken number.
    """
    i = np.arange(out, dtype="float64")
    exact = scale * size
    match way.coordinates:
        case "half_pixel":
            return (i + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            shift = size / 2 * (1 - out / exact)
            return shift + (i + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            return (i + 0.5) / scale - 0.5 if out > 1 else np.full(out, -0.5)
        case "align_corners":
            return i * (size - 1) / (exact - 1) if exact > 1 and out > 1 else np.zeros(out)
        case "asymmetric":
            return i / scale
        case "tf_half_pixel_for_nn":
            return (i + 0.5) / scale
        case "tf_crop_and_resize":
            start, end = roi
            if out > 1:
                return start * (size - 1) + i * (end - start) * (size - 1) / (out - 1)
            return np.full(out, 0.5 * (start + end) * (size - 1))
        case other:
            raise KeyError(other)


def nearest(way: Way, x: Array) -> Array:
    """The nearest place, by the rule for those between two."""
    match way.rounding:
        case "floor":
            found = np.floor(x)
        case "ceil":
            found = np.ceil(x)
        case "round_prefer_ceil":
            found = np.floor(x + 0.5)
        case _:
            found = np.ceil(x - 0.5)
    return found.astype("int64")


def kernel(way: Way, distance: Array) -> Array:
    """The weight of a place at a distance."""
    d = np.abs(distance)
    if way.mode == "linear":
        return np.maximum(1 - d, 0)
    a = way.cubic
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def taps(way: Way, out: int, size: int, scale: float, roi: tuple[float, float]) -> tuple[Array, Array, Array]:
    """Places `(taps, out)`, their weights, and which of the results lie outside of the data."""
    x = source(way, out, size, scale, roi)
    beyond = (x < 0) | (x > size - 1)
    if way.mode == "nearest":
        return np.clip(nearest(way, x), 0, size - 1)[None], np.ones((1, out)), beyond
    stretch = min(scale, 1.0) if way.antialias else 1.0
    reach = (1 if way.mode == "linear" else 2) / stretch
    first = np.floor(x - reach).astype("int64") + 1
    count = int(np.ceil(2 * reach)) + (1 if way.antialias else 0)
    places = first[None] + np.arange(count)[:, None]
    weights = kernel(way, (x[None] - places) * stretch)
    if way.exclude_outside or way.antialias:
        inside = (places >= 0) & (places < size)
        weights = np.where(inside, weights, 0) if way.exclude_outside else weights
        weights = weights / weights.sum(axis=0, keepdims=True)
    return np.clip(places, 0, size - 1), weights, beyond


def resampled(
    x: Value, axes: list[int], sizes: list[int], scales: list[float], way: Way, roi: list[float] | None = None
) -> Value:
    """Data with the given axes resized."""
    whole = is_integer(x.dtype) and way.mode != "nearest"
    found = cast(x, "float32") if whole else x
    outside: Array | None = None
    for k, (axis, out, scale) in enumerate(zip(axes, sizes, scales, strict=True)):
        size = x.size(axis)
        part = (0.0, 1.0) if not roi else (roi[k], roi[k + len(axes)])
        if out == size and scale == 1 and part == (0.0, 1.0):
            continue
        places, weights, beyond = taps(way, out, size, scale, part)
        found = along(found, axis, places, weights)
        if way.coordinates == "tf_crop_and_resize" and beyond.any():
            row = beyond.reshape([-1 if a == axis else 1 for a in range(x.rank)])
            outside = row if outside is None else outside | row
    if outside is not None:
        found = call("where", constant(outside), constant(way.outside, found.dtype), found)
    return cast(call("round", found), x.dtype) if whole else found


def along(x: Value, axis: int, places: Array, weights: Array) -> Value:
    """The sum of elements along an axis, weighted."""
    if places.shape[0] == 1 and (weights == 1).all():
        return call("take", x, constant(places[0]), axis=axis)
    shape = [-1 if a == axis else 1 for a in range(x.rank)]
    total: Value | None = None
    for place, weight in zip(places, weights, strict=True):
        if not weight.any():
            continue
        term = call("take", x, constant(place), axis=axis) * constant(weight.reshape(shape), x.dtype)
        total = term if total is None else total + term
    assert total is not None
    return total
