"""The circular functions, their inverses, and the error function.

Sources: argument reduction after Cody and Waite, 1980, and for the rare large angle, behind a branch, by the
bits of 2/pi that matter after Payne and Hanek, 1983; sums and products of two floats after Knuth and Dekker.
All are computed in float64, but that sine and cosine of float32 go on in float32 from the rest of the angle,
and the error function has a form of its own.
"""

from collections.abc import Sequence
from math import inf, pi, sqrt

from relay.backend.native.llvm.builder import Code, Value
from relay.backend.native.llvm.modules import Piece
from relay.backend.native.llvm.vectors import lanes_of, suffix
from relay.backend.native.math import polynomials as table
from relay.backend.native.math.exponentials import (
    exp,
    expm1_near,
    fast_two_sum,
    half_exp,
    held_below,
    two_product,
)  # fmt: skip
from relay.backend.native.math.lanes import Lane, Whole, all_of, any_of

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
MAX_CODY_WAITE_ANGLE = 2.0**20
"""Up to here an angle is reduced by multiples of pi/2, in three parts; the difference from the first is
exact.
"""
TAN = sqrt(2) - 1
"""The tangent of pi/8."""
PLACES = 1300
"""Bits of 2/pi after the point: float64 goes to 2 ** 1024."""


FAR_BELOW = -6.0
"""Down to here the normal probability of float32 is the exponential of a polynomial."""


def arctangent_of_inverse(n: int, places: int) -> int:
    """`atan(1 / n)` in units of `2 ** -places`."""
    found, term, k = 0, (1 << places) // n, 1
    while term:
        found += term // k if k % 4 == 1 else -(term // k)
        term //= n * n
        k += 2
    return found


def two_over_pi(places: int) -> int:
    """2/pi in units of `2 ** -places`; pi after Machin, 1706."""
    room = places + 32
    quarter = 4 * arctangent_of_inverse(5, room) - arctangent_of_inverse(239, room)
    return (1 << (room + places)) // (2 * quarter)


def reduction_table(exponents: range, fraction: int, widths: Sequence[int]) -> list[list[float]]:
    """For each exponent, `2 ** (e - fraction) * 2 / pi` modulo 4 as floats of so many bits."""
    places = PLACES + fraction
    exact = two_over_pi(places)
    rows: list[list[float]] = []
    for e in exponents:
        row: list[float] = []
        rest = (exact << max(e, 0)) >> max(-e, 0)
        rest %= 1 << (places + fraction + 2)
        for width in widths:
            down = max(rest.bit_length() - width, 0)
            part = rest >> down << down
            row.append(part / 2 ** (places + fraction))
            rest -= part
        rows.append(row)
    return rows


FLOAT32_REDUCTION = (range(-2, 128), 23, (28, 28, 53))
FLOAT64_REDUCTION = (range(-2, 1024), 52, (53, 53, 53, 53))


def reduction_row(x: Lane, e: Whole, form: tuple[range, int, tuple[int, ...]]) -> list[Lane]:
    """The row of an exponent."""
    exponents, fraction, widths = form
    name = f"@relay.pi.{fraction}"
    rows = reduction_table(exponents, fraction, widths)
    numbers = ", ".join([x.const(v).value.type + " " + x.const(v).value.ref for row in rows for v in row])
    n = len(rows) * len(widths)
    x.code.declare(f"{name} = private unnamed_addr constant [{n} x double] [{numbers}], align 64")
    low = Whole(x, x.whole(exponents[0]))
    at = e.choose(e.compare("sgt", low), low) - low
    last = len(rows) - 1
    at = at.choose(at.compare("slt", last), last)
    places = [(at * len(widths) + i).value for i in range(len(widths))]
    return [x.like(x.code.look_up("double", name, p)) for p in places]


def whole_and_rest(x: Lane, short: bool) -> tuple[Lane, Lane]:
    """The nearest number of quarter turns (modulo 4), and what is left of the angle in radians."""
    form = FLOAT32_REDUCTION if short else FLOAT64_REDUCTION
    bits = x.bits()
    e = ((bits >> 52) & 2047) - 1023
    m = ((bits & ~(2047 << 52)) | ((1023 + form[1]) << 52)).bits()
    row = reduction_row(x, e, form)
    turns, high, low = short_rest(m, row) if short else long_rest(m, row)
    p, left = two_product(high, high.const(HALF_PI[0]))
    r = p + (left + high * HALF_PI[1] + low * HALF_PI[0])
    r = r + (x - x)  # NaN where the angle is infinite
    small = x.size().compare("olt", pi / 4)
    return x.const(0.0).choose(small, turns), x.choose(small, r)


def short_rest(m: Lane, row: Sequence[Lane]) -> tuple[Lane, Lane, Lane]:
    """Quarter turns and the rest, for 24 bits: the products are exact."""
    p, q = m * row[0], m * row[1]
    p = p - (p * 0.25).call("rint") * 4.0
    turns = (p + q).call("rint")
    return turns, (p - turns) + q + m * row[2], m.const(0.0)


def long_rest(m: Lane, row: Sequence[Lane]) -> tuple[Lane, Lane, Lane]:
    """Quarter turns and the rest, for 53 bits: the products are exact pairs."""
    pairs = [two_product(m, t) for t in row]
    first = pairs[0][0]
    first = first - (first * 0.25).call("rint") * 4.0
    high, a = sum_of(first, pairs[0][1])
    high, b = sum_of(high, pairs[1][0])
    turns = high.call("rint")
    high, low = high - turns, m.const(0.0)
    for term in (a, b, pairs[1][1], *pairs[2], pairs[3][0]):
        high, lost = sum_of(high, term)
        low = low + lost
    high, low = sum_of(high, low)
    return turns, high, low


def sum_of(x: Lane, y: Lane) -> tuple[Lane, Lane]:
    """`x + y` as a float and what that leaves."""
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def reduce_angle(x: Lane, short: bool) -> tuple[Lane, Lane]:
    """Quarter turns and the rest: the short way where no angle is large."""
    code = x.code
    whole, _ = (x * (2 / pi)).nearest()
    r = x
    for part in HALF_PI[:2] if short else HALF_PI:
        r = whole.fma(-part, r)
    if not short:
        r = x.choose(x.size().compare("olt", pi / 4), r)
    far, end, start = code.label(), code.label(), code.here
    code.branch(code.is_any(x.size().compare("ogt", MAX_CODY_WAITE_ANGLE)), far, end, likely=False)
    code.block(far)
    found = code.call(
        f"{{ {x.value.type}, {x.value.type} }}", f"@{far_away(x, short)}", [x.value], convention=""
    )
    assert found is not None
    parts = [code.set(x.value.type, f"extractvalue {found}, {i}") for i in range(2)]
    code.jump(end)
    code.block(end)
    turns, rest = code.join([([whole.value, r.value], start), (parts, far)])
    return x.like(turns), x.like(rest)


def far_away(x: Lane, short: bool) -> str:
    """The name of the function that reduces any angle."""
    kind = x.value.type
    name = f"relay.angle.{suffix(kind)}.{'short' if short else 'long'}"

    def make() -> Piece:
        code = Code(name, f"{{ {kind}, {kind} }}", [Value(kind, "%x")], "internal", "nounwind noinline cold")
        with code.in_lanes(lanes_of(kind)):
            pair = whole_and_rest(Lane(x.program, code, Value(kind, "%x")), short)
        one = code.set(code.result, f"insertvalue {code.result} poison, {pair[0].value}, 0")
        both_parts = code.set(code.result, f"insertvalue {one}, {pair[1].value}, 1")
        code.do(f"ret {both_parts}")
        return code.piece()

    x.program.share(name, make)
    return name


def sin_cos_of_rest(x: Lane, short: bool) -> tuple[Lane, Lane, Whole]:
    """Sine and cosine of the rest of an angle, and the number of quarter turns."""
    turns, r = reduce_angle(x, short)
    _, n = turns.nearest()
    return *sin_cos(r, table.SIN32 if short else table.SIN, table.COS32 if short else table.COS), n


def sin_cos(r: Lane, odd: Sequence[float], even: Sequence[float]) -> tuple[Lane, Lane]:
    """Sine and cosine of what is left of an angle."""
    z = r * r
    half = z * 0.5
    sine = (r * z).fma(z.polynomial(odd), r)
    top = 1.0 - half
    return sine.signed(r), top + (z * z).fma(z.polynomial(even), 1.0 - top - half)


def sin_of_quadrant(x: Lane, short: bool, quarters: int) -> Lane:
    """The sine of an angle and some quarter turns; of a float32 as one."""
    turns, r = reduce_angle(x, short)
    _, n = turns.nearest()
    if short:
        r = r.narrow()
        n = Whole(r, r.code.cast("trunc", n.value, "i32"))
        sine, cosine = sin_cos(r, table.SIN32, table.COS32)
    else:
        sine, cosine = sin_cos(r, table.SIN, table.COS)
    n = n + quarters
    found = cosine.choose((n & 1).compare("ne", 0), sine)
    return (-found).choose((n & 2).compare("ne", 0), found)


def sin(x: Lane, short: bool) -> Lane:
    """The sine."""
    return sin_of_quadrant(x, short, 0)


def cos(x: Lane, short: bool) -> Lane:
    """The cosine."""
    return sin_of_quadrant(x, short, 1)


def tan(x: Lane, short: bool) -> Lane:
    """The tangent."""
    sine, cosine, n = sin_cos_of_rest(x, short)
    odd = (n & 1).compare("ne", 0)
    return (-cosine).choose(odd, sine) / sine.choose(odd, cosine)


def atan2(y: Lane, x: Lane) -> Lane:
    """The angle of a point from the x axis."""
    code, up, right = y.code, y.size(), x.size()
    huge = any_of(code, *[v.compare("ogt", 1e300) for v in (up, right)])
    tiny = all_of(code, *[v.compare("olt", 1e-290) for v in (up, right)])
    scale = y.const(2.0**-60).choose(huge, y.const(2.0**60).choose(tiny, 1.0))
    ends = [v.compare("oeq", inf) for v in (up, right)]
    one = y.const(1.0)
    both_ends = all_of(code, *ends)
    up, right = (one.choose(both_ends, v) for v in (up, right))
    above, beside = up * scale, right * scale
    far = above.compare("ogt", beside * (1 / TAN))
    middle = above.compare("ogt", beside * TAN)
    over = (-beside).choose(far, (above - beside).choose(middle, above))
    under = above.choose(far, (above + beside).choose(middle, beside))
    t = over / under.choose(under.compare("une", 0.0), 1.0)
    z = t * t
    bend = (t * z) * z.polynomial(table.ATAN)
    base, rest = (
        y.const(HALF_PI[i]).choose(far, y.const(HALF_PI[i] / 2).choose(middle, 0.0)) for i in (0, 1)
    )
    angle = base + (rest + bend + t)
    back = 2 * HALF_PI[0] - (angle - 2 * HALF_PI[1])
    return back.choose(x.bits().compare("slt", 0), angle).signed(y)


def atan(x: Lane) -> Lane:
    """The angle whose tangent is given."""
    return atan2(x, x.const(1.0))


def asin(x: Lane) -> Lane:
    """The angle whose sine is given; NaN outside of -1 to 1."""
    return atan2(x, ((1.0 - x) * (x + 1.0)).root())


def acos(x: Lane) -> Lane:
    """The angle whose cosine is given; NaN outside of -1 to 1."""
    return atan2(((1.0 - x) * (x + 1.0)).root(), x)


def erf(x: Lane) -> Lane:
    """The error function; that of float32 by the logarithm of what it leaves of 1."""
    if x.short:
        a = held_below(x.size(), 4.0)
        return (-expm1_near(a.fma(a.polynomial(table.ERFC32), -a))).signed(x)
    z, a = x * x, held_below(x.size(), 6.0)
    near = x.fma(z.polynomial(table.ERF64), x)
    return near.choose(x.size().compare("olt", 1.0), (1.0 - erfc64(a)).signed(x))


def erfc64(a: Lane) -> Lane:
    """`1 - erf(a)` from 1 to 6."""
    square, rest = two_product(a, a)
    return exp(-square, -rest) * ((a - 2.0) / (a + 2.0)).polynomial(table.ERFC64)


def erfc(x: Lane, short: bool) -> Lane:
    """`1 - erf(x)`."""
    tail = erfc_tail(x.size(), short)
    return (2.0 - tail).choose(x.compare("olt", 0.0), tail)


def ndtr(x: Lane) -> Lane:
    """The probability that a normal number is below `x`.

    That of float32 is within 4e-6 of its value; the rare numbers below -6 are computed behind a branch.
    """
    a = x.size()
    if not x.short:
        tail = bell_tail(a)
        return tail.choose(x.compare("olt", 0.0), 1.0 - tail)
    code, held = x.code, held_below(a, 8.0)
    near = half_exp(held * held.polynomial(table.LOG_TAIL32))
    below, end, start = code.label(), code.label(), code.here
    code.branch(code.is_any(x.compare("olt", FAR_BELOW)), below, end, likely=False)
    code.block(below)
    far = code.call(x.value.type, f"@{far_tail(x)}", [x.value, near.value], convention="")
    assert far is not None
    code.jump(end)
    code.block(end)
    (joined,) = code.join([([near.value], start), ([far], below)])
    tail = x.like(joined)
    return tail.choose(x.compare("olt", 0.0), 1.0 - tail)


def far_tail(x: Lane) -> str:
    """The name of the function that computes `ndtr` of float32 below -6, and passes on what is above."""
    kind = x.value.type
    name = f"relay.ndtr.{suffix(kind)}"

    def make() -> Piece:
        near = Value(kind, "%near")
        code = Code(name, kind, [Value(kind, "%x"), near], "internal", "nounwind noinline cold")
        with code.in_lanes(lanes_of(kind)):
            number = Lane(x.program, code, Value(kind, "%x"))
            tail = bell_tail(number.size()).choose(number.compare("olt", FAR_BELOW), number.like(near))
        code.do(f"ret {tail.value}")
        return code.piece()

    x.program.share(name, make)
    return name


def bell_tail(a: Lane) -> Lane:
    """The probability that a normal number is above `a >= 0`; 0 from 39 on."""
    a = held_below(a, 39.0)
    square, rest = two_product(a, a)
    return tail_of(a * 0.5**0.5, square * 0.5, rest * 0.5, a.short) * 0.5


def erfc_tail(a: Lane, short: bool) -> Lane:
    """`1 - erf(a)` for `a >= 0`."""
    a = held_below(a, 28.0)
    return tail_of(a, *two_product(a, a), short)


def tail_of(a: Lane, square: Lane, rest: Lane, short: bool) -> Lane:
    """`1 - erf(a)` from `a` and its square: a bell curve, times a rational function with a polynomial as its
    bump.
    """
    bump = (4.0 / (a + 2.0) - 1.0).polynomial(table.ERFCX32 if short else table.ERFCX64)
    above, left = fast_two_sum(bump.const(1.0), bump)
    return exp(-square, left - rest) * (above / a.fma(1.75, 1.0))
