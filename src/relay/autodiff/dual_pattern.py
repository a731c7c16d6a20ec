"""Patterns of the source as patterns on dual values."""

from relay.autodiff.dual_types import DualTypes
from relay.ir.expr import Pattern, Var
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard, pattern_nodes
from relay.ir.subst import substitute_type
from relay.ir.type import TupleType, Type, TypeCall


def pattern_types(root: Pattern, t: Type, mod: IRModule) -> dict[Pattern, Type]:
    """The type of what each part of a pattern is matched with, where the whole is matched with a `t`."""
    of = {root: t}
    for p in pattern_nodes(root):
        whole = of[p]
        match p:
            case PatternTuple(patterns):
                assert isinstance(whole, TupleType)
                of.update(zip(patterns, whole.fields, strict=True))
            case PatternConstructor(c, patterns):
                assert isinstance(whole, TypeCall)
                by = dict(zip(mod.type_definitions[c.belong_to].type_vars, whole.args, strict=True))
                of.update(zip(patterns, [substitute_type(f, by) for f in c.inputs], strict=True))
            case _:
                pass
    return of


def dual_pattern(root: Pattern, of: dict[Pattern, Type], types: DualTypes) -> Pattern:
    """The pattern on dual values, whose parts stand in the same order; `of` has the source's types."""
    new: dict[Pattern, Pattern] = {}
    for p in reversed(list(pattern_nodes(root))):
        match p:
            case PatternTuple(patterns):
                new[p] = PatternTuple(tuple([new[q] for q in patterns]), span=p.span)
            case PatternConstructor(c, patterns):
                whole = of[p]
                assert isinstance(whole, TypeCall)
                inner = tuple([new[q] for q in patterns])
                new[p] = PatternConstructor(types.constructor(c, whole), inner, span=p.span)
            case PatternVar(var):
                new[p] = PatternVar(Var(var.name_hint, types.dual(of[p]), span=var.span), span=p.span)
            case _:
                new[p] = PatternWildcard(span=p.span)
    return new[root]
