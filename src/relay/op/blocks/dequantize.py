"""Tensors from weights in small numbers: in blocks as GGUF files have them, or in groups with scales."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy

from relay.ir.dim import floor_divide
from relay.ir.dtype import dtype_name
from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.attribute import DTypeName
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, Array, Numpy, Operator, sample
from relay.op.batching import same
from relay.op.blocks.formats import FORMATS, BlockFormat
from relay.op.blocks.readers import element, numbers_of_blocks
from relay.op.derivative import cast_back, is_floating, rank_of, tensor_type, times
from relay.op.kind import Derivative, Fusion
from relay.op.native import Loops, View
from relay.op.numeric import apply, narrow
from relay.op.qnn.convert import of_kind
from relay.op.registry import operator
from relay.op.relation import Typing

Format = Literal[
    "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"
]
FLOAT32 = DTypeName("float32")


class Stored(Operator):
    """Numbers that are kept in fewer bits than they have."""

    fusion = Fusion.INJECTIVE
    decodes = True
    batch = same

    def check_result(self, t: Typing) -> None:
        """Demand that the result is of floats."""
        of_kind(t, "dtype", self["dtype"], FLOATING)


# Bytes of which each pair could be a float16 scale, none of them infinite: 0x2c2b and the like.
BYTES = (numpy.arange(3 * 720) * 37 % 48).astype("uint8").reshape(3, 720)


@operator("dequantize_blocks")
class DequantizeBlocks(Stored):
    """The numbers that blocks of a GGUF file stand for: `(..., bytes)`, uint8, to `(..., k)`.

    A block of `format` has a fixed number of bytes and of numbers: 34 and 32 in `q8_0`, 18 in `q4_0` and
    `iq4_nl`, 20 in `q4_1`, 22 in `q5_0`, 24 in `q5_1`; 84 bytes and 256 numbers in `q2_k`, 110 in `q3_k`, 144
    in `q4_k`, 176 in `q5_k`, 210 in `q6_k`, 136 in `iq4_xs`.  They are computed in float32, as ggml's
    reference does, and then in `dtype`.  The bytes have no derivative.

    Raises `shape-constraint` where bytes are left over.  Source: ggml's `ggml-quants.c`.

    relay> dequantize_blocks(cast([0, 60, 9, 10, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8], "uint8"))[:5]
    [1.0, 2.0, -1.0, 0.0, 0.0]
    """

    derivative = Derivative.ZERO
    dtypes = frozenset({"uint8"})
    format: Format = "q4_0"
    dtype: DTypeName = FLOAT32
    samples = (
        sample(BYTES[:, :36]),
        sample(BYTES[:2, :68].reshape(2, 1, 68), format="q8_0", dtype="float16"),
        *(
            sample(BYTES[:2, : FORMATS[name].bytes], format=name)
            for name in FORMATS
            if name not in ("q4_0", "q8_0")
        ),
        sample("0x18 uint8"),
    )

    @property
    def form(self) -> BlockFormat:
        """The format."""
        return FORMATS[self.format]

    def is_decoding(self, dtype: str) -> bool:
        """Kernels decode what is not a table of levels."""
        return self.dtype == "float32" and not self.form.levels

    def infer(self, t: Typing, data: Type) -> Type:
        self.check_result(t)
        *lead, size = t.shape(data)
        t.require(self.form.bytes, "divides", size, f"blocks of {self.format} are {self.form.bytes} bytes")
        return TensorType((*lead, floor_divide(size, self.form.bytes) * self.form.size), self.dtype)

    def reference(self, np: Numpy, data: Array) -> Array:
        blocks = np.reshape(data, (data.size // self.form.bytes, self.form.bytes))
        shape = (*data.shape[:-1], data.shape[-1] // self.form.bytes * self.form.size)
        return narrow(np.reshape(numbers_of_blocks(np, self.form, blocks), shape), self.dtype)

    def extent(self, b: Loops, data: View) -> Sequence[Any]:
        """As many numbers as the blocks have."""
        *lead, size = data.sizes
        return [*lead, b.times(b.quotient(size, self.form.bytes), self.form.size)]

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """A number of its block."""
        *lead, i = index
        first = b.times(b.quotient(i, self.form.size), self.form.bytes)
        inner = b.rest(i, self.form.size)
        found = element(b, self.form, lambda at: data.at([*lead, b.plus(first, at)]), inner)
        return b.cast(found, self.dtype)


BLOCK = 32
"""Numbers of groups that kernels read at once; a smaller group all of it."""


def wide_of(dtype: str) -> str:
    """The dtype that numbers of groups are computed in, by that of their scales."""
    return "float64" if dtype == "float64" else "float32"


GROUPS = (numpy.arange(2 * 3 * 16) * 91 % 251).astype("uint8").reshape(2, 3, 16)
SCALES = (numpy.arange(6) % 5 + 1).astype("float32").reshape(2, 3) / 8


@operator("dequantize_groups")
class DequantizeGroups(Stored):
    """`(q - zero_point) * scale` of the numbers `q` of so many bits in `data`, with a scale for each group.

    `data` is `(..., groups, group * bits / 8)`, uint8, of which a byte holds the first number in its lowest
    bits; `scale` is `(..., groups)`, and the result `(..., groups * group)`.  `zero_point` is `(..., groups)`
    of floats, or integers that are packed like the data, `(..., ceil(groups * bits / 8))`, uint8; without it
    it is `2 ** (bits - 1)`.  It is computed in float32, or in the scale's float64, and then in `dtype`.

    Raises `shape-constraint` where sizes do not agree, `attribute-value` for other `bits` than 2, 4 and 8.
    Source: the operator `MatMulNBits` of ONNX Runtime.

    relay> dequantize_groups(cast([[[8, 249]]], dtype="uint8"), [[0.5]], group=4)
    [[0.0, -4.0, 0.5, 3.5]]
    """

    derivative = Derivative.RULES
    bits: int = 4
    group: int = 32
    dtype: DTypeName = FLOAT32
    samples = (
        sample(GROUPS, SCALES),
        sample(GROUPS, SCALES.astype("float16"), numpy.asarray([[0x51, 3], [0xF0, 9]], "uint8")),
        sample(GROUPS[:, None], SCALES[:, None], 4 * SCALES[:, None], bits=8, group=16),
        sample(GROUPS, SCALES, numpy.asarray([[27], [45]], "uint8"), bits=2, group=64, dtype="bfloat16"),
        sample("0x3x16 uint8", "0x3 float32"),
    )

    def is_decoding(self, dtype: str) -> bool:
        """Kernels decode groups that are a number of their blocks."""
        return self.dtype == "float32" and (self.group % BLOCK == 0 or self.group in (16, 8))

    def infer(self, t: Typing, data: Type, scale: Type, zero_point: Type | None = None) -> Type:
        self.check_result(t)
        if self.bits not in (2, 4, 8):
            attribute_fault(t, "bits", self.bits, "a number has 2, 4 or 8 bits")
        if self.group < 1 or self.group * self.bits % 8:
            attribute_fault(t, "group", self.group, f"numbers of {self.bits} bits fill no whole bytes")
        t.dtype_in(data, {"uint8"}, "the data")
        t.dtype_in(scale, FLOATING, "the scale")
        *lead, groups, size = t.shape(data)
        t.require(size, "==", self.group * self.bits // 8, "a group fills its bytes")
        t.equal(t.tensor(scale).shape, (*lead, groups), why="each group has a scale")
        if zero_point is not None:
            t.dtype_in(zero_point, FLOATING | {"uint8"}, "the zero point")
            is_packed = t.known_dtype(zero_point) == "uint8"
            count = floor_divide(groups * self.bits + 7, 8) if is_packed else groups
            t.equal(t.tensor(zero_point).shape, (*lead, count), why="each group has a zero point")
        return TensorType((*lead, groups * self.group), self.dtype)

    def reference(self, np: Numpy, data: Array, scale: Array, zero_point: Array | None = None) -> Array:
        lead, groups = data.shape[:-2], data.shape[-2]
        q = np.reshape(self.unpacked(np, data), (*lead, groups, self.group))
        wide = wide_of(dtype_name(scale.dtype))
        zero = np.asarray(1 << self.bits - 1)
        if zero_point is not None and zero_point.dtype == "uint8":
            zero = self.unpacked(np, zero_point)[..., :groups, None]
        elif zero_point is not None:
            zero = zero_point[..., None]
        found = (q.astype(wide) - zero.astype(wide)) * scale.astype(wide)[..., None]
        return narrow(np.reshape(found, (*lead, groups * self.group)), self.dtype)

    def unpacked(self, np: Numpy, data: Array) -> Array:
        """Numbers in place of the bytes that hold them, as float32."""
        shifts = np.arange(0, 8, self.bits).astype("uint8")
        found = (data[..., None] >> shifts) & ((1 << self.bits) - 1)
        return np.reshape(found, (*data.shape[:-1], data.shape[-1] * (8 // self.bits)))

    def extent(self, b: Loops, data: View, *more: View) -> Sequence[Any]:
        """As many numbers as the groups have."""
        *lead, groups, _ = data.sizes
        return [*lead, b.times(groups, self.group)]

    def element(self, b: Loops, index: Sequence[Any], data: View, scale: View, *zero_point: View) -> Any:
        """A number of its group."""
        *lead, i = index
        g, inner = b.quotient(i, self.group), b.rest(i, self.group)
        wide = wide_of(scale.dtype)
        q = b.cast(self.number(b, data, [*lead, g], inner), wide)
        if not zero_point:
            zero = b.const(1 << self.bits - 1, wide)
        elif zero_point[0].dtype == "uint8":
            zero = b.cast(self.number(b, zero_point[0], lead, g), wide)
        else:
            zero = b.cast(zero_point[0].at([*lead, g]), wide)
        found = b.multiply(b.subtract(q, zero), b.cast(scale.at([*lead, g]), wide))
        return b.cast(found, self.dtype)

    def number(self, b: Loops, x: View, lead: Sequence[Any], i: Any) -> Any:
        """Number `i` of those that a row of bytes holds, as int32."""
        each = 8 // self.bits
        byte = x.at([*lead, b.quotient(i, each)])
        shift = b.as_number(b.times(b.rest(i, each), self.bits), "uint8")
        found = b.bits("and", b.bits("lshr", byte, shift), b.const((1 << self.bits) - 1, "uint8"))
        return b.cast(found, "int32")

    def vjp(self, g: Expr, y: Expr, data: Expr, scale: Expr, *zero_point: Expr) -> tuple[Expr | None, ...]:
        """The cotangent of a scale is the sum over its group; that of its zero point is as much as the scale
        less.
        """
        wide, rank = DTypeName(wide_of(str(tensor_type(scale).dtype))), rank_of(y)
        h = apply("cast", g, dtype=wide)
        whole = replace(self, dtype=wide)(data, apply("ones_like", scale), *zero_point)
        found: list[Expr | None] = [None, cast_back(self.by_group(times(h, whole), rank), scale)]
        for z in zero_point:
            scaled = times(self.by_group(h, rank), apply("cast", scale, dtype=wide))
            found.append(cast_back(apply("negative", scaled), z) if is_floating(z) else None)
        return tuple(found)

    def by_group(self, x: Expr, rank: int) -> Expr:
        """The sums over groups."""
        split = apply("reshape", x, newshape=(*(0,) * (rank - 1), -4, -1, self.group))
        return apply("sum", split, axis=(rank,))

    def jvp(self, dxs: Sequence[Expr | None], y: Expr, *xs: Expr) -> Expr | None:
        """The sum of what the tangents of scale and zero point give."""
        data, scale, *zero_point = xs
        _, d_scale, *d_zero = dxs
        parts: list[Expr] = []
        if d_scale is not None:
            parts.append(self(data, d_scale, *zero_point))
        if d_zero and d_zero[0] is not None:
            wide = wide_of(str(tensor_type(scale).dtype))
            scaled = times(apply("cast", d_zero[0], dtype=wide), apply("cast", scale, dtype=wide))
            spread = apply("repeat", apply("negative", scaled), repeats=self.group, axis=-1)
            parts.append(apply("cast", spread, dtype=self.dtype))
        return parts[0] if len(parts) == 1 else apply("add", *parts)
