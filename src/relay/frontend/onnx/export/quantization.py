"""Quantised numbers: `QuantizeLinear` and `DequantizeLinear`, by tensor, by channel and by group."""

from typing import Any

import numpy as np

from relay.frontend.onnx.export import joining as joining
from relay.frontend.onnx.export import shapes as shapes
from relay.frontend.onnx.export import windows as windows
from relay.frontend.onnx.export.graph import Graph, Groups, Value, refuse
from relay.frontend.onnx.export.registry import Writer, exports, writers
from relay.ir.dtype import integer_range, to_numpy
from relay.op.layout import DepthToSpace, SpaceToDepth
from relay.op.nn.pool import MaxPool2D
from relay.op.reshape import BatchFlatten, ExpandDims, Reshape, Squeeze, Transpose
from relay.op.slice import StridedSlice

STORED = ("int8", "uint8", "int16", "uint16")
"""The dtypes that `QuantizeLinear` gives here."""


def _zero_like(g: Graph, scale: Value, zero: Value, dtype: str) -> str | None:
    """The zero point in the dtype of what is quantised, with as many elements as the scale has; None if it is
    not known to fit there.
    """
    if zero.array is None:
        return zero.name if zero.dtype == dtype and zero.shape == scale.shape else None
    low, high = integer_range(dtype)
    if zero.array.size and not low <= zero.array.min() <= zero.array.max() <= high:
        return None
    whole = zero.array if zero.shape == scale.shape else np.broadcast_to(zero.array, scale.sizes())
    return g.constant(whole.astype(to_numpy(dtype)))


def _axis(op: Any, x: Value, scale: Value) -> dict[str, int]:
    """The axis that scales vary along."""
    return {"axis": op.axis % x.rank} if scale.rank and x.rank else {}


def _laid(g: Graph, op: Any, x: Value, v: Value, dtype: str) -> str:
    """A scale or zero point in a dtype, over the axes of `x`."""
    found = g.cast(v, dtype)
    return g.reshaped(found, [-1, *[1] * (x.rank - 1 - op.axis % x.rank)]) if v.rank and x.rank else found


@exports("qnn.quantize", fits=lambda op: op.out_dtype in STORED)
def quantize(g: Graph, op: Any, x: Value, scale: Value, zero: Value) -> str:
    """`round(x / scale) + zero` within the range of the dtype."""
    point = _zero_like(g, scale, zero, op.out_dtype)
    if point is not None:
        return g.add("QuantizeLinear", x, scale, point, **_axis(op, x, scale))
    steps = g.add("Round", g.add("Div", x, _laid(g, op, x, scale, x.dtype)))
    moved = g.add("Add", g.cast(steps, "float32"), _laid(g, op, x, zero, "float32"))
    low, high = (g.constant(float(v), "float32") for v in integer_range(op.out_dtype))
    return g.cast(g.add("Clip", moved, low, high), op.out_dtype)


@exports("qnn.dequantize")
def dequantize(g: Graph, op: Any, x: Value, scale: Value, zero: Value) -> str:
    """`(x - zero) * scale`; sums, in int32, have no zero point."""
    is_zero = zero.array is not None and not zero.array.any()
    point = None if x.dtype == "int32" else _zero_like(g, scale, zero, x.dtype)
    if x.dtype in (*STORED, "int4", "uint4") and point is not None:
        found = g.add("DequantizeLinear", x, scale, point, **_axis(op, x, scale))
    elif x.dtype == "int32" and is_zero:
        found = g.add("DequantizeLinear", x, scale, **_axis(op, x, scale))
    else:
        whole = g.add("Sub", g.cast(x, "int32"), _laid(g, op, x, zero, "int32"))
        found = g.add("Mul", g.cast(whole, scale.dtype), _laid(g, op, x, scale, scale.dtype))
    return found if op.out_dtype == scale.dtype else g.cast(found, op.out_dtype)


@exports("dequantize_groups")
def dequantize_groups(g: Graph, op: Any, data: Value, scale: Value, zero: Value | None = None) -> str:
    """Numbers with a scale for each group along the last axis: constants of 4 or 8 bits.

    Numbers of 4 bits around 8 are int4 around 0; those of 2 bits are written in 4.
    """
    if data.array is None or (zero is not None and zero.array is None):
        refuse("groups that are not constants")
    if zero is not None and zero.array is not None and zero.array.dtype != np.uint8:
        refuse("zero points that are floats")
    q = unpacked(data.array, op.bits)
    q = q.reshape(*q.shape[:-2], -1)
    wide = "8" if op.bits == 8 else "4"
    if zero is None:
        middle = 1 << (op.bits - 1)
        whole = (q.astype("int16") - middle).astype(to_numpy(f"int{wide}"))
        point = None
    else:
        assert zero.array is not None
        whole = q.astype(to_numpy(f"uint{wide}"))
        zeros = unpacked(zero.array, op.bits)[..., : scale.size(-1)]
        point = g.constant(zeros.astype(to_numpy(f"uint{wide}")))
    found = g.add(
        "DequantizeLinear", g.constant(whole), scale, point, axis=data.rank - 2, block_size=op.group
    )
    name = found if op.dtype == scale.dtype else g.cast(found, op.dtype)
    g.groups[name] = Groups(op, data, scale, zero)
    return name


def unpacked(data: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """The numbers in bytes, along the last axis, the lowest bits first."""
    shifts = np.arange(0, 8, bits).astype("uint8")
    return ((data[..., None] >> shifts) & ((1 << bits) - 1)).reshape(*data.shape[:-1], -1)


MOVING = (
    BatchFlatten, DepthToSpace, ExpandDims, MaxPool2D, Reshape, SpaceToDepth, Squeeze, StridedSlice,
    Transpose,
)  # fmt: skip
"""Operators that give elements of their operand, so that quantising again changes nothing."""


def _quantized_again(rule: Writer) -> Writer:
    """A writer whose result is quantised as the operand was: runtimes look for integers on both sides."""

    def write(g: Graph, op: Any, x: Value, *rest: Value) -> Any:
        found = rule(g, op, x, *rest)
        node = g.producers.get(x.name)
        if node is None or node.op_type != "DequantizeLinear" or node.attribute or len(node.input) < 3:
            return found
        scale = list(node.input[1:])
        return g.add("DequantizeLinear", g.add("QuantizeLinear", found, *scale), *scale)

    return write


for _class in MOVING:
    _rule, _fits = writers[_class.name]
    writers[_class.name] = (_quantized_again(_rule), _fits)
