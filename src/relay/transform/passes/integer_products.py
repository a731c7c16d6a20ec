"""Products of dequantised operands as products of integers, and tensors between layers as integers."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay.ir.dtype import integer_range
from relay.ir.expr import Call, Constant, Expr, Tuple
from relay.ir.module import IRModule
from relay.ir.type import Dim, TensorType
from relay.op.arithmetic import Subtract
from relay.op.cast import Cast
from relay.op.join import Concatenate
from relay.op.nn.dense import BatchMatMul, Dense, MatMul
from relay.op.numeric import along_channels
from relay.op.qnn.convert import Dequantize, Quantize
from relay.op.registry import registry
from relay.op.reshape import BatchFlatten, ExpandDims, Reshape, Squeeze, Transpose
from relay.op.slice import StridedSlice
from relay.op.take import Take
from relay.transform.passes.common_subexpressions import eliminate_common_subexpr
from relay.transform.passes.quantized_arithmetic import is_known
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call, call_of
from relay.transform.rewriting.splat import scalar, uniform

BYTES = ("int8", "uint8")
MAX_DISTANCES = {"int8": 128, "uint8": 255}
"""How far a byte may be from a zero point of 0; twice as far from any other."""
MATRICES = (Dense, MatMul, BatchMatMul)
WINDOWS = tuple([registry[f"nn.conv{n}d{how}"] for how in ("", "_transpose") for n in (1, 2, 3)])
MOVING = (Reshape, Transpose, Squeeze, ExpandDims, BatchFlatten, StridedSlice, Take)
CHOOSING = tuple(
    [registry[f"nn.{kind}max_pool{n}d"] for kind in ("", "adaptive_", "global_") for n in (1, 2, 3)]
)


@module_pass("integer_products", keeps=(ANF,), opt_level=1)
def integer_products(mod: IRModule) -> IRModule:
    """Take products and convolutions of dequantised bytes in integers, and keep bytes as they are between.

    `(x - p) * s` times `(w - q) * r`, summed, is the sum of `(x - p) * (w - q)`, which is exact in int32,
    times `s * r`: less is rounded than in floats.  `s` is one number, `r` may be one for each channel of the
    result.  Where bytes are only moved, or the greatest are chosen, they are dequantised later; and
    quantising what was dequantised with the same scale and zero point gives the same bytes.  Where bytes go
    on into integer products, `qnn.quantize` multiplies by `1 / scale`, and keeps what is above the zero point
    in int16, unless that is 0 and a convolution of several taps reads it: halves may be rounded to the other
    side.  Several who read the same bytes read what is computed once.

    >>> text = "def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) { "
    >>> text += "nn.dense(qnn.dequantize(%x, 0.5, 3), qnn.dequantize(%w, 0.25, 0)) }"
    >>> show(integer_products, text)
    def @main(%x: Tensor[(2, 4), uint8], %w: Tensor[(3, 4), int8]) -> Tensor[(2, 3), float32] {
      %0 = nn.dense(cast(%x, dtype=int16) - cast(3i32, dtype=int16), %w, out_dtype=int32);
      cast(%0, dtype=float32) * (0.5f * 0.25f)
    }
    """
    late: dict[type, Sequence[Any]] = dict.fromkeys(MOVING, (_dequantised_later,))
    late |= dict.fromkeys(CHOOSING, (_dequantised_later,))
    late |= {Concatenate: (_joined_later,), Quantize: (_quantised_again,)}
    late |= dict.fromkeys((*MATRICES, *WINDOWS), (_taken,))
    moved = apply_rules(mod, late)
    if moved is mod:
        return mod
    wide = apply_rules(moved, {Dequantize: (_centred_first,), Subtract: (_kept_wide,), Cast: (_kept_wide,)})
    return eliminate_common_subexpr(apply_rules(wide, {Quantize: (_rounded_at_once,)}))


# --- where numbers are dequantised ---


def tensor(w: Rewriter, e: Expr) -> TensorType | None:
    """The type of a tensor of known rank and dtype."""
    t = w.types(e)
    return t if isinstance(t, TensorType) and is_known(t) else None


def extents(t: TensorType) -> tuple[Dim, ...]:
    """The shape of a tensor of known rank."""
    return t.shape if isinstance(t.shape, tuple) else ()


def plain(w: Rewriter, e: Expr) -> tuple[Dequantize, Expr, Expr, Expr] | None:
    """What is dequantised from bytes with one scale and zero point to float32: the operator, the bytes, the
    scale and the zero point.
    """
    found = w.parts(e, Dequantize)
    if found is None:
        return None
    op, (x, scale, zero) = found
    whole, by, point = [tensor(w, v) for v in (x, scale, zero)]
    if whole is None or by is None or point is None:
        return None
    is_wanted = whole.dtype in BYTES and by.dtype == op.out_dtype == "float32"
    return (op, x, scale, zero) if is_wanted else None


def is_one(w: Rewriter, *several: Expr) -> bool:
    """Whether scales or zero points are one number each."""
    return all(t is not None and t.shape in ((), (1,)) for t in [tensor(w, v) for v in several])


def is_normal(w: Rewriter, scale: Expr) -> bool:
    """Whether a scale is known, positive, and far from what float32 cannot invert."""
    value = uniform(w, scale)
    return value is not None and 1e-30 < float(value) < 1e30


def _dequantised_later(w: Rewriter, e: Call) -> Expr | None:
    """Bytes are moved, or chosen, before they are dequantised."""
    found = plain(w, e.args[0])
    if found is None or not is_one(w, *found[2:]) or not is_normal(w, found[2]):
        return None
    op, x, scale, zero = found
    return call(op, (call(e.attrs, (x, *e.args[1:]), e), scale, zero), e)


def _joined_later(w: Rewriter, e: Call) -> Expr | None:
    """Bytes of one scale and zero point are joined before they are dequantised."""
    several = w.seen(e.args[0])
    if not isinstance(several, Tuple) or not several.fields:
        return None
    parts = [plain(w, x) for x in several.fields]
    first = parts[0]
    if first is None or not is_one(w, *first[2:]):
        return None
    if any(p is None or not _is_alike(w, p, first) for p in parts):
        return None
    bytes_ = Tuple(tuple([p[1] for p in parts if p is not None]), span=e.span)
    return call(first[0], (call(e.attrs, (bytes_,), e), *first[2:]), e)


def _is_alike(w: Rewriter, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether both have one dtype, scale and zero point."""
    types = [tensor(w, x[1]) for x in (a, b)]
    if None in types or len({t.dtype for t in types if t is not None}) > 1:
        return False
    for x, y in zip(a[2:], b[2:], strict=True):
        known = uniform(w, x), uniform(w, y)
        if x is not y and (known[0] is None or known[0] != known[1]):
            return False
    return True


def _quantised_again(w: Rewriter, e: Call) -> Expr | None:
    """What was dequantised with the same scale and zero point is the same bytes."""
    x, scale, zero = e.args
    found = plain(w, x)
    if found is None or not is_one(w, scale, zero, *found[2:]) or not is_normal(w, scale):
        return None
    is_same = _is_alike(w, (None, found[1], *found[2:]), (None, found[1], scale, zero))
    t = tensor(w, found[1])
    return found[1] if is_same and t is not None and t.dtype == e.attrs.out_dtype else None


# --- products ---


def _taken(w: Rewriter, e: Call) -> Expr | None:
    """A product in integers, times both scales."""
    op: Any = e.attrs
    a, b = plain(w, e.args[0]), plain(w, e.args[1])
    out = tensor(w, e)
    if a is None or b is None or out is None or out.dtype != "float32" or not is_one(w, *a[2:]):
        return None
    shape, (own, axis) = shape_of(w, b[1]), channel_axes(op, shape_of(w, b[1]))
    is_split = getattr(op, "groups", 1) > 1 and "transpose" in op.name
    if not is_one(w, *b[2:]) and (is_split or b[0].axis % len(shape) != own):
        return None
    summed = (
        [d for i, d in enumerate(shape) if i != own] if type(op) in WINDOWS else [shape[inner(op, shape)]]
    )
    depth = prod([d for d in summed if isinstance(d, int)])
    if any(not isinstance(d, int) for d in summed) or not 0 < depth * _most(w, a) * _most(w, b) < 1 << 31:
        return None
    first = a[1] if _has_taps(op, shape) and _is_zero(w, a[3]) else _centred(w, a, e)
    taken = call(_with(op, out_dtype="int32"), (first, _centred(w, b, e, own)), e)
    scale = b[2] if is_one(w, b[2]) else along_channels(b[2], axis, len(extents(out)))
    scales = call_of("multiply", (_alone(w, a[2], e), _alone(w, scale, e)), e)
    return call_of("multiply", (call_of("cast", (taken,), e, dtype="float32"), scales), e)


def shape_of(w: Rewriter, e: Expr) -> tuple[Dim, ...]:
    """The shape of a tensor of known rank."""
    t = tensor(w, e)
    return () if t is None else extents(t)


def channel_axes(op: Any, weight: Sequence[Dim]) -> tuple[int, int]:
    """The axes of a weight and of the result that channels of the result are along."""
    if type(op) in WINDOWS:
        return op.kernel_layout.index("O"), (op.out_layout or op.data_layout).index("C")
    return len(weight) - (2 if op.product().transpose_b else 1), -1


def _has_taps(op: Any, weight: Sequence[Dim]) -> bool:
    """Whether windows see several places of all channels: what they see is moved, and bytes are fewer."""
    if type(op) not in WINDOWS or op.groups > 1:
        return False
    return any(d != 1 for d, letter in zip(weight, op.kernel_layout, strict=True) if letter not in "OI")


def inner(op: Any, weight: Sequence[Dim]) -> int:
    """The axis of the second operand of a product that is summed along."""
    return len(weight) - (1 if op.product().transpose_b else 2)


def _with(op: Any, **attrs: Any) -> Any:
    """An operator with other attributes."""
    return type(op)(**{**op.attributes(), **attrs})


def _most(w: Rewriter, part: tuple[Any, ...]) -> int:
    """How far bytes are from their zero point at most."""
    t = tensor(w, part[1])
    assert t is not None
    return MAX_DISTANCES[str(t.dtype)] if _is_zero(w, part[3]) else 255


def _is_zero(w: Rewriter, zero: Expr) -> bool:
    """Whether all zero points are 0."""
    made = w.value_of(zero)
    return isinstance(made, Constant) and not np.any(made.value)


def _alone(w: Rewriter, e: Expr, source: Expr) -> Expr:
    """One number without axes; anything else as it is."""
    t = tensor(w, e)
    return call_of("reshape", (e,), source, newshape=()) if t is not None and t.shape == (1,) else e


def _centred(w: Rewriter, part: tuple[Any, ...], source: Expr, axis: int = 0) -> Expr:
    """Bytes less their zero points, in int16; a constant without any stays as it is."""
    _, x, _, zero = part
    t = tensor(w, x)
    assert t is not None
    if _is_zero(w, zero):
        is_given = isinstance(w.value_of(x), Constant) or not _is_made(w, x)
        return x if is_given else call_of("cast", (x,), source, dtype="int16")
    point = _alone(w, zero, source) if is_one(w, zero) else along_channels(zero, axis, len(extents(t)))
    point = call_of("cast", (point,), source, dtype="int16")
    return call_of("subtract", (call_of("cast", (x,), source, dtype="int16"), point), source)


def _is_made(w: Rewriter, x: Expr) -> bool:
    """Whether bytes are what was quantised here, or moved."""
    return w.parts(x, Quantize, *MOVING, *CHOOSING, Concatenate) is not None


# --- what is left ---


def _centred_first(w: Rewriter, e: Call) -> Expr | None:
    """Bytes are dequantised from int16 above their zero point, as products read them."""
    found = plain(w, e)
    if found is None or not is_one(w, *found[2:]) or not _is_made(w, found[1]):
        return None
    whole = call_of("cast", (_centred(w, found, e),), e, dtype="float32")
    return call_of("multiply", (whole, _alone(w, found[2], e)), e)


def _kept_wide(w: Rewriter, e: Call) -> Expr | None:
    """What is quantised, and read above its zero point, is rounded to int16 at once; what is moved in between
    is moved in int16.
    """
    zero: Any = 0
    if isinstance(e.attrs, Cast):
        bytes_ = e.args[0] if e.attrs.dtype == "int16" else None
    else:
        zero, widened = uniform(w, e.args[1]), w.parts(e.args[0], Cast)
        bytes_ = widened[1][0] if widened and widened[0].dtype == "int16" and zero is not None else None
    t = None if bytes_ is None else tensor(w, bytes_)
    if bytes_ is None or t is None or t.dtype not in BYTES:
        return None
    moved = w.parts(bytes_, *MOVING, *CHOOSING)
    if moved is not None:
        op, (x, *others) = moved
        wide = call_of("cast", (x,), e, dtype="int16")
        return call(
            op, (wide if isinstance(e.attrs, Cast) else call(e.attrs, (wide, e.args[1]), e), *others), e
        )
    made = w.parts(bytes_, Quantize)
    return None if made is None or zero is None else _rounded(w, made, int(zero), e)


def _rounded_at_once(w: Rewriter, e: Call) -> Expr | None:
    """What is quantised with zero points of 0, for those who read bytes."""
    made = _rounded(w, (e.attrs, e.args), 0, e) if e.attrs.out_dtype in BYTES else None
    return None if made is None else call_of("cast", made.children[-1:], e, dtype=e.attrs.out_dtype)


def _rounded(w: Rewriter, made: tuple[Any, tuple[Expr, ...]], zero: int, e: Call) -> Expr | None:
    """What `qnn.quantize` makes, less its zero point, in int16."""
    op, (x, scale, own) = made
    point, by, t = uniform(w, own), uniform(w, scale), tensor(w, x)
    if (
        point is None
        or int(point) != int(zero)
        or t is None
        or t.dtype != "float32"
        or not is_normal(w, scale)
    ):
        return None
    low, high = integer_range(op.out_dtype)
    ratio = call_of("multiply", (x, scalar(1 / np.float32(by), "float32", e)), e)
    whole = call_of("round", (ratio,), e)
    kept = call_of("clip", (whole,), e, a_min=float(low - zero), a_max=float(high - zero))
    return call_of("cast", (kept,), e, dtype="int16")
