"""A straight-line run of operators that is applied: small numbers by the host, the rest by XLA."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from relay.backend.xla.host_operators import HostOperator, Kind, kind_of_value, on_host
from relay.backend.xla.segments import Step
from relay.diagnostic import RelayError
from relay.interpreter.code import Register


class StepRefusedError(Exception):
    """A step has no form for XLA, or XLA has none for some steps."""

    def __init__(self, at: int | None, reason: str) -> None:
        """`at` is its number among the steps; None if it may be any of them."""
        super().__init__(reason)
        self.at = at


@dataclass(frozen=True, slots=True)
class Compiled:
    """Steps as a program of XLA: `function(inputs)` gives what failed, and the values of `outs`."""

    function: Any
    reads: tuple[Register, ...]
    outs: tuple[Register, ...]


class Compiler(Protocol):
    """What segments ask of the machine that runs them."""

    def compiled(self, steps: Sequence[Step], outs: Sequence[Register], constants: Any) -> Compiled:
        """Steps as a program of XLA, the same for the same steps."""
        ...

    def refuse(self, step: Step, reason: str) -> None:
        """Note why the host does a step."""
        ...


Piece = Step | tuple[Step, ...]
"""One step of the host, or several that XLA computes together."""


class Segment:
    """Some steps, applied to the registers `reads`."""

    def __init__(
        self, machine: Compiler, steps: Sequence[Step], results: Sequence[Register], constants: Any
    ) -> None:
        """`constants` are the registers whose values are known."""
        self.machine = machine
        self.steps = steps
        self.results = results
        made = {s.out for s in steps}
        reads = dict.fromkeys([r for s in steps for r in s.reads if r not in made])
        self.constants = {r: constants[r] for r in reads if r in constants}
        self.reads = tuple([r for r in reads if r not in constants])
        self.plans: dict[tuple[Kind, ...], list[Piece]] = {}
        """How it is computed, by the kinds of the operands."""
        self.programs: dict[tuple[Step, ...], Compiled] = {}

    def __call__(self, *operands: Any) -> Any:
        kinds = tuple(map(kind_of_value, operands))
        plan = self.plans.get(kinds)
        if plan is None:
            plan = self.plans[kinds] = self.planned(kinds)
        values = {**self.constants, **dict(zip(self.reads, operands, strict=True))}
        at = 0
        while at < len(plan):
            piece = plan[at]
            if isinstance(piece, Step):
                self.do(piece, values)
            else:
                try:
                    if self.computed(piece, values, plan):
                        return self.again(operands)
                except StepRefusedError as refused:
                    # A new list: other threads are in the one before.
                    plan = self.plans[kinds] = [*plan[:at], *self.split(piece, refused), *plan[at + 1 :]]
                    continue
            at += 1
        return self.result(values)

    def result(self, values: dict[Register, Any]) -> Any:
        """What is used of the values outside."""
        return values[self.results[0]] if len(self.results) == 1 else tuple([values[r] for r in self.results])

    def planned(self, kinds: tuple[Kind, ...]) -> list[Piece]:
        """What the host computes first, which waits for nothing of XLA's, then all others in order."""
        of = dict(zip(self.reads, kinds, strict=True))
        of |= {r: kind_of_value(x) for r, x in self.constants.items()}
        first: list[Piece] = []
        rest: list[Piece] = []
        run: list[Step] = []
        for s in self.steps:
            read = {of[r] for r in s.reads}
            op = s.does if isinstance(s.does, HostOperator) else None
            is_known = read <= {Kind.SMALL, Kind.HOST}
            if is_known and (op is None or op.decides or (op.is_small and Kind.HOST not in read)):
                of[s.out] = Kind.HOST if op is None and Kind.HOST in read else Kind.SMALL
                first.append(s)
            elif Kind.OTHER in read and op is None:
                of[s.out] = Kind.OTHER
                rest += [tuple(run), s] if run else [s]
                run = []
            else:
                of[s.out] = Kind.LARGE
                run.append(s)
        return [*first, *rest, tuple(run)] if run else [*first, *rest]

    def split(self, steps: tuple[Step, ...], refused: StepRefusedError) -> list[Piece]:
        """Steps of which the host has to do one, or all of them."""
        if refused.at is None:
            for step in steps:
                self.machine.refuse(step, str(refused))
            return list(steps)
        self.machine.refuse(steps[refused.at], str(refused))
        parts: list[Piece] = [steps[: refused.at], steps[refused.at], steps[refused.at + 1 :]]
        return [x for x in parts if x != ()]

    def do(self, step: Step, values: dict[Register, Any]) -> None:
        """Have the host do a step."""
        operands = [values[r] for r in step.reads]
        if isinstance(step.does, int):
            values[step.out] = operands[0][step.does]
        elif step.does is None:
            values[step.out] = tuple(operands)
        else:
            try:
                values[step.out] = step.does(*operands)
            except RelayError as error:
                raise RelayError([replace(d, span=d.span or step.span) for d in error.diagnostics]) from None

    def computed(self, steps: tuple[Step, ...], values: dict[Register, Any], plan: Sequence[Piece]) -> bool:
        """Have XLA do some steps; whether something that they require does not hold."""
        program = self.program(steps, plan)
        failed, found = program.function([values[r] for r in program.reads])
        if failed is not None and int(failed):
            return True
        values.update(zip(program.outs, found, strict=True))
        return False

    def program(self, steps: tuple[Step, ...], plan: Sequence[Piece]) -> Compiled:
        """Some steps as a program of XLA."""
        found = self.programs.get(steps)
        if found is None:
            outs = self.outs(steps, plan)
            found = self.programs[steps] = self.machine.compiled(steps, outs, self.constants)
        return found

    def outs(self, steps: tuple[Step, ...], plan: Sequence[Piece]) -> tuple[Register, ...]:
        """The registers that others read which some steps write."""
        others = [p for p in plan if p is not steps]
        wanted = {r for p in others for s in ((p,) if isinstance(p, Step) else p) for r in s.reads}
        wanted.update(self.results)
        return tuple([s.out for s in steps if s.out in wanted])

    def again(self, operands: Sequence[Any]) -> Any:
        """Have the host do everything, since something fails, in the order in which it would."""
        values = {**self.constants, **dict(zip(self.reads, map(on_host, operands), strict=True))}
        for step in self.steps:
            self.do(step, values)
        return self.result(values)
