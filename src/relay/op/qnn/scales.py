"""Scales and zero points: one for a whole tensor, or one for each place of an axis; and exact rescaling.

A factor `scale` becomes an integer of 31 bits and a power of 2, and products are rounded once, in integers:
the arithmetic of Jacob et al., 2018.
"""

from typing import Any, Literal

from relay.ir.dtype import integer_range
from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.axes import axis_of
from relay.op.base import FLOATING, INTEGRAL
from relay.op.numeric import along_channels, dims
from relay.op.relation import Typing
from relay.op.term import Term

Rounding = Literal["None", "UPWARD", "TONEAREST", "TOEVEN"]
FRACTION = 31
"""Bits of a multiplier."""


def check_scale(t: Typing, data: Type, scale: Type, zero: Type, axis: int, what: str) -> None:
    """Demand a scale and a zero point for a tensor or for each place of its `axis` (`channel-mismatch`)."""
    t.dtype_in(scale, FLOATING, f"the scale of the {what}")
    t.dtype_in(zero, INTEGRAL, f"the zero point of the {what}")
    for v in (scale, zero):
        shape = t.shape(v)
        if len(shape) > 1:
            t.fail("rank-mismatch", f"a scale or zero point of the {what} is a scalar or a vector")
        if shape and t.static(shape[0]) != 1:
            own = t.shape(data)
            t.equal(
                shape[0],
                own[axis_of(t, axis, len(own), of=f"the {what}")],
                why=f"the {what} has a scale for each place",
            )


def check_number(t: Typing, *numbers: Type) -> None:
    """Demand scales and zero points that are one number each: scales and zero points by turns."""
    for i, x in enumerate(numbers):
        t.dtype_in(x, INTEGRAL if i % 2 else FLOATING, "a zero point" if i % 2 else "a scale")
        shape = t.shape(x)
        if len(shape) > 1:
            t.fail("rank-mismatch", "a scale or a zero point is one number here")
        if shape:
            t.equal(shape[0], 1, why="a scale or a zero point is one number here")


def laid(v: Expr, t: Any, axis: int, rank: int) -> Term:
    """A scale or a zero point so that it broadcasts with a tensor of that rank."""
    return Term(along_channels(v, axis, rank) if len(dims(t)) and rank else v, t.dtype)


def centred(x: Expr, t: Any, zero: Expr, zero_t: Any, axis: int) -> Term:
    """`x - zero` as int32."""
    return Term(x, t.dtype).cast("int32") - laid(zero, zero_t, axis, len(dims(t))).cast("int32")


def multiplier(scale: Term) -> tuple[Term, Term]:
    """A positive float64 as `m / 2 ** 31 * 2 ** e`, with `m` from `2 ** 30` to `2 ** 31`, both int64."""
    bits = scale.of("reinterpret", to="int64", dtype="int64")
    exponent = ((bits >> 52) & 0x7FF) - 1022
    digits = (bits & ((1 << 52) - 1)) | (1 << 52)
    return (digits + (1 << 21)) >> 22, exponent


def rescaled(x: Term, scale: Term, rounding: str) -> Term:
    """int32 `x * scale` in int64, rounded to nearest: halves up (`UPWARD`), away from 0 (`TONEAREST`), or to
    even (`TOEVEN`).
    """
    m, e = multiplier(scale)
    m = (e < -FRACTION).where(0, m)  # less than half of the least integer there is
    left = e.of("clip", a_min=0.0, a_max=float(FRACTION))
    right = FRACTION - e.of("clip", a_min=float(-FRACTION), a_max=0.0)
    wide = (x.cast("int64") << left) * m
    half = Term(_one(right), "int64") << (right - 1)
    if rounding == "TONEAREST":
        half = (wide >= 0).where(half, half - 1)
    found = (wide + half) >> right
    if rounding == "TOEVEN":
        is_half = (found << right).equals(wide + half)
        found = found - is_half.where(found & 1, found * 0)
    return found


def _one(like: Term) -> Expr:
    """1 in the shape of a shift."""
    return like.of("ones_like").expr


def bounded(x: Term, dtype: str) -> Term:
    """Numbers held within the range of a dtype of integers, in that type."""
    low, high = integer_range(dtype)
    kept = x.of("clip", a_min=float(low), a_max=float(high))
    return kept.cast("int32").cast(dtype) if dtype in ("int2", "uint2", "int4", "uint4") else kept.cast(dtype)


def quantised(x: Term, scale: Term, zero: Term, dtype: str) -> Term:
    """`x / scale + zero`, rounded to even and held within the range of `dtype`."""
    return rounded(x / scale, zero, dtype)


def rounded(ratio: Term, zero: Term, dtype: str) -> Term:
    """`ratio + zero`, rounded to even and held within the range of `dtype`."""
    whole = ratio.of("round")
    whole = whole if whole.dtype == "float64" else whole.cast("float32")
    return bounded(whole + zero.cast(str(whole.dtype)), dtype)


def requantised(x: Term, scales: tuple[Term, Term], zeros: tuple[Term, Term], rounding: str) -> Term:
    """What `x` of one scale and zero point is in those of another, as int64."""
    ratio = scales[0].cast("float64") / scales[1].cast("float64")
    away = x.cast("int32") - zeros[0].cast("int32")
    return rescaled(away, ratio, rounding) + zeros[1].cast("int64")


def requantised_in_floats(
    x: Term, scales: tuple[Term, Term], zeros: tuple[Term, Term], rounding: str, dtype: str
) -> Term:
    """What `x` of one scale and zero point is in those of another, by a product of floats, as int64.

    Halves go up, away from 0 or to even.
    """
    ratio = scales[0].cast(dtype) / scales[1].cast(dtype)
    exact = (x.cast("int32") - zeros[0].cast("int32")).cast(dtype) * ratio
    if rounding == "TOEVEN":
        whole = exact.of("round")
    elif rounding == "TONEAREST":
        whole = exact.of("sign") * (exact.of("abs") + 0.5).of("floor")
    else:
        whole = (exact + 0.5).of("floor")
    return whole.cast("int64") + zeros[1].cast("int64")


def like_data(t: Typing, data: Type, dtype: str) -> TensorType:
    """The shape of the data with another dtype."""
    return TensorType(t.tensor(data).shape, dtype)
