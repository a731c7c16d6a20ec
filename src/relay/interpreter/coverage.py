"""Which lines of programs are evaluated."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from relay.diagnostic import Span
from relay.interpreter.code import LOWER, OP1, Code
from relay.interpreter.lines import Line, before_lines
from relay.interpreter.machine import Interpreter
from relay.interpreter.unit import Unit
from relay.ir.expr import Function, GlobalVar
from relay.ir.module import IRModule


class CoveringInterpreter(Interpreter):
    """An interpreter that notes the lines that it comes to."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` has the definitions."""
        super().__init__(mod)
        self.lines: set[Line] = set()
        """Those that have something to evaluate, of functions that have been looked at."""
        self.covered: set[Line] = set()

    def arrange(self, unit: Unit) -> None:
        """Note each line before the first instruction of it."""
        draft = unit.draft
        nothing = draft.constant(None)

        def noted(line: Line, _: Span) -> list[list[Any]]:
            self.lines.add(line)
            return [[OP1, draft.fresh(), self.noting(line), nothing, 0]]

        before_lines(draft, noted)

    def noting(self, line: Line) -> Callable[[Any], None]:
        """What notes that a line is evaluated."""
        covered = self.covered

        def note(_: Any) -> None:
            covered.add(line)

        return note

    def look_at(self, names: Iterable[GlobalVar]) -> None:
        """Have `lines` be those of whole definitions, also of what is never called."""
        lower_all([self.value_of(v).code for v in names if isinstance(self.mod.functions[v], Function)])


def lower_all(pending: list[Code]) -> None:
    """Lower functions, those inside of them and those that they call."""
    seen: set[int] = set()
    while pending:
        code = pending.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        if code.lower is not None and code.instructions[0][0] == LOWER:
            code.lower()
        pending += [x for i in code.instructions for x in codes_in(i[1:])]


def codes_in(operands: Iterable[Any]) -> list[Code]:
    """The functions that an instruction calls or makes."""
    found: list[Code] = []
    for x in operands:
        several = cast("Sequence[Any]", x) if isinstance(x, tuple | list) else (x,)
        found += [code for code in several if isinstance(code, Code)]
    return found
