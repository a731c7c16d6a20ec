"""Functions of floats by their names, for one number or the lanes of a vector; straight code but for large
angles.

Results are within 2 units in the last place for float32 (1.92 at most of all there are, 0.52 for those that
are computed in float64 and rounded) and within 4 for float64 (tests/backend/test_vector_math.py,
docs/check-long.md); `softplus` and `ndtr` of float32 and those of `fast` are within what they say.
"""

from collections.abc import Callable, Sequence
from math import inf

from relay.backend.native.math import circular, exponentials, fast
from relay.backend.native.math.lanes import BIAS, Lane


def maximum(x: Lane, y: Lane) -> Lane:
    """The greater of two numbers, NaN where one is; of zeros either."""
    return x.like(x.code.intrinsic("maximum", x.value, y.value, flags="nsz "))


def minimum(x: Lane, y: Lane) -> Lane:
    """The lesser of two numbers, NaN where one is; of zeros either."""
    return x.like(x.code.intrinsic("minimum", x.value, y.value, flags="nsz "))


EITHER: dict[str, Callable[..., Lane]] = {
    "exp": exponentials.exp, "log": exponentials.log_, "tanh": exponentials.tanh,
    "sigmoid": exponentials.sigmoid, "softplus": exponentials.softplus, "gate": exponentials.gate,
    "gelu_tanh": exponentials.gelu_tanh, "mish": exponentials.mish,
    "expm1": exponentials.expm1, "log1p": exponentials.log1p,
    "erf": circular.erf, "ndtr": circular.ndtr, "rsqrt": exponentials.rsqrt,
    "maximum": maximum, "minimum": minimum,
}  # fmt: skip
"""Those with a form of their own in float32."""
FUNCTIONS: dict[str, Callable[..., Lane]] = {
    "log2": exponentials.log2, "log10": exponentials.log10, "sinh": exponentials.sinh,
    "cosh": exponentials.cosh,
    "asinh": exponentials.asinh, "acosh": exponentials.acosh, "atanh": exponentials.atanh,
    "atan": circular.atan, "asin": circular.asin, "acos": circular.acos, "atan2": circular.atan2,
}  # fmt: skip
"""Those that float32 computes in float64."""
FAST: dict[str, Callable[[Lane], Lane]] = {
    "fast_exp": fast.fast_exp, "fast_tanh": fast.fast_tanh, "fast_erf": fast.fast_erf,
}  # fmt: skip
"""Less accurate ones of float32; float64 has the accurate ones instead."""
BY_WIDTH: dict[str, Callable[..., Lane]] = {
    "sin": circular.sin, "cos": circular.cos, "tan": circular.tan, "erfc": circular.erfc,
    "pow": exponentials.pow_,
}  # fmt: skip
"""The same, with a shorter way where the operands are float32."""


FLOAT64_FUNCTIONS = frozenset({*FUNCTIONS, *BY_WIDTH})
"""Those that vectors of float32 compute in float64."""
COSTS = {
    **dict.fromkeys(("divide", "remainder", "sqrt"), 4),
    **dict.fromkeys(FAST, 8),
    **dict.fromkeys((*EITHER, *FLOAT64_FUNCTIONS), 16),
    **dict.fromkeys(("maximum", "minimum"), 1),
}
"""Instructions that a function takes for an element, about, where that is more than one or two."""


def emit_function(name: str, xs: Sequence[Lane]) -> Lane:
    """A function, or an instruction that LLVM has by that name; of float32 perhaps as a float64."""
    if name in FAST:
        return FAST[name](*xs) if xs[0].short else emit_function(name.removeprefix("fast_"), xs)
    if name in EITHER:
        return EITHER[name](*xs)
    short = xs[0].short
    wide = [x.wide() for x in xs] if short else xs
    if name in FUNCTIONS:
        return FUNCTIONS[name](*wide)
    return BY_WIDTH[name](*wide, short) if name in BY_WIDTH else xs[0].call(name, *xs[1:])


def divide_by_splat(x: Lane, y: Lane) -> Lane:
    """`x / y` where `y` is one number for all lanes: by its inverse, and what that leaves over.

    Rounded as the division is (Markstein, 1990), but where that is denormal, or `x` so small that what is
    left over is: below 2 ** -102 for float32.
    """
    up = y.const(2.0 ** (BIAS[y.kind] // 2)).choose(y.size().compare("olt", 2.0 ** (1 - BIAS[y.kind])), 1.0)
    x, y = x * up, y * up
    inverse = 1.0 / y
    found = x * inverse
    left = (-found).fma(y, x)
    return left.fma(inverse, found).choose(left.size().compare("olt", inf), found).signed(found)
