"""Operands for the samples of operators: texts such as `"3x4 float32"` as arrays."""

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from relay.ir.dtype import bits, is_float, is_integer, is_signed, to_numpy
from relay.op.base import Operator, Sample, sample
from relay.op.family import Broadcast, Elementwise
from relay.op.rounding import Predicate


def operand(described: Any, rng: np.random.Generator) -> Any:
    """The value that one entry of a sample describes; rank 0 is a NumPy scalar."""
    if isinstance(described, tuple):
        return tuple(operand(d, rng) for d in described)
    if not isinstance(described, str):
        return np.asarray(described)[()]
    size, _, dtype = described.rpartition(" ")
    return random_array(tuple(int(d) for d in size.split("x")) if size else (), dtype, rng)


def random_array(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Any:
    """Floats around 0, small integers of both signs where the type has them, booleans."""
    if is_float(dtype):
        values: Any = rng.standard_normal(shape)
    elif is_integer(dtype):
        top = min(9, 2 ** (bits(dtype) - is_signed(dtype)) - 1)
        values = rng.integers(-top if is_signed(dtype) else 0, top + 1, shape)
    else:
        values = rng.integers(0, 2, shape)
    return (
        np.asarray(values)
        .astype(np.float32 if is_float(dtype) and dtype != "float64" else np.asarray(values).dtype)
        .astype(to_numpy(dtype))[()]
    )


def operands_of(s: Sample) -> list[Any]:
    """The operands of a sample, the same on every run."""
    rng = np.random.default_rng(zlib.crc32(repr((s.operands, s.attrs)).encode()))
    return [operand(d, rng) for d in s.operands]


def samples_of(cls: type[Operator]) -> Iterator[Sample]:
    """The samples of an operator, and what its family adds: every dtype as a scalar, empty, and of odd
    sizes."""
    yield from cls.samples
    attrs = cls.samples[0].attrs
    for dtype in sorted(cls.dtypes - {"string"}):
        if issubclass(cls, Elementwise | Predicate):
            for shape in ("", "0x3 ", "3x5 ", "1x7x1 "):
                yield sample(shape + dtype, **attrs)
        elif issubclass(cls, Broadcast):
            one = np.ones(5, to_numpy(dtype))
            yield sample(dtype, one, **attrs)
            yield sample("0x1 " + dtype, one[:3], **attrs)
            yield sample("3x1x5 " + dtype, one[:1][0], **attrs)
