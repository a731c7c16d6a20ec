"""What kernels are shaped by: the vectors and registers of a machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from relay.backend.native.jit import binding
from relay.backend.native.representation import SIZES


@dataclass(frozen=True)
class Machine:
    """Bytes of a vector register, and how many of these a tile has."""

    vector: int
    registers: int

    def lanes(self, kind: str) -> int:
        """How many numbers of an LLVM type a vector holds."""
        return self.vector // SIZES[kind]

    @property
    def has_masks(self) -> bool:
        """Whether a part of a vector is as quickly written as all of it."""
        return self.vector == 64

    @property
    def is_wide(self) -> bool:
        """Whether registers hold tiles of three vectors that are high enough."""
        return self.registers > 16

    def tallest(self, width: int) -> int:
        """The most rows of `width` vectors that registers hold beside a row of the second operand and one
        number of the first.
        """
        return (self.registers - width - 1) // width


AVX512, AVX2, SSE, NEON = Machine(64, 32), Machine(32, 16), Machine(16, 16), Machine(16, 30)
"""Of the 32 registers of NEON, LLVM holds numbers of the first operand in up to three."""


def described(features: Mapping[str, bool]) -> Machine:
    """A machine with these features, as LLVM names them."""
    if features.get("avx512f"):
        return AVX512
    if features.get("avx2") and features.get("fma"):
        return AVX2
    return NEON if features.get("neon") else SSE


@cache
def host() -> Machine:
    """The machine that this process runs on."""
    return described(dict(binding().get_host_cpu_features()))
