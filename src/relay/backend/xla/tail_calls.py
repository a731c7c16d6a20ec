"""Functions that call themselves last, which are loops."""

from collections.abc import Mapping
from dataclasses import dataclass

from relay.backend.xla.functions import Closure
from relay.interpreter.unit import Step
from relay.ir.expr import Call, Expr, If, Let, LetRec, Match
from relay.ir.scope import places
from relay.ir.walk import run


@dataclass(frozen=True, slots=True)
class Ends:
    """What an expression in tail position may do: go around once more, or leave."""

    continues: bool
    exits: bool


LEAVES = Ends(continues=False, exits=True)


@dataclass(frozen=True, slots=True)
class Loop:
    """A function whose last step may be to call itself.

    `ends` has the calls, and the choices around them.  `moving` are the parameters that calls change.
    """

    ends: Mapping[Expr, Ends]
    moving: tuple[int, ...]
    is_unrolled: bool
    """Whether data that a call changes says how often: that is known while the program is traced."""

    def at(self, e: Expr) -> Ends:
        """What an expression in tail position may do."""
        return self.ends.get(e, LEAVES)


def find_loop(f: Closure) -> Loop | None:
    """The loop that a function is, if it calls itself in tail position."""
    fn = f.function
    if f.name is None:
        return None
    shared = places(fn).shared
    ends: dict[Expr, Ends] = {}
    calls: list[Call] = []

    def visit(e: Expr) -> Step:
        e = end_of(e)
        if e in ends or e in shared:
            return ends.get(e, LEAVES)
        match e:
            case Call() if e.op == f.name:
                calls.append(e)
                ends[e] = Ends(continues=True, exits=False)
            case If() | Match():
                continues = exits = False
                for branch in tails(e):
                    found: Ends = yield visit(branch)
                    continues, exits = continues or found.continues, exits or found.exits
                if continues:
                    ends[e] = Ends(continues, exits)
            case _:
                pass
        return ends.get(e, LEAVES)

    run(visit(fn.body))
    if not calls:
        return None
    moving = tuple([i for i, p in enumerate(fn.params) if any(call.args[i] is not p for call in calls)])
    changed = {fn.params[i] for i in moving}
    data = [e.data for e in ends if isinstance(e, Match)]
    return Loop(ends, moving, any(d not in fn.params or d in changed for d in data))


def end_of(e: Expr) -> Expr:
    """What a run of `let`s ends in."""
    while isinstance(e, Let | LetRec):
        e = e.body
    return e


def tails(e: If | Match) -> list[Expr]:
    """The branches of a choice."""
    return [e.true_branch, e.false_branch] if isinstance(e, If) else [c.rhs for c in e.clauses]
