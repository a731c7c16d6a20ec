"""Faster and less exact arithmetic, for those who ask for it."""

import numpy as np

from relay.ir.dtype import is_float
from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.op.arithmetic import Add, Multiply, Power
from relay.op.base import Operator
from relay.op.division import Divide
from relay.op.error_function import Erf
from relay.op.fast import FastErf, FastExp, FastTanh
from relay.op.math import Exp, Rsqrt, Sqrt
from relay.op.nn.activation import Softmax
from relay.op.trigonometry import Tanh
from relay.transform.passes.algebra_numbers import dtype_of, operator_class, twice_constant
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call, call_of
from relay.transform.rewriting.rulebook import Rulebook
from relay.transform.rewriting.splat import filled, is_value, scalar, uniform

FAST = Rulebook()
FINITE = "exact for finite x; NaN and infinity become 0"


@FAST.rule("(x * a) * b => x * (a * b)", Multiply,
           but="two units in the last place, unless x * a overflows or underflows")  # fmt: skip
def _factors_meet(w: Rewriter, e: Call) -> Expr | None:
    return _constants_meet(w, e)


@FAST.rule("(x + a) + b => x + (a + b)", Add,
           but="two units in the last place of the largest of x, a and b")  # fmt: skip
def _terms_meet(w: Rewriter, e: Call) -> Expr | None:
    return _constants_meet(w, e)


def _constants_meet(w: Rewriter, e: Call) -> Expr | None:
    found = twice_constant(w, e, operator_class(e)) if is_float(dtype_of(w, e)) else None
    if found is None:
        return None
    x, a, b = found
    both = e.attrs.evaluate(a, b)
    return call(e.attrs, (x, scalar(both, dtype_of(w, e), e)), e) if np.isfinite(both) else None


@FAST.rule("x / c => x * (1 / c)", Divide, but="one unit in the last place, unless 1 / c is subnormal")
def _divided_by_constant(w: Rewriter, e: Call) -> Expr | None:
    x, c = e.args
    dtype, value = dtype_of(w, e), uniform(w, c)
    if not is_float(dtype) or value is None or not value or w.types(c) != TensorType((), dtype):
        return None
    inverse = scalar(1 / float(value), dtype, e)
    is_normal = np.isfinite(value) and abs(float(inverse.value)) > 1e-37 and np.isfinite(inverse.value)
    return call(Multiply(), (x, inverse), e) if is_normal else None


@FAST.rule("x / sqrt(y) => x * rsqrt(y)", Divide, but="two units in the last place")
def _divided_by_root(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[1], Sqrt)
    return call(Multiply(), (e.args[0], call(Rsqrt(), inner[1], e)), e) if inner else None


@FAST.rule("x ** 0.5 => sqrt(x); x ** -0.5 => rsqrt(x)", Power,
           but="one unit in the last place; -infinity gives NaN, and -0.0 gives -0.0")  # fmt: skip
def _root(w: Rewriter, e: Call) -> Expr | None:
    x, n = e.args
    value = uniform(w, n)
    if w.types(n) != TensorType((), dtype_of(w, e)):
        return None
    if is_value(value, 0.5):
        return call(Sqrt(), (x,), e)
    return call(Rsqrt(), (x,), e) if is_value(value, -0.5) else None


@FAST.rule("x ** 4 => (x * x) * (x * x)", Power, but="two units in the last place")
def _fourth_power(w: Rewriter, e: Call) -> Expr | None:
    x, n = e.args
    if not is_value(uniform(w, n), 4) or w.types(n) != TensorType((), dtype_of(w, e)) or not w.is_plain(x):
        return None
    square = call(Multiply(), (x, x), e)
    return call(Multiply(), (square, square), e)


def _approximated(w: Rewriter, e: Call) -> Expr | None:
    fast = FASTER[type(e.attrs)]
    return call(fast(), e.args, e) if dtype_of(w, e) in ("float32", "float16", "bfloat16") else None


FASTER: dict[type, type[Operator]] = {Exp: FastExp, Tanh: FastTanh, Erf: FastErf}
FAST.rule("exp(x) => fast_exp(x)", Exp,
          but="1e-6 of the value, as machine code; infinity becomes 2.2e38, and 0 becomes 1.2e-38",
          )(_approximated)  # fmt: skip
FAST.rule("tanh(x) => fast_tanh(x)", Tanh, but="5e-6 of the value, as machine code")(_approximated)
FAST.rule("erf(x) => fast_erf(x)", Erf, but="5e-6 of the value, as machine code")(_approximated)


@FAST.rule("exp(x) * exp(y) => exp(x + y)", Multiply,
           but="the rounding of x + y, times the exponential; where one factor overflows and the other is 0, "
               "NaN becomes a number")  # fmt: skip
def _exponentials(w: Rewriter, e: Call) -> Expr | None:
    left, right = (w.parts(x, Exp) for x in e.args)
    if not left or not right:
        return None
    return call(left[0], (call(Add(), (left[1][0], right[1][0]), e),), e)


@FAST.rule("x * 0 => 0", Multiply, but=FINITE)
def _nothing(w: Rewriter, e: Call) -> Expr | None:
    if not all(w.may_go(x) for x in e.args):
        return None
    return filled(w, 0, e) if any(is_value(uniform(w, x), 0) for x in e.args) else None


@FAST.rule("nn.softmax => nn.fast_softmax", Softmax, but="what the backend's fast exponential loses")
def _softmax(w: Rewriter, e: Call) -> Expr | None:
    return call_of("nn.fast_softmax", e.args, e, **e.attrs.changed_attributes())


RULES = FAST.table()


@module_pass("fast_math", keeps=(ANF,), opt_level=4, public="FastMath")
def fast_math(mod: IRModule) -> IRModule:
    """Apply laws of real arithmetic that floating-point arithmetic obeys only approximately.

    No default pipeline runs this pass.  `relay.transform.passes.fast_arithmetic.FAST` lists the rules, each
    with its error: mostly one or two units in the last place, and up to 5e-6 relative where machine code
    uses approximations (`fast_exp`, `fast_tanh`, `fast_erf`; float64 stays accurate).  For operators
    composed of these (`nn.log_softmax`), run the pass after `expand_composites`.

    >>> show(fast_math, "def @main(%x: Tensor[(2,), float32], %y: float32) { %x * 3.0 * 5.0 / sqrt(%y) }")
    def @main(%x: Tensor[(2,), float32], %y: float32) -> Tensor[(2,), float32] {
      %x * 15f * rsqrt(%y)
    }
    """
    return apply_rules(mod, RULES)
