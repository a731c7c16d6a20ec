"""Defusion as a pass: the bodies of fused functions where they are called."""

from relay.ir.module import IRModule
from relay.transform.rewriting.defusion import defused
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass


@module_pass("defuse_ops", opt_level=3, public="DefuseOps")
def defuse_ops(mod: IRModule) -> IRModule:
    """Inline each function marked `Primitive` at its calls.

    This undoes `fuse_ops`.  An argument is substituted if it is still evaluated once, in the same order
    relative to effects, and no annotation checks it; other arguments are bound by a `let`.  Marked functions
    stay where they are used as values, call themselves, or are definitions.

    >>> show(defuse_ops, '''
    ... def @main(%x: float32) { let %f = fn(%y: float32, Primitive=1) { tanh(%y) + %y }; %f(sin(%x)) }
    ... ''')
    def @main(%x: float32) -> float32 {
      %0 = sin(%x);
      tanh(%0) + %0
    }
    """
    return defused(mod)
