"""A checked document: its diagnostics, what every name in it means, and the types of its parts."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from typing import TypeVar as AnyType

from relay.analysis.lints import lint
from relay.diagnostic import Diagnostic, Report, Source
from relay.ir.collector import paused
from relay.ir.expr import Expr, GlobalVar, Var
from relay.ir.module import IRModule
from relay.ir.type import GlobalTypeVar, TypeCall, TypeVar
from relay.lsp.lines import Lines
from relay.lsp.recorder import FieldUse, Named, Recorder, Word
from relay.lsp.typed import Types
from relay.op.records import record_of
from relay.text.cursor import GivenUpError
from relay.text.imports import loader
from relay.text.lexer import lex
from relay.text.parser import errors_of, imported
from relay.text.weights import read_constants, weights_path

T = AnyType("T")


@dataclass(frozen=True, slots=True)
class Symbol:
    """What a name means.  `owner` is the constructor of a field, the operator of an attribute, the offset
    where a local, a type parameter or a graph binding is bound.
    """

    kind: str
    name: str
    owner: str | int | None = None


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name in the text, from `start` to `end`."""

    start: int
    end: int
    symbol: Symbol
    is_definition: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A definition, data type, import or the last expression, from `start` to `end`; `name_at` is the token
    of its name.
    """

    start: int
    end: int
    word: str
    name: str
    name_at: int
    first: int


@dataclass(eq=False)
class Document:
    """A text as it was when it was checked."""

    text: str
    path: Path | None
    source: Source
    parsed: Recorder
    types: Types
    diagnostics: list[Diagnostic]
    occurrences: list[Occurrence] = field(default_factory=list[Occurrence])
    items: list[Item] = field(default_factory=list[Item])
    kept: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """What was asked for once and stays as it is, by the function that finds it."""

    def once(self, find: "Callable[[Document], T]") -> T:
        """What a function finds of this document, found at the first time."""
        if find not in self.kept:
            self.kept[find] = find(self)
        return self.kept[find]

    @property
    def mod(self) -> IRModule:
        """The module, as far as it could be read."""
        return self.parsed.mod

    @cached_property
    def lines(self) -> Lines:
        """The lines of the text."""
        return Lines(self.text)

    @cached_property
    def by_symbol(self) -> dict[Symbol, list[Occurrence]]:
        """The occurrences of each symbol, in the order of the text."""
        found: dict[Symbol, list[Occurrence]] = {}
        for o in self.occurrences:
            found.setdefault(o.symbol, []).append(o)
        return found

    def occurrence(self, offset: int) -> Occurrence | None:
        """The name at an offset, or right before it."""
        i = bisect_right(self.occurrences, offset, key=lambda o: o.start) - 1
        for o in self.occurrences[max(i - 1, 0) : i + 1][::-1]:
            if o.start <= offset <= o.end:
                return o
        return None

    def definition(self, symbol: Symbol) -> Occurrence | None:
        """Where this text defines a symbol."""
        return next((o for o in self.by_symbol.get(symbol, ()) if o.is_definition), None)

    def item_at(self, offset: int) -> Item | None:
        """The item around an offset."""
        return next((item for item in self.items if item.start <= offset <= item.end), None)

    def owner_at(self, offset: int) -> GlobalVar | None:
        """The definition whose text is around an offset."""
        item = self.item_at(offset)
        if item is None:
            return None
        name = item.name if item.word == "def" else "main" if not item.word else ""
        var = GlobalVar(name) if name else None
        return var if var in self.mod.functions else None

    def token_at(self, offset: int) -> int:
        """The token around an offset or behind it."""
        return bisect_right(self.parsed.starts, offset) - 1

    def type_at(self, offset: int, e: Expr) -> Any:
        """The type of a node of the definition around an offset, or None."""
        return self.types.type_in(self.owner_at(offset), e)

    def in_scope(self, offset: int) -> dict[str, Var | TypeVar]:
        """The variables (`%x`) and type parameters (`'n`) in scope at an offset; inner ones hide others."""
        return {s.key: s.value for s in self.parsed.scopes if s.start <= offset <= s.end}


def check(text: str, path: Path | None, name: str, open_texts: Mapping[str, str] | None = None) -> Document:
    """Parse and infer a text, whatever is wrong with it; files that it imports may be open, too."""
    source, report = Source(name, text), Report()
    with paused():
        parsed = Recorder(lex(source, report), report, IRModule())
        parsed.loader = loader(imported, path, open_texts)
        parsed.weights = None if path is None else lambda: read_constants(weights_path(path))
        with suppress(GivenUpError):
            parsed.text_()
            if not report.errors or "main" not in parsed.defined:
                parsed.finish_module()
    types = Types(parsed.mod)
    document = Document(text, path, source, parsed, types, [])
    document.items = _items(parsed)
    document.occurrences = _occurrences(document)
    document.diagnostics = _diagnostics(document, report)
    return document


def _diagnostics(document: Document, report: Report) -> list[Diagnostic]:
    """Those of the parser; those of inference where a definition has none of these; lints of a sound text."""
    errors = errors_of(document.parsed)
    wrong = {document.item_at(d.span.start) for d in errors if d.span and d.span.source is document.source}
    found = [*errors, *report.warnings]
    for d in document.types.diagnostics:
        own = d.span is not None and d.span.source is document.source
        item = document.item_at(d.span.start) if own and d.span is not None else None
        if not errors or (d.code != "unknown-global" and own and item not in wrong):
            found.append(d)
    if not any(d.severity == "error" for d in found) and document.types.annotated is not None:
        found += lint(document.types.annotated)
    return found


def _items(parsed: Recorder) -> list[Item]:
    """The items in the order of the text; each is read once or twice, and ends where the last reading did."""
    last: dict[int, int] = {}
    for first, end in parsed.read:
        last[first] = max(end, last.get(first, 0))
    found: list[Item] = []
    for first, end in sorted(last.items()):
        if end <= first:
            continue
        word = parsed.texts[first] if first in parsed.item_starts else ""
        at = first + 1 + (word == "extern")
        name = str(parsed.texts[at]).removeprefix("@").removeprefix("%") if word else "main"
        found.append(Item(parsed.starts[first], parsed.ends[end - 1], str(word), name, at, first))
    return found


def _occurrences(document: Document) -> list[Occurrence]:
    """Every name of the text that means something, in its order."""
    parsed = document.parsed
    found = {i: _occurrence(parsed, i, value, False) for i, value in parsed.uses.items()}
    found.update({i: _occurrence(parsed, i, value, True) for i, value in parsed.definitions.items()})
    own = [("global", parsed.defined), ("type", parsed.types_here), ("constructor", parsed.constructors_here)]
    for kind, tokens in own:
        for name, i in tokens.items():
            found[i] = _occurrence(parsed, i, Named(kind, name), True)
    occurrences = [o for o in found.values() if o is not None]
    for use in parsed.fields:
        symbol = Symbol(
            "field", use.name, use.owner or _record_of(document, use) or _only_owner(parsed, use.name)
        )
        occurrences.append(Occurrence(use.start, use.end, symbol))
    return sorted(set(occurrences), key=lambda o: (o.start, -o.end))


def _record_of(document: Document, use: FieldUse) -> str | None:
    """The constructor of the record that inference found before the dot of a field."""
    t = None if use.operand is None else document.type_at(use.start, use.operand)
    header = t.func if isinstance(t, TypeCall) else None
    data = document.mod.type_definitions.get(header) if isinstance(header, GlobalTypeVar) else None
    c = None if data is None else record_of(data)
    return None if c is None or use.name not in c.field_names else c.name_hint


def _only_owner(parsed: Recorder, name: str) -> str | None:
    """The constructor that alone has a field of that name."""
    owners = [c.name_hint for c in parsed.constructors.values() if name in c.field_names]
    return owners[0] if len(owners) == 1 else None


def _occurrence(parsed: Recorder, i: int, value: Any, is_definition: bool) -> Occurrence | None:
    """The name at token `i`, which was found to mean `value`."""
    start, end = parsed.starts[i], parsed.ends[i]
    if isinstance(value, Named):
        owner = value.owner
        if value.kind == "graph":
            owner = parsed.starts[owner] if isinstance(owner, int) else None
            is_definition = is_definition and owner == start
        if value.kind == "field" and owner is None:
            owner = _only_owner(parsed, value.name)
        if value.kind == "constructor" and "." in parsed.texts[i] and parsed.kinds[i] == "NAME":
            start = end - len(value.name)
        return Occurrence(start, end, Symbol(value.kind, str(value.name), owner), is_definition)
    if isinstance(value, Var):
        at = parsed.binder.get(value)
        return None if at is None else _bound("local", value.name_hint, parsed, at, start, end)
    if isinstance(value, TypeVar) and isinstance(value.name_hint, Word):
        return _bound("parameter", value.name_hint, parsed, value.name_hint.at, start, end)
    return None


def _bound(kind: str, name: str, parsed: Recorder, at: int, start: int, end: int) -> Occurrence:
    symbol = Symbol(kind, str(name), parsed.starts[at])
    return Occurrence(start, end, symbol, start == parsed.starts[at])
