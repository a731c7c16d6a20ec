"""Scales of data, taken on into the weights that it meets."""

from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.op.arithmetic import Multiply
from relay.op.base import Operator
from relay.op.math import Negative
from relay.op.nn.conv import Conv1D, Conv2D, Conv3D
from relay.op.nn.dense import Dense, MatMul
from relay.op.nn.pool import AvgPool
from relay.op.pad import Pad
from relay.transform.passes.channel_scales import Scale, is_positive, scale_of, scaled_data
from relay.transform.passes.scale_backward import MONOTONE, backward_fold_scale_axis
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call


def forward(w: Rewriter, e: Call) -> Expr | None:
    """A layer whose data is scaled, with the scale in its weight."""
    data, weight = e.args
    between: list[tuple[Operator, tuple[Expr, ...]]] = []
    x = data
    while (found := scale_at(w, x)) is None:
        inner = w.parts(x, *MONOTONE, AvgPool, Negative, Pad) if w.is_only_here(x) else None
        if inner is None or len(inner[1]) != 1:
            return None
        between.append(inner)
        (x,) = inner[1]
    x, scale = found
    if not all(may_pass(op, scale) for op, _ in between):
        return None
    needs_positive = any(isinstance(op, MONOTONE) for op, _ in between)
    if (needs_positive and not is_positive(w, scale.value)) or not w.is_plain(weight):
        return None
    factors = scaled_data(w, e, scale)
    if factors is None:
        return None
    for op, _ in reversed(between):
        x = call(op, (x,), e)
    made = call(Multiply(), (weight, factors), e)
    return call(e.attrs, (x, made), e) if w.types(made) == w.types(weight) else None


def scale_at(w: Rewriter, x: Expr) -> tuple[Expr, Scale] | None:
    """The tensor and the scale that an operand is the product of, if it has no other users."""
    inner = w.parts(x, Multiply) if w.is_only_here(x) else None
    return scale_of(w, call(inner[0], inner[1], x)) if inner else None


def may_pass(op: Operator, scale: Scale) -> bool:
    """Whether a scale goes through an operator: padding has zeros, and adds no channels."""
    if not isinstance(op, Pad):
        return True
    return op.pad_mode == "constant" and (scale.count == 1 or op.pad_width[scale.axis] == (0, 0))


RULES = dict.fromkeys((Conv1D, Conv2D, Conv3D, Dense, MatMul), (forward,))


@module_pass("forward_fold_scale_axis", keeps=(ANF,), opt_level=3, public="ForwardFoldScaleAxis")
def forward_fold_scale_axis(mod: IRModule) -> IRModule:
    """Multiply the weights of convolutions and dense layers by the scales of their data.

    A scale varies along the channels, which for a dense layer is the last axis.  Between the scale and the
    layer there may be padding with zeros, average pooling, and operators that commute with a positive
    scale: rectifiers and max pooling.  Nothing else may use the intermediate results.  The value is the same
    up to rounding.

    >>> text = "def @main(%x: Tensor[(8, 4), f32], %w: Tensor[(3, 4), f32]) { nn.dense(2.0 * %x, %w) }"
    >>> show(forward_fold_scale_axis, text)
    def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(8, 3), float32] {
      nn.dense(%x, %w * 2f)
    }
    """
    return apply_rules(mod, RULES)


@module_pass("fold_scale_axis", keeps=(ANF,), opt_level=3, public="FoldScaleAxis")
def fold_scale_axis(mod: IRModule) -> IRModule:
    """Fold scales into weights: backwards from the results of layers, forwards from their data.

    >>> show(fold_scale_axis, '''
    ... def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) {
    ...   nn.relu(nn.dense(%x * 2.0, %w)) * [1.0, 2.0, 3.0]
    ... }''')
    def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(8, 3), float32] {
      nn.relu(nn.dense(%x, %w * reshape([1f, 2f, 3f], newshape=(3, 1)) * 2f))
    }
    """
    return forward_fold_scale_axis(backward_fold_scale_axis(mod))
