"""Programs whose control flow the host runs, and whose segments are recorded and computed together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import local
from typing import Any

from relay.backend.xla.arranged import arrange, is_add
from relay.backend.xla.data import FUNCTIONS, REFERENCES, flatten
from relay.backend.xla.host_operators import HostOperator, Kind, kind_of_value
from relay.backend.xla.hybrid import HybridMachine, acts, brought_back
from relay.backend.xla.later import Later, RowTypes
from relay.backend.xla.program import Program
from relay.backend.xla.recorder import Recorder
from relay.backend.xla.records import Recordable
from relay.backend.xla.segment import Compiled, Piece, Segment, StepRefusedError
from relay.backend.xla.segments import Step
from relay.diagnostic import RelayError
from relay.interpreter import code as op
from relay.interpreter.code import Code, Draft, Register
from relay.interpreter.functions import OperatorValue
from relay.interpreter.machine import Interpreter
from relay.interpreter.operators import operator_value
from relay.interpreter.unit import Unit
from relay.interpreter.value import is_array
from relay.ir.expr import Call, Constructor, Op
from relay.op.registry import instance


class BatchingMachine(HybridMachine):
    """A machine that computes segments of many calls together, such as those on the nodes of trees.

    A run that is given functions or references computes each segment when it is met.
    """

    def __init__(self, program: Program, device: Any, *, moves: bool = False) -> None:
        """`device` is where segments run.  It `moves` operators past what is done with references, if nobody
        outside sees these.
        """
        self.moves = moves
        self.programs: dict[Any, Any] = {}
        self.types = RowTypes()
        self.runs = local()
        """The recorder of the run of each thread."""
        super().__init__(program, device)

    @property
    def recorder(self) -> Recorder | None:
        """What records the run of this thread."""
        return getattr(self.runs, "recorder", None)

    def is_of_many_forms(self, values: Sequence[Any]) -> bool:
        """Whether some arguments have instances of data types with several constructors."""
        _, structure = flatten(tuple(values))
        constructors = {p for p in structure.parts if isinstance(p, Constructor)}
        definitions = self.program.mod.type_definitions
        return any(len(definitions[c.belong_to].constructors) > 1 for c in constructors)

    # --- what lowering asks

    def operator(self, e: Call) -> Callable[..., Any]:
        """What to apply to the operands of an operator call; before an effect, what may fail is computed."""
        made = super().operator(e)
        if not acts(e.attrs):
            return made
        assert isinstance(made, HostOperator)

        def effect(*operands: Any) -> Any:
            if self.recorder is not None:
                self.recorder.settle()
            return made(*operands)

        return effect

    def operator_value(self, op: Op) -> OperatorValue:
        """An operator as a first-class value, which is recorded where it is applied to what is recorded."""
        does = HostOperator(instance(op.name, {}), operator_value(op).apply)
        segments: dict[int, RecordedSegment] = {}

        def apply(*operands: Any) -> Any:
            if not any(type(x) is Later for x in operands):
                return does(*operands)
            count = len(operands)
            if count not in segments:
                step = Step(does, tuple(range(count)), count, None)
                segments[count] = RecordedSegment(self, (step,), (count,), {})
            return segments[count](*operands)

        return OperatorValue(op, apply)

    def arrange(self, unit: Unit) -> None:
        """Put segments in the place of runs of operators; constants of the program are computed at once."""
        super().arrange(unit)
        draft = unit.draft
        if draft.code and draft.code[-1][0] == op.SETTLE:
            known = draft.fresh()
            draft.code.insert(-1, [op.OP1, known, self.known_value, draft.code[-1][3], 0])
            draft.spans.insert(-1, draft.spans[-1])
            draft.code[-1][3] = known

    def arrange_segments(self, draft: Draft) -> None:
        """Put segments in the place of runs of operators, as it is best to record them."""
        arrange(draft, self.segment, is_recorded=True, moves=self.moves)

    def placed_constant(self, value: Any) -> Any:
        """A constant on the device if it is large and nothing is decided by it."""
        is_integers = is_array(value) and value.dtype.kind in "iub"
        return value if is_integers else super().placed_constant(value)

    def segment(self, steps: Sequence[Step], results: Sequence[Register], constants: Any) -> Segment:
        """A segment, which is recorded."""
        return RecordedSegment(self, steps, results, constants)

    def known_value(self, value: Any) -> Any:
        """A value with nothing in it that is computed later."""
        if self.recorder is None:
            return value
        self.recorder.make_all()
        return brought_back(value)

    # --- what segments ask

    def known_operand(self, x: Any) -> Any:
        """An operand with nothing in it that is computed later."""
        leaves, structure = flatten(x)
        if self.recorder is None:
            return structure(*[leaf.host() if isinstance(leaf, Later) else leaf for leaf in leaves])
        return structure(*map(self.recorder.known, leaves))

    def function(
        self, steps: Sequence[Step], reads: Sequence[Register], outs: Sequence[Register], known: Any
    ) -> Recordable:
        """What computes steps, now or later."""
        call = self.traceable(steps, reads, outs, known)
        is_sum = len(steps) == 1 and len(reads) == 2 and is_add(steps[0].does)
        return Recordable(call, self.compiled_function(call), is_sum=is_sum)

    # --- runs

    def _run(self, code: Code, frame: list[Any]) -> Any:
        _, structure = flatten(tuple(frame))
        if structure.has((*FUNCTIONS, *REFERENCES)):
            return super()._run(code, frame)
        before = self.recorder
        recorder = self.runs.recorder = Recorder(self)
        try:
            with self.program.context(self.device):
                try:
                    value = Interpreter._run(self, code, frame)
                except RelayError:
                    recorder.settle()
                    raise
                recorder.ask(value)
                return brought_back(value)
        finally:
            self.runs.recorder = before


@dataclass(frozen=True, slots=True)
class Whole:
    """All steps of a segment as one program, whose operands are those with some numbers, or constants."""

    steps: tuple[Step, ...]
    program: Compiled
    reads: Sequence[tuple[int, Any]]


class RecordedSegment(Segment):
    """A segment whose calls are recorded, as far as XLA computes it."""

    machine: BatchingMachine

    def __init__(
        self, machine: BatchingMachine, steps: Sequence[Step], results: Sequence[Register], constants: Any
    ) -> None:
        """`constants` are the registers whose values are known."""
        super().__init__(machine, steps, results, constants)
        self.wholes: dict[tuple[Kind, ...], Whole] = {}
        """What is recorded of a call by the kinds of its operands, where XLA computes all of it."""

    def __call__(self, *operands: Any) -> Any:
        kinds = tuple([Kind.LARGE if type(x) is Later else kind_of_value(x) for x in operands])
        whole, recorder = self.wholes.get(kinds), self.machine.recorder
        if whole is None or recorder is None:
            found = super().__call__(*operands)
            self.note(kinds)
            return found
        values = [operands[i] if value is None else value for i, value in whole.reads]
        found = recorder.record(self, whole.steps, whole.program.function, values)
        if found is None:
            return super().__call__(*operands)
        return found[0] if len(found) == 1 else tuple(found)

    def note(self, kinds: tuple[Kind, ...]) -> None:
        """Keep what is recorded of calls with operands of some kinds, if XLA computes all of it."""
        plan = self.plans[kinds]
        steps = plan[0]
        if len(plan) == 1 and not isinstance(steps, Step):
            program = self.programs[steps]
            reads = [
                (-1, self.constants[r]) if r in self.constants else (self.reads.index(r), None)
                for r in program.reads
            ]
            self.wholes[kinds] = Whole(steps, program, reads)

    def computed(self, steps: tuple[Step, ...], values: dict[Register, Any], plan: Sequence[Piece]) -> bool:
        """Have XLA do some steps later, or at once if that is too much to be kept."""
        recorder = self.machine.recorder
        program = self.program(steps, plan)
        operands = [values[r] for r in program.reads]
        if recorder is not None:
            found = recorder.record(self, steps, program.function, operands)
            if found is not None:
                values.update(zip(program.outs, found, strict=True))
                return False
        values.update(zip(program.reads, map(self.machine.known_operand, operands), strict=True))
        return super().computed(steps, values, plan)

    def give_up(self, steps: tuple[Step, ...], reason: str) -> None:
        """Have the host do some steps, since XLA has no form for them."""
        self.wholes.clear()
        for kinds, plan in list(self.plans.items()):
            if steps in plan:
                at = plan.index(steps)
                parts = self.split(steps, StepRefusedError(None, reason))
                self.plans[kinds] = [*plan[:at], *parts, *plan[at + 1 :]]

    def on_host(self, steps: tuple[Step, ...], operands: Sequence[Any]) -> list[Any]:
        """The tensors in the results of some steps, as the host computes them."""
        program = self.programs[steps]
        values = {**self.constants, **dict(zip(program.reads, operands, strict=True))}
        for step in steps:
            self.do(step, values)
        return flatten(tuple([values[r] for r in program.outs]))[0]
