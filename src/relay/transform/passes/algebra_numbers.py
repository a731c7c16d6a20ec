"""Rules of arithmetic: neutral elements, signs, powers, and what a constant does twice.

Floating-point numbers are not the reals.  `x * 0` stays (it may be NaN), `(x + a) + b` stays (it rounds
twice), and `x + 0` is `x` but for the sign of a zero, which the table says.
"""

from math import frexp
from typing import Any

import numpy as np

from relay.ir.dtype import is_float, is_integer
from relay.ir.expr import Call, Expr
from relay.ir.type import TensorType
from relay.op.arithmetic import Add, Maximum, Minimum, Multiply, Power, Subtract
from relay.op.base import Operator
from relay.op.broadcast import BroadcastTo, Where
from relay.op.division import Divide, FloorDivide, TruncDivide
from relay.op.logic import BitwiseAnd, BitwiseNot, BitwiseOr, LogicalAnd, LogicalNot, LogicalOr
from relay.op.math import Abs, Negative, Rsqrt, Sqrt
from relay.op.nn.activation import Relu
from relay.op.rounding import Ceil, Copy, Floor, Round, Sign, Trunc
from relay.transform.rewriting.rewriter import Rewriter, call
from relay.transform.rewriting.rulebook import Rulebook
from relay.transform.rewriting.splat import filled, is_value, scalar, stretched, uniform

NUMBERS = Rulebook()
ZERO_SIGN = "a zero keeps its sign: -0.0 + 0.0 is 0.0, -0.0 without the sum"
ONE_ROUNDING = "a product is rounded correctly, a power is off by a unit in the last place at times"


def dtype_of(w: Rewriter, e: Expr) -> str:
    """The dtype of a tensor; empty if it is open."""
    t = w.types(e)
    return t.dtype if isinstance(t, TensorType) and isinstance(t.dtype, str) else ""


def operator_class(e: Call) -> type[Operator]:
    """The class of the operator that is called."""
    op: Operator = e.attrs
    return type(op)


def other_than(w: Rewriter, e: Call, number: float) -> Expr | None:
    """`x` stretched to the result, for a call on `x` and that number in either order."""
    for x, c in (e.args, e.args[::-1]):
        if is_value(uniform(w, c), number) and w.may_go(c):
            return stretched(w, x, c, e)
    return None


# --- neutral elements ---


@NUMBERS.rule("x + -0.0, 0 + x => x (integers, or a negative zero)", Add)
def _add_exact_zero(w: Rewriter, e: Call) -> Expr | None:
    for x, c in (e.args, e.args[::-1]):
        value = uniform(w, c)
        if is_value(value, 0) and (not is_float(dtype_of(w, e)) or np.signbit(value)) and w.may_go(c):
            return stretched(w, x, c, e)
    return None


@NUMBERS.rule("x + 0.0, 0.0 + x => x", Add, but=ZERO_SIGN)
def _add_zero(w: Rewriter, e: Call) -> Expr | None:
    return other_than(w, e, 0)


@NUMBERS.rule("x - 0 => x", Subtract)
def _subtract_zero(w: Rewriter, e: Call) -> Expr | None:
    x, c = e.args
    value = uniform(w, c)
    is_zero = is_value(value, 0) and not (is_float(dtype_of(w, e)) and np.signbit(value))
    return stretched(w, x, c, e) if is_zero and w.may_go(c) else None


@NUMBERS.rule("x * 1, 1 * x => x", Multiply)
def _multiply_one(w: Rewriter, e: Call) -> Expr | None:
    return other_than(w, e, 1)


@NUMBERS.rule("x / 1 => x", Divide)
def _divide_one(w: Rewriter, e: Call) -> Expr | None:
    x, c = e.args
    return stretched(w, x, c, e) if is_value(uniform(w, c), 1) and w.may_go(c) else None


@NUMBERS.rule("floor_divide(n, 1), trunc_divide(n, 1) => n (integers)", FloorDivide, TruncDivide)
def _integer_divide_one(w: Rewriter, e: Call) -> Expr | None:
    return _divide_one(w, e) if is_integer(dtype_of(w, e)) else None


@NUMBERS.rule("n * 0 => 0 (integers: a float may be NaN or infinite)", Multiply)
def _multiply_zero(w: Rewriter, e: Call) -> Expr | None:
    if not is_integer(dtype_of(w, e)) or not all(w.may_go(x) for x in e.args):
        return None
    return filled(w, 0, e) if any(is_value(uniform(w, x), 0) for x in e.args) else None


@NUMBERS.rule("p && True, p || False => p (the operators and their bitwise twins)",
              LogicalAnd, LogicalOr, BitwiseAnd, BitwiseOr)  # fmt: skip
def _neutral_truth(w: Rewriter, e: Call) -> Expr | None:
    if dtype_of(w, e) != "bool":
        return None
    return other_than(w, e, isinstance(e.attrs, LogicalAnd | BitwiseAnd))


@NUMBERS.rule("p && False => False, p || True => True", LogicalAnd, LogicalOr, BitwiseAnd, BitwiseOr)
def _deciding_truth(w: Rewriter, e: Call) -> Expr | None:
    if dtype_of(w, e) != "bool" or not all(w.may_go(x) for x in e.args):
        return None
    decides = isinstance(e.attrs, LogicalOr | BitwiseOr)
    return filled(w, decides, e) if any(is_value(uniform(w, x), decides) for x in e.args) else None


# --- signs ---


@NUMBERS.rule("f(f(x)) => x for negative, logical_not, bitwise_not", Negative, LogicalNot, BitwiseNot)
def _twice_undone(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[0], operator_class(e))
    return inner[1][0] if inner else None


@NUMBERS.rule("f(f(x)) => f(x) for abs, sign, floor, ceil, round, trunc, nn.relu",
              Abs, Sign, Floor, Ceil, Round, Trunc, Relu)  # fmt: skip
def _twice_is_once(w: Rewriter, e: Call) -> Expr | None:
    return e.args[0] if w.parts(e.args[0], operator_class(e)) else None


@NUMBERS.rule("abs(-x) => abs(x)", Abs)
def _abs_of_negative(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[0], Negative)
    return call(Abs(), inner[1], e) if inner else None


@NUMBERS.rule("x + -y => x - y; -x + y => y - x; x - -y => x + y", Add, Subtract)
def _sign_of_term(w: Rewriter, e: Call) -> Expr | None:
    x, y = e.args
    right = w.parts(y, Negative)
    if right:
        return call(Subtract() if isinstance(e.attrs, Add) else Add(), (x, right[1][0]), e)
    left = w.parts(x, Negative) if isinstance(e.attrs, Add) and w.is_plain(y) else None
    return call(Subtract(), (y, left[1][0]), e) if left else None


@NUMBERS.rule("-x * -y => x * y; -x / -y => x / y", Multiply, Divide)
def _signs_of_factors(w: Rewriter, e: Call) -> Expr | None:
    if isinstance(e.attrs, Divide) and not is_float(dtype_of(w, e)):
        return None
    left, right = (w.parts(x, Negative) for x in e.args)
    return call(e.attrs, (left[1][0], right[1][0]), e) if left and right else None


@NUMBERS.rule("x * -1, x / -1 => -x", Multiply, Divide)
def _negative_one(w: Rewriter, e: Call) -> Expr | None:
    pairs = (e.args, e.args[::-1]) if isinstance(e.attrs, Multiply) else (e.args,)
    for x, c in pairs:
        if is_value(uniform(w, c), -1) and w.may_go(c):
            kept = stretched(w, x, c, e)
            return None if kept is None else call(Negative(), (kept,), e)
    return None


@NUMBERS.rule("-x * c, -(x * c) => x * -c", Multiply, Negative)
def _sign_of_constant(w: Rewriter, e: Call) -> Expr | None:
    if isinstance(e.attrs, Negative):
        inner = w.parts(e.args[0], Multiply)
        pairs = (inner[1], inner[1][::-1]) if inner else ()
    else:
        pairs = [
            (negated[1][0], c)
            for x, c in (e.args, e.args[::-1])
            if (negated := w.parts(x, Negative)) is not None
        ]
    for x, c in pairs:
        value = uniform(w, c)
        if value is not None and w.types(c) == TensorType((), dtype_of(w, e)):
            return call(Multiply(), (x, scalar(np.negative(value), dtype_of(w, e), e)), e)
    return None


# --- constants that meet ---


def twice_constant(w: Rewriter, e: Call, op: type[Operator]) -> tuple[Expr, Any, Any] | None:
    """`x`, `a` and `b` for `(x op a) op b`, in any order, where `a` and `b` are scalars."""
    for outer, c in (e.args, e.args[::-1]):
        b = uniform(w, c)
        inner = w.parts(outer, op) if b is not None and w.types(c) == TensorType((), dtype_of(w, e)) else None
        for x, d in (inner[1], inner[1][::-1]) if inner else ():
            a = uniform(w, d)
            if a is not None and w.types(d) == w.types(c):
                return x, a, b
    return None


@NUMBERS.rule("(n + a) + b => n + (a + b), and for * (integers, which wrap)", Add, Multiply)
def _integers_meet(w: Rewriter, e: Call) -> Expr | None:
    found = twice_constant(w, e, operator_class(e)) if is_integer(dtype_of(w, e)) else None
    if found is None:
        return None
    x, a, b = found
    return call(e.attrs, (x, scalar(e.attrs.evaluate(a, b), dtype_of(w, e), e)), e)


@NUMBERS.rule("x / c => x * (1 / c) for a float c that is a power of two", Divide)
def _divide_by_power_of_two(w: Rewriter, e: Call) -> Expr | None:
    x, c = e.args
    dtype, value = dtype_of(w, e), uniform(w, c)
    if dtype not in ("float32", "float64") or value is None or not np.isfinite(value) or not value:
        return None
    if abs(frexp(float(value))[0]) != 0.5 or not 2.0**-100 < abs(float(value)) < 2.0**100:
        return None
    if w.types(c) != TensorType((), dtype):
        return None
    return call(Multiply(), (x, scalar(1 / float(value), dtype, e)), e)


# --- powers and roots ---


@NUMBERS.rule("x ** 1 => x; x ** 0 => 1", Power)
def _trivial_power(w: Rewriter, e: Call) -> Expr | None:
    x, n = e.args
    value = uniform(w, n)
    if is_value(value, 1) and w.may_go(n):
        return stretched(w, x, n, e)
    return filled(w, 1, e) if is_value(value, 0) and w.may_go(x) and w.may_go(n) else None


@NUMBERS.rule("n ** 2 => n * n; n ** 3 => n * n * n (integers, which wrap)", Power)
def _integer_power(w: Rewriter, e: Call) -> Expr | None:
    return _products(w, e) if is_integer(dtype_of(w, e)) else None


@NUMBERS.rule("x ** 2 => x * x", Power, but=ONE_ROUNDING)
def _square(w: Rewriter, e: Call) -> Expr | None:
    return _products(w, e, most=2)


@NUMBERS.rule(
    "x ** 3 => x * x * x", Power, but="each of two products is rounded: two units in the last place"
)
def _cube(w: Rewriter, e: Call) -> Expr | None:
    return _products(w, e)


@NUMBERS.rule("x ** -1 => 1 / x (floats)", Power, but=ONE_ROUNDING)
def _inverse(w: Rewriter, e: Call) -> Expr | None:
    x, n = e.args
    dtype = dtype_of(w, e)
    if not is_float(dtype) or not is_value(uniform(w, n), -1) or w.types(n) != TensorType((), dtype):
        return None
    return call(Divide(), (scalar(1, dtype, e), x), e)


def _products(w: Rewriter, e: Call, most: int = 3) -> Expr | None:
    """A power as products, where the exponent is a scalar from 2 to `most` and the base may be used again."""
    x, n = e.args
    value = uniform(w, n)
    if w.types(n) != TensorType((), dtype_of(w, e)) or not w.is_plain(x):
        return None
    for count in range(2, most + 1):
        if is_value(value, count):
            made = x
            for _ in range(count - 1):
                made = call(Multiply(), (made, x), e)
            return made
    return None


@NUMBERS.rule("1 / sqrt(x) => rsqrt(x)", Divide)
def _reciprocal_root(w: Rewriter, e: Call) -> Expr | None:
    one, y = e.args
    inner = w.parts(y, Sqrt)
    if not inner or not is_value(uniform(w, one), 1) or w.types(one) != TensorType((), dtype_of(w, e)):
        return None
    return call(Rsqrt(), inner[1], e)


# --- equal operands, choices, copies ---


@NUMBERS.rule("maximum(x, x), minimum(x, x), p && p, p || p => x",
              Maximum, Minimum, LogicalAnd, LogicalOr, BitwiseAnd, BitwiseOr)  # fmt: skip
def _same_twice(w: Rewriter, e: Call) -> Expr | None:
    x, y = e.args
    return x if x is y else None


@NUMBERS.rule("where(True, x, y) => x; where(False, x, y) => y", Where)
def _known_choice(w: Rewriter, e: Call) -> Expr | None:
    condition, x, y = e.args
    value = uniform(w, condition)
    if value is None:
        return None
    taken, dropped = (x, y) if value else (y, x)
    if not w.may_go(dropped) or not w.may_go(condition) or w.tensor(e) is None:
        return None
    return stretched(w, taken, condition, e)


@NUMBERS.rule("where(c, x, x) => x", Where)
def _same_choice(w: Rewriter, e: Call) -> Expr | None:
    condition, x, y = e.args
    return stretched(w, x, condition, e) if x is y and w.may_go(condition) else None


@NUMBERS.rule("where(!c, x, y) => where(c, y, x)", Where)
def _swapped_choice(w: Rewriter, e: Call) -> Expr | None:
    condition, x, y = e.args
    inner = w.parts(condition, LogicalNot)
    if not inner or not (w.is_plain(x) or w.is_plain(y)):
        return None
    return call(Where(), (inner[1][0], y, x), e)


@NUMBERS.rule("copy(x) => x", Copy)
def _copied(w: Rewriter, e: Call) -> Expr | None:
    return e.args[0]


# --- operands that broadcasting stretches anyway ---


@NUMBERS.rule("x + broadcast_to(y) => x + y, and for every operator that broadcasts, if the type stays",
              Add, Subtract, Multiply, Divide, Power, Maximum, Minimum, Where)  # fmt: skip
def _stretched_operand(w: Rewriter, e: Call) -> Expr | None:
    for i, x in enumerate(e.args):
        inner = w.parts(x, BroadcastTo)
        if inner and w.tensor(e) is not None:
            made = call(e.attrs, (*e.args[:i], inner[1][0], *e.args[i + 1 :]), e)
            if w.types(made) == w.types(e):
                return made
    return None


@NUMBERS.rule("x + full(c) => x + c, and for every operator that broadcasts, if the type stays",
              Add, Subtract, Multiply, Divide, Power, Maximum, Minimum, Where)  # fmt: skip
def _filled_operand(w: Rewriter, e: Call) -> Expr | None:
    if w.tensor(e) is None:
        return None
    for i, x in enumerate(e.args):
        t = w.tensor(x)
        value = uniform(w, x) if t is not None and t.shape and w.may_go(x) else None
        if value is not None and t is not None:
            made = call(e.attrs, (*e.args[:i], scalar(value, str(t.dtype), e), *e.args[i + 1 :]), e)
            if w.types(made) == w.types(e):
                return made
    return None
