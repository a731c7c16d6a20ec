"""What kernels are shaped by: the vectors and registers of a machine."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

from relay.backend.native.llvm.jit import binding
from relay.backend.native.llvm.vectors import SIZES


@dataclass(frozen=True)
class Instruction:
    """An instruction of a machine: LLVM's name of it, and the type of the lanes of all of its operands, which
    are as wide as the result.
    """

    intrinsic: str
    operand: str


INSTRUCTIONS = {
    "pmaddwd.512": Instruction("llvm.x86.avx512.pmaddw.d.512", "i16"),
    "pmaddwd.256": Instruction("llvm.x86.avx2.pmadd.wd", "i16"),
}
"""Instructions by name.  `pmaddwd` adds up the products of neighbours; LLVM makes one instruction of it and
the addition after it where the processor has such.
"""


@dataclass(frozen=True)
class Machine:
    """Bytes of a vector register, how many of these a tile has, and instructions that few machines have."""

    vector: int
    registers: int
    instructions: tuple[str, ...] = ()

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


AVX512 = Machine(64, 32, ("pmaddwd.512",))
AVX512F = Machine(64, 32)
AVX2 = Machine(32, 16, ("pmaddwd.256",))
SSE = Machine(16, 16)
NEON = Machine(16, 30)
"""Of the 32 registers, LLVM holds numbers of the first operand in up to three."""


def target_machine(features: Mapping[str, bool]) -> Machine:
    """A machine with these features, as LLVM names them."""
    if features.get("avx512f"):
        return AVX512 if features.get("avx512bw") else AVX512F
    if features.get("avx2") and features.get("fma"):
        return AVX2
    return NEON if features.get("neon") else SSE


MACHINES = {"avx512": AVX512, "avx2": AVX2, "neon": NEON}
_chosen: ContextVar[Machine | None] = ContextVar("machine", default=None)


@contextmanager
def shaped_for(name: str | None) -> Generator[None, None, None]:
    """Kernels inside are shaped for a machine by its name, to be read; None is the one at hand."""
    token = _chosen.set(None if name is None else MACHINES[name])
    try:
        yield
    finally:
        _chosen.reset(token)


def host() -> Machine:
    """The machine that kernels are shaped for: the one that this process runs on."""
    return _chosen.get() or _host()


@cache
def _host() -> Machine:
    return target_machine(dict(binding().get_host_cpu_features()))
