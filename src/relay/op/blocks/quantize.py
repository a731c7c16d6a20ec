"""Weights as small numbers: NumPy arrays to the bytes that `dequantize_blocks` and `dequantize_groups` read.

Numbers are rounded to nearest, as ggml's reference and ONNX Runtime's quantisers of weights do.
"""

from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.op.base import Array
from relay.op.blocks.formats import FORMATS


def quantize_blocks(array: Any, format: str) -> Array:
    """The bytes `(..., k / 32 * bytes)`, uint8, of an array `(..., k)` of floats in a GGUF format: `q8_0`,
    `q4_0` or `q4_1`.

    The bytes are those of ggml's reference quantisers.  Raises `attribute-value` for another format, for
    blocks that are not full and for numbers that are not finite.
    """
    if format not in QUANTIZERS:
        fail(
            "attribute-value", f"there is no quantiser for {format!r}", hint=f"one of {', '.join(QUANTIZERS)}"
        )
    x, form = finite_numbers(array), FORMATS[format]
    if x.ndim == 0 or x.shape[-1] % form.size:
        fail("attribute-value", f"rows of {format} are a multiple of {form.size} long, found shape {x.shape}")
    blocks = x.reshape(-1, form.size)
    made = np.concatenate(QUANTIZERS[format](blocks), axis=1)
    return made.reshape(*x.shape[:-1], x.shape[-1] // form.size * form.bytes)


def finite_numbers(array: Any) -> Array:
    """An array as float32; `attribute-value` where a number is not finite."""
    x = np.ascontiguousarray(np.asarray(array).astype("float32"))
    if not np.isfinite(x).all():
        fail("attribute-value", "weights that are infinite or NaN have no scale")
    return x


def inverse(d: Array) -> Array:
    """`1 / d`, 0 for 0."""
    return np.divide(np.float32(1), d, out=np.zeros_like(d), where=d != 0)


def half_bytes(d: Array) -> Array:
    """The bytes of float16 numbers."""
    with np.errstate(over="ignore"):
        return d.astype("<f2").view("uint8")


def q8_0(x: Array) -> list[Array]:
    """A scale, and numbers from -127 to 127; halves are rounded away from 0."""
    d = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    scaled = x * inverse(d)
    whole = np.trunc(scaled)
    q = whole + np.sign(scaled) * (np.abs(scaled - whole) >= 0.5)
    return [half_bytes(d), q.astype("int8").view("uint8")]


def halves(q: Array) -> Array:
    """Numbers of 4 bits, those of the first half of a block below those of the second."""
    q = q.astype("uint8")
    return q[:, :16] | q[:, 16:] << 4


def q4_0(x: Array) -> list[Array]:
    """A scale that gives the number furthest from 0 the code 0, so that its sign is the one of 8 levels."""
    most = np.take_along_axis(x, np.abs(x).argmax(axis=1)[:, None], axis=1)
    d = most / np.float32(-8)
    q = np.clip(np.trunc(x * inverse(d) + np.float32(8.5)), 0, 15)
    return [half_bytes(d), halves(q)]


def q4_1(x: Array) -> list[Array]:
    """A scale and the least number."""
    least = x.min(axis=1, keepdims=True)
    d = (x.max(axis=1, keepdims=True) - least) / np.float32(15)
    q = np.clip(np.trunc((x - least) * inverse(d) + np.float32(0.5)), 0, 15)
    return [half_bytes(d), half_bytes(least), halves(q)]


QUANTIZERS = {"q8_0": q8_0, "q4_0": q4_0, "q4_1": q4_1}
"""How blocks become bytes, part by part."""


def quantize_groups(
    array: Any, bits: int = 4, group: int = 32, symmetric: bool = True
) -> tuple[Array, Array, Array | None]:
    """The operands of `dequantize_groups` for an array `(..., k)` of floats: bytes
    `(..., groups, group * bits / 8)`, scales `(..., groups)`, float32, and packed zero points
    `(..., ceil(groups * bits / 8))`, None where they are in the middle (`symmetric`).

    A row that leaves a group unfinished is filled with zeros.  The scale gives the number furthest from 0 the
    code 0, so that its sign has a level more, or is the range, which then includes 0, over `2 ** bits - 1`.
    Raises `attribute-value` for other bits than 2, 4 and 8, groups that fill no whole bytes and numbers that
    are not finite.
    """
    if bits not in (2, 4, 8) or group < 1 or group * bits % 8:
        fail("attribute-value", f"there are no groups of {group} numbers of {bits} bits")
    x = finite_numbers(array)
    groups = -(-x.shape[-1] // group)
    x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, groups * group - x.shape[-1])])
    x = x.reshape(*x.shape[:-1], groups, group)
    top = (1 << bits) - 1
    if symmetric:
        zero = np.full(x.shape[:-1], 1 << bits - 1, "float32")
        most = np.take_along_axis(x, np.abs(x).argmax(axis=-1)[..., None], axis=-1)[..., 0]
        scale = most / np.float32(-(1 << bits - 1))
    else:
        least, most = np.minimum(x.min(axis=-1), 0), np.maximum(x.max(axis=-1), 0)
        scale = (most - least) / np.float32(top)
        zero = np.rint(-least * inverse(scale))
    q = np.clip(np.rint(x * inverse(scale)[..., None]) + zero[..., None], 0, top)
    return packed(q, bits), scale, None if symmetric else packed(zero, bits)


def packed(q: Array, bits: int) -> Array:
    """Numbers along the last axis in bytes, the first in the lowest bits; the last byte is filled with 0."""
    each = 8 // bits
    count = -(-q.shape[-1] // each)
    q = np.pad(q.astype("uint8"), [(0, 0)] * (q.ndim - 1) + [(0, count * each - q.shape[-1])])
    parts = q.reshape(*q.shape[:-1], count, each) << np.arange(0, 8, bits).astype("uint8")
    return np.bitwise_or.reduce(parts, axis=-1)
