"""Operators that LAPACK computes: machine code calls its routines, or the reference where there are none."""

from collections.abc import Callable, Sequence

from relay.backend.native.llvm.builder import POINTER, Code, Value
from relay.backend.native.memory.objects import ROUTINES
from relay.backend.native.program.operators import emit_call
from relay.backend.native.program.program import Program
from relay.backend.native.program.python_calls import reference_called
from relay.ir.expr import Call, Expr


def routines_called(
    program: Program, code: Code, call: Call, operand_of: Callable[[Expr], Sequence[Value]]
) -> list[Value]:
    """The leaves of the result of an operator that routines of LAPACK compute.

    Whether there are such shows when a program is loaded: one that was compiled elsewhere runs here, too.
    """
    given = {a: operand_of(a) for a in call.args}
    routines, reference, end = code.label(), code.label(), code.label()
    first = code.load(POINTER, Value(POINTER, code.refer(f"@{ROUTINES}")))
    code.branch(code.compare("icmp ne", first, Value(POINTER, "null")), routines, reference, likely=True)
    arrivals: list[tuple[list[Value], str]] = []
    for label in (routines, reference):
        code.block(label)
        if label == routines:
            leaves = emit_call(program, code, call, lambda a: given[a])
        else:
            program.fallbacks += 1
            leaves = reference_called(program, code, call, [v for a in call.args for v in given[a]])
        arrivals.append((leaves, code.here))
        code.jump(end)
    code.block(end)
    return code.join(arrivals)
