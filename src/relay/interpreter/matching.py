"""Patterns to flat code: tests that jump to the next clause, and a jump by tag where all clauses allow it."""

from collections.abc import Callable, Container
from dataclasses import dataclass

from relay.interpreter import code as op
from relay.interpreter.code import Draft, Label
from relay.ir.expr import Constructor, Match, Pattern, Var
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar


@dataclass(frozen=True, slots=True)
class SwitchTable:
    """Where to go for each tag, and for each clause the place behind the test of its outer constructor."""

    targets: list[Label]
    entries: list[Label]


def switch_table(e: Match, full: list[Label], size: Callable[[Constructor], int]) -> SwitchTable | None:
    """A jump table over the outer constructors; None where a clause tests something else or one has all."""
    tops = [c.lhs for c in e.clauses]
    constructors = [p.constructor for p in tops if isinstance(p, PatternConstructor)]
    if len(constructors) < 2 or any(isinstance(p, PatternTuple) for p in tops):
        return None
    entries = [Label() for _ in tops]
    targets: list[Label] = [full[-1]] * size(constructors[0])
    for i in range(len(tops) - 1, -1, -1):
        p = tops[i]
        if isinstance(p, PatternConstructor):
            targets[p.constructor.tag] = entries[i]
        else:
            targets = [full[i]] * len(targets)
    return SwitchTable(targets, entries)


def lower_tests(
    draft: Draft, root: Pattern, data: int, otherwise: Label, entered: Label | None, wanted: Container[Var]
) -> list[tuple[Var, int]]:
    """Code that goes on where `root` matches register `data`, else jumps; returns the variables it binds."""
    bound: list[tuple[Var, int]] = []
    stack: list[tuple[Pattern, int]] = [(root, data)]
    while stack:
        pattern, register = stack.pop()
        match pattern:
            case PatternVar(var=var):
                bound.append((var, register))
                continue
            case PatternConstructor(constructor=constructor, patterns=inner):
                draft.emit(op.IF_TAG, otherwise, constructor.tag, register)
                load = op.FIELD
            case PatternTuple(patterns=inner):
                load = op.GET
            case _:
                continue
        if pattern is root and entered is not None:
            draft.place(entered)
        parts: list[tuple[Pattern, int]] = []
        for i, p in enumerate(inner):
            if (
                p.children
                or isinstance(p, PatternConstructor)
                or (isinstance(p, PatternVar) and p.var in wanted)
            ):
                d = draft.fresh()
                draft.emit(load, d, None, register, i)
                parts.append((p, d))
        stack += reversed(parts)
    return bound
