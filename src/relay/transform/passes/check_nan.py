"""Checks for operators that make a NaN or an infinity."""

from typing import Any

from relay.ir.dtype import is_float
from relay.ir.expr import Call, Expr, Function, Op
from relay.ir.module import IRModule
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import post_order
from relay.op.debugging import CheckNan
from relay.transform.passes.fusion_graph import is_opaque_function
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types

CHECK = Op.get(CheckNan.name)


@module_pass("check_nan", opt_level=0, public="CheckNan")
def check_nan(mod: IRModule) -> IRModule:
    """Check the result of each operator: the first that makes a NaN or an infinity of operands that have none
    fails with `not-finite`, its place, and what its operands are.

    A composite operator is checked as a whole, a function that is fused already is not.  The checks are
    effects, so that operators are computed in the order of the program, and not fused.  After `expand_grad`
    the operators of derivatives are checked as well.

    >>> show(check_nan, "def @main(%x: float32) { log(%x) }")
    def @main(%x: float32) -> float32 {
      check_nan(log(%x), %x, operator="log")
    }
    """
    types = Types(mod)
    return with_definitions(mod, {v: with_checks(e, types) for v, e in mod.functions.items()})


def with_checks(root: Expr, types: Types) -> Expr:
    """A definition whose operators are checked."""
    nodes = list(post_order(root))
    apart = {e for f in nodes if isinstance(f, Function) and is_opaque_function(f) for e in post_order(f)}
    apart |= {e.args[0] for e in nodes if isinstance(e, Call) and e.op is CHECK}
    new: dict[Expr, Expr] = {}
    for e in nodes:
        children = tuple([new[c] for c in e.children])
        made = e if children == e.children else e.rebuild(children)
        if isinstance(made, Call) and isinstance(made.op, Op) and e not in apart:
            op: Any = made.attrs
            if not op.impure and may_be_floating(types(e)):
                check = CheckNan(operator=op.name)
                made = Call(CHECK, (made, *made.args), check, span=e.span)
        new[e] = made
    return new[root]


def may_be_floating(t: Type) -> bool:
    """Whether floating-point numbers may be among the results of an operator."""
    if isinstance(t, TupleType):
        return any(map(may_be_floating, t.fields))
    return not (isinstance(t, TensorType) and isinstance(t.dtype, str) and not is_float(t.dtype))
