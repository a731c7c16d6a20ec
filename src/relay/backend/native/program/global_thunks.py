"""Turn global constants into thunks, functions without parameters: machine code has functions only.

A constant tensor is evaluated at compile time by the interpreter; if that fails, the failure is raised at run
time where the constant is used.  A constant that may hold references is evaluated on first use and cached
(`ONCE`).  Any other is evaluated at each use, with the same result.  One that depends on its own value fails
(`CYCLIC`) instead of recursing for ever.
"""

from collections.abc import Sequence
from typing import cast

from relay.analysis.call_graph import CallGraph
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import is_tensor
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, RefCreate
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order, rewrite
from relay.transform.passes.unused_functions import reached
from relay.transform.rewriting.definitions import annotated
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass

ONCE = "Once"
"""The attribute of thunks whose result is cached after the first call."""
CYCLIC = "Cyclic"
"""The attribute of thunks that fail, with the message: the constant depends on its own value."""


@module_pass("globals_to_thunks", opt_level=0)
def globals_to_thunks(mod: IRModule, *, entry_functions: Sequence[str] = ("main",)) -> IRModule:
    """Turn the global constants that the entry functions need into functions without parameters.

    Constant tensors are evaluated at compile time and inlined instead.

    >>> show(globals_to_thunks, "def @c = (1, 2); def @main() { @c.0 }")
    def @c() -> (int32, int32) {
      (1i32, 2i32)
    }
    <BLANKLINE>
    def @main() -> int32 {
      @c().0
    }
    """
    used = reached(mod, [mod.get_global_var(name) for name in entry_functions if name in mod])
    constants = [v for v in used if not isinstance(mod.functions[v], Function)]
    if not constants:
        return mod
    out = mod.copy()
    interpreter = Interpreter(mod)
    # Later constants mostly use earlier ones, and evaluating one lowers those with it.
    graph, failed = CallGraph(mod), dict[GlobalVar, str]()
    by = {v: evaluate_constant(interpreter, v, graph, failed) for v in reversed(constants)}
    types = mod.constant_types
    objects = {v for v in constants if v in types and not types[v].is_of_tensors}
    kept = objects & may_create_references(mod, graph) if objects else objects

    def rule(e: Expr) -> Expr | None:
        if not isinstance(e, GlobalVar) or e not in by:
            return None
        found = by[e]
        return found if isinstance(found, Constant) else Call(e, (), span=e.span)

    for v in used:
        e = rewrite(mod.functions[v], rule)
        if not isinstance(e, Function):
            attrs: dict[str, int | str] = {ONCE: 1} if v in kept else {}
            attrs |= {CYCLIC: failed[v]} if v in failed else {}
            e = Function((), e, mod.constant_types.get(v), attrs=attrs, span=e.span)
        out.functions[v] = e
    return annotated(out)


def may_create_references(mod: IRModule, graph: CallGraph) -> set[GlobalVar]:
    """The definitions that may create references, and those that mention them."""
    found: set[GlobalVar] = set()
    for group in graph.components():
        bodies = [mod.functions[v] for v in group if v in mod.functions]
        mentioned = {u for v in group for u in graph.mentions.get(v, ())}
        if mentioned & found or any(isinstance(e, RefCreate) for body in bodies for e in post_order(body)):
            found.update(group)
    return found


def evaluate_constant(
    interpreter: Interpreter, v: GlobalVar, graph: CallGraph, failed: dict[GlobalVar, str]
) -> Expr:
    """A constant tensor evaluated, if that succeeds; the message for one that depends on itself is added to
    `failed`.
    """
    mod = interpreter.mod
    e, t = mod.functions[v], mod.constant_types.get(v)
    is_one = isinstance(t, TensorType) and t.is_closed
    if isinstance(e, Constant) or not (is_one or graph.is_recursive(v)):
        return e
    try:
        found = interpreter.value_of(v)
    except RelayError as error:
        if "constant-cycle" in error.codes:
            failed[v] = error.diagnostics[0].message
        return e
    return Constant(found, cast("TensorType", t), span=e.span) if is_one and is_tensor(found) else e
