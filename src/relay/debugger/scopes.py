"""Which variables of a function have a value at an instruction.

Jumps go forward only, so that dominators are found in one pass (Cooper, Harvey and Kennedy, 2001).
"""

from relay.debugger.machine import Layout
from relay.diagnostic import Span
from relay.interpreter.code import JUMP, SHAPES, Code, Instruction, successors
from relay.ir.expr import Var


def variables_at(code: Code, layout: Layout, at: int) -> list[tuple[Var, int]]:
    """The variables that have a value before the instruction at `at`, each with its place in the frame.

    They are in the order of the text; of those with one name the innermost is there.
    """
    found = layout.known.get(at)
    if found is None:
        found = layout.known[at] = _variables_at(code, layout, at)
    return found


def _variables_at(code: Code, layout: Layout, at: int) -> list[tuple[Var, int]]:
    if layout.dominators is None:
        layout.dominators = dominators(code.instructions)
    passed: set[int] = set()
    node = at
    while node >= 0:
        passed.add(node)
        node = layout.dominators[node]
    inputs = code.params + code.captures
    span = code.spans[at]
    params: set[Var] = set(code.function.params) if code.function is not None else set()
    defined = _definitions(code.instructions)
    by_name: dict[str, tuple[Var, int]] = {}
    for var, register in layout.variables:
        place = layout.places.get(register)
        if place is None or (place >= inputs and not _has_value(defined.get(place), passed, at)):
            continue
        if var not in params and place >= inputs and not _begins_before(var, span):
            continue
        other = by_name.get(var.name)
        if other is None or _start(other[0]) <= _start(var):
            by_name[var.name] = (var, place)
    return sorted(by_name.values(), key=lambda pair: _start(pair[0]))


def _start(var: Var) -> int:
    return -1 if var.span is None else var.span.start


def _begins_before(var: Var, span: Span | None) -> bool:
    if var.span is None or span is None or var.span.source is not span.source:
        return True
    return var.span.start <= span.start


def _has_value(defined: tuple[int, bool] | None, passed: set[int], at: int) -> bool:
    """Whether a register has a value before `at`: what all ways there have come by gave it one."""
    if defined is None:
        return True
    where, is_before = defined
    return where in passed and (is_before or where != at)


def _definitions(instructions: list[Instruction]) -> dict[int, tuple[int, bool]]:
    """The instruction that gives each register its value, and whether it has it before that: of the result
    of a choice it is the one where the branches meet.
    """
    found: dict[int, tuple[int, bool]] = {}
    for at, instruction in enumerate(instructions):
        if SHAPES[instruction[0]][0] != "d":
            continue
        place = instruction[1]
        if place not in found:
            found[place] = (at, False)
        elif not found[place][1]:
            after = instructions[found[place][0] + 1]
            found[place] = (after[1] if after[0] == JUMP else len(instructions), True)
    return found


def dominators(instructions: list[Instruction]) -> list[int]:
    """For each instruction the nearest one that all ways to it come by; -1 where there is none."""
    found = [-1] * (len(instructions) + 1)
    depth = [0] * (len(instructions) + 1)
    seen = [False] * (len(instructions) + 1)
    seen[0] = True
    for at, instruction in enumerate(instructions):
        if not seen[at]:
            continue
        for target in successors(at, instruction):
            if target <= at:
                continue
            if not seen[target]:
                seen[target] = True
                found[target] = at
            else:
                found[target] = _meeting(found[target], at, found, depth)
            depth[target] = depth[found[target]] + 1
    return found


def _meeting(a: int, b: int, found: list[int], depth: list[int]) -> int:
    while a != b:
        if depth[a] < depth[b]:
            b = found[b]
        else:
            a = found[a]
    return a
