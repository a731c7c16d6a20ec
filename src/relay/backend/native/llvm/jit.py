"""LLVM, the machine as it knows it, and object code in memory."""

import platform
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any


def binding() -> Any:
    """LLVM as llvmlite binds it."""
    return import_module("llvmlite.binding")


@dataclass(frozen=True)
class Processor:
    """A processor as LLVM knows it: its name, and what it can do."""

    name: str
    features: tuple[str, ...]
    triple: str = ""
    """The kind of machine and system that object code in files is for; empty for code in memory."""


_target: ContextVar[Processor | None] = ContextVar("processor", default=None)


def target_processor() -> Processor:
    """The processor that code is compiled for: this one, unless `compiling_for` says another."""
    return _target.get() or Processor(processor(), tuple(features()))


@contextmanager
def compiling_for(other: Processor | None) -> Generator[None, None, None]:
    """Code inside is compiled for a processor; None is this one."""
    token = _target.set(other)
    try:
        yield
    finally:
        _target.reset(token)


def machine() -> Any:
    """The machine that code is compiled for, as LLVM compiles; an engine takes it over."""
    llvm = binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    other = _target.get()
    if other is not None and other.triple:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        wanted = ",".join([f"+{feature}" for feature in other.features])
        target = llvm.Target.from_triple(other.triple)
        return target.create_target_machine(
            cpu=other.name, features=wanted, opt=3, reloc="pic", codemodel="small"
        )
    target = llvm.Target.from_default_triple()
    name = llvm.get_host_cpu_name() if other is None else other.name
    all_features = llvm.get_host_cpu_features().flatten()
    if other is not None:
        all_features = ",".join([f"+{feature}" for feature in other.features])
    # Calls by their distance take a third of the time off small functions; on other processors, parts of a
    # program may lie too far apart for it.
    near = {"reloc": "pic", "codemodel": "small"} if platform.machine() == "x86_64" else {}
    return target.create_target_machine(cpu=name, features=all_features, opt=3, **near)


def triple() -> str:
    """The kind of machine and system that code is compiled for, as LLVM names it."""
    other = _target.get()
    return other.triple if other is not None and other.triple else binding().get_default_triple()


def architecture() -> str:
    """The instruction set that code is compiled for, as `platform.machine` names it."""
    other = _target.get()
    if other is None or not other.triple:
        return platform.machine()
    name = other.triple.partition("-")[0]
    return "aarch64" if name == "arm64" else name


def is_aarch64() -> bool:
    """Whether code is compiled for 64-bit Arm."""
    return architecture() in ("aarch64", "arm64")


def is_apple_silicon() -> bool:
    """Whether code is compiled for macOS on 64-bit Arm."""
    return triple().startswith("arm64-apple-")


def processor() -> str:
    """The processor of this machine, as LLVM names it."""
    return binding().get_host_cpu_name()


def features() -> list[str]:
    """What the processor of this machine can do, as LLVM names it."""
    return sorted([name for name, there in binding().get_host_cpu_features().items() if there])


def is_object_code(codes: Sequence[bytes], symbols: Iterable[str]) -> bool:
    """Return whether LLVM can read all of these as object code, and each symbol is named in one of them."""
    lib = binding().ffi.lib
    for code in codes:
        file = lib.LLVMPY_CreateObjectFile(code, len(code))
        if not file:
            return False
        lib.LLVMPY_DisposeObjectFile(file)
    return all(any(name.encode() in code for code in codes) for name in symbols)


class LoadedCode:
    """Code in memory; it stays as long as this object does."""

    def __init__(self, codes: Sequence[bytes]) -> None:
        """Load object code, of one program."""
        llvm = binding()
        target = machine()
        # One stretch of memory for all: sections apart may be too far from each other for `codemodel=small`.
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target, use_lmm=True)
        for code in codes:
            self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()
        self.addresses: dict[str, int] = {}

    @property
    def is_gone(self) -> bool:
        """Whether the memory has been given back: of a cycle of objects, anyone may be the first to go."""
        return self.engine.closed

    def address(self, name: str) -> int:
        """Where a function is."""
        found = self.addresses.get(name)
        if found is None:
            found = self.addresses[name] = self.engine.get_function_address(name)
        return found

    def global_address(self, name: str) -> int:
        """Where a variable is."""
        return self.engine.get_global_value_address(name)
