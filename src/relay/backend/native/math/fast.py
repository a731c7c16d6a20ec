"""Approximations of functions of float32 that cost about half of the accurate ones, NaN staying NaN.

Between the ends, results are within 5e-6 of the truth, relative to it (1e-6 for `fast_exp`); beyond them, the
value at the end is the result.  Coefficients: least greatest relative error, by Lawson's iteration (1961).
"""

from collections.abc import Sequence
from math import log

from relay.backend.native.math.exponentials import clamp, power_of_two
from relay.backend.native.math.lanes import Lane

EXP_ENDS = (-87.3, 88.3)
"""Beyond these `exp(x)` is not a normal number: the results there are 1.2e-38 and 2.2e38."""
TANH_END = 7.9
"""From here on `tanh(x)` is 1 to 3e-7."""
ERF_END = 4.0
"""From here on `erf(x)` is 1 to 2e-8."""
# (exp(r) - 1 - r) / r**2 for |r| <= log(2) / 2.
EXP = (0.4999923179040687, 0.1666711446488076, 0.04189011327552005, 0.008312524945819102)
# tanh(x) / x and erf(x) / x as quotients of polynomials in x**2, from 0 to the ends.
TANH = (
    (0.9999975160542296, 0.12206703956126128, 0.002190904977883916, 3.5279001920302433e-06),
    (1.0, 0.45538321229726225, 0.020672173975956866, 0.00013301819623514423),
)
ERF = (
    (1.1283844118170114, 0.1633626617919316, 0.04722975837146725, 0.0010737501541298303,
     -4.506137314775807e-06),
    (1.0, 0.47820895293818194, 0.10091489172671916, 0.011049111594163505),
)  # fmt: skip


def fast_exp(x: Lane) -> Lane:
    """The exponential."""
    x = clamp(x, *EXP_ENDS)
    whole, n = (x * (1 / log(2))).nearest()
    r = whole.fma(-log(2), x)
    return (r * r).fma(r.polynomial(EXP), r + 1.0) * power_of_two(n)


def fast_tanh(x: Lane) -> Lane:
    """The hyperbolic tangent."""
    return odd_quotient(clamp(x, -TANH_END, TANH_END), *TANH)


def fast_erf(x: Lane) -> Lane:
    """The error function."""
    return odd_quotient(clamp(x, -ERF_END, ERF_END), *ERF)


def odd_quotient(x: Lane, above: Sequence[float], below: Sequence[float]) -> Lane:
    """`x` times a quotient of polynomials in its square."""
    z = x * x
    return x * z.polynomial(above) / z.polynomial(below)
