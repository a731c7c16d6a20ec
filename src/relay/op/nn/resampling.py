"""Resampling in the code that is made: where elements lie, and what makes them up."""

from typing import Any

from relay.op.native import Index, Loops


def source_of(b: Loops, i: Index, size: Index, out: Index, coordinates: str) -> Any:
    """Where element `i` of `out` lies on an axis of `size` elements, as a float64; see `source`."""
    x, d, n = (b.as_number(k, "float64") for k in (i, size, out))
    half, one = b.const(0.5, x), b.const(1, x)
    if coordinates == "align_corners":
        last = b.subtract(n, one)
        safe = b.select(b.compare("gt", last, b.const(0, x)), last, one)
        return b.divide(b.multiply(x, b.subtract(d, one)), safe)
    if coordinates == "half_pixel":
        return b.subtract(b.divide(b.multiply(b.add(x, half), d), n), half)
    return b.divide(b.multiply(x, d), n)


def source_taps(
    b: Loops, i: Index, size: Index, out: Index, method: str, coordinates: str
) -> list[tuple[Index, Any]]:
    """The elements that make up element `i`, with their weights in float64; see `taps`."""
    x = source_of(b, i, size, out, coordinates)

    def within(place: Index) -> Index:
        return b.smaller(b.larger(place, 0), b.minus(size, 1))

    if method == "nearest":
        at = x if coordinates == "asymmetric" else b.add(x, b.const(0.5, x))
        return [(within(b.as_index(b.function("floor", at))), b.const(1, x))]
    below = b.function("floor", x)
    first, part = b.as_index(below), b.subtract(x, below)
    if method == "linear":
        return [(within(first), b.subtract(b.const(1, x), part)), (within(b.plus(first, 1)), part)]
    return [
        (within(b.plus(first, k)), cubic_weight(b, b.subtract(part, b.const(k, part)))) for k in range(-1, 3)
    ]


def cubic_weight(b: Loops, d: Any, a: float = -0.5) -> Any:
    """The weight of an element at distance `d`; see `upsample.cubic_kernel`."""
    d = b.select(b.compare("lt", d, b.const(0, d)), b.negative(d), d)
    one = b.const(1, d)
    over, less = b.subtract(d, one), b.subtract(b.const(2, d), d)
    square = b.multiply(b.multiply(d, d), b.const(a, d))
    line = b.multiply(over, b.add(b.add(d, d), one))
    near = b.multiply(over, b.add(line, square))
    far = b.multiply(b.multiply(over, less), b.multiply(less, b.const(a, d)))
    none = b.select(b.compare("lt", d, b.const(2, d)), far, b.const(0, d))
    return b.select(b.compare("lt", d, b.const(1, d)), near, none)
