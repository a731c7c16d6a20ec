"""One object of a library: its program, the runtime and the interface, of which only functions of the
interface are seen from outside.

Each module is optimised by itself, as it is for code in memory, and the results are compiled as one.  So the
code is the same, and a program may be linked with any number of such objects.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from relay.backend.native.host.compiler import Compiler
from relay.backend.native.llvm import jit
from relay.backend.native.llvm.codegen import Optimised, disposed, emit_object
from relay.backend.native.llvm.modules import Effort, Module, exported_functions
from relay.backend.native.runtime.parallel_map import parallel_map
from relay.backend.native.runtime.source import llvm_of

INTERFACE = "relay_model_"
"""How functions of the interface are named in the runtime."""
LINKED = ("@pthread_atfork",)
"""Functions of the C library that are linked into each program: no process has them by their names."""


def library_object(made: Compiler, tables: str, prefix: str) -> bytes:
    """The object code of a program with tables beside it, whose functions begin with a prefix."""
    parts = made.modules()
    names = {*exported_functions(parts), *made.symbols_of_kernels()}
    jit.machine()  # initialises what all threads share
    tasks: list[Callable[[], bytes]] = [partial(optimised, part, names) for part in longest_first(parts)]
    tasks += [partial(runtime_bitcode, name, jit.target_processor()) for name in ("runtime", "library")]
    found = parallel_map(lambda work: work(), tasks)
    llvm = jit.binding()
    context = llvm.create_context()
    whole = llvm.parse_assembly(f'target triple = "{jit.triple()}"\n{tables}', context)
    for data in [*found, entry_bitcode()]:
        module = llvm.parse_bitcode(data, context)
        module.data_layout = whole.data_layout
        whole.link_in(module)
    hide(whole, prefix)
    remove_unused(whole)
    return emit_object(jit.machine(), whole)


def longest_first(parts: Sequence[Module]) -> list[Module]:
    """Modules in the order in which they are best begun."""
    return sorted(parts, key=lambda part: -len(part.text))


def optimised(part: Module, names: set[str]) -> bytes:
    """A module of the program after optimisation, as bitcode."""
    return Optimised(part.text, part.effort, part.exports, names).module.as_bitcode()


@cache
def runtime_bitcode(name: str, processor: jit.Processor) -> bytes:
    """A part of the runtime after optimisation, as bitcode, for a processor."""
    with jit.compiling_for(processor):
        text = without_assembly(llvm_of(name))
        return Optimised(text, Effort.LOOPS, elsewhere=LINKED).module.as_bitcode()


def without_assembly(text: str) -> str:
    """LLVM IR without functions in assembly, and without the layout of data, which the target says."""
    dropped = ("module asm ", "target datalayout ")
    return "\n".join([line for line in text.splitlines() if not line.startswith(dropped)])


def entry_bitcode() -> bytes:
    """The way in and out of compiled code: its bytes, which no pass may see as the function's body."""
    llvm = jit.binding()
    text = without_assembly(llvm_of("entry"))
    return llvm.parse_assembly(f'target triple = "{jit.triple()}"\n{text}').as_bitcode()


def hide(whole: Any, prefix: str) -> None:
    """Make all local but the functions of the interface, which get the prefix of the library."""
    for v in [*whole.functions, *whole.global_variables]:
        if v.is_declaration or v.name.startswith("llvm."):
            continue
        if v.name.startswith(INTERFACE):
            v.name = prefix + v.name.removeprefix(INTERFACE)
        else:
            v.linkage = "internal"


def remove_unused(whole: Any) -> None:
    """Drop what nothing refers to."""
    llvm = jit.binding()
    builder = llvm.create_pass_builder(jit.machine(), llvm.create_pipeline_tuning_options(speed_level=0))
    with disposed(llvm.create_new_module_pass_manager()) as passes:
        passes.add_global_dead_code_eliminate_pass()
        passes.run(whole, builder)
