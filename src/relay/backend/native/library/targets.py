"""What libraries are for: kinds of machines and systems by name, this machine or others."""

from dataclasses import dataclass

from relay.backend.native.llvm import jit
from relay.backend.native.llvm.jit import Processor
from relay.backend.native.llvm.processors import LEVELS, NATIVE, processor_named, with_extensions
from relay.diagnostic import fail

SHARED, STATIC, OBJECT = "shared", "static", "object"
"""The kinds of files."""
ELF, MACH_O = "ELF", "Mach-O"


@dataclass(frozen=True)
class Target:
    """What a library is for."""

    name: str
    processor: Processor

    @property
    def triple(self) -> str:
        """The kind of machine and system, as compilers name it: `aarch64-linux-gnu`."""
        return self.processor.triple

    @property
    def format(self) -> str:
        """The format of object code: `ELF` or `Mach-O`."""
        return MACH_O if self.triple == MACOS else ELF


X86_64_LINUX, AARCH64_LINUX = "x86_64-linux-gnu", "aarch64-linux-gnu"
MACOS = "arm64-apple-macosx11.0.0"
"""The first macOS for this architecture."""
NEON = ("neon",)
ARMV8_2 = (*NEON, "crc", "dotprod", "fullfp16", "lse", "rcpc", "rdm")
APPLE_M1 = "apple-m1"
AARCH64_PROCESSORS = {
    "generic": NEON,
    "neoverse-n1": ARMV8_2,
    "neoverse-v1": (*ARMV8_2, "bf16", "i8mm"),
}
"""Processors of AArch64 by LLVM's names, and what they can do beside the least: those of clouds."""
BASE_LEVEL = "x86-64-v2"
"""What `x86_64-linux-gnu` stands for: any processor since 2009."""


def known_targets() -> tuple[str, ...]:
    """The names of targets, extensions aside."""
    here = (NATIVE,) if is_linux_here() else ()
    more = tuple([f"{AARCH64_LINUX}+{name}" for name in AARCH64_PROCESSORS if name != "generic"])
    return (*here, X86_64_LINUX, *LEVELS, AARCH64_LINUX, *more, APPLE_M1)


def is_linux_here() -> bool:
    """Whether libraries can be for this very machine."""
    return "linux" in jit.binding().get_default_triple()


def target_named(name: str) -> Target:
    """A target by its name: `native`, a kind of machine and system, a level of x86-64 (`unknown-target`)."""
    found = processor_for(name)
    if found is None:
        hint = f"use one of {', '.join(known_targets())}"
        fail("unknown-target", f"libraries cannot be made for `{name}`", hint=hint)
    return Target(name, found)


def library_hint(name: str) -> str:
    """How to compile for a target that only libraries can be for, of which a name may be the beginning; empty
    if it is of none.
    """
    near = [name] if processor_for(name) else [t for t in known_targets() if name and t.startswith(name)]
    if not near:
        return ""
    kind = OBJECT if near[0] == APPLE_M1 else SHARED
    return f"libraries for C can be for it: `relay compile --emit {kind} --target {near[0]}`"


def processor_for(name: str) -> Processor | None:
    """The processor of a target, with the kind of machine and system; None if there is no such target."""
    if name == NATIVE:
        here = processor_named(NATIVE)
        assert here is not None
        return Processor(here.name, here.features, jit.triple()) if is_linux_here() else None
    if name == APPLE_M1:
        return Processor(APPLE_M1, ARMV8_2, MACOS)
    base, _, more = name.partition("+")
    if base == AARCH64_LINUX:
        features = AARCH64_PROCESSORS.get(more or "generic")
        return None if features is None else Processor(more or "generic", features, AARCH64_LINUX)
    level = BASE_LEVEL if base == X86_64_LINUX else base
    made = with_extensions(level, more.split("+") if more else [])
    return None if made is None else Processor(made.name, made.features, X86_64_LINUX)
