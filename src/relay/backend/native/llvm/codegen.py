"""LLVM: from text to object code."""

import ctypes
import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from relay.backend.native.llvm import jit
from relay.backend.native.llvm.modules import Effort, Module, functions

OUTER = re.compile(r"^declare (?!.*@llvm\.).*$", re.MULTILINE)
NEAR = r"\g<0> nonlazybind"
SOME_DATA = """@relay.some = internal global i64 0
@llvm.used = appending global [1 x ptr] [ptr @relay.some], section "llvm.metadata"
"""


def loadable(text: str) -> str:
    """A module as the loader of llvmlite can place it.

    It reserves memory for addresses of functions from elsewhere only where these are read from a table
    (`nonlazybind`), and for such a table only beside other data.
    """
    return f'target triple = "{jit.triple()}"\n{OUTER.sub(NEAR, text)}\n{SOME_DATA}'


class Optimised:
    """A module after LLVM's passes."""

    def __init__(self, text: str, effort: Effort = Effort.ALL, elsewhere: Collection[str] = ()) -> None:
        """Optimise a module; `elsewhere` are functions that others of the program have."""
        llvm = jit.binding()
        self.target = jit.machine()
        self.module = llvm.parse_assembly(loadable(text), llvm.create_context())
        tuning = llvm.create_pipeline_tuning_options(speed_level=3 if effort is Effort.ALL else 1)
        passes = llvm.create_pass_builder(self.target, tuning)
        if effort is not Effort.ALL:
            inline = llvm.create_new_module_pass_manager()
            inline.add_always_inliner_pass()
            inline.add_global_dead_code_eliminate_pass()
            inline.run(self.module, passes)
            simplify = least(llvm) if effort is Effort.LEAST else passes.getFunctionPassManager()
            for f in self.module.functions:
                if not f.is_declaration:
                    unlocked("LLVMPY_RunNewFunctionPassManager")(simplify, f, passes)
        else:
            unlocked("LLVMPY_RunNewModulePassManager")(passes.getModulePassManager(), self.module, passes)
        lost = self.lost(elsewhere)
        assert not lost, f"code calls what is not there: {', '.join(lost)}"

    def lost(self, elsewhere: Collection[str]) -> list[str]:
        """Functions that are called and are nowhere: loading would put 0 for their address.

        Those of the name `relay_` are there, in the runtime.
        """
        process = ctypes.CDLL(None)
        names = [f.name for f in self.module.functions if f.is_declaration]
        return [
            n
            for n in names
            if not n.startswith(("llvm.", "relay_")) and n not in elsewhere and not hasattr(process, n)
        ]

    def text(self) -> str:
        """As text."""
        return str(self.module)

    def assembly(self) -> str:
        """As assembly of this machine."""
        return self.target.emit_assembly(self.module)

    def code(self) -> bytes:
        """As object code."""
        ffi = jit.binding().ffi
        with ffi.OutputString() as error:
            found = unlocked("LLVMPY_TargetMachineEmitToMemory")(self.target, self.module, 1, error)
            assert found, str(error)
        try:
            return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(found), ffi.lib.LLVMPY_GetBufferSize(found))
        finally:
            ffi.lib.LLVMPY_DisposeMemoryBuffer(found)


def least(llvm: Any) -> Any:
    """The passes without which code is not fit to be compiled.

    Networks run as fast as after all that LLVM does at its first level, which takes five times as long; small
    loops lose up to a tenth.
    """
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def unlocked(name: str) -> Any:
    """A function of LLVM without the lock that llvmlite takes for each: what it works on here belongs to a
    context that no other thread has.
    """
    found = getattr(jit.binding().ffi.lib, name)
    return getattr(found, "_cfn", found)


def emitted(parts: Sequence[Module], kind: str) -> str:
    """The code as LLVM leaves it (`llvm`), or as assembly of this machine (`asm`)."""
    names = functions(parts)
    made = [Optimised(part.text, part.effort, names) for part in parts]
    return "\n".join([m.assembly() if kind == "asm" else m.text() for m in made])


def compilers(parts: Sequence[Module]) -> list[Callable[[], bytes]]:
    """What makes object code of each of a program's modules, the longest first; all may run side by side."""
    names = functions(parts)
    jit.machine()  # what it initialises is common to all
    return [partial(object_code, part, names) for part in sorted(parts, key=lambda part: -len(part.text))]


def object_code(part: Module, names: Collection[str]) -> bytes:
    """The object code of a module; `names` are what the modules of its program have for each other."""
    return Optimised(part.text, part.effort, names).code()
