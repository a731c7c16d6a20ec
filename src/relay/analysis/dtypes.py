"""Which dtypes a program computes with."""

from relay.ir.expr import Call, Constant, Expr, Function, Op, Var
from relay.ir.module import IRModule
from relay.ir.type import TensorType, Type
from relay.ir.vars import binders
from relay.ir.walk import post_order, type_post_order


def all_dtypes(expr: Expr, mod: IRModule | None = None) -> set[str]:
    """The dtypes of all tensors that `expr` takes, makes or passes on, as inference finds them."""
    from relay.typecheck.query import Types

    types = Types(mod or IRModule())
    found: set[str] = set()
    seen: set[Type] = set()
    for e in post_order(expr):
        known = [v.type_annotation for v in binders(e)] if not isinstance(e, Var | Constant) else []
        known += [] if isinstance(e, Op | Function) else [types.type_of(e)]
        known += [a for a in e.written_type_args if isinstance(a, Type)] if isinstance(e, Call) else []
        for t in known:
            if t is not None and t not in seen:
                seen.add(t)
                parts = [p.dtype for p in type_post_order(t) if isinstance(p, TensorType)]
                found |= {p for p in parts if isinstance(p, str)}
    return found
