"""Expressions: what a Relay program is made of.

Nodes are immutable and compare by identity: a shared node *is* the sharing, and each `Var` object is one
binding site.  `GlobalVar`, `Op` and `Constructor` are leaves that name something, and are equal by that name.

The kinds are defined in `node`, `leaf`, `call` and `control`.  Here they come together as the union `Expr`,
and from here the rest of the package imports them.
"""

from typing import TYPE_CHECKING, TypeAlias

from relay.ir.call import Call, NotAnOperandError, Tuple, TupleGetItem, TupleWrapper, as_expr
from relay.ir.control import (
    Clause,
    Function,
    Grad,
    GradKind,
    If,
    Let,
    LetRec,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    VMap,
)
from relay.ir.leaf import Constant, Constructor, GlobalVar, Op, Var, constant, literal
from relay.ir.node import Node, Pattern, RelayExpr, node, replace

__all__ = [
    "Call", "Clause", "Constant", "Constructor", "Expr", "Function", "GlobalVar", "Grad", "GradKind", "If",
    "Let", "LetRec", "Match", "Node", "NotAnOperandError", "Op", "Pattern", "RefCreate", "RefRead",
    "RefWrite", "RelayExpr", "TempExpr", "Tuple", "TupleGetItem", "TupleWrapper", "VMap", "Var",
    "as_expr", "constant", "literal", "node", "replace",
]  # fmt: skip

if TYPE_CHECKING:
    Expr: TypeAlias = (
        Constant
        | Var
        | GlobalVar
        | Op
        | Constructor
        | Tuple
        | TupleGetItem
        | Call
        | Function
        | Let
        | LetRec
        | If
        | Match
        | RefCreate
        | RefRead
        | RefWrite
        | Grad
        | VMap
        | TempExpr
    )
else:
    Expr = RelayExpr  # what `help` shows: one name
