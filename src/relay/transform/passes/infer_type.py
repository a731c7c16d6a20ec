"""Type inference as a pass."""

from relay.ir.module import IRModule
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.infer import infer


@module_pass("infer_type", opt_level=0, public="InferType")
def infer_type(mod: IRModule) -> IRModule:
    """Infer types: those of binders and results, type parameters, type arguments, literals.

    >>> show(infer_type, "def @main(%x: float32) { let %y = %x + 1; %y }")
    def @main(%x: float32) -> float32 {
      let %y: float32 = %x + 1f;
      %y
    }
    """
    return infer(mod)
