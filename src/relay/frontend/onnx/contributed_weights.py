"""Operators of `com.microsoft` whose weights are quantised: in groups of few bits, or as a whole."""

from typing import Any

import numpy as np

from relay.frontend.onnx.index import gather
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.quantization import centred_columns, centred_rows, laid, quantised_as_it_comes
from relay.frontend.onnx.recurrent import lstm_of, settings
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.products import matmul
from relay.frontend.support import axis_in, cast
from relay.frontend.value import Value, call, constant, kept
from relay.ir.dtype import is_float
from relay.op.blocks.dequantize import BLOCK

ROUNDED = 4
"""The `accuracy_level` of products for which data may be rounded to integers of 8 bits."""
BITS = (2, 4, 8)
"""How many bits a number of a group may have."""


def bits_of(node: Node, default: int = 4) -> int:
    """The width of the numbers of a weight (`onnx-unsupported` for another one)."""
    bits = node.int("bits", default)
    return bits if bits in BITS else node.fail(f"its numbers have {bits} bits, not 2, 4 or 8")


def numbers(data: Value, bits: int) -> Value:
    """The numbers of bytes `(..., bytes)`, as floats, the lowest bits first."""
    packed = call("expand_dims", data, axis=data.rank - 1)
    each = data.size(data.rank - 1) * 8 // bits
    one = call("full", constant(1.0, "float32"), shape=(*data.shape[:-1], 1))
    return call("dequantize_groups", packed, one, one * 0.0, bits=bits, group=each)


@converts("MatMulNBits", domain=CONTRIBUTED)
def matmul_n_bits(
    node: Node, x: Value, data: Value, scales: Value, zero: Value | None = None, index: Value | None = None,
    bias: Value | None = None,
) -> Value:  # fmt: skip
    """Rows times a weight in groups of few bits, `(columns, groups, bytes)`, the last one filled up.

    It is computed in float32.  Rows are rounded to integers of 8 bits, 32 neighbours at a time, where the
    node says that this is accurate enough.
    """
    if node.int("weight_prepacked", 0):
        return node.fail("its weight is laid out for another device")
    columns, depth, group = node.int("N"), node.int("K"), node.int("block_size")
    bits = bits_of(node)
    groups = -(-depth // max(group, 1))
    if group < 1 or data.shape != (columns, groups, group * bits // 8):
        return node.fail(
            f"its weight of shape {data.shape} is not (N, groups, bytes) of N {columns}, K {depth}"
        )
    scales = call("reshape", scales, newshape=(columns, groups))
    if zero is not None:
        width = groups if is_float(zero.dtype) else (groups * bits + 7) // 8
        zero = call("reshape", zero, newshape=(columns, width))
    whole = cast(x, "float32")
    if index is None:
        weight = kept("dequantize_groups", data, scales, *([] if zero is None else [zero]), bits=bits,
                      group=group)  # fmt: skip
        whole = filled(whole, groups * group - depth)
        if node.int("accuracy_level", 0) == ROUNDED and group % BLOCK == 0:
            whole = call("round_groups", whole, group=BLOCK)
    else:
        weight = by_index(data, scales, zero, index, bits)
    found = cast(call("nn.dense", whole, weight), x.dtype)
    return found if bias is None else found + bias


def filled(x: Value, more: int) -> Value:
    """Rows with zeros behind them."""
    return call("nn.pad", x, pad_width=(*[(0, 0)] * (x.rank - 1), (0, more))) if more else x


def by_index(data: Value, scales: Value, zero: Value | None, index: Value, bits: int) -> Value:
    """A weight each of whose rows says its group: `(columns, depth)`."""
    whole = numbers(call("reshape", data, newshape=(0, -1)), bits)
    if zero is None:
        away: Value = constant(float(1 << (bits - 1)), "float32")
    else:
        each = cast(zero, "float32") if is_float(zero.dtype) else numbers(zero, bits)
        away = call("take", each, index, axis=1)
    whole = call("strided_slice", whole, begin=(0,), end=(index.size(0),), axes=(1,))
    return (whole - away) * cast(call("take", scales, index, axis=1), "float32")


FP4 = np.array([0.0, 1 / 192, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25], "float32")
NF4 = np.array(
    [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
     -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
     0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023,
     1.0],
    "float32",
)  # fmt: skip
"""The numbers that 4 bits stand for.  Source: Dettmers et al., 2023, appendix E, and bitsandbytes."""
TABLES = (np.concatenate((FP4, -FP4)), NF4)
"""By `quant_type`."""


@converts("MatMulBnb4", domain=CONTRIBUTED)
def matmul_bnb4(node: Node, x: Value, data: Value, scales: Value) -> Value:
    """Rows times a weight in groups of 4 bits that number the places of a table."""
    columns, depth, group = node.int("N"), node.int("K"), node.int("block_size")
    kind = node.int("quant_type")
    count = columns * depth
    if not 0 <= kind < len(TABLES):
        return node.fail(f"there is no type {kind} of its numbers")
    if data.shape != ((count + 1) // 2,) or scales.shape != (-(-count // max(group, 1)),):
        return node.fail(f"its weight of shape {data.shape} is not one of N {columns}, K {depth}")
    halves = call("stack", (call("right_shift", data, 4), call("bitwise_and", data, 15)), axis=1)
    numbers = call(
        "take", constant(TABLES[kind]), cast(call("reshape", halves, newshape=(-1,)), "int32"), axis=0
    )
    each = call("repeat", cast(scales, "float32"), repeats=group, axis=0)
    parts = [call("strided_slice", v, begin=(0,), end=(count,), axes=(0,)) for v in (numbers, each)]
    weight = cast(call("reshape", parts[0] * parts[1], newshape=(columns, depth)), x.dtype)
    return call("nn.dense", x, weight) if node.int("transB", 1) else matmul(x, weight)


@converts("GatherBlockQuantized", domain=CONTRIBUTED)
def gather_block_quantized(
    node: Node, data: Value, indices: Value, scales: Value, zero: Value | None = None
) -> Value:
    """Rows of a table that is quantised in blocks along an axis, as numbers."""
    rank, block = data.rank, node.int("block_size", 128)
    along, by = axis_in(node.int("gather_axis", 0), rank), axis_in(node.int("quantize_axis", 1), rank)
    if data.dtype == "uint8":
        if along != 0 or by != rank - 1:
            return node.fail("a table of bytes has its rows first and its blocks last")
        return gathered_groups(node, data, indices, scales, zero, block)
    whole = cast(data, "float32")
    if is_float(data.dtype) and not block:
        block = data.size(by)
    if zero is not None:
        whole = whole - laid(cast(zero, "float32"), data, by, block)
    whole = cast(whole * laid(cast(scales, "float32"), data, by, block), scales.dtype)
    return gather(node, whole, indices) if along == 0 else call("take", whole, indices, axis=along)


def gathered_groups(
    node: Node, data: Value, indices: Value, scales: Value, zero: Value | None, block: int
) -> Value:
    """Rows of a table of bytes, of which each holds numbers of few bits, the lowest first."""
    bits = bits_of(node)
    width = data.size(data.rank - 1) * 8 // bits
    groups = scales.size(scales.rank - 1)
    picked = [kept("take", v, indices, axis=0) for v in (data, scales, *([] if zero is None else [zero]))]
    rows, each, *points = picked
    lead = [0] * (rows.rank - 1)
    if width == groups * block:
        rows = call("reshape", rows, newshape=(*lead, groups, block * bits // 8))
        return call("dequantize_groups", rows, each, *points, bits=bits, group=block, dtype=scales.dtype)
    whole = numbers(rows, bits)
    away = numbers(points[0], bits) if points else constant(float(1 << (bits - 1)), "float32")
    axis = whole.rank - 1
    spread = [
        call(
            "strided_slice",
            call("repeat", v, repeats=block, axis=axis),
            begin=(0,),
            end=(width,),
            axes=(axis,),
        )
        if v.rank
        else v
        for v in (away, cast(each, "float32"))
    ]
    return cast((whole - spread[0]) * spread[1], scales.dtype)


def dense_of_bytes(x: Value, w: Value, scale: Value, zero: Value | None = None) -> Value:
    """Rows, quantised as they come, times a quantised matrix: a product of integers."""
    bytes_of, x_scale, x_zero = quantised_as_it_comes(x)
    found = matmul(centred_rows(bytes_of, x_zero), centred_columns(w, zero))
    return cast(found, x.dtype) * (x_scale * scale)


@converts("DynamicQuantizeMatMul", domain=CONTRIBUTED)
def dynamic_quantize_matmul(
    node: Node, a: Value, b: Value, scale: Value, zero: Value | None = None, bias: Value | None = None
) -> Value:
    """Rows, quantised as they come, times a quantised matrix, and a bias."""
    found = dense_of_bytes(a, b, scale, zero)
    return found if bias is None else found + bias


@converts("DynamicQuantizeLSTM", domain=CONTRIBUTED)
def dynamic_quantize_lstm(
    node: Node, x: Value, w: Value, r: Value, b: Value | None, lengths: Value | None, h0: Value | None,
    c0: Value | None, p: Value | None, w_scale: Value, w_zero: Value, r_scale: Value, r_zero: Value,
) -> Any:  # fmt: skip
    """`LSTM` of quantised weights `(directions, inputs, 4 * hidden)`; data are quantised as they come."""
    turned = call("transpose", r, axes=(0, 2, 1))
    s = settings(node, turned, ["Sigmoid", "Tanh", "Tanh"])
    weights = ((w, w_scale, w_zero), (r, r_scale, r_zero))
    return lstm_of(node, s, dense_of_bytes, x, *weights, b, lengths, h0, c0, p)
