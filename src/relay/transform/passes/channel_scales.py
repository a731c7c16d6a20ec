"""Scales along one axis, and how the weights of convolutions and dense layers take them in."""

from dataclasses import dataclass
from math import prod

from relay.ir.dtype import is_float
from relay.ir.expr import Call, Constant, Expr
from relay.ir.type import TensorType
from relay.op.arithmetic import Multiply
from relay.op.broadcast import BroadcastTo
from relay.op.nn.conv import Conv
from relay.op.nn.dense import Dense, MatMul
from relay.op.reshape import Reshaping
from relay.transform.passes.algebra_shapes import as_shape
from relay.transform.rewriting.rewriter import Rewriter, call, call_of

STEPS = 8
"""How many rearrangements are looked through for the constant that a scale is made of."""


@dataclass(frozen=True)
class Scale:
    """Factors along an axis of a tensor: `value` has one for each place, or is a scalar."""

    value: Expr
    axis: int
    count: int
    """How many factors there are; 1 for a scalar."""


def scale_of(w: Rewriter, e: Call) -> tuple[Expr, Scale] | None:
    """The tensor and the scale of a product, where one factor varies along one axis at most."""
    t = w.types(e)
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple) or not is_float(str(t.dtype)):
        return None
    for x, s in (e.args, e.args[::-1]):
        axes = varying_axes(w, s, len(t.shape))
        if axes is not None and len(axes) <= 1 and w.types(x) == t and w.is_plain(s):
            axis = axes[0] if axes else 0
            count = prod(w.tensor(s).concrete_shape)  # pyright: ignore[reportOptionalMemberAccess]
            return x, Scale(s, axis, count)
    return None


def varying_axes(w: Rewriter, e: Expr, rank: int) -> list[int] | None:
    """The axes of a tensor of that rank along which `e` varies when it is stretched to it."""
    t = w.tensor(e)
    if t is None or len(t.concrete_shape) > rank:
        return None
    first = rank - len(t.concrete_shape)
    return [first + i for i, d in enumerate(t.concrete_shape) if d != 1]


def is_positive(w: Rewriter, e: Expr) -> bool:
    """Whether a scale is known to have no negative factor, and no zero or NaN."""
    for _ in range(STEPS):
        made = w.seen(e)
        if isinstance(made, Constant):
            return bool((made.value > 0).all())
        inner = w.parts(e, Reshaping, BroadcastTo)
        if inner is None:
            return False
        e = inner[1][0]
    return False


def shaped(w: Rewriter, x: Expr, shape: tuple[int, ...], source: Expr) -> Expr:
    """`x` with that shape."""
    t = w.tensor(x)
    return x if t is not None and t.concrete_shape == shape else as_shape(x, shape, source)


# --- weights ---


def scaled_result(w: Rewriter, e: Call, scale: Scale) -> Expr | None:
    """A convolution or dense layer whose weight has taken in a scale of its result."""
    match e.attrs:
        case Conv():
            factors = _of_filters(w, e, scale)
        case Dense():
            factors = _of_matrix(w, e, scale, 0)
        case MatMul(transpose_b=transposed):
            factors = _of_matrix(w, e, scale, 0 if transposed else 1)
        case _:
            return None
    return _with_weight(w, e, factors)


def scaled_data(w: Rewriter, e: Call, scale: Scale) -> Expr | None:
    """The weight of a convolution or dense layer that has taken in a scale of its data."""
    match e.attrs:
        case Conv():
            return _of_inputs(w, e, scale)
        case Dense():
            return _of_matrix(w, e, scale, 1)
        case MatMul(transpose_a=False, transpose_b=transposed):
            return _of_matrix(w, e, scale, 1 if transposed else 0)
        case _:
            return None


def _with_weight(w: Rewriter, e: Call, factors: Expr | None) -> Expr | None:
    if factors is None:
        return None
    data, weight = e.args
    made = call(Multiply(), (weight, factors), e)
    return call(e.attrs, (data, made), e) if w.types(made) == w.types(weight) else None


def _of_matrix(w: Rewriter, e: Call, scale: Scale, axis: int) -> Expr | None:
    """Factors along an axis of a weight matrix; data has them along its last axis, as the result does."""
    data, weight = (w.types(a) for a in e.args)
    t = w.tensor(e.args[1])
    if t is None or len(t.concrete_shape) != 2 or not isinstance(data, TensorType) or weight != t:
        return None
    result = w.types(e)
    if not isinstance(result, TensorType) or not isinstance(result.shape, tuple) or result.dtype != t.dtype:
        return None
    if scale.count == 1:
        return shaped(w, scale.value, (), e)
    if scale.axis != len(result.shape) - 1 or t.concrete_shape[axis] != scale.count:
        return None
    return shaped(w, scale.value, tuple([scale.count if i == axis else 1 for i in (0, 1)]), e)


def _of_filters(w: Rewriter, e: Call, scale: Scale) -> Expr | None:
    """Factors of output channels along the axes of a weight."""
    op = e.attrs
    t, result = w.tensor(e.args[1]), w.types(e)
    if t is None or not isinstance(result, TensorType) or result.dtype != t.dtype:
        return None
    if scale.count == 1:
        return shaped(w, scale.value, (), e)
    if scale.axis != (op.out_layout or op.data_layout).index("C"):
        return None
    out, per = _filters(t, op.kernel_layout)
    if out == scale.count:
        return _placed(w, e, scale.value, {"O": out})
    return _placed(w, e, scale.value, {"O": out, "I": per}) if out * per == scale.count else None


def _of_inputs(w: Rewriter, e: Call, scale: Scale) -> Expr | None:
    """Factors of input channels along the axes of a weight."""
    op = e.attrs
    t, result = w.tensor(e.args[1]), w.types(e)
    if t is None or not isinstance(result, TensorType) or result.dtype != t.dtype:
        return None
    if scale.count == 1:
        return shaped(w, scale.value, (), e)
    if scale.axis != op.data_layout.index("C"):
        return None
    groups: int = op.groups
    out, per = _filters(t, op.kernel_layout)
    if groups == 1:
        return _placed(w, e, scale.value, {"I": per}) if per == scale.count else None
    if groups == scale.count:
        several = out // groups
        value = call_of("repeat", (as_shape(scale.value, (scale.count,), e),), e, repeats=several, axis=0)
        return _placed(w, e, value if several > 1 else scale.value, {"O": out})
    rows = as_shape(scale.value, (groups, per), e)
    rows = call_of("repeat", (rows,), e, repeats=out // groups, axis=0)
    return _placed(w, e, rows, {"O": out, "I": per})


def _filters(t: TensorType, layout: str) -> tuple[int, int]:
    """How many filters a weight has, and how many channels each of them."""
    shape = t.concrete_shape
    return shape[layout.index("O")], shape[layout.index("I")]


def _placed(w: Rewriter, e: Call, value: Expr, sizes: dict[str, int]) -> Expr:
    """Factors, row by row for the axes of `sizes`, reshaped so that they broadcast along a weight."""
    layout: str = e.attrs.kernel_layout
    if len(sizes) == 2 and layout.index("I") < layout.index("O"):
        value = as_shape(value, (sizes["O"], sizes["I"]), e)
        value = call_of("transpose", (value,), e)
    return shaped(w, value, tuple([sizes.get(a, 1) for a in layout]), e)
