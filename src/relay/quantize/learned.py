"""Scales that are learned with the weights.

Source: Esser, McKinstry, Bablani, Appuswamy and Modha, 2020, "Learned step size quantization", equations 1 to
3 and section 2.2.
"""

from typing import Any

from relay.ir.expr import Call, Expr, Function, GlobalVar, Tuple, Var, as_expr
from relay.ir.module import IRModule
from relay.op.numeric import apply


def learned_scale(x: Any, scale: Any, low: int = -128, high: int = 127, mod: IRModule | None = None) -> Expr:
    """`clip(round(x / scale), low, high) * scale`, differentiated by `x` and by `scale`, a scalar.

    By `x` the derivative is 1 where `x / scale` lies in the range, else 0.  By `scale` it is `low` or `high`
    beyond the range and `round(x / scale) - x / scale` within, times `1 / sqrt(size * high)`.  Both operands
    are float32.  The definition that the result calls, of "std/autodiff", is added to `mod` if that is given.
    """
    if mod is not None:
        mod.import_from_std("autodiff")
    y, s, r, g = (Var(n) for n in ("y", "s", "r", "g"))
    ratio, whole = _steps(y, s, low, high)
    above = apply("greater_equal", ratio, as_expr(float(low)))
    inside = apply("logical_and", above, apply("less_equal", ratio, as_expr(float(high))))
    count = apply("cast", apply("ndarray_size", y), dtype="float32")
    weight = apply("rsqrt", apply("multiply", count, as_expr(float(high))))
    error = apply("where", inside, apply("subtract", whole, ratio), whole)
    by_scale = apply("multiply", apply("sum", apply("multiply", g, error)), weight)
    by_x = apply("where", inside, g, apply("zeros_like", g))
    rule = Function((y, s, r, g), Tuple((by_x, by_scale)))
    y, s = Var("y"), Var("s")
    rounded = Function((y, s), apply("multiply", _steps(y, s, low, high)[1], s))
    return Call(GlobalVar("custom_vjp2"), (rounded, rule, as_expr(x), as_expr(scale)))


def _steps(y: Expr, s: Expr, low: int, high: int) -> tuple[Expr, Expr]:
    """How many steps numbers are, and whole ones within the range."""
    ratio = apply("divide", y, s)
    return ratio, apply("clip", apply("round", ratio), a_min=float(low), a_max=float(high))
