"""Exponentials, logarithms, powers and what is made of them, as straight code.

Sources: argument reduction after Cody and Waite, 1980; the logarithm through `atanh` and its correction
after Tang, 1990; sums and products of two floats after Dekker, 1971.
"""

from collections.abc import Sequence
from math import inf, log, nan, pi, sqrt

from relay.backend.native.llvm.builder import Value
from relay.backend.native.llvm.machine import host
from relay.backend.native.llvm.vectors import lanes_of, vector_of
from relay.backend.native.math import polynomials as table
from relay.backend.native.math.lanes import BIAS, FRACTION, Lane, Whole, all_of, any_of

LN2 = log(2)
LN2_PARTS = {
    "float": (0.693145751953125, 1.4286068203094173e-06),
    "double": (0.6931471803691238, 1.9082149292705877e-10),
}
"""The logarithm of 2 in a part with zeros at its end, which products with small integers keep exact, and
the rest."""
EXP_RANGE = {"float": (-104.0, 89.0), "double": (-746.0, 710.0)}
"""Beyond these the exponential is 0 and infinite."""
LOG_REST = {"float": table.LOG32, "double": table.LOG64}
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
LN2_PAIR = (0.6931471805599453, 2.3190468138462996e-17)


def held_below(x: Lane, high: float) -> Lane:
    """`x` where it is less, else the bound; NaN stays."""
    return x.const(high).choose(x.compare("ogt", high), x)


def clamp(x: Lane, low: float, high: float) -> Lane:
    """`x` within bounds; NaN stays."""
    x = held_below(x, high)
    return x.const(low).choose(x.compare("olt", low), x)


def power_of_two(n: Whole) -> Lane:
    """`2 ** n` where that is a normal number."""
    kind = n.of.kind
    return ((n + BIAS[kind]) << FRACTION[kind]).bits()


def ldexp(x: Lane, whole: Lane, n: Whole, doublings: int) -> Lane:
    """`x * 2 ** (n + doublings)`, twice a normal number's exponent at most; `whole` is `n` as a float."""
    if lanes_of(x.value.type) and host().has_masks:
        return scaled_at_once(x, whole + doublings if doublings else whole)
    n = n + doublings if doublings else n
    half = n >> 1
    return x * power_of_two(half) * power_of_two(n - half)


def scaled_at_once(x: Lane, n: Lane) -> Lane:
    """`x * 2 ** n` by the instruction that AVX-512 has for it, a register after the other."""
    code, lanes = x.code, lanes_of(x.value.type)
    most = host().lanes(x.kind)
    kind = vector_of(x.kind, most)
    name = f"@llvm.x86.avx512.mask.scalef.{'ps' if x.short else 'pd'}.512"
    parts: list[Value] = []
    for first in range(0, lanes, most):
        picks = [min(i, lanes - 1) for i in range(first, first + most)]
        a, b = (code.shuffled(v.value, v.value, picks) for v in (x, n))
        parts.append(code.set(kind, f"call {kind} {name}({a}, {b}, {kind} poison, i{most} -1, i32 4)"))
    while len(parts) > 1:
        parts = [
            code.shuffled(p, q, range(2 * lanes_of(p.type)))
            for p, q in zip(parts[::2], parts[1::2], strict=True)
        ]
    (found,) = parts
    return x.like(found if lanes >= most else code.shuffled(found, found, range(lanes)))


def exp(x: Lane, rest: Lane | None = None, doublings: int = 0) -> Lane:
    """`exp(x + rest) * 2 ** doublings`.

    Where that is 0, nothing is computed that underflows to it: processors take a hundred cycles for such a
    number, and masked attention scores have one in two.
    """
    least, greatest = (bound - doublings * LN2 for bound in EXP_RANGE[x.kind])
    is_zero = x.compare("olt", least)
    x = x.const(0.0).choose(is_zero, held_below(x, greatest))
    high, low = LN2_PARTS[x.kind]
    whole, n = x.nearest(1 / LN2)
    r = whole.fma(-low, whole.fma(-high, x))
    r = r if rest is None else r + rest
    found = ldexp(r.polynomial((1.0, 1.0, *exp_rest(x))), whole, n, doublings)
    return x.const(0.0).choose(is_zero, found)


def exp_rest(x: Lane) -> Sequence[float]:
    """The coefficients of an exponential but for the first two."""
    return table.EXP32 if x.short else table.EXP64


def expm1_near(x: Lane) -> Lane:
    """`exp(x) - 1`, as exact near 0 as elsewhere, for `x` from -60 to 60."""
    whole, n = x.nearest(1 / LN2)
    r = whole.fma(-LN2, x)
    grown, power = (r * r).fma(r.polynomial(exp_rest(x)), r), power_of_two(n)
    return power.fma(grown, power - 1.0)


def half_exp(x: Lane) -> Lane:
    """`exp(x) / 2` for `x` from -60 to 60, up to the rounding of `x / log(2)`."""
    whole, n = x.nearest(1 / LN2)
    r = whole.fma(-LN2, x)
    half = power_of_two(n - 1)
    return half * r.polynomial((1.0, 1.0, *exp_rest(x)))


def expm1(x: Lane) -> Lane:
    """`exp(x) - 1`, as exact near 0 as elsewhere; there it is `x`, whose half a subnormal number may lack."""
    held = clamp(x, -FRACTION[x.kind] - 3.0, EXP_RANGE[x.kind][1])
    high, low = LN2_PARTS[x.kind]
    whole, n = held.nearest(1 / LN2)
    r = whole.fma(-low, whole.fma(-high, held))
    half = power_of_two(n - 1)
    grown = (r * r).fma(r.polynomial(exp_rest(x)), r)
    far = (half.fma(grown, half - 0.5) * 2.0).signed(x)
    return x.choose(x.size().compare("olt", 2.0 ** -(FRACTION[x.kind] + 2)), far)


def frexp(x: Lane) -> tuple[Lane, Lane]:
    """`n` and `m`, from sqrt(1/2) to sqrt(2), with `x = m * 2 ** n`, for positive `x`."""
    kind = x.kind
    tiny = x.compare("olt", 2.0 ** (1 - BIAS[kind]))
    up = x * 2.0 ** FRACTION[kind]
    bits = up.choose(tiny, x).bits()
    root = x.const(0.5**0.5).bits()
    n = (bits - root) >> FRACTION[kind]
    m = (bits - (n << FRACTION[kind])).bits()
    less = Whole(x, x.whole(FRACTION[kind])).choose(tiny, 0)
    return (n - less).number(), m


def log_near_one(f: Lane) -> tuple[Lane, Lane]:
    """Two parts of `log(1 + f)`, which is `f` less the second, and the second."""
    s = f / (f + 2.0)
    z = s * s
    rest = z * z.polynomial(LOG_REST[f.kind])
    half = f * f * 0.5
    return f, half - s * (half + rest)


def with_ends(found: Lane, x: Lane) -> Lane:
    """The logarithm with what it is at 0, at infinity, and below 0."""
    found = x.choose(any_of(x.code, x.compare("oeq", inf), x.compare("uno", x)), found)
    found = x.const(-inf).choose(x.compare("oeq", 0.0), found)
    return x.const(nan).choose(x.compare("olt", 0.0), found)


def log_with_correction(x: Lane, correction: Lane | None = None) -> Lane:
    """The logarithm of a positive number, plus a correction."""
    high, low = LN2_PARTS[x.kind]
    n, m = frexp(x)
    f, less = log_near_one(m - 1.0)
    small = n * low if correction is None else n.fma(low, correction)
    return n.fma(high, f - (less - small))


def log_(x: Lane) -> Lane:
    """The natural logarithm."""
    return with_ends(log_with_correction(x), x)


def log2(x: Lane) -> Lane:
    """The logarithm to base 2."""
    n, m = frexp(x)
    f, less = log_near_one(m - 1.0)
    return with_ends((f - less).fma(1 / LN2, n), x)


def log10(x: Lane) -> Lane:
    """The logarithm to base 10."""
    n, m = frexp(x)
    f, less = log_near_one(m - 1.0)
    found = n.fma(0.3010299956513336, n.fma(1.2647602381650425e-11, (f - less) * (1 / log(10))))
    return with_ends(found, x)


def log1p(y: Lane) -> Lane:
    """`log(1 + y)`, as exact near 0 as elsewhere."""
    u = y + 1.0
    found = with_ends(log_with_correction(u, (y - (u - 1.0)) / u), u)
    return y.choose(y.compare("oeq", 0.0), found)


def softplus(x: Lane) -> Lane:
    """`log(1 + exp(x))`; of float32 within 3 units in the last place."""
    e = exp(-x.size())
    s = e / (e + 2.0)
    z = s * s
    more = (s * z).fma(z.polynomial(table.SOFTPLUS32 if x.short else table.SOFTPLUS64), s + s)
    return x.choose(x.compare("ogt", 0.0), 0.0) + more


def sinh(x: Lane) -> Lane:
    """The hyperbolic sine."""
    z = x * x
    near = (x * z).fma(z.polynomial(table.SINH), x)
    grown = exp(x.size(), doublings=-1)
    far = (grown - 0.25 / grown).signed(x)
    return near.choose(x.size().compare("olt", 1.0), far)


def cosh(x: Lane) -> Lane:
    """The hyperbolic cosine."""
    grown = exp(x.size(), doublings=-1)
    return grown + 0.25 / grown


def tanh(x: Lane) -> Lane:
    """The hyperbolic tangent."""
    z = x * x
    near = (x * z).fma(z.polynomial(table.TANH32 if x.short else table.TANH64), x)
    far = 1.0 - 2.0 / (expm1_near(held_below(x.size(), 20.0) * 2.0) + 2.0)
    return near.choose(x.size().compare("olt", 0.625), far).signed(x)


def sigmoid(x: Lane) -> Lane:
    """`1 / (1 + exp(-x))`."""
    e = exp(-x.size())
    share = x.const(1.0).choose(x.compare("oge", 0.0), e) / (e + 1.0)
    return share.choose(x.compare("oge", 0.0), (-e).fma(share, e))


LIFT = 24
"""Doublings of an exponential that multiplies a large number: it may be subnormal, the product not."""


def gate(x: Lane, y: Lane, rest: Lane | None = None) -> Lane:
    """`x * sigmoid(y + rest)`, as exact where the sigmoid is subnormal.

    The rest is so small that it matters only where `y` is far below 0.
    """
    e = exp(-y.size(), rest, doublings=LIFT)
    is_up = y.compare("oge", 0.0)
    share = x.const(1.0).choose(is_up, e) / e.fma(2.0**-LIFT, 1.0)
    return x * share * x.const(1.0).choose(is_up, 2.0**-LIFT)


GELU_CUBE = {
    "float": (0.07135481387376785, 2.3988323959931355e-09),
    "double": (0.07135481627260024, 1.3260272815998925e-17),
}
"""`sqrt(8 / pi) * 0.044715` in two parts of one sign, whose products with infinity add up."""


def gelu_tanh(x: Lane) -> Lane:
    """The form of gelu with a hyperbolic tangent; an exponential multiplies the roundings of its argument."""
    square, square_low = two_product(x, x)
    cube, cube_low = GELU_CUBE[x.kind]
    y, low = two_product(x, square.fma(cube, square.fma(cube_low, x.const(sqrt(8 / pi)))))
    return gate(x, y, (x * square_low).fma(cube, low))


def mish(x: Lane) -> Lane:
    """`x * tanh(log(1 + exp(x)))`, as exact where the hyperbolic tangent is subnormal.

    With `e = exp(-abs(x))` and `p = e * (e + 2)`, it is `x * p / (p + 2)` below 0; otherwise, with
    `q = 1 + 2 * e`, `2 * x * q / (q * q + 1)`.
    """
    e = exp(-x.size(), doublings=LIFT)
    p, q = e * e.fma(2.0**-LIFT, 2.0), e.fma(2.0 ** (1 - LIFT), 1.0)
    is_below = x.compare("olt", 0.0)
    share = p.choose(is_below, q) / p.fma(2.0**-LIFT, 2.0).choose(is_below, q.fma(q, 1.0))
    return x * share * x.const(2.0**-LIFT).choose(is_below, 2.0)


def asinh(x: Lane) -> Lane:
    """The inverse of the hyperbolic sine."""
    a = x.size()
    large = a.compare("ogt", 2.0**28)
    held = a.const(1.0).choose(large, a)
    z = held * held
    far = log_with_correction(a.choose(large, 1.0)) + LN2
    found = far.choose(large, log1p(held + z / ((z + 1.0).root() + 1.0)))
    return a.choose(a.compare("oeq", inf), found).signed(x)


def acosh(x: Lane) -> Lane:
    """The inverse of the hyperbolic cosine; NaN below 1."""
    large = x.compare("ogt", 2.0**28)
    t = x.const(1.0).choose(large, x) - 1.0
    near = log1p(t + (t * (t + 2.0)).root())
    found = (log_with_correction(x.choose(large, 1.0)) + LN2).choose(large, near)
    found = x.choose(x.compare("oeq", inf), found)
    return x.const(nan).choose(x.compare("olt", 1.0), found)


def atanh(x: Lane) -> Lane:
    """The inverse of the hyperbolic tangent; NaN outside of -1 to 1."""
    a = x.size()
    inside = a.compare("olt", 1.0)
    held = a.choose(inside, 0.0)
    found = log1p((held + held) / (1.0 - held)) * 0.5
    edge = a.const(inf).choose(a.compare("oeq", 1.0), nan)
    return found.choose(inside, edge).signed(x)


def rsqrt(x: Lane) -> Lane:
    """`1 / sqrt(x)`."""
    return 1.0 / x.root()


def two_product(x: Lane, y: Lane) -> tuple[Lane, Lane]:
    """`x * y` as a float and what that leaves."""
    p = x * y
    return p, x.fma(y, -p)


def fast_two_sum(x: Lane, y: Lane) -> tuple[Lane, Lane]:
    """`x + y` as a float and what that leaves, for `x` that is not smaller."""
    s = x + y
    return s, y - (s - x)


def long_log(x: Lane) -> tuple[Lane, Lane]:
    """The logarithm of a positive number as two floats, to about 2 ** -65."""
    n, m = frexp(x)
    f = m - 1.0
    below = f + 2.0
    left = f - (below - 2.0)
    s = f / below
    s_low = ((-s).fma(below, f) - s * left) / below
    z, z_low = two_product(s, s)
    z_low = z_low + 2.0 * s * s_low
    cube, cube_low = two_product(s, z)
    cube_low = cube_low + s * z_low + s_low * z
    high, low = TWO_THIRDS
    third, third_low = two_product(cube, cube.const(high))
    third_low = third_low + cube * low + cube_low * high
    last = cube * z * z.polynomial(table.LOG_REST)
    a, a_low = fast_two_sum(s + s, third)
    top, top_low = two_product(n, n.const(LN2_PAIR[0]))
    sum_, sum_low = fast_two_sum(top.choose(n.compare("une", 0.0), a), a.choose(n.compare("une", 0.0), 0.0))
    small = a_low + (s_low + s_low + third_low + last) + (top_low + n * LN2_PAIR[1] + sum_low)
    return fast_two_sum(sum_, small)


def positive_power(x: Lane, y: Lane, short: bool) -> Lane:
    """`x ** y` for positive finite `x` and finite `y`."""
    held = clamp(y, -1e300, 1e300)
    if short:
        return exp(log_with_correction(x) * held)
    high, low = long_log(x)
    p, rest = two_product(high, held)
    rest = rest + low * held
    outside = p.size().compare("ogt", 800.0)
    return exp(p, rest.const(0.0).choose(outside, rest))


def pow_(x: Lane, y: Lane, short: bool) -> Lane:
    """`x ** y`, with the special cases of IEEE 754."""
    code, a = x.code, x.size()
    plain = all_of(code, a.compare("ogt", 0.0), a.compare("olt", inf))
    found = positive_power(a.choose(plain, 1.0), y, short)
    whole = y.compare("oeq", y.call("floor"))
    half = y * 0.5
    odd = all_of(code, whole, half.compare("one", half.call("floor")))
    found = x.const(nan).choose(
        all_of(code, x.compare("olt", 0.0), plain, y.compare("one", y.call("floor"))), found
    )
    up = y.compare("ogt", 0.0)
    at_zero = x.const(0.0).choose(up, inf)
    found = at_zero.choose(a.compare("oeq", 0.0), found)
    found = x.const(inf).choose(up, 0.0).choose(a.compare("oeq", inf), found)
    greater = x.code.op("xor", a.compare("ogt", 1.0), y.compare("olt", 0.0))
    endless = x.const(inf).choose(greater, 0.0)
    endless = x.const(1.0).choose(a.compare("oeq", 1.0), endless)
    found = endless.choose(y.size().compare("oeq", inf), found)
    found = (-found).choose(all_of(code, odd, signbit(x)), found)
    found = (x + y).choose(any_of(code, x.compare("uno", x), y.compare("uno", y)), found)
    return x.const(1.0).choose(any_of(code, y.compare("oeq", 0.0), x.compare("oeq", 1.0)), found)


def signbit(x: Lane) -> Value:
    """Whether the sign of a number is set, that of -0 too."""
    return x.bits().compare("slt", 0)
