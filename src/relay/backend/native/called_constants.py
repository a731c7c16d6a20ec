"""Global constants as functions without parameters: machine code has only functions.

A constant whose value is a tensor is computed now, once, by the interpreter; one that fails does so where
it is used.  Any other is computed wherever it is used, which gives the same value, unless it holds
references.
"""

from collections.abc import Collection

from relay.diagnostic import RelayError, fail
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import is_tensor
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, RefCreate
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.ir.walk import post_order, rewrite


def constants_called(mod: IRModule, used: Collection[GlobalVar]) -> IRModule:
    """An annotated module in which the definitions in use are functions (`no-native-code`)."""
    constants = [v for v in used if not isinstance(mod.functions[v], Function)]
    if not constants:
        return mod
    out = mod.copy()
    by = {v: valued(mod, v) for v in constants}

    def rule(e: Expr) -> Expr | None:
        if not isinstance(e, GlobalVar) or e not in by:
            return None
        found = by[e]
        return found if isinstance(found, Constant) else Call(e, (), span=e.span)

    for v in used:
        e = rewrite(mod.functions[v], rule)
        if not isinstance(e, Function):
            e = Function((), e, mod.constant_types.get(v), span=e.span)
        out.functions[v] = e
    return out


def valued(mod: IRModule, v: GlobalVar) -> Expr:
    """A constant of rank 0 or more as one node, if it can be computed now."""
    e, t = mod.functions[v], mod.constant_types.get(v)
    if any(isinstance(x, RefCreate) for x in post_order(e)):
        hint = "make it in `@main`, and give it to the functions that use it"
        fail("no-native-code", f"the constant `@{v.name_hint}` makes a reference", e.span, hint=hint)
    if isinstance(e, Constant) or not isinstance(t, TensorType) or not t.is_closed:
        return e
    try:
        found = Interpreter(mod).value_of(v)
    except RelayError:
        return e
    return Constant(found, t, span=e.span) if is_tensor(found) else e
