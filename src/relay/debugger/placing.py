"""Sources, lines and columns as a client of the protocol counts and names them."""

import os
from typing import Any

from relay.debugger.breakpoints import Breakpoint, resolved
from relay.diagnostic import PythonSource, Source, Span, fail
from relay.ir.module import IRModule


class Places:
    """How positions of the program and of the client correspond."""

    def __init__(self, lines_start_at_1: bool = True, columns_start_at_1: bool = True) -> None:
        """What the client said."""
        self.first_line, self.first_column = int(lines_start_at_1), int(columns_start_at_1)
        self.numbered: list[Source] = []
        """Sources that are not files, each under its index plus 1."""
        self.known: dict[str, Source] = {}

    def learn(self, mod: IRModule) -> None:
        """Know the sources of a program."""
        for e in mod.functions.values():
            if e.span is not None and not isinstance(e.span.source, PythonSource):
                self.source(e.span.source)

    def line(self, line: int) -> int:
        """A line, from 1, as the client counts."""
        return line - 1 + self.first_line

    def line_of(self, line: int) -> int:
        """A line of the client, from 1."""
        return int(line) + 1 - self.first_line

    def source(self, source: Source) -> dict[str, Any]:
        """A source as the client knows it: by its path, or by a number where it is not a file."""
        path = resolved(source.name)
        self.known.setdefault(path, source)
        if os.path.isabs(path) and os.path.exists(path):
            return {"name": os.path.basename(path), "path": path}
        if source not in self.numbered:
            self.numbered.append(source)
        return {
            "name": source.name,
            "sourceReference": self.numbered.index(source) + 1,
            "presentationHint": "deemphasize",
        }

    def sources(self) -> list[dict[str, Any]]:
        """All that are known."""
        return [self.source(s) for s in list(self.known.values())]

    def path(self, source: dict[str, Any]) -> str:
        """The path, or the name, of a source of the client."""
        number = source.get("sourceReference") or 0
        return resolved(self._numbered(number).name if number else source["path"])

    def text(self, number: int) -> str:
        """The text of a source that is not a file."""
        return self._numbered(number).text

    def _numbered(self, number: int) -> Source:
        if not 0 < number <= len(self.numbered):
            fail("debug-protocol", f"there is no source {number}")
        return self.numbered[number - 1]

    def span(self, span: Span | None) -> dict[str, Any]:
        """Where a span is."""
        if span is None or isinstance(span.source, PythonSource):
            return {"line": 0, "column": 0}
        return {
            "source": self.source(span.source),
            "line": self.line(span.line),
            "column": span.column - 1 + self.first_column,
            "endLine": self.line(span.end_line),
            "endColumn": span.end_column - 1 + self.first_column,
        }

    def breakpoint(self, b: Breakpoint, names: set[str]) -> dict[str, Any]:
        """A breakpoint, and whether the program can come there."""
        found: dict[str, Any] = {"id": b.id, "verified": not b.fault}
        if b.fault:
            return found | {"message": b.fault}
        if b.function:
            known = b.function in names
            return found | ({} if known else {"message": f"no definition is called `@{b.function}`"})
        if not b.verified_line:
            return found | {"verified": False, "message": "nothing is evaluated at this line or below"}
        return found | {"line": self.line(b.verified_line)}
