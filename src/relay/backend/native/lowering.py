"""What a module goes through before its code is made."""

from relay.ir import hooks
from relay.ir.expr import Grad
from relay.ir.module import IRModule
from relay.ir.walk import post_order
from relay.transform.eta import eta_expand
from relay.transform.lifting import lambda_lift
from relay.transform.specialisation import monomorphize
from relay.transform.unused_functions import remove_unused_functions
from relay.typecheck.infer import infer


def lowered(mod: IRModule) -> IRModule:
    """`mod` annotated, without derivatives and type parameters, its functions lifted."""
    mod = infer(mod)
    if any(type(e) is Grad for f in mod.functions.values() for e in post_order(f)):
        mod = hooks.expand_grad(mod, reserved=mod.functions)
    mod = monomorphize(remove_unused_functions(mod))
    return lambda_lift(eta_expand(mod, expand_op=True, expand_constructor=True))
