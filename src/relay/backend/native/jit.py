"""LLVM: from text to object code, and from that to code in memory."""

import ctypes
import platform
from importlib import import_module
from typing import Any

from relay.backend.native.entry import assembly


def binding() -> Any:
    """LLVM as llvmlite binds it."""
    return import_module("llvmlite.binding")


def machine() -> Any:
    """The machine that this process runs on; an engine takes it over."""
    llvm = binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    # Calls by their distance take a third of the time off small functions; on other processors, parts of a
    # program may lie too far apart for it.
    near = {"reloc": "pic", "codemodel": "small"} if platform.machine() == "x86_64" else {}
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3, **near)


def triple() -> str:
    """The kind of machine and system, as LLVM names it."""
    return binding().get_default_triple()


def processor() -> str:
    """The processor of this machine, as LLVM names it."""
    return binding().get_host_cpu_name()


def features() -> list[str]:
    """What the processor of this machine can do, as LLVM names it."""
    return sorted([name for name, there in binding().get_host_cpu_features().items() if there])


class Optimised:
    """LLVM IR after LLVM's passes."""

    def __init__(self, text: str) -> None:
        """Optimise a module."""
        llvm = binding()
        self.target = machine()
        head = f'target triple = "{triple()}"'
        self.module = llvm.parse_assembly("\n".join([head, assembly(platform.machine()), text]))
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        passes = llvm.create_pass_builder(self.target, tuning)
        passes.getModulePassManager().run(self.module, passes)
        lost = self.lost()
        assert not lost, f"code calls what is not there: {', '.join(lost)}"

    def lost(self) -> list[str]:
        """Functions that are called and are nowhere: loading would put 0 for their address.

        Those of the name `relay_` are there: as assembly, or from the pool of threads.
        """
        process = ctypes.CDLL(None)
        names = [f.name for f in self.module.functions if f.is_declaration]
        return [n for n in names if not n.startswith(("llvm.", "relay_")) and not hasattr(process, n)]

    def text(self) -> str:
        """As text."""
        return str(self.module)

    def assembly(self) -> str:
        """As assembly of this machine."""
        return self.target.emit_assembly(self.module)

    def code(self) -> bytes:
        """As object code."""
        return self.target.emit_object(self.module)


class Compiled:
    """Code in memory; it stays as long as this object does."""

    def __init__(self, code: bytes) -> None:
        """Load object code."""
        llvm = binding()
        target = machine()
        # One stretch of memory for all: sections apart may be too far from each other for `codemodel=small`.
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target, use_lmm=True)
        self.engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self.engine.finalize_object()

    @property
    def is_gone(self) -> bool:
        """Whether the memory has been given back: of a cycle of objects, anyone may be the first to go."""
        return self.engine.closed

    def address(self, name: str) -> int:
        """Where a function is."""
        return self.engine.get_function_address(name)

    def global_address(self, name: str) -> int:
        """Where a variable is."""
        return self.engine.get_global_value_address(name)
