"""Defusion as a pass: the bodies of fused functions where they are called."""

from relay.ir.module import IRModule
from relay.transform.rewriting.defusion import defused
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass


@module_pass("defuse_ops", opt_level=3, public="DefuseOps")
def defuse_ops(mod: IRModule) -> IRModule:
    """Put the body of each function marked `Primitive` where it is called, with arguments for parameters.

    This undoes `fuse_ops`.  An argument is put in if it is evaluated once as before, in the same order as far
    as it has effects, and nothing checks it on the way; others are bound by a `let`.  Marked functions that
    are values, that call themselves, or that are definitions stay.

    >>> show(defuse_ops, '''
    ... def @main(%x: float32) { let %f = fn(%y: float32, Primitive=1) { tanh(%y) + %y }; %f(sin(%x)) }
    ... ''')
    def @main(%x: float32) -> float32 {
      %0 = sin(%x);
      tanh(%0) + %0
    }
    """
    return defused(mod)
