"""What can stand at the cursor, also in a text that does not parse there."""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from functools import cache
from typing import Any

from relay.cli.ops import call, defaults, find, first_sentence, operator_page, spell, word
from relay.cli.std import Entry, entries, summary
from relay.ir.dtype import ALIASES, DTYPES
from relay.ir.expr import Var
from relay.ir.type import GlobalTypeVar, TypeCall, TypeVar
from relay.lsp.context import Context, context
from relay.lsp.hover import FORMS, code, constructor, declaration
from relay.lsp.index import Document, Symbol
from relay.lsp.store import View
from relay.op.attribute import attribute_types
from relay.op.records import record_of
from relay.op.registry import alias_of, registry
from relay.text.imports import STANDARD, SUFFIX, standard_names
from relay.typecheck.messages import show

WORDS = ("let", "if", "else", "match", "fn", "def", "type", "import", "where", "with", "rec", "True", "False")
TYPE_WORDS = ("Tensor", "Tuple", "Ref", "fn")


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something that can stand at the cursor, of a kind of `KINDS`; `data` is what `explained` is given.

    `module` is to be imported with it, if it is not empty.
    """

    label: str
    kind: str
    detail: str = ""
    data: tuple[str, str, str] | None = None
    module: str = ""


def completions(view: View, offset: int) -> tuple[Context, list[Proposal]]:
    """What can stand at an offset of the text as it is now."""
    found = context(view.text, offset)
    document = view.document
    at = view.edit.old(offset)
    match found.place:
        case "nothing":
            return found, []
        case "import":
            return found, list(_modules(document))
        case "type":
            return found, list(_types(document, at))
        case _:
            pass
    head, dot, _ = found.word.rpartition(".")
    if found.word.startswith("%"):
        return found, list(_fields(document, at, head) if dot else _locals(document, at))
    if found.word.startswith("@"):
        return found, list(_globals(document))
    return found, [*_attributes(found), *_bare(document, at)]


def _modules(document: Document) -> Iterator[Proposal]:
    for name in standard_names():
        yield Proposal(STANDARD + name, "module")
    folder = None if document.path is None else document.path.parent
    if folder is not None and folder.is_dir():
        for path in sorted(folder.glob("*" + SUFFIX)):
            if path != document.path:
                yield Proposal(path.stem, "module", path.name)


def _locals(document: Document, at: int) -> Iterator[Proposal]:
    for key, value in document.in_scope(at).items():
        if isinstance(value, Var) and key != "%_":
            t = document.type_at(at, value)
            yield Proposal(key, "variable", "" if t is None else show(t))
    item = document.item_at(at)
    for o in document.occurrences:
        if (
            o.symbol.kind == "graph"
            and o.is_definition
            and item
            and item.start <= o.start < min(at, item.end)
        ):
            yield Proposal(o.symbol.name, "variable", "graph binding")


def _fields(document: Document, at: int, head: str) -> Iterator[Proposal]:
    """The fields of the record that `%x.a.b` is, or the numbers of the fields of a tuple."""
    first, *names = head.split(".")
    value = document.in_scope(at).get(first)
    t: Any = document.type_at(at, value) if isinstance(value, Var) else None
    for name in names:
        t = dict(_parts(document, t)).get(name)
    for name, part in _parts(document, t):
        yield Proposal(f"{head}.{name}", "field", show(part))


def _parts(document: Document, t: Any) -> list[tuple[str, Any]]:
    """The fields of a type, with their types."""
    header = t.func if isinstance(t, TypeCall) else None
    data = document.mod.type_definitions.get(header) if isinstance(header, GlobalTypeVar) else None
    c = None if data is None else record_of(data)
    if c is not None:
        return list(zip(c.field_names, c.inputs, strict=True))
    return [(str(i), part) for i, part in enumerate(getattr(t, "fields", ()))]


def _globals(document: Document) -> Iterator[Proposal]:
    known = {v.name_hint for v in document.mod.functions} | document.parsed.defined.keys()
    for name in sorted(known):
        yield Proposal(f"@{name}", "function", document.types.of_global(name), ("global", name, ""))
    for entry in library():
        name = entry.name.removeprefix("@")
        if entry.name.startswith("@") and name not in known:
            yield Proposal(
                entry.name, "function", entry.module, ("std", entry.name, entry.module), entry.module
            )


@cache
def library() -> tuple[Entry, ...]:
    """Everything that standard modules define."""
    return tuple([entry for module in standard_names() for entry in entries(module)])


def _attributes(found: Context) -> Iterator[Proposal]:
    """The attributes of the operator whose call is open, but for those that are given."""
    opened = found.call
    cls = None if opened is None else registry.get(alias_of.get(opened.callee, opened.callee))
    if opened is None or cls is None:
        return
    hints = attribute_types(cls)
    for name, default in defaults(cls):
        if name not in opened.given:
            said = "required" if default is MISSING else f"default {word(default)}"
            detail = f"{spell(hints[name])}, {said}"
            yield Proposal(f"{name}=", "attribute", detail, ("attribute", name, cls.name))


def _bare(document: Document, at: int) -> Iterator[Proposal]:
    """Names without a sigil: dimensions, constructors, operators, forms, words."""
    for key, value in document.in_scope(at).items():
        if isinstance(value, TypeVar) and key[0] == "'":
            yield Proposal(key[1:], "parameter", value.kind.value)
    for name, c in document.parsed.constructors.items():
        yield Proposal(name, "constructor", constructor(c), ("constructor", name, ""))
    for name, cls in registry.items():
        yield Proposal(name, "operator", call(cls), ("operator", name, ""))
    for name, other in alias_of.items():
        yield Proposal(name, "operator", call(registry[other]), ("operator", other, ""))
    for name in FORMS:
        yield Proposal(name, "form", "", ("form", name, ""))
    for name in WORDS:
        yield Proposal(name, "word")


def _types(document: Document, at: int) -> Iterator[Proposal]:
    for key, value in document.in_scope(at).items():
        if isinstance(value, TypeVar) and key[0] == "'":
            yield Proposal(key[1:], "parameter", value.kind.value)
    for name in sorted({h.name_hint for h in (*document.mod.type_definitions, *document.mod.aliases)}):
        yield Proposal(name, "type", "", ("type", name, ""))
    for name in (*TYPE_WORDS, *DTYPES, *ALIASES):
        yield Proposal(name, "type")


def explained(document: Document | None, data: tuple[str, str, str]) -> str:
    """The documentation of a proposal, in Markdown."""
    kind, name, owner = data
    match kind:
        case "operator":
            return f"```text\n{operator_page(registry[name])}\n```"
        case "attribute":
            return f"an attribute of `{owner}`: {first_sentence(find(owner))}"
        case "form":
            return FORMS[name]
        case "std":
            entry = next(e for e in library() if e.name == name and e.module == owner)
            return f'{code(entry.signature)}\n\n{summary(entry)}.\n\n`import "{owner}"`'
        case _:
            return "" if document is None else declaration(document, Symbol(kind, name))


def import_place(document: Document) -> int:
    """Where a new import goes: behind the last one, else at the beginning of the first item."""
    imports = [item.end for item in document.items if item.word == "import"]
    return imports[-1] if imports else 0
