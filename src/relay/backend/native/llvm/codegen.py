"""Optimisation and code generation: LLVM IR as text to object code."""

import ctypes
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from relay.backend.native.llvm import jit
from relay.backend.native.llvm.builder import quoted
from relay.backend.native.llvm.modules import Effort, Module, exported_functions

DUMMY_DATA = """@relay.some = internal global i64 0
@llvm.used = appending global [1 x ptr] [ptr @relay.some], section "llvm.metadata"
"""


def module_exporting(text: str, exports: Collection[str]) -> Any:
    """A module that llvmlite's JIT linker can load, which exports functions of these symbols.

    The linker reserves GOT entries for external functions only if their declarations are `nonlazybind`, and
    allocates the GOT only in modules that have a data section.
    """
    llvm = jit.binding()
    whole = f'target triple = "{jit.triple()}"\n{text}\n{DUMMY_DATA}'
    module = llvm.parse_assembly(whole, llvm.create_context())
    for f in module.functions:
        if not f.is_declaration:
            if exports and f"@{quoted(f.name)}" in exports:
                f.linkage = "external"
        elif not f.name.startswith("llvm."):
            f.add_function_attribute("nonlazybind")
    return module


class Optimised:
    """A module after LLVM's optimisation passes."""

    def __init__(
        self,
        text: str,
        effort: Effort = Effort.ALL,
        exports: Collection[str] = (),
        elsewhere: Collection[str] = (),
    ) -> None:
        """Optimise a module that exports functions of these symbols; `elsewhere` are the symbols of functions
        that the program's other modules define.
        """
        llvm = jit.binding()
        self.target = jit.machine()
        self.module = module_exporting(text, exports)
        tuning = llvm.create_pipeline_tuning_options(
            speed_level=highest_level() if effort is Effort.ALL else 1
        )
        passes = llvm.create_pass_builder(self.target, tuning)
        if effort is not Effort.ALL:
            with disposed(llvm.create_new_module_pass_manager()) as inline:
                inline.add_always_inliner_pass()
                inline.add_global_dead_code_eliminate_pass()
                inline.run(self.module, passes)
            is_minimal = effort is Effort.MINIMAL
            with disposed(
                minimal_passes(llvm) if is_minimal else passes.getFunctionPassManager()
            ) as simplify:
                for f in self.module.functions:
                    if not f.is_declaration:
                        without_lock("LLVMPY_RunNewFunctionPassManager")(simplify, f, passes)
        else:
            with disposed(passes.getModulePassManager()) as pipeline:
                without_lock("LLVMPY_RunNewModulePassManager")(pipeline, self.module, passes)
        lost = self.undefined_functions(elsewhere)
        assert not lost, f"code calls what is not there: {', '.join(lost)}"

    def undefined_functions(self, elsewhere: Collection[str]) -> list[str]:
        """External functions that nothing defines: the linker would set their address to 0.

        The runtime library defines those named `relay_…`.
        """
        process = ctypes.CDLL(None)
        names = [f.name for f in self.module.functions if f.is_declaration]
        return [
            n
            for n in names
            if not n.startswith(("llvm.", "relay_"))
            and f"@{quoted(n)}" not in elsewhere
            and not hasattr(process, n)
        ]

    def text(self) -> str:
        """As text."""
        return str(self.module)

    def assembly(self) -> str:
        """As assembly of this machine."""
        return self.target.emit_assembly(self.module)

    def code(self) -> bytes:
        """As object code."""
        return emit_object(self.target, self.module)


@contextmanager
def disposed(manager: Any) -> Generator[Any, None, None]:
    """Give back the memory of a pass manager at the end.

    llvmlite does not, up to 0.50 at least: `ObjectRef._dispose`, which does nothing, comes before that of its
    pass managers in the order of their bases.
    """
    llvm, kind = jit.binding(), cast("Any", type(manager))
    try:
        yield manager
    finally:
        if kind._dispose is llvm.ffi.ObjectRef._dispose:
            llvm.newpassmanagers.NewPassManager._dispose(manager)
        manager.close()


def highest_level() -> int:
    """The highest level of optimisation that is used.

    On AArch64 it is not 3, whose passes may give a function arguments that do not fit into registers, after
    it was decided how those who call it keep spilled values (`Code.text`).
    """
    return 2 if jit.is_aarch64() else 3


def emit_object(target: Any, module: Any) -> bytes:
    """The object code of a module."""
    ffi = jit.binding().ffi
    with ffi.OutputString() as error:
        found = without_lock("LLVMPY_TargetMachineEmitToMemory")(target, module, 1, error)
        assert found, str(error)
    try:
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(found), ffi.lib.LLVMPY_GetBufferSize(found))
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(found)


def minimal_passes(llvm: Any) -> Any:
    """The fewest passes that generate acceptable code.

    Networks run as fast as after `-O1`, which takes five times as long to compile; small loops lose up to a
    tenth.
    """
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def without_lock(name: str) -> Any:
    """A function of LLVM's C API without the lock that llvmlite takes around each call.  This is safe on
    objects of a context that no other thread uses.
    """
    found = getattr(jit.binding().ffi.lib, name)
    return getattr(found, "_cfn", found)


def emit_text(parts: Sequence[Module], kind: str) -> str:
    """The modules after optimisation, as LLVM IR (`llvm`) or as assembly for this machine (`asm`)."""
    names = exported_functions(parts)
    made = [Optimised(part.text, part.effort, part.exports, names) for part in parts]
    return "\n".join([m.assembly() if kind == "asm" else m.text() for m in made])


def compile_tasks(parts: Sequence[Module], elsewhere: Collection[str] = ()) -> list[Callable[[], bytes]]:
    """A task for each module of a program that compiles it to object code, the longest first; they may run in
    parallel.  `elsewhere` are the symbols of functions that other code of the program defines.
    """
    names = {*exported_functions(parts), *elsewhere}
    jit.machine()  # initialises what all threads share
    return [partial(object_code, part, names) for part in sorted(parts, key=lambda part: -len(part.text))]


def object_code(part: Module, names: Collection[str] = ()) -> bytes:
    """The object code of a module; `names` are the symbols that the program's modules export."""
    return Optimised(part.text, part.effort, part.exports, names).code()
