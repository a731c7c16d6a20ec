"""What is said of the name or the expression at a position: its type, and its manual."""

from dataclasses import dataclass
from typing import Any

from relay.cli.explain import FORMER_CODES, page_summary, pages
from relay.cli.ops import attributes, first_sentence, operator_page
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, LetRec, Op, Var
from relay.ir.type import GlobalTypeVar, TypeVar
from relay.lsp.index import Document, Occurrence, Symbol
from relay.lsp.places import comment_above, definition, imported_file
from relay.op.registry import get, registry
from relay.text.imports import STANDARD
from relay.text.parse_expr import INFIX, PREFIXES
from relay.typecheck.messages import show

FORMS = {
    "grad": "`grad(f)`: the value of `f` and the gradient of its sum, by every argument.",
    "vjp": "`vjp(f)`: the value of `f`, and a function from cotangents of it to those of the arguments.",
    "jvp": "`jvp(f)`: from arguments and tangents of them to the value of `f` and its tangent.",
    "vmap": "`vmap(f, in_axes=0, out_axes=0)`: `f` applied to each row.",
    "ref": "`ref(e)`: a new reference that holds `e`.",
    "ref_read": "`ref_read(r)`: what a reference holds.",
    "ref_write": "`ref_write(r, e)`: puts `e` into a reference.",
    "Constant": "`Constant(value, shape, dtype)`: a tensor filled with a value.",
}
"""The words that are called like operators, each with what it means."""
_UNTYPED = (Let, LetRec)
MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class Hover:
    """Markdown about the text from `start` to `end`."""

    text: str
    start: int
    end: int


def hover(document: Document, offset: int) -> Hover | None:
    """What to show at an offset; None for white space and comments."""
    occurrence = document.occurrence(offset)
    found = None
    if occurrence is not None:
        text = about(document, occurrence)
        found = Hover(text, occurrence.start, occurrence.end) if text else None
    found = found or _sign(document, offset) or _expression(document, offset)
    wrong = _codes(document, offset)
    if not wrong:
        return found
    if found is None:
        return Hover(wrong, offset, offset)
    return Hover(f"{found.text}\n\n---\n\n{wrong}", found.start, found.end)


def about(document: Document, occurrence: Occurrence) -> str:
    """What is known of a name, in Markdown."""
    symbol, at = occurrence.symbol, occurrence.start
    match symbol.kind:
        case "local" | "parameter":
            return _variable(document, symbol)
        case "graph":
            e = document.parsed.graph_uses.get(document.token_at(at))
            t = None if e is None else document.type_at(at, e)
            return "" if t is None else code(f"{symbol.name}: {show(t)}")
        case "operator":
            return operator(document, symbol.name, at)
        case "attribute":
            return attribute(str(symbol.owner), symbol.name)
        case "form":
            return FORMS.get(symbol.name, "")
        case "import":
            return imported(document, symbol.name)
        case _:
            return declaration(document, symbol)


def code(text: str) -> str:
    """A block of the language."""
    return f"```relay\n{text}\n```"


def _variable(document: Document, symbol: Symbol) -> str:
    assert isinstance(symbol.owner, int)
    value = document.parsed.definitions.get(document.token_at(symbol.owner))
    if isinstance(value, TypeVar):
        return code(f"{symbol.name}: {value.kind.value}")
    t = document.type_at(symbol.owner, value) if isinstance(value, Var) else None
    return code(f"%{symbol.name}: {'_' if t is None else show(t)}")


def declaration(document: Document, symbol: Symbol) -> str:
    """A definition, type, constructor or field: its header, and the comment above it."""
    place = definition(document, symbol)
    comment = "" if place is None else comment_above(place.text, place.start)
    home = ""
    if place is not None and place.path is not None and place.path != document.path:
        home = f"from `{STANDARD}{place.path.stem}`" if place.is_packaged else f"from `{place.path.name}`"
    parts = [code(header(document, symbol)), comment, home]
    return "\n\n".join([part for part in parts if part])


def header(document: Document, symbol: Symbol) -> str:
    """A declaration in a line or, of a data type, as it would be written."""
    mod, name = document.mod, symbol.name
    match symbol.kind:
        case "global":
            t = document.types.of_global(name)
            return f"@{name}: {t or '_'}"
        case "type":
            data = mod.type_definitions.get(GlobalTypeVar(name))
            alias = mod.aliases.get(GlobalTypeVar(name))
            params = data.type_vars if data is not None else alias.type_vars if alias is not None else ()
            listed = f"[{', '.join(f'{p.name_hint}: {p.kind.value}' for p in params)}]" if params else ""
            if data is None:
                return f"type {name}{listed}"
            shown = [constructor(c) for c in data.constructors[:MOST_LINES]]
            inside = "".join([f"  {c},\n" for c in shown])
            return f"type {name}{listed} {{\n{inside}}}"
        case "constructor":
            c = document.parsed.constructors.get(name)
            return name if c is None else f"{constructor(c)}  // of {c.belong_to.name_hint}"
        case _:
            c = document.parsed.constructors.get(str(symbol.owner))
            if c is None or name not in c.field_names:
                return name
            return f"{name}: {c.inputs[c.field_names.index(name)]}  // of {c.name_hint}"


def constructor(c: Any) -> str:
    """A constructor with the types of its fields: `Cons(a, List[a])`."""
    if c.field_names:
        fields = [f"{n}: {t}" for n, t in zip(c.field_names, c.inputs, strict=True)]
        return f"{c.name_hint} {{ {', '.join(fields)} }}"
    return f"{c.name_hint}({', '.join(map(str, c.inputs))})" if c.inputs else c.name_hint


def operator(document: Document, name: str, at: int) -> str:
    """An operator: the type of the call that begins at an offset, and the page of the manual."""
    e = _call(document, name, at)
    t = None if e is None else document.type_at(at, e)
    typed = "" if t is None else code(f"{name}(…): {show(t)}") + "\n\n"
    return f"{typed}```text\n{operator_page(registry[get(name).name])}\n```"


def attribute(owner: str, name: str) -> str:
    """An attribute of an operator: its line in the manual."""
    line = next((a for a in attributes(registry[owner]) if a.split()[0] == name), "")
    return f"{code(line)}\n\nan attribute of `{owner}`: {first_sentence(registry[owner])}" if line else ""


def imported(document: Document, name: str) -> str:
    """An imported file: what stands at its top."""
    place = imported_file(document, name)
    if place is None or place.path is None:
        return ""
    text = place.path.read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    comment = [line.removeprefix("//").strip() for line in lines[:MOST_LINES] if line.startswith("//")]
    return f"`{name}`\n\n" + " ".join(comment[:3])


# --- expressions


def _call(document: Document, name: str, at: int) -> Expr | None:
    """The call of an operator whose text begins at an offset, or which is infix around it."""
    found = [e for e in around(document, at) if type(e) is Call and type(e.op) is Op and e.op.name == name]
    return found[0] if found else None


def around(document: Document, offset: int) -> list[Expr]:
    """The expressions whose text is around an offset, the smallest first."""
    owner = document.owner_at(offset)
    if owner is None:
        return []
    found: list[tuple[int, int, Expr]] = []
    for i, e in enumerate(document.types.nodes_of(owner)):
        span = e.span
        if span is not None and span.source is document.source and span.start <= offset < span.end:
            found.append((span.end - span.start, i, e))
    return [e for _, _, e in sorted(found, key=lambda f: f[:2])]


def _sign(document: Document, offset: int) -> Hover | None:
    """An infix or prefix operator."""
    i = document.token_at(offset)
    kind = document.parsed.kinds[i] if i >= 0 else ""
    level = INFIX.get(kind)
    start, end = document.parsed.starts[i], document.parsed.ends[i]
    if offset >= end or (level is None and kind not in PREFIXES):
        return None
    for e in around(document, offset):
        names = [level.name for level in (INFIX.get(kind), PREFIXES.get(kind)) if level is not None]
        if type(e) is Call and type(e.op) is Op and e.op.name in names:
            t = document.type_at(offset, e)
            typed = "" if t is None else code(f"… {kind} …: {show(t)}") + "\n\n"
            return Hover(f"{typed}```text\n{operator_page(registry[e.op.name])}\n```", start, end)
    return None


def _expression(document: Document, offset: int) -> Hover | None:
    """The smallest expression with a type around an offset."""
    i = document.token_at(offset)
    if i < 0 or offset >= document.parsed.ends[i]:
        return None
    for e in around(document, offset):
        t = None if isinstance(e, _UNTYPED) else document.type_at(offset, e)
        if t is not None and e.span is not None and not isinstance(e, GlobalVar):
            text = document.text[e.span.start : e.span.end].splitlines()[0]
            shown = "fn" if isinstance(e, Function) else text if len(text) <= 40 else f"{text[:40]}…"
            return Hover(code(f"{shown}: {show(t)}"), e.span.start, e.span.end)
    return None


def _codes(document: Document, offset: int) -> str:
    """The pages of the diagnostics at an offset, in a sentence each."""
    known = pages()
    found: dict[str, str] = {}
    for d in document.diagnostics:
        if d.span is not None and d.span.source is document.source and d.span.start <= offset <= d.span.end:
            page = known.get(FORMER_CODES.get(d.code, d.code))
            if page:
                found[d.code] = f"**{d.code}**: {page_summary(page)}. (`relay explain {d.code}`)"
    return "\n\n".join(found.values())
