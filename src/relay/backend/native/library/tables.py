"""The tables of a library as LLVM IR: what its interface says, and the texts of errors (`library.h`)."""

from collections.abc import Sequence

from relay.backend.native.library.dimensions import size_code
from relay.backend.native.library.interface import DLPACK, Entry, Port, refuse
from relay.backend.native.program.program import Site
from relay.diagnostic import Diagnostic, Span
from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, TypeVar

DTYPE = "{ i8, i8, i16 }"
SHOWN = f"{{ ptr, {DTYPE}, i32, ptr }}"
DIMENSION = "{ i64, i64, ptr, ptr }"
TYPE = f"{{ {SHOWN}, ptr, i64 }}"
ENTRY = "{ ptr, ptr, ptr, ptr, i64, i64, i64 }"
PROGRAM = "{ ptr, ptr, ptr, i64, i64, i64, i64, i64, ptr }"
UNKNOWN = -1
"""`SIZE_UNKNOWN` in C."""


class Tables:
    """Lines of LLVM IR with constant data."""

    def __init__(self, section: str) -> None:
        """None so far; what has addresses in it goes to a section."""
        self.section = section
        self.lines: list[str] = []
        self.texts: dict[str, str] = {}

    def text(self, text: str) -> str:
        """A string for C."""
        if text not in self.texts:
            data = [*text.encode("utf-8", "replace"), 0]
            name = self.texts[text] = f"@relay.text.{len(self.texts)}"
            said = "".join([chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in data])
            self.lines.append(f'{name} = internal constant [{len(data)} x i8] c"{said}"')
        return self.texts[text]

    def numbers(self, values: Sequence[int]) -> str:
        """A row of 64-bit integers."""
        name = f"@relay.numbers.{len(self.lines)}"
        said = ", ".join([f"i64 {v}" for v in values])
        self.lines.append(f"{name} = internal constant [{len(values)} x i64] [{said}]")
        return name

    def rows(self, kind: str, values: Sequence[str]) -> str:
        """A row of records."""
        if not values:
            return "null"
        name = f"@relay.rows.{len(self.lines)}"
        said = ", ".join([f"{kind} {v}" for v in values])
        self.lines.append(
            f"{name} = internal global [{len(values)} x {kind}] [{said}], section {self.section}"
        )
        return name

    def dimension(self, port: Port, d: Dim, symbols: dict[TypeVar, int], span: Span | None) -> str:
        """A size of an input."""
        number = d if isinstance(d, int) else UNKNOWN
        symbol = symbols[d] if isinstance(d, TypeVar) else UNKNOWN
        code = "null"
        if not isinstance(d, int | TypeVar) and d is not ANY:
            found = size_code(d, symbols)
            if found is None:
                refuse(f"the size `{d}` of `{port.name}` cannot be checked in C", span)
            code = self.numbers(found)
        return f"{{ i64 {number}, i64 {symbol}, ptr {code}, ptr {self.text(str(d))} }}"

    def ports(self, several: Sequence[Port], symbols: dict[TypeVar, int] | None) -> str:
        """Inputs, whose symbols are given, or outputs."""
        found: list[str] = []
        for port in several:
            code, bits = DLPACK[port.dtype]
            dtype = f"{DTYPE} {{ i8 {code}, i8 {bits}, i16 1 }}"
            shape = self.numbers(port.sizes) if port.sizes else "null"
            shown = f"{{ ptr {self.text(port.name)}, {dtype}, i32 {len(port.sizes)}, ptr {shape} }}"
            dims = "null"
            if symbols is not None:
                dims = self.rows(DIMENSION, [self.dimension(port, d, symbols, None) for d in port.shape])
            found.append(f"{{ {SHOWN} {shown}, ptr {dims}, i64 {port.item_bytes} }}")
        return self.rows(TYPE, found)

    def entry(self, entry: Entry) -> str:
        """An entry."""
        symbols = {v: i for i, v in enumerate(entry.symbols)}
        inputs, outputs = self.ports(entry.inputs, symbols), self.ports(entry.outputs, None)
        self.lines.append(f"declare void @{entry.start}(ptr)")
        counts = len(entry.inputs), len(entry.outputs), len(symbols)
        said = ", ".join([f"i64 {n}" for n in counts])
        return f"{{ ptr {self.text(entry.name)}, ptr @{entry.start}, ptr {inputs}, ptr {outputs}, {said} }}"

    def site(self, site: Site) -> str:
        """A place where the program may fail: its code and its text."""
        found = Diagnostic(site.code, site.message, hint=site.hint).render().partition(": ")[2]
        place = place_of(site.at)
        lines = [found.partition("\n")[0], *([f" --> {place}"] if place else [])]
        lines += found.splitlines()[1:]
        return f"{{ ptr {self.text(site.code)}, ptr {self.text(chr(10).join(lines))} }}"

    def program(
        self, entries: Sequence[Entry], sites: Sequence[Site], version: str, counts: Sequence[int]
    ) -> str:
        """All of it; `counts` are leaves of results, leaves in the box, and whether values are kept."""
        rows = self.rows(ENTRY, list(map(self.entry, entries)))
        places = self.rows("{ ptr, ptr }", list(map(self.site, sites)))
        results, slots, keeps = counts
        said = f"i64 {len(entries)}, i64 {len(sites)}, i64 {results}, i64 {slots}, i64 {keeps}"
        self.lines += [
            "@relay.layouts = external constant i8",
            f"@relay_program = global {PROGRAM} {{ ptr {rows}, ptr {places}, ptr @relay.layouts, {said}, "
            f"ptr {self.text(version)} }}, section {self.section}",
        ]
        return "\n".join(self.lines)


def place_of(e: Expr) -> str:
    """Where an expression is: file, line, column; not the text, which a library does not have."""
    return "" if e.span is None else str(e.span)
