"""Which tensors need a reference for their cotangents, found before anything is differentiated.

What runs between two calls or branchings of a block is a **segment**.  Cotangents inside of one segment are
passed on as values; a tensor that is used in another segment, or put into something, needs a reference.
"""

from collections.abc import Sequence
from itertools import count

from relay.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
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
)
from relay.ir.vars import binders
from relay.op.kind import Derivative


def is_boundary(e: Expr) -> bool:
    """Whether something that is differentiated by itself happens here."""
    return isinstance(e, If | Match) or (isinstance(e, Call) and not isinstance(e.op, Op | Constructor))


def passes_on(e: Expr) -> bool:
    """Whether a statement is an effect whose result is its first operand."""
    return isinstance(e, Call) and isinstance(e.op, Op) and e.attrs.derivative is Derivative.PASSED_ON


def parts_of(e: Expr) -> tuple[Expr, ...]:
    """What the result of such a statement consists of."""
    return tuple([x for a in e.children[1:2] for x in a.children or (a,)])


class Plan:
    """The variables of a program in A-normal form that need references.

    A program `is_straight` that has one segment and no functions.
    """

    def __init__(self, root: Expr, params: Sequence[Var] = (), *, by_value: bool = False) -> None:
        """`root` is a block, and `params` are bound around it and varied.

        A straight program's result is handed over as a value if `by_value` says so, else in a reference.
        """
        self.kept: set[Var] = set()
        self.is_straight = True
        self.by_value = by_value
        self._segments = count()
        self._defined: dict[Var, int] = {}
        self._used: dict[Var, int] = {}
        self._aliases: list[tuple[Var, tuple[Expr, ...]]] = []
        self._define(tuple(params), 0)
        self._walk(root)
        for var, of in reversed(self._aliases):
            for e in of:
                if isinstance(e, Var):
                    self._alias(var, e)

    def _walk(self, root: Expr) -> None:
        blocks = [root]
        results: list[Expr] = []
        while blocks:
            e = blocks.pop()
            segment = next(self._segments)
            while isinstance(e, Let | LetRec):
                if isinstance(e, LetRec):
                    self.is_straight = False
                    blocks += [f.body for f in e.values if isinstance(f, Function)]
                    self._define(e.vars, segment)
                else:
                    segment = self._statement(e.value, e.var, segment, blocks)
                e = e.body
            if passes_on(e):
                results += parts_of(e)
            elif is_boundary(e) or isinstance(e, Call | Function):
                self._statement(e, None, segment, blocks)
            else:
                results += e.children or (e,)
        self.by_value = self.by_value and self.is_straight
        if not self.by_value:
            for e in results:
                self._keep(e)

    def _define(self, several: tuple[Var, ...], segment: int) -> None:
        for v in several:
            self._defined[v] = segment

    def _statement(self, e: Expr, var: Var | None, segment: int, blocks: list[Expr]) -> int:
        """Note what a statement uses; the segment after it."""
        if is_boundary(e):
            self.is_straight = False
            segment = next(self._segments)
        if var is not None:
            self._define((var,), segment)
        match e:
            case Call(op=Op()) if passes_on(e):
                if var is not None:
                    self._aliases.append((var, parts_of(e)))
            case Call(op=Op()):
                for a in e.args:
                    self._use(a, segment)
            case Tuple() | TupleGetItem() | Var() if var is not None:
                self._aliases.append((var, e.children or (e,)))
            case Function():
                self.is_straight = False
                blocks.append(e.body)
            case If(cond, yes, no):
                self._keep(cond)
                blocks += [yes, no]
            case Match():
                self._keep(e.data)
                for c in e.clauses:
                    self._define(binders(e), segment)
                    blocks.append(c.rhs)
            case Let() | LetRec():
                blocks.append(e)
            case RefCreate() | RefRead() | RefWrite() | Call() | Tuple() | TupleGetItem():
                for x in e.children:
                    self._keep(x)
            case _:
                self._keep(e)
        return segment

    def _use(self, e: Expr, segment: int) -> None:
        """An operator uses it here."""
        if isinstance(e, Var) and self._used.setdefault(e, segment) != segment:
            self.kept.add(e)

    def _keep(self, e: Expr) -> None:
        if isinstance(e, Var):
            self.kept.add(e)

    def _alias(self, var: Var, of: Var) -> None:
        """`of` is used where `var` is."""
        if var in self.kept:
            self.kept.add(of)
        elif var in self._used:
            self._use(of, self._used[var])

    def needs_reference(self, var: Var) -> bool:
        """Whether its cotangent gathers in a reference."""
        return var in self.kept or (var in self._used and self._used[var] != self._defined.get(var, -1))
