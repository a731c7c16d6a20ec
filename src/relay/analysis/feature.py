"""Which parts of the language a program uses."""

# ruff: noqa: N815  the names that people know

from enum import Enum

from relay.analysis.uses import recursive_lets
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
)
from relay.ir.module import IRModule
from relay.ir.walk import post_order


class Feature(Enum):
    """A kind of node, or a way in which nodes are put together."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    """Some node that is not a leaf is used in more than one place."""
    fLetRec = 16
    """Some local function calls itself, or several call one another."""
    fGrad = 17
    fVMap = 18


_OF_NODE: dict[type, Feature] = {
    Var: Feature.fVar, GlobalVar: Feature.fGlobalVar, Constant: Feature.fConstant, Tuple: Feature.fTuple,
    TupleGetItem: Feature.fTupleGetItem, Function: Feature.fFunction, Op: Feature.fOp, Call: Feature.fCall,
    Let: Feature.fLet, If: Feature.fIf, RefCreate: Feature.fRefCreate, RefRead: Feature.fRefRead,
    RefWrite: Feature.fRefWrite, Constructor: Feature.fConstructor, Match: Feature.fMatch,
    LetRec: Feature.fLetRec, Grad: Feature.fGrad, VMap: Feature.fVMap,
}  # fmt: skip


def detect_feature(a: Expr | IRModule, b: Expr | IRModule | None = None) -> set[Feature]:
    """What an expression, a module, or both use."""
    found: set[Feature] = set()
    for part in (a, b):
        if isinstance(part, IRModule):
            for definition in part.functions.values():
                found |= _features(definition)
        elif part is not None:
            found |= _features(part)
    return found


def _features(root: Expr) -> set[Feature]:
    found: set[Feature] = set()
    used: set[Expr] = set()
    for e in post_order(root):
        found.add(_OF_NODE[type(e)])
        for child in e.children:
            if child in used and child.children:
                found.add(Feature.fGraph)
            used.add(child)
        if isinstance(e, Function):
            found.update([Feature.fVar] * bool(e.params))
        elif isinstance(e, Let):
            found.add(Feature.fVar)
    return found | {Feature.fLetRec} if recursive_lets(root) else found
