"""Local functions that differentiate a parameter, put where they are called: there the parameter is known."""

from collections.abc import Set as AbstractSet

from relay.analysis.uses import recursive_lets
from relay.autodiff.normal import around
from relay.ir.bind import renew
from relay.ir.expr import Call, Constructor, Expr, Function, Let, Op, Var
from relay.ir.walk import post_order


def inlined_at_calls(root: Expr, which: AbstractSet[Function]) -> Expr:
    """`root` with a copy of each of some functions at each of its calls; `root` itself where nothing goes.

    Functions that call themselves, or that are used other than called, stay.
    """
    lets = _only_called(root, which)
    if not lets:
        return root
    new: dict[Expr, Expr] = {}
    for e in post_order(root):
        children = tuple([new[c] for c in e.children])
        if isinstance(e, Call) and e.op in lets:
            new[e] = _applied(new[lets[e.op].value], children[1:], e)
        elif isinstance(e, Let) and e.var in lets:
            new[e] = new[e.body]
        else:
            new[e] = e if children == e.children else e.rebuild(children)
    return new[root]


def _only_called(root: Expr, which: AbstractSet[Function]) -> dict[Expr, Let]:
    """The `let`s that bind these functions, by their variables."""
    recursive = set(recursive_lets(root))
    lets: dict[Expr, Let] = {}
    values: set[Expr] = set()
    for e in post_order(root):
        if isinstance(e, Let) and e.value in which and e not in recursive:
            lets[e.var] = e
        used = e.children[1:] if isinstance(e, Call) else e.children
        values.update(c for c in used if isinstance(c, Var))
    return {v: e for v, e in lets.items() if v not in values}


def _applied(f: Expr, args: tuple[Expr, ...], at: Call) -> Expr:
    """A copy of the body of `f`, with its parameters bound to operands."""
    made = renew(f)
    assert isinstance(made, Function)
    body = made.body
    for p, a in reversed(list(zip(made.params, args, strict=True))):
        known = around(a, p.type_annotation) if isinstance(a, Op | Constructor) else a
        body = Let(p, known, body, span=at.span)
    return body
