"""Dataflow or control: whether a program is a computation graph."""

from typing import Literal

from relay.analysis.call_graph import CallGraph
from relay.analysis.uses import recursive_lets
from relay.ir.expr import (
    Call,
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
    Var,
    VMap,
)
from relay.ir.module import IRModule
from relay.ir.walk import post_order

Fragment = Literal["dataflow", "control"]


def fragment(e: Expr, mod: IRModule | None = None) -> Fragment:
    """Whether `e` only moves data, or also decides what happens.

    Variables, constants, tuples, projections, `let`, functions and calls of operators and constructors
    are dataflow.  A call belongs to the fragment of its callee; recursion, `if`, `match`, references, and
    calls of a function that is not known here are control.
    """
    return "control" if _is_control(e, mod, None if mod is None else CallGraph(mod)) else "dataflow"


def _is_control(root: Expr, mod: IRModule | None, calls: CallGraph | None) -> bool:
    """By a walk of `root`, then of every definition that it calls, directly or not."""
    pending, seen = [root], set[GlobalVar]()
    while pending:
        part = pending.pop()
        nodes = list(post_order(part))
        if recursive_lets(part):
            return True
        bound = {e.var: e.value for e in nodes if isinstance(e, Let)}
        for e in nodes:
            match e:
                case If() | Match() | RefCreate() | RefRead() | RefWrite() | LetRec():
                    return True
                case Call():
                    callee = _resolve(e.op, bound)
                    if isinstance(callee, GlobalVar):
                        if mod is None or calls is None or callee not in mod or calls.is_recursive(callee):
                            return True
                        if callee not in seen:
                            seen.add(callee)
                            pending.append(mod[callee])
                    elif not isinstance(callee, Op | Constructor | Function):
                        return True
                case _:
                    pass
    return False


def _resolve(callee: Expr, bound: dict[Var, Expr]) -> Expr:
    """The callee, through `let`s that rename it and through its derivative."""
    seen: set[Expr] = set()
    while callee not in seen:
        seen.add(callee)
        match callee:
            case Var() if callee in bound:
                callee = bound[callee]
            case Grad() | VMap():
                callee = callee.function
            case Let():
                callee = callee.body
            case _:
                break
    return callee
