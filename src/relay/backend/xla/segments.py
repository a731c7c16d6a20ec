"""Straight-line runs of operators, which become programs of XLA where the interpreter runs the rest.

They are found among the instructions of a function: operators that follow one another without a jump, with
the tuples that they take and give.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.backend.xla.host_operators import HostOperator
from relay.diagnostic import Span
from relay.interpreter.code import GET, OP1, OP2, OPN, SHAPES, TUPLE, Draft, Label, Register

MAX_OPERATORS = 256
"""How many operators a segment has at most: XLA's time grows faster than their number."""


@dataclass(frozen=True, slots=True)
class Step:
    """An operator on registers; the tuple of some, where it is None, or the part of one with that number."""

    does: HostOperator | int | None
    reads: tuple[Register, ...]
    out: Register
    span: Span | None


def step_of(instruction: Sequence[Any], span: Span | None) -> Step | None:
    """What an instruction does in a segment, if it can be part of one."""
    opcode, d, f, a, b = instruction
    if opcode == TUPLE:
        return Step(None, tuple(a), d, span)
    if opcode == GET:
        return Step(b, (a,), d, span)
    if opcode not in (OP1, OP2, OPN) or not isinstance(f, HostOperator) or not f.has_form:
        return None
    return Step(f, (a,) if opcode == OP1 else (a, b) if opcode == OP2 else tuple(a), d, span)


def arrange(draft: Draft, made: Callable[[Sequence[Step], Sequence[Register], Any], Any]) -> None:
    """Put a segment in the place of each run of operators; `made(steps, results, constants)` is what to apply
    to the registers that it reads, which are its `reads`.
    """
    targets = {label.position for label in labels_of(draft)}
    readers = Counter([r for code in (draft.code, draft.prologue) for i in code for r in reads_of(i)])
    old, spans = draft.code, draft.spans
    draft.code, draft.spans = [], []
    moved: list[int] = []
    run: list[Step] = []

    def close() -> None:
        if any(isinstance(s.does, HostOperator) for s in run):
            emit_segment(draft, run, readers, made)
        else:
            for s in run:
                index = moved_from[id(s)]
                draft.code.append(old[index])
                draft.spans.append(spans[index])
        run.clear()

    moved_from: dict[int, int] = {}
    for at, (instruction, span) in enumerate(zip(old, spans, strict=True)):
        step = step_of(instruction, span)
        if step is None or at in targets or len(run) == MAX_OPERATORS:
            close()
        moved.append(len(draft.code))
        if step is None:
            draft.code.append(instruction)
            draft.spans.append(span)
        else:
            moved_from[id(step)] = at
            run.append(step)
    close()
    moved.append(len(draft.code))
    for label in {id(x): x for i in draft.code for x in labels_in(i)}.values():
        label.position = moved[label.position]


def emit_segment(draft: Draft, run: Sequence[Step], readers: Counter[Register], made: Any) -> None:
    """The instructions that apply a segment."""
    inside = Counter([r for s in run for r in s.reads])
    results = [s.out for s in run if readers[s.out] > inside[s.out]]
    segment = made(tuple(run), tuple(results), draft.constants)
    draft.span = run[0].span
    if len(results) == 1:
        draft.emit(OPN, results[0], segment, segment.reads)
        return
    whole = draft.fresh()
    draft.emit(OPN, whole, segment, segment.reads)
    for i, r in enumerate(results):
        draft.emit(GET, r, None, whole, i)


def reads_of(instruction: Sequence[Any]) -> list[Register]:
    """The registers that an instruction reads."""
    found: list[Register] = []
    for kind, x in zip(SHAPES[instruction[0]][1:], instruction[2:], strict=True):
        found += [x] if kind == "r" else x if kind == "R" else []
    return found


def labels_in(instruction: Sequence[Any]) -> list[Label]:
    """The labels that an instruction jumps to."""
    kinds = SHAPES[instruction[0]]
    found: list[Label] = [instruction[1]] if kinds[0] == "L" else []
    return [
        *found,
        *(instruction[2] if kinds[1] == "T" else []),
        *(instruction[3] if kinds[2] == "T" else []),
    ]


def labels_of(draft: Draft) -> list[Label]:
    """The labels that a function has jumps to."""
    return [label for i in draft.code for label in labels_in(i)]
