"""Where a fault happened: its span, and the calls that led there."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from relay.diagnostic import Diagnostic, Note, RelayError, Span
from relay.interpreter.code import Code, Instruction

Frame: TypeAlias = tuple[list[Instruction], int, list[Any], int]
"""Instructions, the index of the next one, registers, and where the caller wants the result."""

INNERMOST_LINES, OUTERMOST_LINES = 6, 3
"""How many lines of a long backtrace are shown at either end."""

TOO_LARGE = ("array is too big", "iterator is too large", "Maximum allowed dimension exceeded")
"""NumPy's messages for arrays larger than memory can be, which it raises as `ValueError`."""


def located(error: BaseException, stack: Sequence[Frame]) -> BaseException:
    """The error to raise: a `RelayError` with span and backtrace, or the exception itself with a note."""
    if isinstance(error, MemoryError) or (isinstance(error, ValueError) and str(error).startswith(TOO_LARGE)):
        error = RelayError(
            Diagnostic(
                "out-of-memory",
                _memory_message(error),
                hint="check the shapes: one of them is probably larger than it should be",
            )
        )
    if isinstance(error, RelayError):
        span = span_of(stack[-1])
        notes = calls(stack)
        return RelayError([_with_place(d, span, notes) for d in error.diagnostics])
    lines = [n.message + (f" ({n.span})" if n.span else "") for n in calls(stack)]
    where = span_of(stack[-1])
    error.add_note("\n".join([f"in the Relay program{f' at {where}' if where else ''}", *lines]))
    return error


def _memory_message(error: Exception) -> str:
    """NumPy says how much it wanted."""
    text = str(error)
    return f"out of memory: {text[0].lower()}{text[1:]}" if text else "out of memory"


def _with_place(d: Diagnostic, span: Span | None, notes: tuple[Note, ...]) -> Diagnostic:
    return replace(d, span=d.span or span, notes=(*d.notes, *notes))


def code_of(frame: Frame) -> Code:
    """The code that a frame runs."""
    return frame[0][-1][2]


def span_of(frame: Frame) -> Span | None:
    """The span of the instruction that a frame is at."""
    return code_of(frame).spans[frame[1] - 1]


def calls(stack: Sequence[Frame]) -> tuple[Note, ...]:
    """One note for each open call, innermost first; runs of one call are counted, the middle is left out."""
    runs: list[tuple[str, str, Span | None, int]] = []
    callee = _name(stack[-1])
    for frame in reversed(stack[:-1]):
        caller = _name(frame)
        span = span_of(frame)
        again = runs.pop()[3] if runs and runs[-1][:3] == (caller, callee, span) else 0
        runs.append((caller, callee, span, again + 1))
        callee = caller
    shown = runs
    hidden = len(runs) - INNERMOST_LINES - OUTERMOST_LINES
    if hidden > 1:
        left_out = runs[INNERMOST_LINES:-OUTERMOST_LINES]
        shown = [
            *runs[:INNERMOST_LINES],
            ("", "", None, sum(r[3] for r in left_out)),
            *runs[-OUTERMOST_LINES:],
        ]
    return tuple([_note(*run) for run in shown])


def _name(frame: Frame) -> str:
    return code_of(frame).name


def _note(caller: str, callee: str, span: Span | None, count: int) -> Note:
    if not caller and not callee:
        return Note(f"… {count:,} more calls …")
    times = f", {count:,} times in a row" if count > 1 else ""
    return Note(
        f"`{callee}` was called here{times}" if not caller else f"`{callee}` was called by `{caller}`{times}",
        span,
    )
