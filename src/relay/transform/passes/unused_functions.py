"""Definitions that nothing reaches."""

from collections.abc import Sequence

from relay.analysis.call_graph import CallGraph
from relay.ir.expr import GlobalVar
from relay.ir.module import IRModule
from relay.transform.rewriting.definitions import without_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF, BASIC_BLOCKS
from relay.transform.rewriting.registry import module_pass


@module_pass("remove_unused_functions", keeps=(ANF, BASIC_BLOCKS), public="RemoveUnusedFunctions")
def remove_unused_functions(
    mod: IRModule, *, entry_functions: tuple[str, ...] | list[str] | None = None
) -> IRModule:
    """Remove the definitions that are not reachable from `entry_functions`.

    The default entry is `@main`; a module without any of the entries is left alone.

    >>> show(remove_unused_functions, "def @f() { 1 } def @g() { 2 } def @main() { @f() }")
    def @f() -> int32 {
      1i32
    }
    <BLANKLINE>
    def @main() -> int32 {
      @f()
    }
    """
    entries = [GlobalVar(name, span=None) for name in (entry_functions or ("main",))]
    used = reached(mod, [v for v in entries if v in mod])
    return without_definitions(mod, [v for v in mod.functions if used and v not in used])


def reached(mod: IRModule, entries: Sequence[GlobalVar]) -> set[GlobalVar]:
    """The definitions that `entries` mention, directly or not, themselves included."""
    mentions = CallGraph(mod).mentions
    found: set[GlobalVar] = set()
    pending = list(entries)
    while pending:
        v = pending.pop()
        if v in mentions and v not in found:
            found.add(v)
            pending += mentions[v]
    return found
