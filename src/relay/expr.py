"""Expressions, by the module name that people know."""

from relay.ir.bind import bind
from relay.ir.build import const, var
from relay.ir.expr import (
    Call,
    Constant,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    TempExpr,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)

Expr = RelayExpr

__all__ = [
    "Call", "Constant", "Expr", "Function", "GlobalVar", "If", "Let", "RefCreate", "RefRead", "RefWrite",
    "RelayExpr", "TempExpr", "Tuple", "TupleGetItem", "TupleWrapper", "Var", "bind", "const", "var",
]  # fmt: skip
