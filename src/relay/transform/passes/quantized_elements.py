"""What operators that bound, compare and resample elements are on integers that stand for numbers."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from relay.ir.dtype import bits
from relay.ir.expr import Call, Expr
from relay.op.arithmetic import Maximum, Minimum
from relay.op.image.resize import MOVING, Resize
from relay.op.nn.activation import Relu
from relay.op.nn.adaptive_pool import AdaptiveAvgPool
from relay.op.reduce import Sum
from relay.transform.passes.quantized_arithmetic import Affine, Integers, Task, in_integers, zero_point
from relay.transform.rewriting.rewriter import call, call_of
from relay.transform.rewriting.splat import scalar

FINER = 256
"""Into how many parts a step of the scale is divided before a mean, which truncates."""


def beside(r: Integers, v: Expr, axis: int, whole: Expr) -> Expr:
    """One number, or one for each place of an axis, in a shape that broadcasts with the integers."""
    if r.is_one(v):
        return v if r.shape(v) == () else call_of("reshape", (v,), v, newshape=())
    rank = r.rank(whole)
    shape = [1] * rank
    shape[axis % rank] = -1
    return call_of("reshape", (v,), v, newshape=tuple(shape))


def _rectified(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """Values below 0 are below the zero point, of each channel its own."""
    a = yield r.visit(e.args[0], wanted)
    if a is None:
        return None
    least = beside(r, r.cast(a.zero, r.dtype(a.whole)), a.axis, a.whole)
    return replace(a, whole=call_of("maximum", (a.whole, least), e))


def clipped_by_channel(r: Integers, e: Call, a: Affine) -> Affine:
    """Bounds in the scale of each channel."""
    dtype, whole = r.dtype(a.whole), a.whole
    for name, bound in (("maximum", e.attrs.a_min), ("minimum", e.attrs.a_max)):
        number = call_of("full_like", (a.scale, scalar(bound, r.dtype(a.scale), e)), e)
        limit = call_of("qnn.quantize", (number, a.scale, a.zero), e, axis=0, out_dtype=dtype)
        whole = call_of(name, (whole, beside(r, limit, a.axis, a.whole)), e)
    return replace(a, whole=whole)


def _extreme_of_two(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """The greater or the lesser, both in the scale that is wanted; constants are quantised in it."""
    if wanted is None or not r.is_one(wanted.scale, wanted.zero):
        return None
    dtype, parts = r.dtype(wanted.whole), list[Expr]()
    for x in e.args:
        a = yield r.visit(x, wanted)
        if a is not None:
            parts.append(r.rescaled(a, wanted, dtype, e).whole)
        elif r.is_given(x):
            parts.append(call_of("qnn.quantize", (x, wanted.scale, wanted.zero), e, out_dtype=dtype))
        else:
            return None
    return replace(wanted, whole=call(e.attrs, tuple(parts), e))


def _summed(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """A sum in int32, where that cannot overflow."""
    a = yield r.visit(e.args[0])
    if a is None or not r.is_one(a.scale, a.zero):
        return None
    shape = r.shape(a.whole)
    axes: Sequence[int] = e.attrs.axes(len(shape))
    sizes: list[Any] = [shape[i] for i in axes]
    known = [d for d in sizes if isinstance(d, int)]
    if len(known) < len(sizes) or prod(known) << bits(r.dtype(a.whole)) >= 1 << 31:
        return None
    return Affine(call(e.attrs, (r.centred(a, e),), e), a.scale, zero_point(e))


def _mean_of_parts(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """Means in int32, which truncate, so that steps are divided before."""
    a = yield r.visit(e.args[0])
    shape = r.shape(e.args[0])
    if a is None or not r.is_one(a.scale, a.zero) or bits(r.dtype(a.whole)) > 16:
        return None
    if not all(isinstance(d, int) for d in shape):
        return None
    fine = call_of("multiply", (r.centred(a, e), scalar(FINER, "int32", e)), e)
    step = call_of("multiply", (a.scale, scalar(1 / FINER, r.dtype(a.scale), e)), e)
    return Affine(call(e.attrs, (fine,), e), step, zero_point(e))


def _resampled(r: Integers, e: Call, wanted: Affine | None) -> Task:
    """The nearest integers, or between them, rounded; cubics, which overshoot, are none."""
    op = e.attrs
    a = yield r.visit(e.args[0], wanted)
    if a is None or not r.is_one(a.scale, a.zero) or op.out_dtype not in (None, "", "float32"):
        return None
    if op.method == "cubic" or op.coordinate_transformation_mode in MOVING:
        return None
    return replace(a, whole=call(replace(op, out_dtype=None), (a.whole,), e))


for _rule, _class in (
    (_rectified, Relu), (_extreme_of_two, Maximum), (_extreme_of_two, Minimum), (_summed, Sum),
    (_mean_of_parts, AdaptiveAvgPool), (_resampled, Resize),
):  # fmt: skip
    in_integers[_class] = _rule
