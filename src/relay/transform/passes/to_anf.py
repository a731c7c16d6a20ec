"""A-normal form as a pass."""

from relay.ir.module import IRModule
from relay.transform.rewriting.anf_conversion import anf_module
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass


@module_pass("to_anf", gives=(ANF,), public="ToANormalForm")
def to_anf(mod: IRModule) -> IRModule:
    """Bind every computed value by a `let`, so that operands are atoms: variables, constants, names.

    The order of evaluation does not change: a shared node is bound in the innermost scope around its uses.
    The result of a block is not bound, so that tail calls stay tail calls.

    >>> show(to_anf, "def @main(%x: float32) { %0 = tanh(%x); (%0 * %0) + sin(%x) }")
    def @main(%x: float32) -> float32 {
      let %x1: float32 = tanh(%x);
      let %x2: float32 = %x1 * %x1;
      let %x3: float32 = sin(%x);
      %x2 + %x3
    }
    """
    return anf_module(mod)
