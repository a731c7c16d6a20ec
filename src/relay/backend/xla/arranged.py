"""The instructions of a function with segments in the place of runs of operators."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from relay.backend.xla.host_operators import HostOperator
from relay.backend.xla.segments import Step, reads_of, step_of
from relay.diagnostic import Span
from relay.interpreter.code import (
    CLOSURE,
    CON,
    FIELD,
    GET,
    GROUP,
    OPN,
    READ,
    REF,
    WRITE,
    Draft,
    Register,
    labels_of,
)
from relay.op.arithmetic import Add

MAX_OPERATORS = 256
"""How many operators a segment has at most: XLA's time grows faster than their number."""
MAX_LATER = 64
"""How many instructions operators are moved before at most."""
MOVABLE = (READ, WRITE, REF, CON, CLOSURE, FIELD, GROUP)
"""What neither jumps nor fails."""

Made = Callable[[Sequence[Step], Sequence[Register], Any], Any]
"""What to apply to the registers that some steps read, which are its `reads`, for those that are wanted of
theirs, of the constants of a function.
"""


def arrange(draft: Draft, made: Made, *, is_recorded: bool = False, moves: bool = False) -> None:
    """Put a segment in the place of each run of operators.  If it `moves` them, they come before instructions
    between them that use references, or make values of others: for programs that show nobody what references
    hold where an operator fails.  Segments that are recorded leave sums to segments of their own.
    """
    targets = {label.position for label in labels_of(draft)}
    arranged = Arranged(draft, made, is_recorded=is_recorded, moves=moves)
    old, spans = draft.code, draft.spans
    draft.code, draft.spans = [], []
    moved: list[int] = []
    for at, (instruction, span) in enumerate(zip(old, spans, strict=True)):
        if at in targets:
            arranged.close()
        moved.append(len(draft.code))
        arranged.add(instruction, span)
    arranged.close()
    moved.append(len(draft.code))
    for label in labels_of(draft):
        label.position = moved[label.position]


Placed = tuple[list[Any], Span | None]
"""An instruction and its place in the program."""
Run = tuple[Step, Placed]
"""A step, and its instruction."""


class Arranged:
    """The instructions of a function in which segments are, so far."""

    def __init__(self, draft: Draft, made: Made, *, is_recorded: bool, moves: bool) -> None:
        """`draft` has all instructions; it gets the arranged ones later."""
        self.draft = draft
        self.made = made
        self.is_recorded = is_recorded
        self.moves = moves
        self.readers = Counter(
            [r for code in (draft.code, draft.prologue) for i in code for r in reads_of(i)]
        )
        self.run: list[Run] = []
        """The steps of the segment in the making."""
        self.later: list[Placed] = []
        """The instructions that come behind it."""
        self.waits: set[Register] = set()
        """The registers that those write."""
        self.steps: set[Register] = set()
        """The registers that the segment writes."""

    def add(self, instruction: list[Any], span: Span | None) -> None:
        """Go on with an instruction."""
        step = step_of(instruction, span)
        read = reads_of(instruction)
        is_bound = not self.waits.isdisjoint(read)
        if step is not None and not is_bound:
            if len(self.run) == MAX_OPERATORS:
                self.close()
            self.run.append((step, (instruction, span)))
            self.steps.add(step.out)
        elif (step is not None or (self.moves and instruction[0] in MOVABLE)) and len(self.later) < MAX_LATER:
            if self.later or not self.steps.isdisjoint(read):
                self.later.append((instruction, span))
                self.waits.add(instruction[1])
            else:
                self.emit(instruction, span)
        else:
            self.close()
            if step is None:
                self.emit(instruction, span)
            else:
                self.add(instruction, span)

    def close(self) -> None:
        """Emit the segment, then what comes behind it, with segments in that too."""
        while self.run or self.later:
            run, later = self.run, self.later
            self.run, self.later, self.waits, self.steps = [], [], set(), set()
            for part in self.parted(run) if self.is_recorded else [run]:
                if any(isinstance(s.does, HostOperator) for s, _ in part):
                    self.emit_segment([s for s, _ in part])
                else:
                    for _, placed in part:
                        self.emit(*placed)
            for placed in later:
                self.add(*placed)

    def parted(self, run: list[Run]) -> Iterator[list[Run]]:
        """Steps as it is best to record them: parts of tuples from outside, operators, then each sum with a
        value from outside by itself, so that chains of these are one, and tuples that are made last.
        """
        made: set[Register] = set()
        rest: list[Run] = []
        for step, placed in run:
            if isinstance(step.does, int) and step.reads[0] not in made:
                yield [(step, placed)]
            else:
                made.add(step.out)
                rest.append((step, placed))
        read = Counter([r for s, _ in rest for r in s.reads])
        sums: list[Run] = []
        tuples: list[Run] = []
        for step, placed in reversed(rest):
            if read[step.out]:
                continue
            if step.does is None:
                tuples.append((step, placed))
            elif is_add(step.does) and any(r not in made and read[r] == 1 for r in step.reads):
                sums.append((step, placed))
            else:
                continue
            read.subtract(step.reads)
        apart = {s.out for s, _ in (*sums, *tuples)}
        yield [(s, placed) for s, placed in rest if s.out not in apart]
        yield from [[x] for x in reversed(sums)]
        yield from [[x] for x in reversed(tuples)]

    def emit(self, instruction: list[Any], span: Span | None) -> None:
        """Emit an instruction as it is."""
        self.draft.code.append(instruction)
        self.draft.spans.append(span)

    def emit_segment(self, run: Sequence[Step]) -> None:
        """Emit the instructions that apply a segment."""
        draft = self.draft
        inside = Counter([r for s in run for r in s.reads])
        results = [s.out for s in run if self.readers[s.out] > inside[s.out]]
        segment = self.made(tuple(run), tuple(results), draft.constants)
        draft.span = run[0].span
        if len(results) == 1:
            draft.emit(OPN, results[0], segment, segment.reads)
            return
        whole = draft.fresh()
        draft.emit(OPN, whole, segment, segment.reads)
        for i, r in enumerate(results):
            draft.emit(GET, r, None, whole, i)


def is_add(does: Any) -> bool:
    """Whether a step adds two operands."""
    return isinstance(does, HostOperator) and isinstance(does.op, Add)
