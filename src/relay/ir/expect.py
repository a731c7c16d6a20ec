"""What public functions say of Python arguments that they can do nothing with: `TypeError`, and a hint."""

from typing import Any

from relay.ir.expr import Expr, RelayExpr
from relay.ir.traced import Traced


def expect_expr(e: Any) -> Expr:
    """`e` itself, if it is an expression."""
    if isinstance(e, Traced):
        return e.expr
    found: Expr = e
    if not isinstance(e, RelayExpr):
        raise TypeError(f"{e!r:.80} is not an expression; relay.parse_expr and relay.const make one")
    return found


def expect_text(source: Any) -> str:
    """`source` itself, if it is text."""
    if not isinstance(source, str):
        raise TypeError(f"{source!r:.80} is not text; relay.load reads files")
    return source
