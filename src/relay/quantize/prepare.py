"""What a program is made into before its operators are quantised."""

from collections.abc import Mapping
from typing import Any

from relay.driver.arguments import with_params
from relay.ir.expr import Call, Constant, Expr, constant
from relay.ir.module import IRModule, expect_module
from relay.op.nn.dense import MatMul
from relay.transform.passes.algebra import simplify_expr
from relay.transform.passes.constant_folding import fold_constants
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.partial_evaluation import partial_evaluate
from relay.transform.passes.scale_forward import fold_scale_axis
from relay.transform.passes.simplify_inference import simplify_inference
from relay.transform.passes.static_shapes import dynamic_to_static
from relay.transform.passes.unused_functions import remove_unused_functions
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call_of
from relay.typecheck.infer import infer

PASSES = (
    remove_unused_functions, partial_evaluate, simplify_inference, dynamic_to_static, fold_constants,
    simplify_expr, fold_scale_axis, fold_constants, dead_code,
)  # fmt: skip


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """The module as quantisation wants it: parameters of `@main` that `params` names are constants, calls of
    definitions are inlined, normalisation at inference is arithmetic, and factors along channels are part of
    weights.

    Raises `unknown-input`, `argument-type`, and what is wrong with the program.
    """
    mod = expect_module(mod)
    mod = infer(with_params(mod, params) if params else mod)
    for step in PASSES:
        mod = step(mod)
    return apply_rules(mod, {MatMul: [as_dense]})


def for_training(mod: IRModule) -> IRModule:
    """The module with calls of definitions inlined, and weights as they were trained."""
    mod = infer(mod)
    for step in (remove_unused_functions, partial_evaluate, dynamic_to_static, fold_constants, dead_code):
        mod = step(mod)
    return apply_rules(mod, {MatMul: [as_dense]})


def as_dense(w: Rewriter, e: Call) -> Expr | None:
    """`nn.matmul` by a constant matrix as `nn.dense`, whose weight has a row for each output."""
    x, weight = e.args
    known = w.value_of(weight)
    if not isinstance(known, Constant) or e.attrs.transpose_a or e.attrs.out_dtype:
        return None
    matrix, t = known.value, w.tensor(x)
    if matrix.ndim != 2 or t is None or not isinstance(t.shape, tuple) or len(t.shape) < 2:
        return None
    turned = matrix if e.attrs.transpose_b else matrix.T
    return call_of("nn.dense", (x, constant(turned.copy(), span=weight.span)), e)
