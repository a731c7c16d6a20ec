"""What a module goes through before its code is made."""

from relay.ir import hooks
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.walk import post_order, rewrite
from relay.transform.composites import expand_composites
from relay.transform.definitions import with_definitions
from relay.transform.eta import eta_expand
from relay.transform.fusion import fuse_ops
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
    mod = fuse_ops(expand_composites(mod))
    mod = fused_apart(mod)
    return lambda_lift(eta_expand(mod, expand_op=True, expand_constructor=True))


def fused_apart(mod: IRModule) -> IRModule:
    """Groups that `fuse_ops` has made as definitions, which are called where they were."""
    supply = GlobalVarSupply(mod)
    made: dict[GlobalVar, Expr] = {}

    def rule(e: Expr) -> Expr | None:
        match e:
            case Call(op=Function() as fn) if fn.attrs.get("Primitive"):
                v = supply.fresh_global("fused")
                made[v] = fn
                return replace(e, op=v)
            case _:
                return None

    new: dict[GlobalVar, Expr] = {v: rewrite(e, rule) for v, e in mod.functions.items()}
    return with_definitions(mod, {**new, **made})
