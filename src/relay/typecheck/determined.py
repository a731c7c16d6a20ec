"""Results of relations that hold for any sizes and dtypes of their inputs.

A relation may wait for an unknown size although its result is the same for all that it allows: `(_,)` and
`(4,)` broadcast to `(4,)`.  In a function whose signature names the size, the relation has this result;
generalisation gives it the same, so that an inferred program infers again.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from relay.ir.subst import substitute_type
from relay.ir.type import Kind, TypeVar
from relay.typecheck.closed import Closed
from relay.typecheck.goals import Goal, relation_goal
from relay.typecheck.unknown import Unknown, unknowns, zonk

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference

_NAMED = (Kind.Dim, Kind.BaseType)


def determine_results(inf: "Inference", goals: Sequence[Goal]) -> None:
    """Give waiting goals the results that they have for any sizes; each may determine others."""
    waiting = list(goals)
    while waiting:
        determined: set[Goal] = set()
        for g in waiting:
            result = _result(g)
            if result is not None:
                determined.add(g)
                inf.agree(g.types[-1], result, inf.roots[0] if g.call is None else g.call, "the result")
        inf.settle()
        waiting = [g for g in waiting if g not in determined] if determined else []


def _result(goal: Goal) -> Any:
    """Return the result for any sizes of the inputs; None if it is known, or depends on more than sizes."""
    if goal.done or goal.is_given or goal.outputs != 1:
        return None
    inputs = tuple([zonk(t) for t in goal.types[:-1]])
    named = unknowns(inputs)
    is_open = unknowns(goal.types[-1]).keys() - named.keys()
    if not named or not is_open or any(v.kind not in _NAMED for v in named):
        return None
    names = {v: TypeVar("n", v.kind) for v in named}
    out = Unknown(Kind.Type)
    trial = relation_goal(
        goal.name, (*[substitute_type(t, names) for t in inputs], out), goal.attrs, goal.call
    )
    solver = Closed(goal.givens)
    solver.post(trial)
    solver.settle()
    result = zonk(out)
    if solver.report.diagnostics or not trial.done or unknowns(result):
        return None
    return substitute_type(result, {p: v for v, p in names.items()})
