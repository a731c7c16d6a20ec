"""Global constants as functions without parameters: machine code has only functions.

A constant whose value is a tensor is computed now, once, by the interpreter; one that fails does so where
it is used.  One that may hold references is computed by the program when it is first used, and kept (`ONCE`).
Any other is computed wherever it is used, which gives the same value.
"""

from collections.abc import Collection

from relay.backend.native.checks import parts
from relay.diagnostic import RelayError
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import is_tensor
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, RefCreate
from relay.ir.module import IRModule
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order, rewrite
from relay.transform.unused_functions import reached

ONCE = "Once"
"""The attribute of functions that are called once and give the same value ever after."""


def constants_called(mod: IRModule, used: Collection[GlobalVar]) -> IRModule:
    """An annotated module in which the definitions in use are functions."""
    constants = [v for v in used if not isinstance(mod.functions[v], Function)]
    if not constants:
        return mod
    out = mod.copy()
    interpreter = Interpreter(mod)
    # What comes later mostly uses what is before it, and both are prepared together.
    by = {v: valued(interpreter, v) for v in reversed(constants)}

    def rule(e: Expr) -> Expr | None:
        if not isinstance(e, GlobalVar) or e not in by:
            return None
        found = by[e]
        return found if isinstance(found, Constant) else Call(e, (), span=e.span)

    for v in used:
        e = rewrite(mod.functions[v], rule)
        if not isinstance(e, Function):
            attrs = {ONCE: 1} if may_hold_references(mod, v) else {}
            e = Function((), e, mod.constant_types.get(v), attrs=attrs, span=e.span)
        out.functions[v] = e
    return out


def may_hold_references(mod: IRModule, v: GlobalVar) -> bool:
    """Whether there may be references in the value of a constant, its own ones and not of an argument."""
    t = mod.constant_types.get(v)
    if t is None or is_of_tensors(t):
        return False
    return any(isinstance(e, RefCreate) for f in reached(mod, [v]) for e in post_order(mod.functions[f]))


def is_of_tensors(t: Type) -> bool:
    """Whether a value is made of tensors and tuples alone."""
    return all(isinstance(part, TensorType) for part, _ in parts(t, t))


def valued(interpreter: Interpreter, v: GlobalVar) -> Expr:
    """A constant of rank 0 or more as one node, if it can be computed now."""
    mod = interpreter.mod
    e, t = mod.functions[v], mod.constant_types.get(v)
    if isinstance(e, Constant) or not isinstance(t, TensorType) or not t.is_closed:
        return e
    try:
        found = interpreter.value_of(v)
    except RelayError:
        return e
    return Constant(found, t, span=e.span) if is_tensor(found) else e
