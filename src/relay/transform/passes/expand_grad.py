"""Derivatives written out: as a pass over a module."""

from relay.ir.expr import Expr, GlobalVar, Grad, VMap
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.transform.passes.to_anf import to_anf
from relay.transform.passes.unused_functions import reached
from relay.transform.rewriting.definitions import without_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass


@module_pass("expand_grad", opt_level=0, public="ExpandGrad")
def expand_grad(mod: IRModule) -> IRModule:
    """Expand every `grad`, `vjp` and `jvp` into the function that it denotes.

    Code without function calls and branches is differentiated without references and closures; other code
    records on a tape, held in references, how to compute its cotangents.  Raises `unknown-grad-target` where
    the differentiated function is not known.

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
    if not any(map(has_derivative, mod.functions.values())):
        return mod
    from relay.expansion.expand import expand_grad as expand

    return expand(mod)


def has_derivative(definition: Expr) -> bool:
    """Whether a derivative is still to be written out."""
    return any(type(e) in (Grad, VMap) for e in post_order(definition))


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
