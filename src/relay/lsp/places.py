"""Where a symbol is defined: in the document, in a file that it imports, or in the standard library."""

import re
from dataclasses import dataclass
from pathlib import Path

from relay.diagnostic import Source, Span
from relay.ir.expr import Constructor, GlobalVar
from relay.ir.type import GlobalTypeVar
from relay.lsp.index import Document, Symbol
from relay.text.imports import PACKAGE, STANDARD, SUFFIX

NAME_BEFORE = re.compile(r'[@%]?(?:"(?:\\.|[^"\\\n])*"|[A-Za-z_][A-Za-z0-9_]*)\Z')


@dataclass(frozen=True, slots=True)
class Place:
    """A range of a text; `path` is its file, None for a text that is in none."""

    path: Path | None
    text: str
    start: int
    end: int

    @property
    def is_packaged(self) -> bool:
        """Whether it is in the standard library."""
        return self.path is not None and self.path.is_relative_to(PACKAGE)


def definition(document: Document, symbol: Symbol) -> Place | None:
    """Where a symbol is defined; operators, attributes and forms are not, in Relay."""
    own = document.definition(symbol)
    if own is not None:
        return Place(document.path, document.text, own.start, own.end)
    if symbol.kind == "import":
        return imported_file(document, symbol.name)
    span = declared(document, symbol)
    return None if span is None else located(document, span)


def home_of(document: Document, symbol: Symbol) -> Path | None:
    """Return the file of the user that defines a symbol; None if none does."""
    place = definition(document, symbol)
    return None if place is None or place.is_packaged else place.path


def declared(document: Document, symbol: Symbol) -> Span | None:
    """The name of a symbol of another module, where that declares it."""
    mod = document.mod
    match symbol.kind:
        case "global":
            key = GlobalVar(symbol.name)
            return next((v.span for v in mod.functions if v == key), None)
        case "type":
            header = GlobalTypeVar(symbol.name)
            found = mod.type_definitions.get(header) or mod.aliases.get(header)
            return None if found is None or found.span is None else _last_name(found.span)
        case "constructor":
            c = document.parsed.constructors.get(symbol.name)
            return None if c is None else c.span
        case "field":
            c = document.parsed.constructors.get(str(symbol.owner))
            return None if c is None or c.span is None else _field(c, c.span, symbol.name)
        case _:
            return None


def _last_name(span: Span) -> Span:
    """The name that a span ends with."""
    found = NAME_BEFORE.search(span.source.text[span.start : span.end])
    return span if found is None else Span(span.source, span.start + found.start(), span.end)


def _field(c: Constructor, span: Span, name: str) -> Span:
    """The declaration of a field, behind that of its constructor."""
    found = re.compile(rf"\b{re.escape(name)}\s*:").search(span.source.text, span.end)
    return span if found is None else Span(span.source, found.start(), found.start() + len(name))


def located(document: Document, span: Span) -> Place | None:
    """The place of a span; None for one of no text."""
    source = span.source
    if source is document.source:
        return Place(document.path, document.text, span.start, span.end)
    path = file_of(source)
    return None if path is None or not source.text else Place(path, source.text, span.start, span.end)


def file_of(source: Source) -> Path | None:
    """The file of an imported source, which has the name that diagnostics show."""
    if source.name.startswith(STANDARD):
        return PACKAGE / (source.name.removesuffix(SUFFIX) + SUFFIX)
    path = Path(source.name)
    return path.resolve() if path.suffix == SUFFIX else None


def imported_file(document: Document, name: str) -> Place | None:
    """The beginning of the file that an import names."""
    if name.startswith(STANDARD):
        path = PACKAGE / (name.removesuffix(SUFFIX) + SUFFIX)
    elif document.path is None:
        return None
    else:
        path = (document.path.resolve().parent / name).resolve()
        path = path if path.suffix == SUFFIX else path.with_name(path.name + SUFFIX)
    return Place(path, "", 0, 0) if path.is_file() else None


def comment_above(text: str, offset: int) -> str:
    """The `//` lines right above the line of an offset, without their slashes."""
    lines: list[str] = []
    end = text.rfind("\n", 0, offset)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
        end = start - 1
    return "\n".join(reversed(lines))
