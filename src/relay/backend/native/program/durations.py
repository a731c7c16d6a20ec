"""A rough estimate of how long a definition runs, where its sizes are known: enough to decide whether a call
releases the interpreter lock.
"""

from math import inf, prod

from relay.backend.native.memory.representation import parts_of
from relay.backend.native.program.program import Program
from relay.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Op
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.op.kind import Fusion

ELEMENT_NS, STEP_NS = 1.0, 2.0
"""Nanoseconds for an element of a tensor, and for any other operation."""
LONG_RUNNING_NS = 10_000
"""Calls that take longer release the interpreter lock."""


def is_long(program: Program, v: GlobalVar) -> bool:
    """Whether a call may take long; recursive definitions and those with open sizes may."""
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
                known[w] = sum([estimate_ns(program, e, known) for e in post_order(body)])
    return known[v] > LONG_RUNNING_NS


def estimate_ns(program: Program, e: Expr, known: dict[GlobalVar, float]) -> float:
    """The time for a node without its operands; infinite for definitions that are still being visited."""
    if isinstance(e, GlobalVar):
        return known[e]
    if not isinstance(e, Call):
        return 0 if isinstance(e, Function) else STEP_NS
    if not isinstance(e.op, Op):
        return STEP_NS if isinstance(e.op, GlobalVar | Constructor) else inf
    made = element_count(program.types(e))
    read = [element_count(program.types(a)) for a in e.args]
    if e.attrs.fusion in (Fusion.KERNEL, Fusion.OPAQUE):
        return ELEMENT_NS * made * max(read, default=1) + STEP_NS
    return ELEMENT_NS * (made + sum(read)) + STEP_NS


def element_count(t: Type) -> float:
    """How many elements a value has; infinite where its type does not say."""
    if not (t.is_closed and t.is_of_tensors):
        return inf
    return sum([prod(x.concrete_shape) for x in parts_of(t) if isinstance(x, TensorType)])
