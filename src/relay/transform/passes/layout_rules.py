"""How operators work on tensors with their axes in another order: a rule for each family.

A rule looks at a call some of whose operands are turned, and gives the same operator on turned operands,
whose result is turned too; None where it cannot, or where more would be turned than is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from relay.ir.expr import Call, Tuple
from relay.ir.type import TensorType, TupleType
from relay.op.arg_reduce import ArgMax, ArgMin
from relay.op.axes import UNCHECKED
from relay.op.base import Operator
from relay.op.broadcast import CollapseSumTo, Where
from relay.op.cast import Cast
from relay.op.column import Column
from relay.op.family import Broadcast, Elementwise
from relay.op.image.resize import Resize
from relay.op.image.sample import CropAndResize
from relay.op.join import Concatenate, Split
from relay.op.layout import DepthToSpace, SpaceToDepth
from relay.op.nn.activation import AlongAxis, PRelu
from relay.op.nn.basic import BiasAdd
from relay.op.nn.dropout import Dropout
from relay.op.nn.global_pool import GlobalPool
from relay.op.nn.layout import positions
from relay.op.nn.magnitude import LRN
from relay.op.nn.norm import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RmsNorm
from relay.op.nn.pool import Average, Greatest
from relay.op.nn.pool_rules import MaxTangent, PoolingGradient
from relay.op.nn.upsample import Upsample, UpsampleGradient
from relay.op.pad import MirrorPad, Pad
from relay.op.qnn.arithmetic import Pairwise, QnnAvgPool2D, QnnConcatenate
from relay.op.qnn.convert import Dequantize, Quantize, Requantize
from relay.op.qnn.functions import Function as QnnFunction
from relay.op.qnn.functions import QnnLeakyRelu, QnnSoftmax
from relay.op.reduce import Along, Sum
from relay.op.reshape import Reshape, Reshaping, Transpose
from relay.op.scan import Scan
from relay.op.slice import SliceLike, StridedSlice
from relay.op.statistics import MeanStd, MeanVariance
from relay.op.vision.regions import RoiAlign, RoiPool
from relay.transform.passes.layout_propagation import Order, Turned, Turning
from relay.transform.rewriting.rewriter import call

Rule = Callable[[Turning, Any], Turned | None]
turning = Column[Rule | None](default=None)
"""What becomes of a call whose operands may be turned."""


def ruled(*kinds: type[Operator]) -> Callable[[Rule], Rule]:
    """Register a rule for operators of some classes."""

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            turning[kind] = rule
        return rule

    return register


def order_of_data(w: Turning, e: Call) -> Order | None:
    """The order of the first operand, if it is turned."""
    return w.order_of(e.args[0])


# --- element by element ---


@ruled(Elementwise, Broadcast, Where, Cast)
def _pointwise(w: Turning, e: Call) -> Turned | None:
    shape = w.shape(e)
    order = None if shape is None else w.common_order(e.args, len(shape))
    if order is None or any(w.shape(a) is None for a in e.args):
        return None
    return w.applied(e, e.attrs, [w.in_order(a, order) for a in e.args], order)


@ruled(Pairwise)
def _quantised_pair(w: Turning, e: Call) -> Turned | None:
    shape, op = w.shape(e), e.attrs
    order = None if shape is None else w.common_order(e.args[:2], len(shape))
    if order is None or any(len(w.shape(a) or ()) != len(order) for a in e.args[:2]):
        return None
    axes = [order.index(axis % len(order)) for axis in (op.lhs_axis, op.rhs_axis)]
    args = [*[w.in_order(a, order) for a in e.args[:2]], *map(w.as_was, e.args[2:])]
    return w.applied(e, replace(op, lhs_axis=axes[0], rhs_axis=axes[1]), args, order)


@ruled(QnnFunction, QnnLeakyRelu)
def _quantised_function(w: Turning, e: Call) -> Turned | None:
    order = order_of_data(w, e)
    if order is None:
        return None
    return w.applied(e, e.attrs, [w.in_order(e.args[0], order), *map(w.as_was, e.args[1:])], order)


@ruled(Dropout)
def _turn_dropout(w: Turning, e: Call) -> Turned | None:
    order = order_of_data(w, e)
    data, *key = e.args
    if order is None or key:  # a key chooses elements by their place
        return None
    made = w.applied(e, e.attrs, [w.in_order(data, order)], None)
    return replace(made, fields=(order, order))


# --- along an axis ---


@ruled(BiasAdd, PRelu, AlongAxis, LRN, LayerNorm, RmsNorm, Scan, Quantize, Dequantize, Requantize, QnnSoftmax)
def along(w: Turning, e: Call) -> Turned | None:
    """An operator along one axis of its first operand; the others have no axes that are turned."""
    order, axis = order_of_data(w, e), e.attrs.axis
    if order is None or axis is None:
        return None
    op = replace(e.attrs, axis=order.index(axis % len(order)))
    return w.applied(e, op, [w.in_order(e.args[0], order), *map(w.as_was, e.args[1:])], order)


@ruled(InstanceNorm, GroupNorm)
def _of_each_image(w: Turning, e: Call) -> Turned | None:
    order = order_of_data(w, e)
    return along(w, e) if order is not None and order[0] == 0 else None


@ruled(BatchNorm)
def _batch_norm(w: Turning, e: Call) -> Turned | None:
    made = along(w, e)
    return None if made is None else replace(made, order=None, fields=(made.order, None, None))


@ruled(Along)
def _reduced(w: Turning, e: Call) -> Turned | None:
    op: Any = e.attrs
    order, (x, *others) = order_of_data(w, e), e.args
    if order is None or others or isinstance(op, MeanStd | MeanVariance):
        return None
    axes = op.axes(len(order))
    if len(axes) > 1 and isinstance(op, ArgMax | ArgMin):
        return None
    now = tuple([k for k, i in enumerate(order) if i in axes])
    made = w.applied(e, replace(op, axis=now, exclude=False), [w.in_order(x, order)], order)
    return made if op.keepdims else replace(made, order=ranks([i for i in order if i not in axes]))


@ruled(CollapseSumTo)
def _collapse_sum(w: Turning, e: Call) -> Turned | None:
    order, t, made = order_of_data(w, e), w.types(e.args[0]), w.types(e)
    if order is None or not (isinstance(t, TensorType) and isinstance(made, TensorType)):
        return None
    if not t.is_closed:
        return None
    before, after = t.concrete_shape, made.concrete_shape
    extra = len(before) - len(after)
    axes = [k for k, i in enumerate(order) if i < extra or after[i - extra] != before[i]]
    total = call(Sum(axis=tuple(axes)), [w.in_order(e.args[0], order)], e)
    left = tuple([i - extra for i in order if i >= extra])
    return w.applied(e, Reshape(newshape=tuple([after[i] for i in left]), allowzero=True), [total], left)


def ranks(numbers: Sequence[int]) -> Order:
    """For each number how many others are less."""
    return tuple([sorted(numbers).index(i) for i in numbers])


# --- parts, and what is made of parts ---


@ruled(Concatenate, QnnConcatenate)
def _concatenate(w: Turning, e: Call) -> Turned | None:
    parts, *scales = e.args
    parts, shape = w.values.get(parts, parts), w.shape(e)
    if not isinstance(parts, Tuple) or shape is None:
        return None
    order = w.common_order(parts.fields, len(shape))
    if order is None:
        return None
    fields = Tuple(tuple([w.in_order(f, order) for f in parts.fields]), span=parts.span)
    op = replace(e.attrs, axis=order.index(e.attrs.axis % len(order)))
    return w.applied(e, op, [fields, *map(w.as_was, scales)], order)


@ruled(Split)
def _split(w: Turning, e: Call) -> Turned | None:
    made, t = along(w, e), w.types(e)
    if made is None or not isinstance(t, TupleType):
        return None
    return replace(made, order=None, fields=(made.order,) * len(t.fields))


@ruled(Pad, MirrorPad)
def _turn_pad(w: Turning, e: Call) -> Turned | None:
    order = order_of_data(w, e)
    if order is None:
        return None
    op = replace(e.attrs, pad_width=tuple([e.attrs.pad_width[i] for i in order]))
    return w.applied(e, op, [w.in_order(e.args[0], order), *map(w.as_was, e.args[1:])], order)


@ruled(StridedSlice)
def _sliced(w: Turning, e: Call) -> Turned | None:
    order = order_of_data(w, e)
    if order is None:
        return None
    op = replace(e.attrs, axes=tuple([order.index(a) for a in e.attrs.cut_axes(len(order))]))
    return w.applied(e, op, [w.in_order(e.args[0], order)], order)


@ruled(SliceLike)
def _sliced_like(w: Turning, e: Call) -> Turned | None:
    order, like = order_of_data(w, e), w.shape(e.args[1])
    if order is None or like is None or len(like) != len(order):
        return None
    axes = tuple([order.index(a % len(order)) for a in e.attrs.axes or ()])
    op = replace(e.attrs, axes=axes or None)
    return w.applied(e, op, [w.in_order(a, order) for a in e.args], order)


# --- axes that are moved, merged and split ---


@ruled(Transpose)
def _turn_transpose(w: Turning, e: Call) -> Turned | None:
    order = order_of_data(w, e)
    if order is None:
        return None
    to = e.attrs.order(UNCHECKED, len(order))
    return Turned(w.in_order(e.args[0], order), tuple([to.index(i) for i in order]))


@ruled(Reshaping)
def _reshaped(w: Turning, e: Call) -> Turned | None:
    order, t, made = order_of_data(w, e), w.types(e.args[0]), w.types(e)
    if order is None or not (isinstance(t, TensorType) and isinstance(made, TensorType)):
        return None
    if not t.is_closed or not made.is_closed:
        return None
    found = moved_blocks(order, t.concrete_shape, made.concrete_shape)
    if found is None:
        return None
    op = Reshape(newshape=tuple([made.concrete_shape[i] for i in found]), allowzero=True)
    return w.applied(e, op, [w.in_order(e.args[0], order)], found)


def moved_blocks(order: Order, before: Sequence[int], after: Sequence[int]) -> Order | None:
    """The order that the axes of a tensor that is turned have once it is reshaped from one shape to another;
    None if axes that become one are not beside each other.
    """
    if 0 in before:
        return None
    found: list[int] = []
    blocks = {old[0]: (old, new) for old, new in reshaped_blocks(before, after)}
    places = iter(order)
    for first in places:
        if first not in blocks:
            return None
        old, new = blocks[first]
        if any(next(places, -1) != i for i in old[1:]):
            return None
        found += new
    return tuple(found)


def reshaped_blocks(before: Sequence[int], after: Sequence[int]) -> list[tuple[range, range]]:
    """Axes of two shapes of as many elements, cut wherever as many elements are before the cut."""
    found: list[tuple[range, range]] = []
    i = k = 0
    while i < len(before):
        start, first, a, b = i, k, before[i], 1
        i += 1
        if a == 1 and k < len(after) and after[k] == 1:
            k += 1
        while a != b:
            if b < a:
                b, k = b * after[k], k + 1
            else:
                a, i = a * before[i], i + 1
        found.append((range(start, i), range(first, len(after) if i == len(before) else k)))
    return found


# --- images ---


@ruled(Greatest, Average, GlobalPool, MaxTangent, PoolingGradient, Upsample, UpsampleGradient,
       SpaceToDepth, DepthToSpace)  # fmt: skip
def _of_images(w: Turning, e: Call) -> Turned | None:
    op: Any = e.attrs
    layout: str = op.layout
    data = e.args[-1] if isinstance(op, PoolingGradient | UpsampleGradient | MaxTangent) else e.args[0]
    order = w.order_of(data) or w.order_of(e.args[0])
    if order is None:
        return None
    now = "".join([layout[i] for i in order])
    if isinstance(op, SpaceToDepth | DepthToSpace) and now != "NHWC":
        return None
    pooled = getattr(op, "out_layout", "") or layout
    own = [pooled if isinstance(op, PoolingGradient) and a is e.args[0] else layout for a in e.args]
    args = [w.in_order(a, positions(x, now)) for a, x in zip(e.args, own, strict=True)]
    changed = {"layout": now, **({"out_layout": ""} if hasattr(op, "out_layout") else {})}
    result = layout if isinstance(op, PoolingGradient) else pooled
    return w.applied(e, replace(op, **changed), args, positions(result, now))


@ruled(Resize, CropAndResize, RoiAlign, RoiPool, QnnAvgPool2D)
def _of_one_image(w: Turning, e: Call) -> Turned | None:
    order = order_of_data(w, e)
    if order is None:
        return None
    return image_in_layout(w, e, "".join([e.attrs.layout[i] for i in order]))


def image_in_layout(w: Turning, e: Call, layout: str) -> Turned:
    """An operator whose first operand is an image, with that and the result in a layout."""
    op: Any = e.attrs
    fields = {"layout": layout}
    before = after = op.layout
    if "out_layout" in op.attributes():
        fields["out_layout"] = ""
        after = op.out_layout or before
    data, *others = e.args
    args = [w.in_order(data, positions(before, layout)), *map(w.as_was, others)]
    return w.applied(e, replace(op, **fields), args, positions(after, layout))
