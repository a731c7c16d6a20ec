"""Quantised numbers: to them, from them, and products of them."""

from collections.abc import Sequence
from typing import Any

from relay.frontend.onnx.convolution import centred, check_fit, convolved
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.shape import to_float8
from relay.frontend.onnx.tensors import dtype_of
from relay.frontend.products import matmul
from relay.frontend.support import as_rows, axis_in, cast
from relay.frontend.value import Value, call, constant, open_call
from relay.ir.dtype import is_float, is_integer
from relay.ir.expr import Call, Op
from relay.op.qnn.scales import rounded
from relay.op.registry import instance
from relay.op.term import Term

MIN_KEPT_RANK = 2
"""The rank from which on quantised constants are kept as integers: those of weights."""


def laid(v: Value, x: Value, axis: int, block: int) -> Value:
    """A scale or a zero point over `x`: one for all, one for each place of an axis, or one for each block."""
    if v.rank == 0 or v.shape == (1,):
        return call("reshape", v, newshape=()) if v.rank else v
    if v.rank == 1 and not block:
        check_fit(v, x, axis)
        return as_rows(v, x.rank, axis)
    if block and v.rank == x.rank:
        spread = call("repeat", v, repeats=block, axis=axis)
        if spread.shape[axis] != x.shape[axis]:
            spread = call("strided_slice", spread, begin=(0,), end=(x.size(axis),), axes=(axis,))
        return spread
    return v


def axis_and_block(node: Node, x: Value) -> tuple[int, int]:
    """The axis that scales vary along, and how many places share one."""
    axis = node.int("axis", 1)
    return (axis_in(axis, x.rank) if -x.rank <= axis < x.rank else 0), node.int("block_size", 0)


@converts("QuantizeLinear")
def quantize_linear(node: Node, x: Value, scale: Value, zero: Value | None = None) -> Value:
    """`x / scale + zero`, rounded to even and kept in the range of the dtype."""
    to = dtype_of(node.int("output_dtype", 0) or 2) if zero is None else zero.dtype
    axis, block = axis_and_block(node, x)
    precision = node.int("precision", 0)
    if is_integer(to) and not precision and x.is_float and scale.dtype == x.dtype and varies(scale, block):
        point = constant(0, to) if zero is None else zero
        return call("qnn.quantize", x, scale, point, axis=axis, out_dtype=to)
    wide = dtype_of(precision) if precision else "float32" if is_integer(x.dtype) else scale.dtype
    if wide in ("float16", "bfloat16") and not precision:
        wide = x.dtype if x.is_float else "float32"
    ratio = cast(x, wide) / laid(cast(scale, wide), x, axis, block)
    return quantized(
        ratio, None if zero is None else laid(zero, x, axis, block), to, bool(node.int("saturate", 1))
    )


def quantized(ratio: Value, zero: Value | None, to: str, saturate: bool = True) -> Value:
    """A ratio as a quantised number."""
    if is_float(to):
        moved = ratio if zero is None else ratio + cast(zero, ratio.dtype)
        return to_float8(moved, to, saturate) if to.startswith("float8") else cast(moved, to)
    point = constant(0, to) if zero is None else zero
    terms = [Term(v.stand_in, v.dtype) for v in (ratio, point)]
    return open_call(rounded(terms[0], terms[1], to).expr, [ratio, point])


def varies(scale: Value, block: int) -> bool:
    """Whether there is one scale for all, or one for each place of an axis."""
    return scale.rank == 0 or (scale.rank == 1 and not block)


@converts("DequantizeLinear")
def dequantize_linear(node: Node, x: Value, scale: Value, zero: Value | None = None) -> Value:
    """`(x - zero) * scale`."""
    axis, block = axis_and_block(node, x)
    to = dtype_of(node.int("output_dtype", 0)) if node.int("output_dtype", 0) else scale.dtype
    if is_integer(x.dtype) and varies(scale, block):
        point = constant(0, x.dtype) if zero is None else zero
        found = call("qnn.dequantize", x, scale, point, axis=axis, out_dtype=to)
        return kept(found, "qnn.dequantize", (x, scale, point), axis=axis, out_dtype=to)
    factor = laid(scale, x, axis, block)
    if is_integer(x.dtype):
        whole = cast(x, "int32")
        if zero is not None:
            whole = whole - cast(laid(zero, x, axis, block), "int32")
        return cast(cast(whole, factor.dtype) * factor, to)
    moved = cast(x, factor.dtype)
    if zero is not None:
        moved = moved - cast(laid(zero, x, axis, block), factor.dtype)
    return cast(moved * factor, to)


def kept(found: Value, name: str, operands: Sequence[Value], **attrs: Any) -> Value:
    """A constant as the call of an operator that it is the value of: products are taken of its integers."""
    if found.array is None or found.rank < MIN_KEPT_RANK:
        return found
    op = instance(name, attrs)
    made = Call(Op.get(name), tuple([v.expr for v in operands]), op)
    return Value(made, found.type, found.array, sources=found.sources)


@converts("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node, x: Value) -> Any:
    """`x` as unsigned bytes, with the scale and the zero point that its extremes ask for."""
    return quantised_as_it_comes(x)


def quantised_as_it_comes(x: Value) -> tuple[Value, Value, Value]:
    """`x` as unsigned bytes, a scale and a zero point, such that 0 and the extremes of `x` are among them."""
    zero = constant(0, x.dtype)
    low = call("minimum", call("min", x), zero)
    high = call("maximum", call("max", x), zero)
    scale = (high - low) / 255
    safe = call("where", call("equal", scale, zero), constant(1, x.dtype), scale)
    point = call("round", call("clip", -low / safe, a_min=0.0, a_max=255.0))
    point = cast(point, "uint8")
    return call("qnn.quantize", x, safe, point, out_dtype="uint8"), scale, point


@converts("MatMulInteger")
def matmul_integer(
    node: Node, a: Value, b: Value, a_zero: Value | None = None, b_zero: Value | None = None
) -> Value:
    """The product of integers, from which their zero points are subtracted first."""
    return matmul(centred_rows(a, a_zero), centred_columns(b, b_zero))


def centred_rows(a: Value, zero: Value | None) -> Value:
    """`a - zero` as int32; a vector of zero points has one for each row."""
    if zero is not None and zero.rank == 1 and zero.shape != (1,):
        zero = call("expand_dims", zero, axis=1)
    return cast(a, "int32") if zero is None else cast(a, "int32") - cast(zero, "int32")


def centred_columns(b: Value, zero: Value | None) -> Value:
    """`b - zero` as int32; a vector of zero points has one for each column."""
    return cast(b, "int32") if zero is None else cast(b, "int32") - cast(zero, "int32")


@converts("QLinearMatMul")
def qlinear_matmul(
    node: Node, a: Value, a_scale: Value, a_zero: Value, b: Value, b_scale: Value, b_zero: Value,
    y_scale: Value, y_zero: Value,
) -> Value:  # fmt: skip
    """The product of quantised matrices, quantised."""
    product = matmul(centred_rows(a, a_zero), centred_columns(b, b_zero))
    if a_scale.rank == 1 and a_scale.shape != (1,):
        check_fit(a_scale, product, product.rank - 2)
        a_scale = call("expand_dims", a_scale, axis=1)
    if b_scale.rank == 1 and b_scale.shape != (1,):
        check_fit(b_scale, product, product.rank - 1)
    factor = cast(a_scale, "float32") * cast(b_scale, "float32") / cast(y_scale, "float32")
    return quantized(cast(product, "float32") * factor, y_zero, y_zero.dtype)


@converts("QLinearConv")
def qlinear_conv(
    node: Node, x: Value, x_scale: Value, x_zero: Value, w: Value, w_scale: Value, w_zero: Value,
    y_scale: Value, y_zero: Value, bias: Value | None = None,
) -> Value:  # fmt: skip
    """The convolution of quantised data with a quantised weight, quantised."""
    found = convolved(node, centred(x, x_zero, 0), centred(w, w_zero, 0))
    if bias is not None:
        found = call("nn.bias_add", found, cast(bias, "int32"), axis=1)
    factor = laid(x_scale * w_scale / y_scale, found, 1, 0)
    return quantized(cast(found, "float32") * factor, y_zero, y_zero.dtype)
