"""What kernels are shaped by: the vectors and registers of a machine."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

from relay.backend.native.llvm.jit import Processor, target_processor
from relay.backend.native.llvm.vectors import SIZES


@dataclass(frozen=True)
class Instruction:
    """An instruction of a machine: LLVM's name of it, and the types of the lanes of its operands, which are
    as wide as the result.
    """

    intrinsic: str
    operands: tuple[str, ...]
    result: str
    """The type of the lanes of its result, whose bits may be read as others."""


INSTRUCTIONS = {
    "pmaddwd.512": Instruction("llvm.x86.avx512.pmaddw.d.512", ("i16", "i16"), "i32"),
    "pmaddwd.256": Instruction("llvm.x86.avx2.pmadd.wd", ("i16", "i16"), "i32"),
    "pmaddubsw.512": Instruction("llvm.x86.avx512.pmaddubs.w.512", ("i8", "i8"), "i16"),
    "pmaddubsw.256": Instruction("llvm.x86.avx2.pmadd.ub.sw", ("i8", "i8"), "i16"),
    "psign.256": Instruction("llvm.x86.avx2.psign.b", ("i8", "i8"), "i8"),
    "vpdpbusd.512": Instruction("llvm.x86.avx512.vpdpbusd.512", ("i32", "i32", "i32"), "i32"),
    "vpdpbusd.256": Instruction("llvm.x86.avx512.vpdpbusd.256", ("i32", "i32", "i32"), "i32"),
    "vpdpbf16ps.512": Instruction("llvm.x86.avx512bf16.dpbf16ps.512", ("float", "bfloat", "bfloat"), "float"),
    "sdot": Instruction("llvm.aarch64.neon.sdot.v4i32.v16i8", ("i32", "i8", "i8"), "i32"),
    "udot": Instruction("llvm.aarch64.neon.udot.v4i32.v16i8", ("i32", "i8", "i8"), "i32"),
    "usdot": Instruction("llvm.aarch64.neon.usdot.v4i32.v16i8", ("i32", "i8", "i8"), "i32"),
}
"""Instructions by name.  `pmaddwd` adds up the products of neighbours; LLVM makes one instruction of it and
the addition after it where the processor has such.  The others take the sum that they add to: `vpdpbusd` and
`usdot` the products of four unsigned bytes and four signed ones, `sdot` and `udot` of bytes that are alike,
`vpdpbf16ps` of two bfloat16.  `pmaddubsw` adds up two products of an unsigned byte and a signed one in
int16, `psign` gives bytes the sign of others.
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


AVX512 = Machine(64, 32, ("pmaddubsw.512", "pmaddwd.512", "pmaddubsw.256"))
AVX512F = Machine(64, 32)
AVX512_VNNI = Machine(64, 32, ("vpdpbusd.512", "pmaddwd.512", "pmaddubsw.256"))
AVX512_BF16 = Machine(64, 32, ("vpdpbusd.512", "vpdpbf16ps.512", "pmaddwd.512", "pmaddubsw.256"))
AVX2 = Machine(32, 16, ("pmaddwd.256", "pmaddubsw.256"))
AVX_VNNI = Machine(32, 16, ("vpdpbusd.256", "pmaddwd.256", "pmaddubsw.256"))
SSE = Machine(16, 16)
NEON = Machine(16, 30)
"""Of the 32 registers, LLVM holds numbers of the first operand in up to three."""
NEON_DOT = Machine(16, 30, ("sdot", "udot"))
NEON_I8MM = Machine(16, 30, ("sdot", "udot", "usdot"))


def target_machine(features: Mapping[str, bool]) -> Machine:
    """A machine with these features, as LLVM names them."""
    known = (
        (AVX512_BF16, ("avx512f", "avx512bw", "avx512vnni", "avx512bf16")),
        (AVX512_VNNI, ("avx512f", "avx512bw", "avx512vnni")),
        (AVX512, ("avx512f", "avx512bw")),
        (AVX512F, ("avx512f",)),
        (AVX_VNNI, ("avx2", "fma", "avxvnni")),
        (AVX2, ("avx2", "fma")),
        (NEON_I8MM, ("neon", "dotprod", "i8mm")),
        (NEON_DOT, ("neon", "dotprod")),
        (NEON, ("neon",)),
    )
    return next((m for m, wanted in known if all(features.get(f) for f in wanted)), SSE)


MACHINES = {
    "avx512": AVX512, "avx512vnni": AVX512_VNNI, "avx512bf16": AVX512_BF16, "avx2": AVX2, "avxvnni": AVX_VNNI,
    "neon": NEON, "neon-dot": NEON_DOT, "neon-i8mm": NEON_I8MM,
}  # fmt: skip
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
    """The machine that kernels are shaped for: the one that code is compiled for."""
    return _chosen.get() or machine_of(target_processor())


@cache
def machine_of(processor: Processor) -> Machine:
    """The machine that a processor is."""
    return target_machine(dict.fromkeys(processor.features, True))
