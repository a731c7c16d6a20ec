"""The gradient of one function, written out."""

from typing import Literal

from relay.diagnostic import fail
from relay.expansion.expand import expand_grad
from relay.ir.expr import Call, Expr, Function, Grad, Var
from relay.ir.module import IRModule
from relay.ir.type import FuncType

MODES = ("higher_order", "first_order")


def gradient(
    expr: Expr, mod: IRModule | None = None, mode: Literal["higher_order", "first_order"] = "higher_order"
) -> Function:
    """The function `grad(expr)` written out: from the arguments of `expr` to its value and a tuple of
    gradients.

    The definitions that it needs are added to `mod`.  Both modes give the same function: programs without
    calls and branches are differentiated without references and closures either way.

    Raises `unknown-grad-target`, `grad-parameter`.
    """
    if mode not in MODES:
        raise ValueError(f"mode is 'higher_order' or 'first_order', not {mode!r}")
    whole = IRModule() if mod is None else mod.copy()
    name = "gradient"
    while name in whole:
        name += "_"
    t = function_type(expr, mod)
    params = parameters(expr, t)
    whole[name] = Function(params, Call(Grad("grad", expr), params))
    done = expand_grad(whole)
    made = done[name]
    if mod is not None:
        added = done.copy()
        del added.functions[added.get_global_var(name)]
        mod.update(added)
    return made


def function_type(f: Expr, mod: IRModule | None) -> FuncType:
    """The type of a function; `unknown-grad-target` if it is none."""
    whole = IRModule() if mod is None else mod
    t = whole.type_of(f)
    if not isinstance(t, FuncType):
        fail("unknown-grad-target", f"a derivative is of a function, not of {t}", span=f.span)
    return t


def parameters(f: Expr, t: FuncType) -> tuple[Var, ...]:
    """Parameters as those of `f`."""
    names = [p.name_hint for p in f.params] if isinstance(f, Function) else ["x"] * len(t.arg_types)
    return tuple([Var(name, a, span=f.span) for name, a in zip(names, t.arg_types, strict=True)])
