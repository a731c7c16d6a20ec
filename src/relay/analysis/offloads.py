"""Which compiler takes which calls of operators."""

from relay.ir.expr import Call, Function, Op
from relay.ir.module import IRModule
from relay.ir.walk import post_order

GENERIC = "generic"
"""What stands for a compiler or a composite function where there is none."""


def analyze_operations_distribution(mod: IRModule) -> dict[str, list[str | int]]:
    """For each call of an operator, by its place (`file:line:column`): the compiler that takes it, the name
    of the composite function that it is in, and the number of that function.

    Compilers are the attribute `Compiler` of definitions, as `PartitionGraph` makes them; composite functions
    have the attribute `Composite`, as `MergeComposite` makes them; "generic" stands for none.  Composite
    functions, and calls outside of them, are numbered together from 1 in the order of evaluation.  Of several
    calls from one place the last counts; calls without a place are left out.
    """
    found: dict[str, list[str | int]] = {}
    number = 0
    for root in mod.functions.values():
        compiler = str(root.attrs.get("Compiler", GENERIC)) if isinstance(root, Function) else GENERIC
        inside: set[Call] = set()
        groups: list[tuple[str, list[Call]]] = []
        for e in reversed(list(post_order(root))):
            if isinstance(e, Function) and "Composite" in e.attrs:
                calls = _operator_calls(e)
                groups.append((str(e.attrs["Composite"]), [c for c in calls if c not in inside]))
                inside.update(calls)
            elif isinstance(e, Call) and isinstance(e.op, Op) and e not in inside:
                groups.append((GENERIC, [e]))
        for name, calls in reversed(groups):
            number += 1
            found.update({str(c.span): [compiler, name, number] for c in calls if c.span is not None})
    return found


def _operator_calls(fn: Function) -> list[Call]:
    return [e for e in post_order(fn.body) if isinstance(e, Call) and isinstance(e.op, Op)]
