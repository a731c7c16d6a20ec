"""Operators as those that there is native code for."""

from relay.backend.native.program.byte_operands import byte_operands, multiplies_bytes
from relay.backend.native.program.narrow_products import narrow_products
from relay.ir.module import IRModule
from relay.transform.passes.expand_composites import expand_composites
from relay.transform.passes.to_anf import to_anf
from relay.transform.rewriting.context import PassContext
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.pipeline import RulePass
from relay.transform.rewriting.registry import module_pass, rules


@module_pass("expand_operators", opt_level=0)
def expand_operators(mod: IRModule) -> IRModule:
    """Expand composite operators, and narrow products of small integers (`narrow_products`), to bytes where
    the machine multiplies these (`byte_operands`).

    If there are any, the module is converted to A-normal form: bindings from decompositions, nested in
    calls, would separate the groups of `fuse_ops`.

    >>> show(expand_operators, "def @main(%x: Tensor[(2,), float32]) { tanh(nn.softmax(%x)) }")
    def @main(%x: Tensor[(2,), float32]) -> Tensor[(2,), float32] {
      let %x1: Tensor[(1,), float32] = max(%x, axis=-1, keepdims=True);
      let %x2: Tensor[(2,), float32] = %x - %x1;
      let %x3: Tensor[(2,), float32] = exp(%x2);
      let %x4: Tensor[(1,), float32] = sum(%x3, axis=-1, keepdims=True);
      let %x5: Tensor[(2,), float32] = %x3 / %x4;
      let %x6: Tensor[(2,), bool] = %x5 < 1.1754944e-38f;
      let %x7: Tensor[(2,), float32] = where(%x6, 0f, %x5);
      tanh(%x7)
    }
    """
    expanded = RulePass(rules[expand_composites]).run(mod)
    narrow = RulePass(rules[narrow_products])
    for step in (narrow, *([RulePass(rules[byte_operands])] if multiplies_bytes(mod) else [])):
        expanded = step(expanded) if PassContext.current().is_enabled(step.info) else expanded
    return mod if expanded is mod else RulePass(rules[to_anf]).run(expanded)
