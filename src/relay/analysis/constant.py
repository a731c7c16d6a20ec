"""Whether an expression is written down as a value."""

from relay.ir.expr import Constant, Expr, Tuple
from relay.ir.walk import post_order


def check_constant(expr: Expr) -> bool:
    """Whether `expr` is a constant or a tuple of such."""
    return all(isinstance(e, Constant | Tuple) for e in post_order(expr))
