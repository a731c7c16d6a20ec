"""Where the elements of resized data lie: each is a sum of a few elements of the data.

Sizes and scales are numbers, or scalars that are known at run time.  Without a scale an axis is scaled by
the ratio of its sizes, and places are quotients of whole numbers: those between two elements are exactly
there.  Source: the coordinates of ONNX's `Resize`; the cubic of Keys, 1981.
"""

from dataclasses import dataclass
from typing import Any

from relay.op.term import Term, iota, settled, term

F64 = "float64"
Number = float | Term
Tap = tuple[Term, Term | None]
"""Places along an axis and the weights of the elements there, None where each is 1."""


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


def source_places(
    way: Way, out: "int | Term", size: Number, scale: Number | None, roi: tuple[Any, Any]
) -> Term:
    """Where each of `out` places lies on an axis of `size` places.

    `out` counts places, of which a scale may ask for a broken number.
    """
    i, n, count = iota(out).cast(F64), term(size, F64), term(out, F64)
    last, several = n - 1.0, count > 1.0
    exact = count if scale is None else term(scale, F64) * n

    def unscaled(x: Term) -> Term:
        return x * n / count if scale is None else x / term(scale, F64)

    half = unscaled(i + 0.5) - 0.5
    match way.coordinates:
        case "half_pixel":
            return half
        case "half_pixel_symmetric":
            return (1.0 - count / exact) * (n / 2.0) + half
        case "pytorch_half_pixel":
            return several.where(half, i * 0.0 - 0.5)
        case "align_corners":
            steps = (exact > 1.0) & several
            return steps.where(i * last / steps.where(exact - 1.0, term(1, F64)), i * 0.0)
        case "asymmetric":
            return unscaled(i)
        case "tf_half_pixel_for_nn":
            return unscaled(i + 0.5)
        case "tf_crop_and_resize":
            start, end = (term(r, F64) for r in roi)
            step = (end - start) * last / several.where(count - 1.0, term(1, F64))
            return several.where(start * last + i * step, i * 0.0 + (start + end) * last * 0.5)
        case other:
            raise AssertionError(other)


def nearest(rounding: str, x: Term) -> Term:
    """The nearest place, by the rule for those between two."""
    match rounding:
        case "floor" | "ceil":
            found = x.of(rounding)
        case "round" | "round_prefer_ceil":
            found = (x + 0.5).of("floor")
        case _:
            found = (x - 0.5).of("ceil")
    return found.cast("int64")


def cubic_term(d: Term, a: float) -> Term:
    """Return the weight of an element at a distance that is not negative, by the factors of its zeros."""
    less = 2.0 - d
    near = (1.0 - d) * ((1.0 - d) * (d * 2.0 + 1.0) - d * d * a)
    far = (d - 1.0) * less * less * a
    return (d <= 1.0).where(near, (d < 2.0).where(far, d * 0.0))


def kernel(way: Way, distance: Term) -> Term:
    """The weight of a place at a distance."""
    d = distance.of("abs")
    return (1.0 - d).of("maximum", 0.0) if way.mode == "linear" else cubic_term(d, way.cubic)


def interpolation_taps(
    way: Way, out: "int | Term", size: "int | Term", scale: Number | None, roi: tuple[Any, Any] = (0.0, 1.0)
) -> tuple[list[Tap], Term]:
    """What makes up each of `out` places, and which of them lie outside of the data.

    For `antialias` the scale, or the sizes, are numbers.
    """
    x = settled(source_places(way, out, size, scale, roi))
    last = term(size, "int64") - 1
    beyond = (x < 0.0) | (x > last.cast(F64))

    def within(place: Term) -> Term:
        return settled(place.of("maximum", 0).of("minimum", last))

    if way.mode == "nearest":
        return [(within(nearest(way.rounding, x)), None)], beyond
    factor = out / size if scale is None and isinstance(out, int) and isinstance(size, int) else scale
    stretch = min(factor, 1.0) if way.antialias and isinstance(factor, float | int) else 1.0
    reach = (1 if way.mode == "linear" else 2) / stretch
    first = (x - reach).of("floor").cast("int64") + 1
    whole = int(2 * reach)
    count = whole + (whole < 2 * reach) + way.antialias
    places = [first + k for k in range(count)]
    weights = [kernel(way, (x - p.cast(F64)) * stretch) for p in places]
    if way.exclude_outside or way.antialias:
        if way.exclude_outside:
            inside = [(p >= 0) & (p <= last) for p in places]
            weights = [i.where(w, w * 0.0) for i, w in zip(inside, weights, strict=True)]
        total = weights[0]
        for w in weights[1:]:
            total = total + w
        weights = [w / total for w in weights]
    return [(within(p), settled(w)) for p, w in zip(places, weights, strict=True)], beyond


def interpolated(x: Term, rank: int, axis: int, parts: list[Tap]) -> Term:
    """The sum of elements along an axis, weighted."""
    total: Term | None = None
    for place, weight in parts:
        found = x.of("take", place, axis=axis)
        if weight is not None:
            row = weight.cast(str(x.dtype))
            after = rank - 1 - axis
            found = found * (row.of("expand_dims", axis=1, num_newaxis=after) if after else row)
        total = found if total is None else total + found
    assert total is not None
    return total
