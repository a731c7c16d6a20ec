"""Floats of 8 and 4 bits: held as their bits in bytes, computed with as float32.

A table says what float32 each pattern is.  The way back rounds to nearest, ties to even, by the bits; what is
too great becomes what `ml_dtypes` makes of it: infinity, NaN, or the greatest number.
"""

from typing import Any, NamedTuple

import numpy as np

from relay.backend.native.llvm.builder import Code, Value, integer
from relay.backend.native.llvm.literals import float_text
from relay.ir.dtype import to_numpy


class Format(NamedTuple):
    """Bits of the fraction, what is added to the exponent, and the patterns of special numbers."""

    fraction: int
    bias: int
    greatest: int
    beyond: int
    """What follows the greatest."""
    nan: int
    sign: int = 0x80
    signed_zero: bool = True
    """Otherwise the pattern of -0 is that of NaN."""


FORMATS = {
    "float8_e4m3fn": Format(3, 7, 0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": Format(3, 8, 0x7F, 0x80, 0x80, signed_zero=False),
    "float8_e5m2": Format(2, 15, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": Format(2, 16, 0x7F, 0x80, 0x80, signed_zero=False),
    "float4_e2m1fn": Format(1, 1, 7, 7, 8, sign=8),
}


def minifloat_to_float32(program: Any, code: Code, v: Value, dtype: str) -> Value:
    """A byte as the float32 that it stands for."""
    name = f"@relay.{dtype}"
    numbers = np.arange(256, dtype="uint8")
    patterns = numbers & 15 if dtype == "float4_e2m1fn" else numbers
    values = [float_text("float32", x) for x in patterns.view(to_numpy(dtype)).astype("float32")]
    table = ", ".join([f"float {x}" for x in values])
    code.declare(f"{name} = private unnamed_addr constant [256 x float] [{table}], align 64")
    at = code.cast("zext", v, "i64")
    return code.look_up("float", name, at)


def float32_to_minifloat(code: Code, v: Value, dtype: str) -> Value:
    """A float32 as a byte, rounded."""
    f = FORMATS[dtype]
    bits = code.cast("bitcast", v, "i32")
    size = code.op("and", bits, integer(0x7FFFFFFF, 32))
    least = (128 - f.bias) << 23
    small = code.compare("icmp ult", size, integer(least, 32))
    found = code.select(small, denormal_pattern(code, size, f), normal_pattern(code, size, f))
    too_great = code.compare("icmp ugt", found, integer(f.greatest, 32))
    found = code.select(too_great, integer(f.beyond, 32), found)
    sign = code.op("and", code.op("lshr", bits, integer(32 - f.sign.bit_length(), 32)), integer(f.sign, 32))
    made = code.op("or", found, sign)
    if not f.signed_zero:
        made = code.select(code.compare("icmp eq", found, integer(0, 32)), found, made)
    nan = code.op("xor" if f.nan == f.sign and f.signed_zero else "or", sign, integer(f.nan, 32))
    made = code.select(code.compare("fcmp uno", v, v), nan, made)
    return code.cast("trunc", made, "i8")


def normal_pattern(code: Code, size: Value, f: Format) -> Value:
    """The pattern of a number that is not denormal: half of what goes is added, and goes."""
    away = 23 - f.fraction
    odd = code.op("and", code.op("lshr", size, integer(away, 32)), integer(1, 32))
    up = code.op("add", size, code.op("add", odd, integer((1 << (away - 1)) - 1, 32)))
    return code.op("sub", code.op("lshr", up, integer(away, 32)), integer((127 - f.bias) << f.fraction, 32))


def denormal_pattern(code: Code, size: Value, f: Format) -> Value:
    """The pattern of one that is: how many of the least number it is, as the processor rounds."""
    magic = 2.0 ** (24 - f.bias - f.fraction)
    at = Value("float", float_text("float32", magic))
    moved = code.op("fadd", code.cast("bitcast", size, "float"), at)
    whole = int(np.float32(magic).view("uint32"))
    return code.op("sub", code.cast("bitcast", moved, "i32"), integer(whole, 32))
