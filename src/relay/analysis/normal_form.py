"""Normal forms: which nodes a `let` binds, those that several scopes use or all but atoms."""

from relay.ir.expr import Constant, Constructor, Expr, Function, GlobalVar, Let, LetRec, Op, Var
from relay.ir.scope import OPENING, Scope, opened, scopes
from relay.ir.walk import post_order

ATOMS = frozenset({Var, Constant, GlobalVar, Op, Constructor})
"""What needs no evaluation."""


def shared_across_scopes(root: Expr) -> list[Expr]:
    """The nodes under `root`, leaves left out, that are used in more than one scope; parents first."""
    where = scopes(root)
    first: dict[Expr, Scope | tuple[Expr, int]] = {}
    found: dict[Expr, None] = {}
    for e in reversed(list(post_order(root))):
        for i, (child, is_scope) in enumerate(opened(e)):
            if not child.children:
                continue
            place = (e, i) if is_scope else where[e]
            known = first.setdefault(child, place)
            if known is not place and known != place:
                found.setdefault(child)
    return list(found)


def check_basic_block_normal_form(expr: Expr) -> bool:
    """Whether no node is shared between scopes, except through variables."""
    return not shared_across_scopes(expr)


def is_a_normal(root: Expr) -> bool:
    """Whether every operand is an atom and nothing else is shared; fused functions are not looked into.

    Function bodies, branches and clauses are blocks: `let`s around an expression whose operands are atoms.
    """
    seen: set[Expr] = set()
    stack = [root]
    while stack:
        e = stack.pop()
        children = e.children
        if not children:
            continue
        if e in seen:
            return False
        seen.add(e)
        kind = type(e)
        if kind is Let or kind is LetRec:
            if type(children[0]) is Let or type(children[0]) is LetRec:
                return False
            stack += children
        elif kind not in OPENING:
            if not ATOMS.issuperset(map(type, children)):
                return False
        elif type(e) is not Function or not e.attrs.get("Primitive"):
            for child, is_scope in opened(e):
                if is_scope:
                    stack.append(child)
                elif type(child) not in ATOMS:
                    return False
    return True
