"""Loops: functions that call themselves last.

The loop computes what the next round starts from.  A round that leaves changes nothing: what it gives is
computed behind the loop, from where that round starts, so a loop carries no result that it does not have yet.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relay.backend.xla.functions import Closure, Frame
from relay.backend.xla.shapes import demand, shape_of
from relay.backend.xla.tail_calls import Loop, end_of, tails
from relay.interpreter.unit import Step
from relay.ir.expr import Call, Expr, If, Match
from relay.ir.walk import run
from relay.op.traced import UntraceableError

if TYPE_CHECKING:
    from relay.backend.xla.trace import Trace

CHANGED = "a loop changes the structure or the shapes of what it computes with"


def looped(this: "Trace", f: Closure, args: Sequence[Any], loop: Loop) -> Step:
    """The value of a call of a function that is a loop."""
    fn = f.function
    if not loop.at(end_of(fn.body)).exits:
        raise UntraceableError("a loop never ends")
    cells = len(this.cells)
    leaves, structure = this.outcome(tuple([args[i] for i in loop.moving]), cells)
    shapes = list(map(shape_of, leaves))

    def entered(carried: Sequence[Any]) -> Frame:
        here = list(args)
        for i, x in zip(loop.moving, carried, strict=True):
            here[i] = x
        return this.entered(f, here)

    def body(state: Any) -> Any:
        _, failed, before = state
        kept = this.state()
        carried = this.resumed(failed, structure(*before))
        goes_on, after = run(round_of(this, entered(carried), fn.body, loop, carried))
        found, made = this.outcome(after, cells)
        failed = this.np.asarray(this.checks.failed)
        this.restore(kept)
        if made != structure or list(map(shape_of, found)) != shapes:
            raise UntraceableError(CHANGED)
        return this.np.asarray(goes_on), failed, found

    def runs(state: Any) -> Any:
        return state[0] & (state[1] == 0)

    start = (this.np.asarray(True), this.np.asarray(this.checks.failed), leaves)
    this.depth += 1
    try:
        _, failed, leaves = this.jax.lax.while_loop(runs, body, start)
    finally:
        this.depth -= 1
    here = entered(this.resumed(failed, structure(*leaves)))
    result = yield last(this, here, fn.body, loop)
    demand(fn.ret_type, result, here.sizes)
    return result


def round_of(this: "Trace", here: Frame, e: Expr, loop: Loop, carried: tuple[Any, ...]) -> Step:
    """A round from an expression in tail position on: whether it goes on, and what the next starts from."""
    start = this.state()

    def step(here: Frame, e: Expr) -> Step:
        e = yield from this.bindings(here, e)
        if not loop.at(e).continues:
            # The state may hold globals that are evaluated before the branch that leaves.
            this.restore(start)
            return np.bool_(False), carried
        match e:
            case Call():
                args = yield from this.values(here, e.args)
                return np.bool_(True), tuple([args[i] for i in loop.moving])
            case If():
                return (yield from this.branch(here, e, step, CHANGED))
            case Match():
                inside, clause = yield from this.clause(here, e)
                return (yield step(inside, clause.rhs))
            case _:
                raise AssertionError(f"{e!r} does not go on")

    return (yield step(here, e))


def last(this: "Trace", here: Frame, e: Expr, loop: Loop) -> Step:
    """The value of an expression in tail position in the round that leaves."""
    e = yield from this.bindings(here, e)
    ends = loop.at(e)
    if not ends.continues:
        return (yield this.value(here, e))
    if not ends.exits:
        raise UntraceableError("a loop never ends")

    def step(here: Frame, e: Expr) -> Step:
        return last(this, here, e, loop)

    match e:
        case If():
            exits = [b for b in tails(e) if loop.at(end_of(b)).exits]
            if len(exits) == 2:
                return (yield from this.branch(here, e, step))
            yield this.value(here, e.cond)
            yield from this.hoist(here, e)
            return (yield last(this, here.inside(), exits[0], loop))
        case Match():
            inside, clause = yield from this.clause(here, e)
            return (yield last(this, inside, clause.rhs, loop))
        case _:
            raise AssertionError(f"{e!r} does not go on")
