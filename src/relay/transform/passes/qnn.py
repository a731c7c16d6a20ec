"""Quantised operators as integer arithmetic."""

from relay.diagnostic import derived_nodes
from relay.ir.module import IRModule
from relay.transform.passes.expand_composites import composite_rules
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.pass_objects import spelling
from relay.transform.rewriting.registry import find, module_pass
from relay.transform.rewriting.rewriter import apply_rules


@module_pass("canonicalize_qnn", keeps=(ANF,), opt_level=0)
def canonicalize_qnn(mod: IRModule) -> IRModule:
    """Replace each `qnn` operator by the arithmetic that defines it, as `expand_composites` does for all.

    >>> text = "def @main(%x: Tensor[(2,), int8]) { qnn.dequantize(%x, 0.5, 3) }"
    >>> show(canonicalize_qnn, text)
    def @main(%x: Tensor[(2,), int8]) -> Tensor[(2,), float32] {
      cast(cast(%x, dtype=int32) - 3i32, dtype=float32) * 0.5f
    }
    """
    with derived_nodes():
        return apply_rules(mod, composite_rules("qnn."))


CanonicalizeOps = Legalize = spelling(find("canonicalize_qnn"))
"""The two steps that people run one after the other are one here: no form is some machine's own."""
