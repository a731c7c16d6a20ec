"""About how long a definition runs, where its sizes say: enough to tell a moment from a while."""

from math import inf, prod

from relay.backend.native.memory.representation import parts_of
from relay.backend.native.program.program import Program
from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Op
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.op.base import Fusion

ELEMENT, STEP = 1.0, 2.0
"""Nanoseconds for an element of a tensor, and for anything else that a program does."""
LONG = 10_000
"""Nanoseconds from which other threads of Python may run meanwhile."""


def is_long(program: Program, v: GlobalVar) -> bool:
    """Whether a definition may run for more than a moment: what recurs or has open sizes may."""
    known: dict[GlobalVar, float] = {}
    pending = [v]
    while pending:
        w = pending[-1]
        body = program.mod.functions[w]
        if w not in known:
            known[w] = inf
            pending += [e for e in post_order(body) if isinstance(e, GlobalVar) and e not in known]
        else:
            pending.pop()
            if known[w] == inf:
                known[w] = sum([nanoseconds(program, e, known) for e in post_order(body)])
    return known[v] > LONG


def nanoseconds(program: Program, e: Expr, known: dict[GlobalVar, float]) -> float:
    """What a node takes, without its operands; definitions that are still being looked at take for ever."""
    if isinstance(e, GlobalVar):
        return known[e]
    if not isinstance(e, Call):
        return 0 if isinstance(e, Function) else STEP
    if not isinstance(e.op, Op):
        return STEP if isinstance(e.op, GlobalVar | Constructor) else inf
    made = elements(program.types(e))
    read = [elements(program.types(a)) for a in e.args]
    if e.attrs.fusion in (Fusion.KERNEL, Fusion.OPAQUE):
        return ELEMENT * made * max(read, default=1) + STEP
    return ELEMENT * (made + sum(read)) + STEP


def elements(t: Type) -> float:
    """How many numbers there are in a value; without end where it is not known."""
    if not (t.is_closed and t.is_of_tensors):
        return inf
    return sum([prod(x.concrete_shape) for x in parts_of(t) if isinstance(x, TensorType)])
