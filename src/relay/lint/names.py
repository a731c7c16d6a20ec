"""Rules about what is defined and not used, and about names."""

from collections.abc import Iterator

from relay.diagnostic import Span, did_you_mean, fail
from relay.ir.expr import Constructor, Expr, Function, GlobalVar, Let, Match, Var
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor
from relay.ir.walk import post_order
from relay.lint.finding import RULES, Edit, Finding, finding, has_comment, rule
from relay.lsp.index import Document, Item, Symbol
from relay.transform.rewriting.purity import Purity


def own_definitions(document: Document) -> dict[GlobalVar, Expr]:
    """The definitions of the text itself."""
    mod = document.mod
    return {v: e for v, e in mod.functions.items() if v.name_hint not in mod.imported}


def nodes(document: Document) -> list[Expr]:
    """The nodes of the definitions of the text."""
    return document.once(_nodes)


def _nodes(document: Document) -> list[Expr]:
    return [n for e in own_definitions(document).values() for n in post_order(e)]


def lets_by_place(document: Document) -> dict[int, Let]:
    """The `let`s of a text, by where the variable begins."""
    return document.once(_lets_by_place)


def _lets_by_place(document: Document) -> dict[int, Let]:
    source = document.source
    lets = [n for n in nodes(document) if isinstance(n, Let)]
    return {n.var.span.start: n for n in lets if n.var.span is not None and n.var.span.source is source}


@rule("unused-variable")
def unused_variables(document: Document) -> Iterator[Finding]:
    """A variable of a `let` or of a pattern that nothing reads; parameters are part of what a function is."""
    purity = Purity(document.mod)
    for symbol, places in document.by_symbol.items():
        if symbol.kind != "local" or len(places) != 1 or not places[0].is_definition:
            continue
        start, end = places[0].start, places[0].end
        if symbol.name.startswith("_") or _is_parameter(document, start):
            continue
        let = lets_by_place(document).get(start)
        if let is None:
            edit = _without_name(document, symbol, start, end)
        elif not purity.may_go(let.value):
            continue  # it is bound for what its value does
        else:
            edit = _without_let(document, let, symbol)
        span = Span(document.source, start, end)
        message = f"the variable `%{symbol.name}` is not used"
        yield finding("unused-variable", message, span, hint="remove it, or write `_`", edit=edit)


def _without_name(document: Document, symbol: Symbol, start: int, end: int) -> Edit:
    """The pattern without the name: `_`, or of `P as %x` only `P`."""
    before = document.text[:start].rstrip()
    is_alias = document.parsed.texts[document.token_at(start) - 1] == "as"
    if is_alias:
        whole = len(before.removesuffix("as").rstrip())
        return Edit(f"Remove `as %{symbol.name}`", whole, end, "")
    return Edit(f"Change `%{symbol.name}` to `_`", start, end, "_")


def _is_parameter(document: Document, start: int) -> bool:
    places = document.once(_parameters)
    return start in places


def _parameters(document: Document) -> set[int]:
    functions = [n for n in nodes(document) if isinstance(n, Function)]
    return {p.span.start for fn in functions for p in fn.params if p.span is not None}


def _without_let(document: Document, let: Let, symbol: Symbol) -> Edit | None:
    if let.span is None:
        return None
    text, end = document.text, let.span.end
    semicolon = text.find(";", end)
    if semicolon < 0 or text[end:semicolon].strip(" })\n") or has_comment(text[let.span.start : semicolon]):
        return None
    end = semicolon + 1
    while end < len(text) and text[end] in " \t":
        end += 1
    if (
        text[end : end + 1] == "\n"
        and not text[text.rfind("\n", 0, let.span.start) + 1 : let.span.start].strip()
    ):
        end += 1
    return Edit(f"Remove `%{symbol.name}`", let.span.start, end, "")


@rule("unused-definition")
def unused_definitions(document: Document) -> Iterator[Finding]:
    """A definition of a program with `@main` that neither it nor a test comes to."""
    own = own_definitions(document)
    if GlobalVar("main") not in own:
        return
    reached: set[GlobalVar] = set()
    pending = [v for v, e in own.items() if v == GlobalVar("main") or (isinstance(e, Function) and e.attrs)]
    while pending:
        v = pending.pop()
        if v not in reached and v in own:
            reached.add(v)
            pending += [n for n in post_order(own[v]) if isinstance(n, GlobalVar)]
    for item in document.items:
        v = GlobalVar(item.name)
        if (
            item.word == "def"
            and v in own
            and v not in reached
            and not _is_documented_by_examples(document, item)
        ):
            at = document.parsed.starts[item.name_at]
            span = Span(document.source, at, document.parsed.ends[item.name_at])
            hint = "remove it, call it, or move it to a module that others import"
            yield finding("unused-definition", f"`@{item.name}` is not used by `@main`", span, hint=hint)


def _is_documented_by_examples(document: Document, item: Item) -> bool:
    lines = document.text[: item.start].rstrip().splitlines()
    for line in reversed(lines):
        if not line.lstrip().startswith("//"):
            return False
        if "relay>" in line:
            return True
    return False


@rule("unused-import")
def unused_imports(document: Document) -> Iterator[Finding]:
    """An import of which no name is used; a text that only imports hands names on."""
    if not any(item.word != "import" for item in document.items):
        return
    needed = _needed_names(document)
    for item in document.items:
        if item.word != "import":
            continue
        path = item.name.strip('"')
        span = Span(document.source, item.start, item.end)
        module = document.parsed.loader.load(path, span)
        if module is None or needed & names_of(module):
            continue
        end = item.end
        while document.text[end : end + 1] in (" ", ";"):
            end += 1
        edit = Edit("Remove the import", item.start, end + (document.text[end : end + 1] == "\n"), "")
        yield finding("unused-import", f'nothing of "{path}" is used', span, hint="remove it", edit=edit)


def names_of(module: IRModule) -> set[str]:
    """The names that a module brings: definitions, data types and constructors."""
    constructors = {c.name_hint for data in module.type_definitions.values() for c in data.constructors}
    types = {v.name_hint for v in module.type_definitions}
    return {v.name_hint for v in module.functions} | constructors | types


def _needed_names(document: Document) -> set[str]:
    """The names that a text and its definitions mention, those that sugar stands for among them."""
    found = {s.name for s in document.by_symbol if s.kind in ("global", "type", "constructor")}
    for n in nodes(document):
        if isinstance(n, GlobalVar | Constructor):
            found.add(n.name_hint)
        elif isinstance(n, Match):
            pending = [clause.lhs for clause in n.clauses]
            while pending:
                pattern = pending.pop()
                pending += pattern.children
                if isinstance(pattern, PatternConstructor):
                    found.add(pattern.constructor.name_hint)
    return found


@rule("shadowed-variable", is_default=False)
def shadowed_variables(document: Document) -> Iterator[Finding]:
    """A variable with the name of another one that is in scope."""
    for symbol, places in document.by_symbol.items():
        if symbol.kind != "local" or not places[0].is_definition:
            continue
        start = places[0].start
        scopes = [
            s for s in document.parsed.scopes if s.key == f"%{symbol.name}" and s.start <= start <= s.end
        ]
        known = [document.parsed.binder[s.value] for s in scopes if isinstance(s.value, Var)]
        if any(document.parsed.starts[i] != start for i in known):
            span = Span(document.source, start, places[0].end)
            message = f"`%{symbol.name}` hides another variable of that name"
            yield finding("shadowed-variable", message, span, hint="give it a name of its own")


@rule("missing-comment", is_default=False)
def missing_comments(document: Document) -> Iterator[Finding]:
    """A definition without a comment above it, which is its documentation; `@main` and tests need none."""
    own = own_definitions(document)
    for item in document.items:
        e = own.get(GlobalVar(item.name)) if item.word == "def" else None
        if e is None or item.name == "main" or (isinstance(e, Function) and e.attrs):
            continue
        above = document.text[: item.start].rstrip(" \t").removesuffix("\n").rsplit("\n", 1)[-1].strip()
        if not above.startswith("//") and not above.endswith("*/"):
            at = document.parsed.starts[item.name_at]
            span = Span(document.source, at, document.parsed.ends[item.name_at])
            message = f"`@{item.name}` has no comment above it"
            yield finding("missing-comment", message, span, hint="say in a line what its value is")


def chosen_rules(selected: str | None, ignored: str | None) -> list[str]:
    """The names of rules that lists select, or the default ones, without those ignored (`unknown-name`)."""

    def listed(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            if name not in RULES and name != "all":
                known = ", ".join(RULES)
                fail(
                    "unknown-name",
                    f"there is no rule `{name}`",
                    hint=did_you_mean(name, RULES) or f"rules: {known}",
                )
        return list(RULES) if "all" in names else names

    wanted = [r.name for r in RULES.values() if r.is_default] if selected is None else listed(selected)
    return [name for name in wanted if name not in listed(ignored or "")]
