"""What differentiation starts from: A-normal form without operators and constructors as values, and with
projections in the place of patterns that take tuples apart.
"""

from typing import Any

from relay.analysis.normal_form import is_a_normal
from relay.autodiff.coercions import with_copies
from relay.diagnostic import fail
from relay.ir.expr import Call, Constructor, Expr, Function, Let, Match, Op, TupleGetItem, Var
from relay.ir.pattern import PatternTuple, PatternVar, PatternWildcard, pattern_nodes
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, Type, TypeCall
from relay.ir.walk import post_order, rewrite
from relay.transform.rewriting.anf_conversion import anf
from relay.typecheck.query import Types


def normal(f: Function, types: Types) -> Function:
    """A function literal in A-normal form, in which operators and constructors are only called, and types of
    tensors change only by operators.
    """
    made = projected(applied(f, types))
    made = made if is_a_normal(made) else anf(made, types)
    assert isinstance(made, Function)
    return with_copies(made, types)


def applied(root: Expr, types: Types) -> Expr:
    """`root` with `fn(%x) { tanh(%x) }` in the place of `tanh` wherever that is not called."""
    if not any(isinstance(c, Op | Constructor) for e in post_order(root) for c in values_of(e)):
        return root
    new: dict[Expr, Expr] = {}
    for e in post_order(root):
        children = [new[c] for c in e.children]
        for i, t in expected(e, types):
            c = children[i]
            if isinstance(c, Op | Constructor):
                children[i] = around(c, t)
        for i, c in enumerate(children):
            if isinstance(c, Op | Constructor) and not (isinstance(e, Call) and i == 0):
                fail(
                    "unknown-grad-target",
                    f"`{c.name}` is used as a value in differentiated code, and its calls are not known",
                    span=e.span,
                    hint=f"write a function that calls it: fn(%x) {{ {c.name}(%x) }}",
                )
        new[e] = e if tuple(children) == e.children else e.rebuild(tuple(children))
    return new[root]


def projected(root: Expr) -> Expr:
    """`root` with `let %x = %t.0; let %y = %t.1; …` in the place of `let (%x, %y) = %t; …`: a part that
    nobody reads has no cotangent then, rather than zeros.
    """
    return rewrite(root, as_projections) if any(map(takes_apart, post_order(root))) else root


def takes_apart(e: Expr) -> bool:
    """Whether `e` is a match that binds the parts of a tuple, and nothing else."""
    if not isinstance(e, Match) or len(e.clauses) != 1 or not isinstance(e.clauses[0].lhs, PatternTuple):
        return False
    parts = pattern_nodes(e.clauses[0].lhs)
    return all(isinstance(p, PatternTuple | PatternVar | PatternWildcard) for p in parts)


def as_projections(e: Expr) -> Expr | None:
    """The parts of a tuple bound one by one."""
    if not isinstance(e, Match) or not takes_apart(e):
        return None
    clause = e.clauses[0]
    body, parts = clause.rhs, {clause.lhs: e.data}
    for p in pattern_nodes(clause.lhs):
        if isinstance(p, PatternTuple):
            for i, q in enumerate(p.patterns):
                parts[q] = TupleGetItem(parts[p], i, span=p.span)
        elif isinstance(p, PatternVar):
            body = Let(p.var, parts[p], body, span=p.span)
    return body


def values_of(e: Expr) -> tuple[Expr, ...]:
    """The children of `e` that are used as values."""
    return e.children[1:] if isinstance(e, Call) else e.children


def expected(e: Expr, types: Types) -> list[tuple[int, Type]]:
    """The types that `e` expects of some of its children, by position."""
    if isinstance(e, Call) and not isinstance(e.op, Op):
        t: Any = types(e.op)
        by = dict(zip(t.type_params, e.written_type_args, strict=False))
        return [(i + 1, substitute_type(a, by)) for i, a in enumerate(t.arg_types)]
    if isinstance(e, Function) and e.ret_type is not None:
        return [(0, e.ret_type)]
    return []


def around(c: Op | Constructor, t: Type | None) -> Expr:
    """A function of type `t` that calls an operator or constructor."""
    assert isinstance(t, FuncType)
    params = tuple([Var("x", a, span=c.span) for a in t.arg_types])
    type_args = t.ret_type.args if isinstance(c, Constructor) and isinstance(t.ret_type, TypeCall) else ()
    return Function(tuple(params), Call(c, params, None, type_args, span=c.span), t.ret_type, span=c.span)
