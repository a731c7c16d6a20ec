"""Processors by name: what people ask for when a compiled file is to run on other machines than this one."""

from collections.abc import Sequence
from functools import cache

from relay.backend.native.llvm import jit
from relay.backend.native.llvm.jit import Processor

NATIVE = "native"
V2 = (
    "cmov",
    "cx16",
    "cx8",
    "fxsr",
    "mmx",
    "popcnt",
    "sahf",
    "sse",
    "sse2",
    "sse3",
    "sse4.1",
    "sse4.2",
    "ssse3",
)
V3 = (*V2, "avx", "avx2", "bmi", "bmi2", "crc32", "f16c", "fma", "lzcnt", "movbe", "xsave")
V4 = (*V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
LEVELS = {"x86-64-v2": V2, "x86-64-v3": V3, "x86-64-v4": V4}
"""The levels of the x86-64 psABI, and what their processors can do, as LLVM names it."""
EXTENSIONS = ("avxvnni", "avx512vnni", "avx512bf16", "avx512fp16", "amx-tile", "amx-int8", "amx-bf16")
"""What may be added to a level: `x86-64-v4+avx512vnni`."""


def processor_named(name: str) -> Processor | None:
    """The processor of a name: `native`, a level, or a level with extensions; None for other names."""
    if name == NATIVE:
        return jit.Processor(jit.processor(), tuple(jit.features()))
    level, *more = name.split("+")
    return with_extensions(level, more) if jit.triple().startswith("x86_64") else None


def with_extensions(level: str, more: Sequence[str]) -> Processor | None:
    """A processor of a level of x86-64 with extensions; None if there is no such."""
    if level not in LEVELS or not all(extension in EXTENSIONS for extension in more):
        return None
    return Processor(level, tuple(sorted({*LEVELS[level], *more})))


@cache
def names() -> tuple[str, ...]:
    """What processors are called, extensions aside."""
    return (NATIVE, *LEVELS) if jit.triple().startswith("x86_64") else (NATIVE,)


def missing_here(processor: Processor) -> list[str]:
    """What a processor can do and this one cannot, sorted."""
    return sorted(set(processor.features) - set(jit.features()))
