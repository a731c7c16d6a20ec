"""Composite operators written out in those that they are composed of."""

from relay.analysis.normal_form import ATOMS
from relay.diagnostic import derive_from, derived_nodes
from relay.ir.expr import Call, Constant, Expr, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.walk import post_order, rewrite
from relay.op.composite import Composite, as_operand
from relay.op.registry import registry
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, Table, apply_rules

STRAIGHT = frozenset({Call, Constant, Op, Tuple, TupleGetItem, Var})
"""Nodes without parts that are evaluated later, or never."""


@module_pass("expand_composites", keeps=(ANF,), opt_level=4, public="ExpandComposites")
def expand_composites(mod: IRModule) -> IRModule:
    """Replace every composite operator (`nn.softmax`, `nn.batch_norm`, …) by the operators that define it.

    Backends then have fewer operators to implement.  The pass runs after differentiation, since a composite
    may have a derivative of its own, and before fusion, which then sees the parts.

    >>> show(expand_composites, "def @main(%x: Tensor[(3,), float32]) { nn.log_softmax(%x) }")
    def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
      %0 = %x - max(%x, axis=-1, keepdims=True);
      %0 - log(sum(exp(%0), axis=-1, keepdims=True))
    }
    """
    with derived_nodes():
        return apply_rules(mod, composite_rules())


def composite_rules(family: str = "") -> Table:
    """The rule for each composite that is registered, of the family whose names begin so."""
    named = [op for name, op in registry.items() if name.startswith(family)]
    return {op: (_decomposed,) for op in named if issubclass(op, Composite)}


def _decomposed(w: Rewriter, e: Call) -> Expr | None:
    """What a call stands for, on operands that are evaluated once and in their order."""
    op = e.attrs
    assert isinstance(op, Composite)
    types = [w.types(x) for x in e.args]
    names = [x if type(x) in ATOMS else Var("x", t, span=e.span) for x, t in zip(e.args, types, strict=True)]
    operands = [as_operand(x, t) for x, t in zip(names, types, strict=True)]
    derive_from(e.span)
    made = op.decompose(types, *operands)
    given: dict[Expr, Expr] = {name: x for name, x in zip(names, e.args, strict=True) if name is not x}
    if given and all(map(w.may_go, given.values())) and is_straight(made):
        made = rewrite(made, given.get)
    else:
        for name, x in reversed(given.items()):
            assert isinstance(name, Var)
            made = Let(name, x, made, span=e.span)
    wanted = w.types(e)
    if w.types(made) == wanted:
        return made
    whole = Var("x", wanted, span=e.span)  # sizes that only one of both says, or says otherwise
    return Let(whole, made, whole, span=e.span)


def is_straight(e: Expr) -> bool:
    """Whether all of an expression is evaluated, once: there are no functions and choices inside."""
    return all(type(x) in STRAIGHT and (type(x) is not Call or type(x.op) is Op) for x in post_order(e))
