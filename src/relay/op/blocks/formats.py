"""The block formats of GGUF files: where the numbers of a block are in its bytes, and what they stand for.

A block is so many bytes that stand for `size` numbers, each `scale * (code - zero) + minimum`.  A run is the
neighbours in a block that have one scale, and whose codes are in neighbouring bytes.  `code`, `scale` and
`minimum` of a format read with a `Reader`: of a NumPy array, in loops one element at a time, or in kernels a
vector at a time; so each format is said once.  Source: ggml's `ggml-quants.c` and `ggml-common.h`, whose
values these are bit by bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Place = Any
"""A number of bytes, runs or elements: a Python integer, an array of them, or an index of loops."""
Byte = Any
"""A byte as an unsigned integer, or one for each element: it has `>>`, `<<`, `&` and `|`."""
Real = Any
"""A float32, or one for each element: it has `*`, `-` and `+`."""


class Reader(Protocol):
    """Reads a block."""

    def byte(self, at: Place) -> Byte:
        """A byte of the block."""
        ...

    def half(self, at: int) -> Real:
        """The float16 that begins at a byte."""
        ...

    def bit(self, at: int, number: Place) -> Byte:
        """A bit, by its number from the lowest one of a byte on."""
        ...

    def real(self, x: Byte) -> Real:
        """A byte as a number."""
        ...

    def signed(self, x: Byte) -> Real:
        """A byte as a number from -128 to 127."""
        ...

    def either(self, at: Place, limit: int, first: Callable[[], Byte], second: Callable[[], Byte]) -> Byte:
        """The first where a place is below a limit, else the second; both may be computed."""
        ...


Code = Callable[[Reader, Place, Place], Byte]
"""The code of an element: of which run, and which one in it."""
PerRun = Callable[[Reader, Place], Real]
"""The scale or the minimum of a run."""


@dataclass(frozen=True)
class BlockFormat:
    """A format; `code` gives so many bits, which are unsigned unless `is_signed`, or places in `levels`."""

    size: int
    bytes: int
    run: int
    code: Code
    scale: PerRun
    minimum: PerRun | None = None
    zero: int = 0
    is_signed: bool = False
    levels: tuple[int, ...] = ()
    bits: int = 4


def nibble(at: int) -> Code:
    """Runs of 16: the lower halves of 16 bytes, then their higher ones."""
    return lambda a, r, x: (a.byte(at + x) >> (4 * r)) & 15


def with_fifth_bit(code: Code, at: int) -> Code:
    """Codes of 4 bits in runs of 16, and a fifth bit of each somewhere else."""
    return lambda a, r, x: code(a, r, x) | (a.bit(at, 16 * r + x) << 4)


def one_half(at: int) -> PerRun:
    """A float16 for the whole block."""
    return lambda a, r: a.half(at)


def two_bits(at: int) -> Code:
    """Runs of 16: bits of 32 bytes, the lowest two first, then of the next 32."""
    return lambda a, r, x: (a.byte(at + 32 * (r // 8) + 16 * (r % 2) + x) >> (2 * (r // 2 % 4))) & 3


def six_bits(at: int, is_minimum: bool) -> Callable[[Reader, Place], Byte]:
    """One of eight scales of 6 bits, or of eight minima, in 12 bytes: four are in bytes of their own, the
    others have their higher bits above those.
    """
    own, shift = at + 4 * is_minimum, 4 * is_minimum

    def found(a: Reader, r: Place) -> Byte:
        j = r % 4
        return a.either(
            r,
            4,
            lambda: a.byte(own + j) & 63,
            lambda: ((a.byte(at + 8 + j) >> shift) & 15) | ((a.byte(own + j) >> 2) & 48),
        )

    return found


def of_six_bits(half_at: int, at: int, is_minimum: bool = False) -> PerRun:
    """A float16 of the block times 6 bits of the run; of minima, less than 0."""
    bits = six_bits(at, is_minimum)
    if is_minimum:
        return lambda a, r: -(a.half(half_at) * a.real(bits(a, r)))
    return lambda a, r: a.half(half_at) * a.real(bits(a, r))


def q3_scale(a: Reader, r: Place) -> Real:
    """A float16 times 6 bits less 32, of which 4 are in one byte and 2 in another."""
    low = (a.byte(96 + r % 8) >> (4 * (r // 8))) & 15
    high = (a.byte(104 + r % 4) >> (2 * (r // 4))) & 3
    return a.half(108) * (a.real(low | (high << 4)) - 32)


def q6_code(a: Reader, r: Place, x: Place) -> Byte:
    """4 bits in one byte and 2 in another."""
    low = (a.byte(64 * (r // 8) + 16 * (r % 4) + x) >> (4 * (r // 4 % 2))) & 15
    return low | (two_bits(128)(a, r, x) << 4)


def iq4_scale(a: Reader, r: Place) -> Real:
    """A float16 times 6 bits less 32, one for two runs."""
    g = r // 2
    low = (a.byte(4 + g // 2) >> (4 * (g % 2))) & 15
    high = (a.byte(2 + g // 4) >> (2 * (g % 4))) & 3
    return a.half(0) * (a.real(low | (high << 4)) - 32)


def eighth(at: int, size: int) -> Code:
    """Runs of 32: the lower halves of 32 bytes, then their higher ones, then those of the next 32."""
    return lambda a, r, x: (a.byte(at + size * (r // 2) + x) >> (4 * (r % 2))) & 15


LEVELS = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)
"""What the 4 bits of `iq4_nl` and `iq4_xs` stand for."""

FORMATS = {
    "q8_0": BlockFormat(32, 34, 32, lambda a, r, x: a.byte(2 + x), one_half(0), is_signed=True, bits=8),
    "q4_0": BlockFormat(32, 18, 16, nibble(2), one_half(0), zero=8),
    "q4_1": BlockFormat(32, 20, 16, nibble(4), one_half(0), one_half(2)),
    "q5_0": BlockFormat(32, 22, 16, with_fifth_bit(nibble(6), 2), one_half(0), zero=16, bits=5),
    "q5_1": BlockFormat(32, 24, 16, with_fifth_bit(nibble(8), 4), one_half(0), one_half(2), bits=5),
    "q2_k": BlockFormat(
        256,
        84,
        16,
        two_bits(16),
        lambda a, r: a.half(80) * a.real(a.byte(r) & 15),
        lambda a, r: -(a.half(82) * a.real(a.byte(r) >> 4)),
        bits=2,
    ),
    "q3_k": BlockFormat(
        256,
        110,
        16,
        lambda a, r, x: two_bits(32)(a, r, x) | (((a.byte(16 * (r % 2) + x) >> (r // 2)) & 1) << 2),
        q3_scale,
        zero=4,
        bits=3,
    ),
    "q4_k": BlockFormat(256, 144, 32, eighth(16, 32), of_six_bits(0, 4), of_six_bits(2, 4, is_minimum=True)),
    "q5_k": BlockFormat(
        256,
        176,
        32,
        lambda a, r, x: eighth(48, 32)(a, r, x) | (((a.byte(16 + x) >> r) & 1) << 4),
        of_six_bits(0, 4),
        of_six_bits(2, 4, is_minimum=True),
        bits=5,
    ),
    "q6_k": BlockFormat(
        256, 210, 16, q6_code, lambda a, r: a.half(208) * a.signed(a.byte(192 + r)), zero=32, bits=6
    ),
    "iq4_nl": BlockFormat(32, 18, 16, nibble(2), one_half(0), levels=LEVELS),
    "iq4_xs": BlockFormat(
        256,
        136,
        16,
        lambda a, r, x: (a.byte(8 + 16 * (r // 2) + x) >> (4 * (r % 2))) & 15,
        iq4_scale,
        levels=LEVELS,
    ),
}
"""The formats by name."""
