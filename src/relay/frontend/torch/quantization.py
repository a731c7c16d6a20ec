"""Quantised numbers, as `pt2e` and torchao write them."""

from typing import Any

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.symbols import dtype_of
from relay.frontend.value import Value, call, constant, kept
from relay.ir.dtype import integer_range

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


@converts("aten._int_mm")
def int_mm(node: Node, x: Value, y: Value) -> Value:
    """The product of matrices of int8, summed in int32."""
    return call("nn.matmul", x, y, out_dtype="int32")
