"""What operators are on integers that stand for numbers, by operator."""

from dataclasses import fields, replace
from math import prod
from typing import Any

import numpy as np

from relay.ir.dtype import bits, integer_range
from relay.ir.expr import Call, Expr, Tuple
from relay.op.arithmetic import Add, Multiply, Subtract
from relay.op.arrange import Reverse
from relay.op.base import Operator
from relay.op.broadcast import BroadcastTo
from relay.op.error_function import Erf
from relay.op.index import Gather, GatherND
from relay.op.join import Concatenate, Repeat, Tile
from relay.op.layout import DepthToSpace, LayoutTransform, SpaceToDepth
from relay.op.math import Abs, Exp, Log, Rsqrt, Sigmoid, Sqrt
from relay.op.nn.activation import LeakyRelu, Softmax
from relay.op.nn.adaptive_pool import AdaptiveMaxPool
from relay.op.nn.basic import BiasAdd
from relay.op.nn.conv import Conv2D
from relay.op.nn.conv_transpose import Conv2DTranspose
from relay.op.nn.dense import BatchMatMul, Dense
from relay.op.nn.global_pool import (
    GlobalAvgPool,
    GlobalMaxPool,
)
from relay.op.nn.pool import AvgPool2D, MaxPool
from relay.op.pad import Pad
from relay.op.reduce import Max, Min
from relay.op.registry import registry
from relay.op.reshape import BatchFlatten, ExpandDims, Reshape, Squeeze, Transpose
from relay.op.rounding import Clip, Copy
from relay.op.slice import StridedSlice
from relay.op.sort import TopK
from relay.op.statistics import Mean
from relay.op.take import Take
from relay.op.trigonometry import Tanh
from relay.transform.passes.quantized_arithmetic import Affine, Integers, Rule, Task, in_integers, zero_point
from relay.transform.passes.quantized_elements import clipped_by_channel
from relay.transform.rewriting.rewriter import call, call_of
from relay.transform.rewriting.splat import scalar, uniform

# --- the same integers elsewhere ---


def _moved(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """Elements that change their places."""
    a = yield r.visit(e.args[0], wanted)
    if a is None or not r.is_one(a.scale, a.zero):
        return None
    return replace(a, whole=call(e.attrs, (a.whole, *e.args[1:]), e))


def _chosen(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """The greatest elements of windows, whose channels stay: the order is that of the integers."""
    a = yield r.visit(e.args[0], wanted)
    return None if a is None else replace(a, whole=call(e.attrs, (a.whole,), e))


def _padded(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """A border of 0 is one of the zero point."""
    a = yield r.visit(e.args[0], wanted)
    if a is None or not r.is_one(a.scale, a.zero):
        return None
    border = e.args[1:]
    if e.attrs.pad_mode == "constant":
        value = uniform(r.w, border[0]) if border else np.float32(0)
        if value is None or value != 0:
            return None
        border = (as_scalar(r, r.cast(a.zero, r.dtype(a.whole)), e),)
    return replace(a, whole=call(e.attrs, (a.whole, *border), e))


def _clipped(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """Bounds are quantised as the numbers are, so that the order stays."""
    a = yield r.visit(e.args[0], wanted)
    if a is None:
        return None
    if wanted is not None:
        a = r.rescaled(a, wanted, r.dtype(wanted.whole), e)
    scale, zero = uniform(r.w, a.scale), uniform(r.w, a.zero)
    if not r.is_one(a.scale, a.zero):
        return clipped_by_channel(r, e, a)
    if scale is None or zero is None:
        return None
    least, most = integer_range(r.dtype(a.whole))
    low, high = (
        min(max(float(round(float(np.float32(bound) / scale))) + float(zero), float(least)), float(most))
        for bound in (e.attrs.a_min, e.attrs.a_max)
    )
    return replace(a, whole=call_of("clip", (a.whole,), e, a_min=low, a_max=high))


def as_scalar(r: Integers, e: Expr, source: Expr) -> Expr:
    """One number without axes."""
    return e if r.shape(e) == () else call_of("reshape", (e,), source, newshape=())


# --- sums of products ---


def taken_product(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """Products in int32, whose scale is that of both operands."""
    op: Any = e.attrs
    a = yield r.visit(e.args[0])
    b = yield r.visit(e.args[1])
    if a is None or b is None or not r.is_one(a.scale, a.zero) or op.out_dtype not in ("", None, "float32"):
        return None
    if any(bits(r.dtype(x.whole)) > 8 for x in (a, b)):
        return None
    axes = {letter: i for i, letter in enumerate(getattr(op, "kernel_layout", ""))}
    rank = r.rank(e.args[1])
    if not r.is_one(b.scale, b.zero) and b.axis % rank != axes.get("O", 0):
        return None
    kind = registry[f"qnn.{op.name.removeprefix('nn.')}"]
    names = {f.name for f in fields(kind)} - {"out_dtype"}  # pyright: ignore[reportArgumentType]
    new = kind(**{k: v for k, v in op.attributes().items() if k in names})
    whole = call(new, (a.whole, b.whole, a.zero, b.zero, a.scale, b.scale), e)
    layout = getattr(op, "out_layout", "") or getattr(op, "data_layout", "")
    axis = layout.index("C") if layout else -1
    return Affine(whole, call_of("multiply", (a.scale, b.scale), e), zero_point(e), axis)


def _biased(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """A bias in the scale of the sums that it is added to."""
    a = yield r.visit(e.args[0])
    if a is None or not r.is_sum(a):
        return None
    rank = r.rank(a.whole)
    if not r.is_one(a.scale) and a.axis % rank != e.attrs.axis % rank:
        return None
    bias = call_of("qnn.quantize", (e.args[1], a.scale, a.zero), e, out_dtype="int32")
    return replace(a, whole=call(e.attrs, (a.whole, bias), e))


def _averaged(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """A mean is a sum, whose scale is divided by the number of elements."""
    a = yield r.visit(e.args[0])
    if a is None or not r.is_one(a.scale, a.zero):
        return None
    shape, layout = r.shape(a.whole), getattr(e.attrs, "layout", "")
    if layout:
        axes, keepdims = tuple([i for i, c in enumerate(layout) if c not in "NC"]), True
    else:
        axes, keepdims = e.attrs.axes(len(shape)), e.attrs.keepdims
    sizes = [d for d in (shape[i] for i in axes) if isinstance(d, int)]
    count = prod(sizes)
    if len(sizes) < len(axes) or not 0 < count << bits(r.dtype(a.whole)) < 1 << 31:
        return None
    if getattr(e.attrs, "out_layout", "") not in ("", layout):
        return None
    total = call_of("sum", (r.centred(a, e),), e, axis=axes, keepdims=keepdims)
    part = scalar(1 / count, r.dtype(a.scale), e)
    return Affine(total, call_of("multiply", (a.scale, part), e), zero_point(e))


# --- in the scale that is wanted ---


def _pair(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """A sum or product of two, or a bias that is written as a sum."""
    if e.attrs.name == "add":
        biased = yield _bias_beside(r, e)
        if biased is not None:
            return biased
    a = yield r.visit(e.args[0])
    b = yield r.visit(e.args[1])
    if a is None or b is None or wanted is None or not r.is_one(wanted.scale, wanted.zero):
        return None
    types = [r.dtype(x.whole) for x in (a, b)]
    if e.attrs.name == "multiply" and any(bits(t) > 16 for t in types):
        return None
    own = r.dtype(wanted.whole)
    dtype = own if types == [own, own] else "int32"
    args = (
        r.cast(a.whole, dtype), r.cast(b.whole, dtype), a.scale, a.zero, b.scale, b.zero,
        wanted.scale, wanted.zero,
    )  # fmt: skip
    name = {"multiply": "mul"}.get(e.attrs.name, e.attrs.name)
    attrs: dict[str, Any] = {"lhs_axis": a.axis, "rhs_axis": b.axis}
    if name == "mul":
        attrs["rounding"] = "TOEVEN"  # as `qnn.quantize` rounds the product of the numbers
    return replace(wanted, whole=call_of(f"qnn.{name}", args, e, **attrs))


def _bias_beside(r: Integers, e: Call) -> Task:
    """A constant or parameter that is added to sums, on either side; its shape goes into theirs."""
    for x, bias in (e.args, e.args[::-1]):
        if not r.is_given(bias):
            continue
        a = yield r.visit(x)
        if a is None or not r.is_sum(a) or r.shape(x) != r.shape(e):
            continue
        shape = r.shape(bias)
        axis = a.axis % r.rank(x) - (r.rank(x) - len(shape)) if shape else 0
        if not r.is_one(a.scale) and (axis < 0 or shape[axis : axis + 1] != r.shape(a.scale)):
            continue
        quantised = call_of("qnn.quantize", (bias, a.scale, a.zero), e, axis=axis, out_dtype="int32")
        return replace(a, whole=call(e.attrs, (a.whole, quantised), e))
    return None


def _function(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """A function of one operand that `qnn` has."""
    a = yield r.visit(e.args[0])
    if (
        a is None
        or not _fits_scale(r, wanted, a)
        or (e.attrs.name == "nn.softmax" and "nn.softmax" not in r.optional)
    ):
        return None
    assert wanted is not None
    kind: Any = registry[f"qnn.{e.attrs.name.removeprefix('nn.')}"]
    new = kind(**e.attrs.attributes())
    return replace(wanted, whole=call(new, (a.whole, a.scale, a.zero, wanted.scale, wanted.zero), e))


def _concatenated(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """Tensors one after another."""
    several = r.w.seen(e.args[0])
    if not isinstance(several, Tuple):
        return None
    parts: list[Affine] = []
    for x in several.fields:
        a = yield r.visit(x)
        if a is None or not _fits_scale(r, wanted, a):
            return None
        parts.append(a)
    assert wanted is not None
    columns = [Tuple(tuple([getattr(a, n) for a in parts]), span=e.span) for n in ("whole", "scale", "zero")]
    args = (*columns, wanted.scale, wanted.zero)
    return replace(wanted, whole=call_of("qnn.concatenate", args, e, axis=e.attrs.axis))


def _fits_scale(r: Integers, wanted: Affine | None, a: Affine) -> bool:
    """Whether integers can be brought to the scale that is wanted by an operator that keeps the dtype."""
    if wanted is None or r.dtype(a.whole) != r.dtype(wanted.whole):
        return False
    return r.is_one(a.scale, a.zero, wanted.scale, wanted.zero)


PRODUCTS = (Conv2D, Conv2DTranspose, Dense, BatchMatMul)
RULES: dict[Rule, tuple[type[Operator], ...]] = {
    _moved: (
        Reshape, Transpose, Squeeze, ExpandDims, Reverse, StridedSlice, Tile, Repeat, BroadcastTo, Take,
        Gather, GatherND, LayoutTransform, BatchFlatten, DepthToSpace, SpaceToDepth, Copy, Max, Min, TopK,
    ),
    _chosen: (MaxPool, AdaptiveMaxPool, GlobalMaxPool),
    _padded: (Pad,),
    _clipped: (Clip,),
    taken_product: PRODUCTS,
    _biased: (BiasAdd,),
    _averaged: (Mean, GlobalAvgPool),
    _pair: (Add, Subtract, Multiply),
    _function: (Abs, Exp, Log, Sqrt, Rsqrt, Tanh, Erf, Sigmoid, LeakyRelu, Softmax, AvgPool2D),
    _concatenated: (Concatenate,),
}  # fmt: skip
for _rule, _classes in RULES.items():
    for _class in _classes:
        in_integers[_class] = _rule
