"""Instructions of one's own before each line of a program: for coverage, and for a debugger to stop there."""

from collections.abc import Callable
from typing import Any

from relay.diagnostic import PythonSource, Span
from relay.interpreter.code import Draft, labels_of, successors

Line = tuple[str, int]
"""The name of a source, and a line of it, from 1."""


def line_of(span: Span | None) -> Line | None:
    """The line where a span begins, of a program in text."""
    if span is None or isinstance(span.source, PythonSource):
        return None
    return span.source.name, span.line


def before_lines(draft: Draft, made: Callable[[Line, Span], list[list[Any]]]) -> None:
    """Put what `made` gives where a line is come to: at its first instruction, and at those that other lines
    jump to.

    It finds in `draft.code` what goes before, and may place labels of its own there.
    """
    labels = labels_of(draft)
    origins = _origins(draft)
    code, spans = draft.code, draft.spans
    draft.code, draft.spans = [], []
    moved: list[int] = []
    for at, (instruction, span) in enumerate(zip(code, spans, strict=True)):
        moved.append(len(draft.code))
        line = line_of(span)
        if line is not None and span is not None and origins[at] != {line}:
            draft.code += made(line, span)
            draft.spans += [span] * (len(draft.code) - len(draft.spans))
        draft.code.append(instruction)
        draft.spans.append(span)
    moved.append(len(draft.code))
    for label in labels:
        label.position = moved[label.position]


def _origins(draft: Draft) -> list[set[Line | None]]:
    """For each instruction the lines of those that may run just before it."""
    found: list[set[Line | None]] = [set() for _ in range(len(draft.code) + 1)]
    found[0].add(None)
    for at, (instruction, span) in enumerate(zip(draft.code, draft.spans, strict=True)):
        line = line_of(span)
        for target in successors(at, instruction):
            found[target].add(line)
    return found
