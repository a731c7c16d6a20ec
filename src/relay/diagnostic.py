"""Sources, spans and diagnostics: what is wrong, where, why, and what to do next."""

import linecache
import os
import sys
import traceback
from bisect import bisect_right
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from types import CodeType, FrameType, TracebackType
from typing import Literal, NoReturn

from relay.hints import HINTS, in_python

Severity = Literal["error", "warning", "note"]


class Source:
    """A text with a name; line starts are found once, when somebody asks for a line."""

    __slots__ = ("_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        """`name` is a path or `<string>`; `text` the whole of it."""
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    @property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        if self._starts is None:
            self._starts = [0]
            self._starts += [i + 1 for i, c in enumerate(self.text) if c == "\n"]
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line, counted from 1, without its newline."""
        start = self.starts[line - 1]
        end = self.starts[line] - 1 if line < len(self.starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


class SourceName(Source):
    """A source of which only the name is known; its offsets are lines and columns in one number."""

    __slots__ = ()
    WIDTH = 1 << 20

    def __init__(self, name: str) -> None:
        """`name` is what diagnostics show."""
        super().__init__(name, "")

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column that `Span(source_name, line, …)` was given."""
        return divmod(offset, self.WIDTH)

    def line_text(self, line: int) -> str:
        """Nothing: there is no text."""
        return ""


class PythonSource(SourceName):
    """A Python file; an empty range of it is a whole line, of which the columns are unknown."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        """`name` is the file's path as the frame gives it."""
        super().__init__(name)

    def line_text(self, line: int) -> str:
        """The line as `linecache` has it (empty where the file is gone)."""
        return linecache.getline(self.name, line).rstrip("\n")

    def offset(self, line: int, byte: int) -> int:
        """Return the offset of a byte of a line in UTF-8, counted from 0."""
        text = self.line_text(line)
        column = byte if text.isascii() else len(text.encode()[:byte].decode(errors="replace"))
        return line * self.WIDTH + column + 1


class Span:
    """The half-open range `start:end` of offsets into a source."""

    __slots__ = ("end", "source", "start")

    def __init__(
        self,
        source: Source | None,
        start: int,
        end: int,
        column: int | None = None,
        end_column: int = 1,
    ) -> None:
        """Offsets count characters of `source.text`.

        For a `SourceName` there are five arguments: the source (None if unknown), line, end line, column,
        end column.
        """
        if column is not None:
            source = SourceName("<unknown>") if source is None else source
            start, end = start * SourceName.WIDTH + column, end * SourceName.WIDTH + end_column
        if type(source) is not Source and not isinstance(source, Source):
            raise TypeError(f"the source of a span is a Source or a SourceName, not {source!r:.80}")
        self.source = source
        self.start = start
        self.end = end

    @property
    def line(self) -> int:
        """The first line, from 1."""
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        """The first column, from 1."""
        return self.source.position(self.start)[1]

    @property
    def end_line(self) -> int:
        """The last line, from 1."""
        return self.source.position(self.end)[0]

    @property
    def end_column(self) -> int:
        """One past the last column, from 1."""
        return self.source.position(self.end)[1]

    @property
    def source_name(self) -> Source:
        """The source, whose `name` is that of a file, `<string>` or what `SourceName` was given."""
        return self.source

    def to(self, other: "Span | None") -> "Span":
        """The range from the start of this span to the end of `other`."""
        if other is None or other.source is not self.source:
            return self
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    __repr__ = __str__


class CallerSpan(Span):
    """The expression of a Python frame that runs; its lines and columns are looked up when they are read."""

    __slots__ = ("code", "instruction")

    def __init__(self, source: PythonSource, code: CodeType, instruction: int) -> None:
        """`instruction` is the offset in bytes of the instruction that runs."""
        self.source = source
        self.code = code
        self.instruction = instruction

    def __getattr__(self, name: str) -> int:
        """Look `start` and `end` up, which are not set before they are read."""
        if name not in ("start", "end"):
            raise AttributeError(name)
        line, end_line, column, end_column = positions_of(self.code)[self.instruction // 2]
        source = self.source
        assert isinstance(source, PythonSource)
        if line is None or end_line is None or column is None or end_column is None:
            self.start = self.end = source.offset(line or self.code.co_firstlineno, 0)
        else:
            self.start, self.end = source.offset(line, column), source.offset(end_line, end_column)
        return self.start if name == "start" else self.end

    def __reduce__(self) -> tuple[type[Span], tuple[Source | None, int, int]]:
        """Pickle the place, as code cannot be."""
        return Span, (self.source, self.start, self.end)


@lru_cache(maxsize=1024)
def positions_of(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    """Return the first and last line and the first and last byte in them of each instruction."""
    return list(code.co_positions())


_python_sources: dict[str, PythonSource] = {}


_origin: ContextVar[tuple[Span | None] | None] = ContextVar("relay_origin", default=None)
"""The span of derived nodes; None outside `derived_nodes`."""


@contextmanager
def derived_nodes() -> Generator[None]:
    """For passes: nodes made meanwhile without a span get the one that `derive_from` was last given."""
    token = _origin.set((None,))
    try:
        yield
    finally:
        _origin.reset(token)


def derive_from(span: Span | None) -> None:
    """Attribute the nodes that are made now, within `derived_nodes`, to a node at `span`."""
    if _origin.get() is not None:
        _origin.set((span,))


def caller_span() -> Span | None:
    """Return the span of the expression that runs in the nearest Python frame outside this package.

    Within `derived_nodes`, it is that of the node at hand.
    """
    origin = _origin.get()
    if origin is not None:
        return origin[0]
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "relay":
        frame = frame.f_back
    if frame is None:
        return None
    code = frame.f_code
    name = code.co_filename
    source = _python_sources.get(name)
    if source is None:
        source = _python_sources.setdefault(name, PythonSource(name))
    return CallerSpan(source, code, frame.f_lasti)


@dataclass(frozen=True, slots=True)
class Note:
    """A further place that explains a diagnostic: where an expectation comes from."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One fault in the user's terms: what, where, why, and what to do next.

    `code` is a word with a page under `relay explain`; `label` says what is at the caret; `notes` are the
    chain of uses that leads there; `hint` is the next step.
    """

    code: str
    message: str
    span: Span | None = None
    label: str = ""
    notes: tuple[Note, ...] = ()
    hint: str = ""
    severity: Severity = "error"

    def render(self) -> str:
        """The diagnostic as text, with the source excerpt and carets."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.span is not None:
            lines += _excerpt(self.span, self.label)
        elif self.label:
            lines.append(f"  = note: {self.label}")
        for note in self.notes:
            where = "" if note.span is None else f" ({note.span})"
            lines.append(f"  = note: {note.message}{where}")
        if self.advice:
            lines.append(f"  = hint: {self.advice}")
        return "\n".join(lines)

    @property
    def advice(self) -> str:
        """The hint, or that of the code, as the program at the place writes it."""
        hint = self.hint or HINTS.get(self.code, "")
        return in_python(hint) if is_of_python(self.span) else hint

    def __str__(self) -> str:
        return self.render()


WIDEST_EXCERPT = 160


def counted(n: int, word: str) -> str:
    """`1 node`, `1,234 nodes`."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def readable(text: str) -> str:
    """`text` with a mark for each character that a terminal would not show (or no encoding can hold)."""
    return (
        text
        if text.isprintable()
        else "".join([c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text])
    )


def _excerpt(span: Span, label: str) -> list[str]:
    """The line of the span with carets under the range; long lines are cut around it.

    Of a source whose text is not known there is the place alone.
    """
    line, column = span.source.position(span.start)
    text = readable(span.source.line_text(line).replace("\t", " "))
    margin = " " * len(str(line))
    place = f"{margin}--> {span}" if column else f"{margin}--> {span.source.name}:{line}"
    if isinstance(span.source, SourceName) and not text:
        return [place, *([f"  = note: {label}"] if label else [])]
    indent = len(text) - len(text.lstrip()) + 1
    if isinstance(span.source, PythonSource) and span.start == span.end:
        column, length = indent, max(1, len(text.strip()))
    else:
        length = max(1, min(span.end - span.start, len(text) - column + 1))
    if len(text) > WIDEST_EXCERPT:
        cut = max(0, column - 1 - WIDEST_EXCERPT // 3)
        text, column = text[cut : cut + WIDEST_EXCERPT], column - cut
        length = max(1, min(length, len(text) - column + 1))
    carets = f"{margin} | {' ' * (column - 1)}{'^' * length} {label}".rstrip()
    return [place, f"{margin} |", f"{line} | {text}".rstrip(), carets]


def _package(frame: FrameType) -> str:
    """The package that a frame's code belongs to."""
    return frame.f_globals.get("__name__", "").partition(".")[0]


class RelayError(Exception):
    """What a user caused: all diagnostics of one run."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        """One diagnostic or several; warnings may accompany errors."""
        several = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        super().__init__(several)
        self.diagnostics = several

    def __str__(self) -> str:
        return "\n\n".join(d.render() for d in self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: where in the user's files it was raised, then the diagnostics."""
        frames = zip(
            traceback.walk_tb(self.__traceback__), traceback.extract_tb(self.__traceback__), strict=True
        )
        calls = [call for (frame, _), call in frames if _package(frame) not in ("relay", "IPython")]
        return [*[line.rstrip("\n") for line in traceback.format_list(calls)], str(self)]

    @property
    def codes(self) -> tuple[str, ...]:
        """The code of each diagnostic, in order."""
        return tuple(d.code for d in self.diagnostics)


def is_of_python(span: Span | None) -> bool:
    """Return whether a place is in a Python program, which is also where calls of it stand."""
    return span is not None and isinstance(span.source, PythonSource)


def name_of_local(name: str, span: Span | None) -> str:
    """Return the name of a variable as the program that defines it at `span` writes it: in text, with `%`."""
    return name if is_of_python(span) else f"%{name}"


def fail(
    code: str,
    message: str,
    span: Span | None = None,
    *,
    label: str = "",
    hint: str = "",
    notes: tuple[Note, ...] = (),
) -> NoReturn:
    """Raise a `RelayError` of one diagnostic."""
    raise RelayError(Diagnostic(code, message, span, label, notes, hint))


@dataclass(slots=True)
class Report:
    """Collects the diagnostics of one run and raises them together."""

    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep one more diagnostic."""
        self.diagnostics.append(diagnostic)

    def error(
        self,
        code: str,
        message: str,
        span: Span | None = None,
        *,
        label: str = "",
        hint: str = "",
        notes: tuple[Note, ...] = (),
    ) -> None:
        """Keep an error and go on."""
        self.add(Diagnostic(code, message, span, label, notes, hint))

    def warn(
        self, code: str, message: str, span: Span | None = None, *, label: str = "", hint: str = ""
    ) -> None:
        """Keep a warning (a lint) and go on."""
        self.add(Diagnostic(code, message, span, label, (), hint, "warning"))

    @property
    def errors(self) -> list[Diagnostic]:
        """The errors alone."""
        return [d for d in self.diagnostics if d.severity == "error"]

    @property
    def warnings(self) -> list[Diagnostic]:
        """The warnings alone."""
        return [d for d in self.diagnostics if d.severity == "warning"]

    def check(self) -> None:
        """Raise everything collected if any of it is an error."""
        if self.errors:
            raise RelayError(self.diagnostics)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean `x`?` for the nearest known name, or nothing."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else ""


SHOW_ALL_FRAMES = "RELAY_TRACEBACK"
"""The environment variable that keeps all frames, by the value `full`."""


def hide_own_frames(error: BaseException) -> None:
    """Remove the frames of this package from the traceback of an error and of the errors that it names.

    A fault of this package keeps them, so that it can be reported.
    """
    is_fault = is_raised_here(error) and not isinstance(error, (RelayError, TypeError, AttributeError))
    if is_fault or os.environ.get(SHOW_ALL_FRAMES) == "full":
        return
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        e = pending.pop()
        if e is not None and id(e) not in seen:
            seen.add(id(e))
            e.__traceback__ = frames_of_callers(e.__traceback__)
            pending += [e.__cause__, e.__context__]


def is_raised_here(error: BaseException) -> bool:
    """Return whether the innermost frame of an error is of this package."""
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    return entry is not None and is_own(entry)


def is_own(entry: TracebackType) -> bool:
    """Return whether a frame is of this package."""
    return entry.tb_frame.f_globals.get("__name__", "").partition(".")[0] == "relay"


def frames_of_callers(entry: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this package."""
    entries: list[TracebackType] = []
    while entry is not None:
        if not is_own(entry):
            entries.append(entry)
        entry = entry.tb_next
    rest: TracebackType | None = None
    for e in reversed(entries):
        rest = TracebackType(rest, e.tb_frame, e.tb_lasti, e.tb_lineno)
    return rest
