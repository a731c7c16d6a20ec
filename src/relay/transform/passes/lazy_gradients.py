"""Zeros and ones that gradients begin with, as numbers that are stretched when they meet something."""

from typing import Any

import numpy as np

from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Constant, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.op.create import Full, FullLike, Ones, OnesLike, Zeros, ZerosLike
from relay.transform.passes.algebra import RULES
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules
from relay.transform.rewriting.rulebook import table
from relay.transform.rewriting.splat import uniform

FILLS = (Zeros, ZerosLike, Ones, OnesLike, Full, FullLike)
MEETING = (
    "x + -0.0",
    "x + 0.0",
    "x - 0",
    "x * 1",
    "x / 1",
    "n * 0",
    "x + full(c)",
    "x + broadcast_to(y)",
    "broadcast_to, reshape, transpose, cast of zeros",
)
"""The rules of algebra for what meets a tensor of one value, by how they begin."""


def view(w: Rewriter, e: Call) -> Expr | None:
    """A tensor of one value as a constant that holds one number, however large it is."""
    t, value = w.tensor(e), uniform(w, e)
    if t is None or value is None or not all(w.may_go(a) for a in e.args):
        return None
    return repeated(value, t, e)


def repeated(value: Any, t: TensorType, source: Expr) -> Constant:
    """A constant of one number, repeated by strides of 0."""
    one = np.asarray(value).astype(to_numpy(str(t.dtype)))
    return Constant(np.broadcast_to(one, t.concrete_shape), t, span=source.span)


TABLE = {
    **table(entry for entry in RULES if entry.text.startswith(MEETING)),
    **dict.fromkeys(FILLS, (view,)),
}


@module_pass("lazy_gradient_init", keeps=(ANF,), opt_level=1, public="LazyGradientInit")
def lazy_gradient_init(mod: IRModule) -> IRModule:
    """Represent the zeros and ones of known shape that gradients start from by a single element.

    `zeros_like(x)`, `ones`, `full(1.0)` and the like become constants that are views of a single element; a
    sum with zeros and a product with ones become the other operand.  The value is the same, except for the
    sign of a zero that was added to another.

    >>> show(lazy_gradient_init, "def @main(%x: Tensor[(64,), f32]) { (zeros_like(%x), %x * ones_like(%x)) }")
    def @main(%x: Tensor[(64,), float32]) -> (Tensor[(64,), float32], Tensor[(64,), float32]) {
      (Constant(0.0, (64,), float32), %x)
    }
    """
    return apply_rules(mod, TABLE)
