"""Which lines of programs are evaluated."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from relay.diagnostic import PythonSource, Span
from relay.interpreter.code import OP1, Code, Draft, labels_of
from relay.interpreter.machine import Interpreter
from relay.ir.expr import Function, GlobalVar
from relay.ir.module import IRModule

Line = tuple[str, int]
"""The name of a source, and a line of it, from 1."""


class CoveringInterpreter(Interpreter):
    """An interpreter that notes the lines that it comes to."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` has the definitions."""
        super().__init__(mod)
        self.lines: set[Line] = set()
        """Those that have something to evaluate, of functions that have been looked at."""
        self.covered: set[Line] = set()

    def arrange(self, draft: Draft) -> None:
        """Note each line before the first instruction of it."""
        labels = labels_of(draft)
        targets = {label.position for label in labels}
        nothing = draft.constant(None)
        code, spans = draft.code, draft.spans
        draft.code, draft.spans = [], []
        moved: list[int] = []
        last: Line | None = None
        for at, (instruction, span) in enumerate(zip(code, spans, strict=True)):
            moved.append(len(draft.code))
            line = line_of(span)
            if line is not None and (line != last or at in targets):
                self.lines.add(line)
                draft.code.append([OP1, draft.fresh(), self.noting(line), nothing, 0])
                draft.spans.append(None)
            last = line
            draft.code.append(instruction)
            draft.spans.append(span)
        moved.append(len(draft.code))
        for label in labels:
            label.position = moved[label.position]

    def noting(self, line: Line) -> Callable[[Any], None]:
        """What notes that a line is evaluated."""
        covered = self.covered

        def note(_: Any) -> None:
            covered.add(line)

        return note

    def look_at(self, names: Iterable[GlobalVar]) -> None:
        """Have `lines` be those of whole definitions, also of what is never called."""
        pending = [self.value_of(v).code for v in names if isinstance(self.mod.functions[v], Function)]
        seen: set[int] = set()
        while pending:
            code = pending.pop()
            if id(code) in seen:
                continue
            seen.add(id(code))
            if code.lower is not None:
                code.lower()
            pending += [x for i in code.instructions for x in codes_in(i[1:])]


def codes_in(operands: Iterable[Any]) -> list[Code]:
    """The functions that an instruction calls or makes."""
    found: list[Code] = []
    for x in operands:
        several = cast("Sequence[Any]", x) if isinstance(x, tuple | list) else (x,)
        found += [code for code in several if isinstance(code, Code)]
    return found


def line_of(span: Span | None) -> Line | None:
    """The line where a span begins, of a program in text."""
    if span is None or isinstance(span.source, PythonSource):
        return None
    return span.source.name, span.line
