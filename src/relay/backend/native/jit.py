"""LLVM: from text to code in memory."""

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
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=3)


class Compiled:
    """Code in memory; it stays as long as this object does."""

    def __init__(self, text: str) -> None:
        """Compile LLVM IR."""
        llvm = binding()
        target = machine()
        triple = f'target triple = "{llvm.get_default_triple()}"'
        module = llvm.parse_assembly("\n".join([triple, assembly(platform.machine()), text]))
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        passes = llvm.create_pass_builder(target, tuning)
        passes.getModulePassManager().run(module, passes)
        self.text = str(module)
        self.engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
        self.engine.add_module(module)
        self.engine.finalize_object()

    def has(self, name: str) -> bool:
        """Whether there is a function of that name."""
        return self.address(name) != 0

    def address(self, name: str) -> int:
        """Where a function is."""
        return self.engine.get_function_address(name)

    def global_address(self, name: str) -> int:
        """Where a variable is."""
        return self.engine.get_global_value_address(name)
