"""Activations that a program spells out: how they are recognised."""

from collections.abc import Iterator
from math import pi, sqrt

from relay.ir.dtype import is_float
from relay.ir.expr import Call, Expr
from relay.ir.type import TensorType
from relay.op.arithmetic import Add, Maximum, Multiply, Power
from relay.op.division import Divide
from relay.op.error_function import Erf, Ndtr
from relay.op.math import Abs, Exp, Log, Log1p, Negative, Sigmoid
from relay.op.nn.activation import Relu
from relay.op.nn.linear_units import CUBE, Gelu, HardSigmoid, HardSwish, Mish, Silu, Softplus
from relay.op.rounding import Clip
from relay.op.trigonometry import Tanh
from relay.transform.rewriting.rewriter import Rewriter, call
from relay.transform.rewriting.rulebook import Rulebook
from relay.transform.rewriting.splat import uniform

ACTIVATIONS = Rulebook()
ROUNDING = "rounding, and less is lost where the result is small"
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2}
"""How far a constant may be from the number that it stands for, relative to it."""
TOLERANCE = 2e-6
POLYNOMIAL_DEPTH = 6
"""How many operators are looked through for a polynomial."""
Polynomial = dict[int, float]
"""The coefficient of each power."""


def is_near(w: Rewriter, e: Expr, found: float, wanted: float) -> bool:
    """Whether a constant that `e` computes with is a number, up to the rounding of its dtype."""
    t = w.types(e)
    tolerance = TOLERANCES.get(str(t.dtype), TOLERANCE) if isinstance(t, TensorType) else 0.0
    return abs(found - wanted) <= tolerance * abs(wanted)


def number_of(w: Rewriter, e: Expr) -> float | None:
    """The number that every element of a float tensor has."""
    value = uniform(w, e)
    t = None if value is None else w.types(e)
    if not isinstance(t, TensorType) or not isinstance(t.dtype, str) or not is_float(t.dtype):
        return None
    return float(str(value))  # the shortest that rounds to it


def scaled(w: Rewriter, e: Expr) -> tuple[float, Expr]:
    """A number and what is left, of which `e` is the product."""
    scale = 1.0
    for _ in range(3):
        inner = w.parts(e, Multiply, Divide)
        if inner is None:
            break
        op, (a, b) = inner
        left, right = number_of(w, a), number_of(w, b)
        if right:
            scale, e = (scale * right if isinstance(op, Multiply) else scale / right), a
        elif left and isinstance(op, Multiply):
            scale, e = scale * left, b
        else:
            break
    return scale, e


def products(w: Rewriter, e: Expr, *any_of: type) -> Iterator[tuple[float, Expr, Expr]]:
    """Each way in which `e` is a number times two operands, if one of these operators is in the program."""
    if w.subjects.isdisjoint(any_of):
        return
    whole, core = scaled(w, e)
    inner = w.parts(core, Multiply)
    if inner is None:
        return
    a, b = inner[1]
    for x, gate in ((a, b), (b, a)):
        (scale, base), (of_gate, gate_base) = scaled(w, x), scaled(w, gate)
        yield whole * scale * of_gate, base, gate_base
        if base is not x:
            yield whole * of_gate, x, gate_base


def polynomial(w: Rewriter, e: Expr, x: Expr, depth: int = POLYNOMIAL_DEPTH) -> Polynomial | None:
    """What `e` is as a polynomial of `x`, of degree 3 at most."""
    if e is x:
        return {1: 1.0}
    value = number_of(w, e)
    if value is not None:
        return {0: value}
    inner = w.parts(e, Add, Multiply, Divide, Power) if depth else None
    if inner is None:
        return None
    op, (left, right) = inner
    a, b = polynomial(w, left, x, depth - 1), polynomial(w, right, x, depth - 1)
    if a is None or b is None:
        return None
    match op:
        case Add():
            found = {n: a.get(n, 0.0) + b.get(n, 0.0) for n in {*a, *b}}
        case Multiply():
            found = multiplied(a, b)
        case Divide() if set(b) == {0} and b[0]:
            found = {n: v / b[0] for n, v in a.items()}
        case Power() if b in ({0: 2.0}, {0: 3.0}):
            found = multiplied(a, multiplied(a, a) if b[0] == 3 else a)
        case _:
            return None
    return found if max(found) <= 3 else None


def multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    found: Polynomial = {}
    for n, v in a.items():
        for m, u in b.items():
            found[n + m] = found.get(n + m, 0.0) + v * u
    return found


def is_polynomial(w: Rewriter, e: Expr, x: Expr, wanted: Polynomial) -> bool:
    """Whether `e` is that polynomial of `x`."""
    found = polynomial(w, e, x)
    return (
        found is not None
        and set(found) == set(wanted)
        and all(is_near(w, e, found[n], v) for n, v in wanted.items())
    )


def shifted(w: Rewriter, e: Expr) -> tuple[float, Expr] | None:
    """`c` and `y` of `c * (y + 1)`."""
    inner = w.parts(e, Add)
    for u, v in (inner[1], inner[1][::-1]) if inner else ():
        c = number_of(w, v)
        scale, y = scaled(w, u)
        if c and is_near(w, e, scale, c):
            return c, y
    return None


# --- activations ---


@ACTIVATIONS.rule("x * (erf(x / sqrt(2)) + 1) / 2, x * (tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)) + 1) / 2"
                 " => nn.gelu(x)", Multiply, Divide, but=ROUNDING)  # fmt: skip
def _gelu(w: Rewriter, e: Call) -> Expr | None:
    for scale, x, gate in products(w, e, Ndtr, Erf, Tanh):
        if w.parts(gate, Ndtr) == (Ndtr(), (x,)) and scale == 1:
            return call(Gelu(), (x,), e)
        found = shifted(w, gate)
        inner = found and w.parts(found[1], Erf, Tanh)
        if not found or not inner or not is_near(w, e, scale * found[0], 0.5):
            continue
        ((y,), is_exact) = inner[1], isinstance(inner[0], Erf)
        line = sqrt(0.5) if is_exact else sqrt(2 / pi)
        if is_polynomial(w, y, x, {1: line} if is_exact else {1: line, 3: line * CUBE}):
            return call(Gelu(approximate="none" if is_exact else "tanh"), (x,), e)
    return None


@ACTIVATIONS.rule("x * sigmoid(alpha * x) => nn.silu(x)", Multiply)
def _silu(w: Rewriter, e: Call) -> Expr | None:
    for scale, x, gate in products(w, e, Sigmoid):
        inner = w.parts(gate, Sigmoid)
        found = polynomial(w, inner[1][0], x) if inner and scale == 1 else None
        if found and set(found) == {1}:
            return call(Silu(alpha=found[1]), (x,), e)
    return None


@ACTIVATIONS.rule("x * tanh(nn.softplus(x)) => nn.mish(x)", Multiply, but=ROUNDING)
def _mish(w: Rewriter, e: Call) -> Expr | None:
    for scale, x, gate in products(w, e, Softplus):
        inner = w.parts(gate, Tanh)
        if inner and scale == 1 and w.parts(inner[1][0], Softplus) == (Softplus(), (x,)):
            return call(Mish(), (x,), e)
    return None


@ACTIVATIONS.rule("x * clip(x + 3, 0, 6) / 6, x * clip(x / 6 + 0.5, 0, 1) => nn.hard_swish(x)", Multiply,
                 Divide, but="two units in the last place")  # fmt: skip
def _hard_swish(w: Rewriter, e: Call) -> Expr | None:
    for scale, x, gate in products(w, e, Clip, HardSigmoid):
        inner = w.parts(gate, Clip, HardSigmoid)
        if not inner:
            continue
        op, (y,) = inner
        if isinstance(op, HardSigmoid):
            line, top = ({0: op.beta, 1: op.alpha} if y is x else None), 1.0
        else:
            line, top = polynomial(w, y, x), op.a_max if op.a_min == 0 else 0.0
        wanted = {0: 0.5 * top, 1: top / 6}
        is_line = (
            line is not None
            and set(line) == {0, 1}
            and all(is_near(w, e, line[n], v) for n, v in wanted.items())
        )
        if top > 0 and is_line and is_near(w, e, scale * top, 1.0):
            return call(HardSwish(), (x,), e)
    return None


@ACTIVATIONS.rule("log(exp(x) + 1), log1p(exp(x)) => nn.softplus(x)", Log, Log1p,
                 but=ROUNDING + "; where the exponential overflows, infinity becomes x")  # fmt: skip
def _softplus(w: Rewriter, e: Call) -> Expr | None:
    inside = e.args[0]
    if isinstance(e.attrs, Log):
        found = shifted(w, inside)
        if not found or found[0] != 1:
            return None
        inside = found[1]
    inner = w.parts(inside, Exp)
    return call(Softplus(), inner[1], e) if inner else None


@ACTIVATIONS.rule("nn.relu(x) + nn.softplus(-abs(x)) => nn.softplus(x)", Add, but=ROUNDING)
def _softplus_of_parts(w: Rewriter, e: Call) -> Expr | None:
    for a, b in (e.args, e.args[::-1]):
        above, soft = w.parts(a, Relu, Maximum), w.parts(b, Softplus)
        minus = soft and soft[0] == Softplus() and w.parts(soft[1][0], Negative)
        size = minus and w.parts(minus[1][0], Abs)
        if above and size:
            x, *others = above[1] if above[1][0] is size[1][0] else above[1][::-1]
            if x is size[1][0] and all(number_of(w, v) == 0 for v in others):
                return call(Softplus(), (x,), e)
    return None
