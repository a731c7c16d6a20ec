"""Products of numbers above a zero point as products of the bytes, where a machine adds up those of bytes."""

from typing import Any

import numpy as np

from relay.backend.native.kernels.inner_steps import has_small, inner_step
from relay.backend.native.llvm.machine import host
from relay.ir.expr import Call, Constant, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.arithmetic import Add, Maximum, Multiply, Subtract
from relay.op.cast import Cast
from relay.op.nn.activation import Relu
from relay.op.nn.layout import pads
from relay.op.numeric import along_channels
from relay.op.registry import registry
from relay.op.rounding import Clip, Round
from relay.transform.passes.integer_products import CHOOSING, MATRICES, MOVING, channel_axes, extents, tensor
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call, call_of
from relay.transform.rewriting.splat import scalar, uniform

WINDOWS = tuple([registry[f"nn.conv{n}d"] for n in (1, 2, 3)])
BYTE_MAX = 255
MAX_STEPS = 32
"""How many expressions are looked at to see whether numbers are bounded."""
GREATEST_FLOAT = 1e38
"""What float32 holds."""
LEAST_INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32")
"""The dtypes of integers that sums are made of."""


def multiplies_bytes(mod: IRModule) -> bool:
    """Whether the machine that code is compiled for adds up products of bytes: of any, or of those that are
    constant here.
    """
    if inner_step("int32", host(), "uint8", "int8").group == 4:
        return True
    if inner_step("int32", host(), "uint8", "int8", are_small=True).group != 4:
        return False
    weights = [
        e.value
        for root in mod.functions.values()
        for e in post_order(root)
        if isinstance(e, Constant) and e.value.dtype == np.int8 and e.value.ndim > 1
    ]
    return bool(weights) and all(map(has_small, weights))


@module_pass("byte_operands", opt_level=0)
def byte_operands(mod: IRModule) -> IRModule:
    """Multiply unsigned bytes as they are, rather than less their zero point in int16.

    The sum of `(x - p) * w` is that of `x * w` less `p` times the sum of `w`, which is known where `w` is
    constant, exactly: int32 wraps.  What is rounded and held between bounds that are at most 255 apart is
    kept in bytes.  Where windows see padding, this is filled with the zero point.  A machine without an
    instruction for four bytes does it where all constant bytes are up to 64: two products fit in int16.

    >>> text = "def @main(%x: Tensor[(2, 2), uint8]) { "
    >>> text += "nn.dense(cast(%x, dtype=int16) - 3i16, [[1i8, 2i8], [-1i8, 5i8]], out_dtype=int32) }"
    >>> show(byte_operands, text)
    def @main(%x: Tensor[(2, 2), uint8]) -> Tensor[(2, 2), int32] {
      %0 = nn.dense(%x, [[1i8, 2i8], [-1i8, 5i8]], out_dtype=int32);
      %0 - [3i32, 4i32] * cast(3i16, dtype=int32)
    }
    """
    kept = apply_rules(mod, {Cast: (_kept_in_bytes,)})
    later = apply_rules(kept, dict.fromkeys((*MOVING, *CHOOSING), (_widened_later,)))
    return apply_rules(later, dict.fromkeys((*MATRICES, *WINDOWS), (_taken,)))


def _kept_in_bytes(w: Rewriter, e: Call) -> Expr | None:
    """What is rounded to int16 between bounds that bytes have room for, above the lower one."""
    found = w.parts(e.args[0], Clip) if e.attrs.dtype == "int16" else None
    if found is None:
        return None
    op, (x,) = found
    low, high = op.a_min, op.a_max
    t = tensor(w, x)
    is_whole = low == int(low) and high == int(high) and 0 <= high - low <= BYTE_MAX
    if t is None or t.dtype != "float32" or not is_whole:
        return None
    above = e.args[0]
    if not is_bounded(w, x):
        if not low <= 0 <= high:
            return None
        # NaN becomes zero, which is not the lower bound.
        number = call_of("where", (call_of("equal", (x, x), e), x, scalar(0.0, "float32", e)), e)
        above = call(op, (number,), e)
    if low:
        above = call_of("subtract", (above, scalar(low, "float32", e)), e)
    wide = call_of("cast", (call_of("cast", (above,), e, dtype="uint8"),), e, dtype="int16")
    return call_of("add", (wide, scalar(int(low), "int16", e)), e) if low else wide


def is_bounded(w: Rewriter, e: Expr) -> bool:
    """Whether a tensor of floats is made of integers by steps that cannot give an infinity or a NaN."""
    greatest, pending, steps = 1.0, [e], 0
    while pending:
        made: Any = w.value_of(pending.pop())
        steps += 1
        op = made.attrs if isinstance(made, Call) else None
        if isinstance(made, Constant):
            greatest *= 2.0 + float(np.abs(made.value.astype("float64")).max(initial=0.0))
        elif isinstance(op, Cast):
            t = tensor(w, made.args[0])
            if t is None or str(t.dtype) not in LEAST_INTEGERS:
                return False
            greatest *= 2.0 ** (8 * np.dtype(str(t.dtype)).itemsize)
        elif isinstance(op, Add | Subtract | Multiply | Round | Relu | Maximum):
            pending += made.args
        else:
            return False
        # What is made of numbers, each counted as 2 at least, is at most their product.
        if steps > MAX_STEPS or not greatest < GREATEST_FLOAT:
            return False
    return True


def bytes_of(w: Rewriter, e: Expr) -> tuple[Expr, Expr | None, int] | None:
    """The unsigned bytes of which int16 is made, and what is added to them or taken off: one number, and
    which of both.
    """
    for kind, sign in ((Add, 1), (Subtract, -1)):
        found = w.parts(e, kind)
        if found is not None:
            point = tensor(w, found[1][1])
            inner = bytes_of_cast(w, found[1][0])
            is_one = point is not None and point.shape == ()
            return (inner, found[1][1], sign) if inner is not None and is_one else None
    inner = bytes_of_cast(w, e)
    return None if inner is None else (inner, None, 1)


def bytes_of_cast(w: Rewriter, e: Expr) -> Expr | None:
    """The unsigned bytes that are widened to int16."""
    found = w.parts(e, Cast)
    t = None if found is None or found[0].dtype != "int16" else tensor(w, found[1][0])
    return found[1][0] if found is not None and t is not None and t.dtype == "uint8" else None


def _widened_later(w: Rewriter, e: Call) -> Expr | None:
    """Bytes are moved, or the greatest are chosen, before they are widened."""
    found = bytes_of(w, e.args[0])
    if found is None:
        return None
    x, point, sign = found
    wide = call_of("cast", (call(e.attrs, (x, *e.args[1:]), e),), e, dtype="int16")
    return wide if point is None else call_of("add" if sign > 0 else "subtract", (wide, point), e)


def _taken(w: Rewriter, e: Call) -> Expr | None:
    """A product of bytes, and what the zero point takes off it."""
    op: Any = e.attrs
    found, weight, out = bytes_of(w, e.args[0]), w.value_of(e.args[1]), tensor(w, e)
    if found is None or not isinstance(weight, Constant) or out is None or out.dtype != "int32":
        return None
    x, point, sign = found
    is_window = type(op) in WINDOWS
    if (is_window and op.groups != 1) or weight.value.dtype != np.int8:
        return None
    if not is_window and weight.value.ndim != 2:
        return None
    if point is None:
        return call(op, (x, e.args[1]), e)
    if is_window and any(map(any, pads(op.padding, len(op.data_layout) - 2))):
        value = uniform(w, point)
        if value is None:
            return None
        x, op = padded(x, op, -sign * int(value), e)
    own, axis = channel_axes(op, weight.value.shape)
    axes = tuple([i for i in range(weight.value.ndim) if i != own])
    sums = weight.value.sum(axes, dtype="int32")
    totals = Constant(sums, TensorType(sums.shape, "int32"), span=e.span)
    shift = call_of("cast", (point,), e, dtype="int32")
    off = call_of("multiply", (along_channels(totals, axis, len(extents(out))), shift), e)
    return call_of("add" if sign > 0 else "subtract", (call(op, (x, e.args[1]), e), off), e)


def padded(x: Expr, op: Any, value: int, source: Expr) -> tuple[Expr, Any]:
    """Data with padding of a value around it, and the convolution without."""
    around = iter(pads(op.padding, len(op.data_layout) - 2))
    width = tuple([(0, 0) if letter in "NC" else next(around) for letter in op.data_layout])
    filled = call_of("nn.pad", (x, scalar(value, "uint8", source)), source, pad_width=width)
    return filled, type(op)(**{**op.attributes(), "padding": 0})
