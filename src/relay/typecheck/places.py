"""Where an error about an expression is shown."""

from relay.ir.expr import Constructor, Expr, Let, LetRec, Op, Var


def place(e: Expr, parent: Expr) -> Expr:
    """The node whose span shows `e`: a variable, operator or constructor is one object for all its uses."""
    return parent if isinstance(e, Var | Op | Constructor) else e


def result_place(e: Expr, parent: Expr) -> Expr:
    """Where the value of a block is written: the end of its `let` chain."""
    while isinstance(e, Let | LetRec):
        parent, e = e, e.body
    return place(e, parent)


def end(e: Expr) -> Expr:
    """What a `let` chain ends in."""
    while isinstance(e, Let | LetRec):
        e = e.body
    return e
