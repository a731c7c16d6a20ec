"""Where variables are used for the last time: there their references are given up.

Each variable that holds objects owns one reference to each.  The last statement of a block that mentions it
is where it goes: an operand that wants a reference of its own gets that one, else it is released
afterwards.  A branch in which a variable is not mentioned any more releases it on entry.
"""

from collections.abc import Callable

from relay.ir.expr import Expr, Function, If, Let, LetRec, Match, Var
from relay.ir.pattern import pattern_vars
from relay.ir.walk import post_order

Statement = Expr
"""What a block binds or ends in."""


class Block:
    """A `let` chain: its statements, and for each variable that it mentions the last one that does."""

    __slots__ = ("last", "statements")

    def __init__(self) -> None:
        """Empty."""
        self.statements: list[tuple[Var | None, Statement]] = []
        """What each variable is bound to; the last has no variable."""
        self.last: dict[Var, int] = {}


def blocks_of(e: Statement) -> tuple[Expr, ...]:
    """The blocks inside of a statement."""
    if isinstance(e, If):
        return (e.true_branch, e.false_branch)
    return tuple([c.rhs for c in e.clauses]) if isinstance(e, Match) else ()


class Ownership:
    """The blocks of a definition in A-normal form, by the expressions that they are."""

    def __init__(self, root: Expr, is_managed: Callable[[Var], bool]) -> None:
        """Variables of which `is_managed` is False are left out: they own nothing."""
        self.blocks: dict[Expr, Block] = {}
        order: list[Expr] = []
        pending = [root]
        while pending:
            e = pending.pop()
            order.append(e)
            block = self.blocks[e] = self.chain(e)
            for _, s in block.statements:
                pending += blocks_of(s)
        for e in reversed(order):
            block = self.blocks[e]
            for i, (_, s) in enumerate(block.statements):
                for v in self.mentioned(s):
                    if is_managed(v):
                        block.last[v] = i

    def last_uses(self) -> int:
        """How many last uses of variables there are in all blocks."""
        return sum([len(block.last) for block in self.blocks.values()])

    def chain(self, e: Expr) -> Block:
        """The statements of a block."""
        block = Block()
        while isinstance(e, Let):
            block.statements.append((e.var, e.value))
            e = e.body
        assert not isinstance(e, LetRec), "functions have been lifted"
        block.statements.append((None, e))
        return block

    def mentioned(self, s: Statement) -> list[Var]:
        """The variables that a statement mentions, its blocks included."""
        if isinstance(s, Function):
            bound = set(s.params)
            return [v for v in post_order(s.body) if isinstance(v, Var) and v not in bound]
        inner = blocks_of(s)
        if not inner:
            return [v for v in (s, *s.children) if isinstance(v, Var)]
        found = [v for v in s.children[:1] if isinstance(v, Var)]
        for i, e in enumerate(inner):
            block = self.blocks[e]
            bound = {v for v, _ in block.statements if v is not None}
            if isinstance(s, Match):
                bound.update(pattern_vars(s.clauses[i].lhs))
            found += [v for v in block.last if v not in bound]
        return found
