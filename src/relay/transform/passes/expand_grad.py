"""Derivatives written out: as a pass over a module, and of one function."""

from typing import Literal

from relay.diagnostic import fail
from relay.ir import hooks
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Var
from relay.ir.module import IRModule
from relay.ir.type import FuncType
from relay.ir.walk import post_order
from relay.transform.passes.anf import to_anf
from relay.transform.passes.unused_functions import reached
from relay.transform.rewriting.definitions import without_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass

MODES = ("higher_order", "first_order")


@module_pass("expand_grad", opt_level=0, public="ExpandGrad")
def expand_grad(mod: IRModule) -> IRModule:
    """Write out every `grad`, `vjp` and `jvp` as the function that it stands for.

    What calls neither functions nor branches is differentiated without references and closures; the rest
    notes on a tape, held in references, how to go back.  Raises `unknown-grad-target` where it is not known
    which function is differentiated.

    >>> text = "def @main(%x: float32) { jvp(fn(%y: float32) { sin(%y) })((%x,), (%x,)) }"
    >>> show(expand_grad, text)
    def @main(%x: float32) -> (float32, float32) {
      let %x1: fn(float32) -> float32 = fn (%y: float32) -> float32 { sin(%y) };
      let %x2: fn((float32,), (float32,)) -> (float32, float32) = fn (
        %xs: (float32,), %dxs: (float32,)
      ) -> (float32, float32) {
        let %y: float32 = %xs.0;
        let %dy: float32 = %dxs.0;
        let %y_1: float32 = sin(%y);
        let %d: float32 = %dy * cos(%y);
        (%y_1, %d)
      };
      let %x3: (float32,) = (%x,);
      let %x4: (float32,) = (%x,);
      %x2(%x3, %x4)
    }
    """
    return hooks.expand_grad(mod)


def has_derivative(definition: Expr) -> bool:
    """Whether a derivative is still to be written out."""
    return any(type(e) is Grad for e in post_order(definition))


def without_derivatives(mod: IRModule) -> IRModule:
    """`mod` in A-normal form with derivatives written out, but those of functions that are parameters.

    Definitions that `@main` does not need any more, since its calls of them have copies, go.
    """
    if not any(map(has_derivative, mod.functions.values())):
        return to_anf(mod)
    out = expand_grad(mod)
    left = [v for v, e in out.items() if has_derivative(e)]
    main = GlobalVar("main", span=None)
    if left and main in out:
        needed = reached(out, [main])
        out = without_definitions(out, [v for v in left if v not in needed])
    return to_anf(out)


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
    done: IRModule = hooks.expand_grad(whole)
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
