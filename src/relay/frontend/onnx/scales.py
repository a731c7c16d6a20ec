"""Scales of 8 bits (`float8e8m0`): exponents alone, carried as bytes, since no dtype holds them."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.support import cast
from relay.frontend.value import Value, call, constant
from relay.ir.expr import Expr

FLOAT8E8M0 = 24
"""ONNX's number for the dtype."""
NAN_BYTE = 255
"""The byte that stands for NaN."""


class Scales(Value):
    """Bytes that are exponents: a byte `b` stands for `2 ** (b - 127)`."""

    __slots__ = ()

    def named(self, var: Expr) -> Value:
        """The scales, bound to a variable."""
        return scales_of(super().named(var))


def scales_of(x: Value) -> Scales:
    """Bytes as scales."""
    return Scales(x.expr, x.type, x.array, x.dims, x.sources)


def from_scales(x: Value, to: str) -> Value:
    """The numbers that scales stand for."""
    table = np.ldexp(1.0, np.arange(256) - 127)
    table[NAN_BYTE] = np.nan
    return cast(call("take", constant(table, "float32"), cast(x, "int32"), axis=0), to)


def to_scales(node: Node, x: Value) -> Value:
    """Numbers as scales: the sign is dropped, the rest rounded to a power of 2 as the node says."""
    bits = call("reinterpret", cast(x, "float32"), dtype="uint32")
    rest = call("bitwise_and", bits, 0x7FFFFF)
    exponent = cast(call("bitwise_and", call("right_shift", bits, 23), 0xFF), "int32")
    match node.text("round_mode", "up"):
        case "up":
            above = call("greater", rest, 0)
        case "nearest":
            above = call("greater", rest, 0x400000)
            tie = call("logical_and", call("equal", rest, 0x400000), call("greater", exponent, 0))
            above = call("logical_or", above, tie)
        case _:
            above = call("less", rest, 0)
    most = 254 if node.int("saturate", 1) else NAN_BYTE
    grown = call("minimum", exponent + cast(above, "int32"), most)
    return scales_of(cast(call("where", call("equal", exponent, NAN_BYTE), exponent, grown), "uint8"))


def bytes_of(array: Any) -> Any:
    """An array of scales as bytes, another one as it is."""
    return array.view("uint8") if getattr(array, "dtype", None) == "float8_e8m0fnu" else array
