"""Scales of results, taken back into the weights that they came from."""

from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import run
from relay.op.arithmetic import Add, Multiply, Subtract
from relay.op.math import Negative
from relay.op.nn.activation import LeakyRelu, Relu
from relay.op.nn.basic import BiasAdd
from relay.op.nn.conv import Conv
from relay.op.nn.dense import Dense, MatMul
from relay.op.nn.pool import AvgPool, MaxPool
from relay.transform.passes.channel_scales import (
    Scale,
    is_positive,
    scale_of,
    scaled_result,
    shaped,
    varying_axes,
)
from relay.transform.rewriting.chains import Task
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call

WEIGHTED = (Conv, Dense, MatMul)
MONOTONE = (Relu, LeakyRelu, MaxPool)
"""What a positive scale may go before."""


def backward(w: Rewriter, e: Call) -> Expr | None:
    """A product whose scale goes into weights, if all of it can."""
    found = scale_of(w, e)
    return run(_scaled(w, *found)) if found else None


def _scaled(w: Rewriter, x: Expr, scale: Scale) -> Task:
    """`x` times a scale, by weights alone; None if that cannot be."""
    if not w.is_only_here(x):
        return None
    inner = w.parts(x, *WEIGHTED, *MONOTONE, AvgPool, Negative, Add, Subtract, BiasAdd)
    if inner is None:
        return None
    op, args = inner
    e = call(op, args, x)
    if isinstance(op, WEIGHTED):
        return scaled_result(w, e, scale) if all(w.is_plain(a) for a in args[1:]) else None
    if isinstance(op, BiasAdd):
        return (yield _scaled_bias(w, e, scale))
    if isinstance(op, Add | Subtract):
        return (yield _scaled_sum(w, e, scale))
    if isinstance(op, MONOTONE) and not is_positive(w, scale.value):
        return None
    made = yield _scaled(w, args[0], scale)
    return None if made is None else call(op, (made,), e)


def _scaled_sum(w: Rewriter, e: Call, scale: Scale) -> Task:
    """A sum of two terms that both take the scale: into weights, or because they are small."""
    terms: list[Expr] = []
    reaches = False
    for x in e.args:
        made = (yield _scaled(w, x, scale)) if w.types(x) == w.types(e) else None
        reaches = reaches or made is not None
        if made is None and varies_along_axis(w, x, e, scale):
            made = call(Multiply(), (x, scale.value), e)
        if made is None:
            return None
        terms.append(made)
    return call(e.attrs, terms, e) if reaches else None


def _scaled_bias(w: Rewriter, e: Call, scale: Scale) -> Task:
    """A sum with a bias for each channel."""
    x, bias = e.args
    t, rank = w.tensor(bias), len(w.types(e).shape)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
    if t is None or not w.is_plain(bias) or (scale.count != 1 and e.attrs.axis % rank != scale.axis):
        return None
    made = yield _scaled(w, x, scale)
    if made is None:
        return None
    factors = shaped(w, scale.value, t.concrete_shape if scale.count != 1 else (), e)
    return call(e.attrs, (made, call(Multiply(), (bias, factors), e)), e)


def varies_along_axis(w: Rewriter, x: Expr, e: Call, scale: Scale) -> bool:
    """Whether a term varies along the axis of the scale at most, so that scaling it costs next to nothing."""
    t = w.types(e)
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    axes = varying_axes(w, x, len(t.shape))
    return axes is not None and w.is_plain(x) and (not axes or axes == [scale.axis])


RULES = {Multiply: (backward,)}


@module_pass("backward_fold_scale_axis", keeps=(ANF,), opt_level=3, public="BackwardFoldScaleAxis")
def backward_fold_scale_axis(mod: IRModule) -> IRModule:
    """Multiply the weights of convolutions and dense layers by the scales of their results.

    A scale varies along the channels, which for a dense layer is the last axis.  Between the layer and the
    scale there may be biases, sums, average pooling, and operators that commute with a positive scale:
    rectifiers and max pooling.  Nothing else may use the intermediate results.  The value is the same up to
    rounding; `fold_constants` then scales constant weights once.

    >>> text = "def @main(%x: Tensor[(8, 4), f32], %w: Tensor[(3, 4), f32]) { nn.dense(%x, %w) * 2.0 }"
    >>> show(backward_fold_scale_axis, text)
    def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(3, 4), float32]) -> Tensor[(8, 3), float32] {
      nn.dense(%x, %w * 2f)
    }
    """
    return apply_rules(mod, RULES)
