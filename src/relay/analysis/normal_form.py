"""Basic-block normal form: what several scopes use is bound by a `let` around them."""

from relay.ir.expr import Expr
from relay.ir.scope import Scope, opened, scopes
from relay.ir.walk import post_order


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
