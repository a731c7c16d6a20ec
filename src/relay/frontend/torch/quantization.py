"""Quantised numbers, as `pt2e` and torchao write them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.symbols import dtype_of
from relay.frontend.value import Value, call, constant, kept
from relay.ir.dtype import integer_range
from relay.op.blocks.quantize import packed

PER_TENSOR = ("default", "tensor", "tensor2")


def _named(operator: str) -> list[str]:
    return [f"quantized_decomposed.{operator}.{overload}" for overload in PER_TENSOR]


def _number(x: Any, dtype: str) -> Value:
    """A scale or a zero point, which may be a tensor, as a number of a dtype."""
    if not isinstance(x, Value):
        return constant(x, dtype)
    return cast(call("reshape", x, newshape=()) if x.rank else x, dtype)


def _within(q: Value, low: Any, high: Any, dtype: str) -> Value:
    """Numbers held within a range that is narrower than the dtype's."""
    ends = integer_range(dtype)
    narrow = [v for v in (low, high) if not isinstance(v, Value)]
    if len(narrow) < 2 or (low <= ends[0] and high >= ends[1]):
        return q
    return call("clip", q, a_min=float(low), a_max=float(high))


@converts(*_named("quantize_per_tensor"))
def quantize_per_tensor(
    node: Node, x: Value, scale: Any, zero: Any, low: Any, high: Any, dtype: Any, *_: Any
) -> Value:
    """`round(x / scale) + zero` within a range."""
    to = dtype_of(dtype)
    q = call("qnn.quantize", x, _number(scale, x.dtype), _number(zero, "int32"), out_dtype=to)
    return _within(q, low, high, to)


@converts(*_named("dequantize_per_tensor"))
def dequantize_per_tensor(
    node: Node, q: Value, scale: Any, zero: Any, low: Any, high: Any, dtype: Any, *_: Any, **named: Any
) -> Value:
    """`(q - zero) * scale`."""
    to = dtype_of(named["out_dtype"]) if named.get("out_dtype") is not None else "float32"
    return kept("qnn.dequantize", q, _number(scale, "float32"), _number(zero, "int32"), out_dtype=to)


@converts("quantized_decomposed.quantize_per_channel.default")
def quantize_per_channel(
    node: Node, x: Value, scales: Value, zeros: Value, axis: int, low: Any, high: Any, dtype: Any, *_: Any
) -> Value:
    """`round(x / scale) + zero` within a range, by the places of an axis."""
    to = dtype_of(dtype)
    args = x, cast(scales, x.dtype), cast(zeros, "int32")
    return _within(call("qnn.quantize", *args, axis=axis, out_dtype=to), low, high, to)


@converts("quantized_decomposed.dequantize_per_channel.default")
def dequantize_per_channel(
    node: Node, q: Value, scales: Value, zeros: Value | None, axis: int, *_: Any, **named: Any
) -> Value:
    """`(q - zero) * scale`, by the places of an axis."""
    to = dtype_of(named["out_dtype"]) if named.get("out_dtype") is not None else "float32"
    zero = constant(0, "int32") if zeros is None else cast(zeros, "int32")
    return kept("qnn.dequantize", q, cast(scales, "float32"), zero, axis=axis, out_dtype=to)


@converts("torchao.dequantize_affine.default")
def dequantize_affine(
    node: Node,
    q: Value,
    block: Sequence[int],
    scales: Value,
    zeros: Value | None,
    _: Any,
    *ends: Any,
    **__: Any,
) -> Value:
    """`(q - zero) * scale`, by blocks; weights with a scale for each group along the last axis are packed."""
    to, known = node.dtype, [v for v in ends[:2] if v is not None]
    zero = constant(0, q.dtype) if zeros is None else zeros
    low, high = known if len(known) == 2 else integer_range(q.dtype)
    is_grouped = q.rank > 0 and all(n == 1 for n in block[:-1]) and high - low < 1 << 8
    if q.array is not None and zero.array is not None and is_grouped:
        least = np.int32(low)
        return _in_groups(q.array - least, zero.array - least, scales, block[-1], high - low, to)
    parts = [(q.size(i) // n, n) for i, n in enumerate(block)]
    each = [n for count, _ in parts for n in (count, 1)]
    whole = cast(call("reshape", q, newshape=[n for pair in parts for n in pair]), to)
    laid = [cast(call("reshape", v, newshape=each) if v.rank else v, to) for v in (zero, scales)]
    return call("reshape", (whole - laid[0]) * laid[1], newshape=q.shape)


def _in_groups(q: Any, zero: Any, scales: Value, group: int, most: int, dtype: str) -> Value:
    """Integers from 0 to `most` as constants in as few bits as they need."""
    bits = next(b for b in (2, 4, 8) if b == 8 or (most < 1 << b and group * b % 8 == 0))
    shape = (*q.shape[:-1], q.shape[-1] // group)
    zero = np.broadcast_to(zero, shape) if zero.ndim == 0 else zero.reshape(shape)
    args = [constant(packed(q.reshape(*shape, group), bits)), call("reshape", scales, newshape=shape)]
    if not (zero == 1 << bits - 1).all():
        is_packed = ((zero >= 0) & (zero < 1 << bits) & (zero == np.rint(zero))).all()
        args.append(constant(packed(zero, bits) if is_packed else zero.astype("float32")))
    return kept("dequantize_groups", *args, bits=bits, group=group, dtype=dtype)


@converts("aten._int_mm")
def int_mm(node: Node, x: Value, y: Value) -> Value:
    """The product of matrices of int8, summed in int32."""
    return call("nn.matmul", x, y, out_dtype="int32")
