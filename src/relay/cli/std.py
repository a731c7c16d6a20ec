"""`relay std [NAME]`: the manual of the standard library, written from its modules."""

import re
from dataclasses import asdict, dataclass

import click

from relay.cli.manual import EXAMPLE, examples, fact, filled, prose
from relay.cli.reports import json_option, print_json
from relay.cli.terminal import fitted
from relay.diagnostic import did_you_mean, fail
from relay.text.imports import STANDARD, standard_names, standard_text

COMMENT, FUNCTION, DATA_TYPE = "//", "def @", "type "
CONSTRUCTOR = re.compile(r"^  (\w+)", re.MULTILINE)
PARAMETER = re.compile(r"%\w+")


@dataclass(frozen=True)
class Entry:
    """A definition or a data type of a standard module: its header, or its whole text, and its comment."""

    module: str
    name: str
    signature: str
    comment: tuple[str, ...]


@click.command()
@click.argument("name", required=False)
@json_option
def std(name: str | None, as_json: bool) -> None:
    """Show the manual of the standard library: the page of a function or data type, or a table of a module.

    Without NAME the table has all modules.
    """
    modules = {m: entries(m) for m in standard_names()}
    module = name.removeprefix(STANDARD) if name else ""
    if as_json:
        several = modules if name is None else {module: modules.get(module) or [find_entry(name, modules)]}
        print_json([asdict(e) for found in several.values() for e in found])
    elif name is None:
        click.echo(table({m: found for m, found in modules.items() if found}))
    elif modules.get(module):
        click.echo(table({module: modules[module]}))
    else:
        click.echo(page(find_entry(name, modules)))


def find_entry(name: str, modules: dict[str, list[Entry]]) -> Entry:
    """The definition, data type or data type of a constructor of that name (`unknown-name`)."""
    bare = name.removeprefix("@")
    every = [e for found in modules.values() for e in found]
    for e in every:
        if e.name.removeprefix("@") == bare:
            return e
    for e in every:
        if e.signature.startswith(DATA_TYPE) and any(c == bare for c in constructors(e)):
            return e
    names = [e.name for e in every]
    hint = did_you_mean(f"@{bare}", names) or did_you_mean(name, [*names, *modules])
    fail(
        "unknown-name",
        f"the standard library has no `{name}`",
        hint=hint or "`relay std` lists all of it; operators are in `relay ops`",
    )


def entries(module: str) -> list[Entry]:
    """What a standard module defines, in its order."""
    found: list[Entry] = []
    comment: list[str] = []
    lines = iter(standard_text(module).splitlines())
    for line in lines:
        if line.startswith(COMMENT):
            comment.append(line.removeprefix(COMMENT).removeprefix(" "))
            continue
        if line.startswith((FUNCTION, DATA_TYPE)):
            text = [line]
            is_type = line.startswith(DATA_TYPE)
            while text[-1] != "}" if is_type else not text[-1].endswith("{"):
                text.append(next(lines))
            if is_type:
                name, signature = line.split()[1].partition("[")[0], "\n".join(text)
            else:
                signature = joined(text)
                name = signature.partition("(")[0].partition("[")[0].partition("<")[0]
            found.append(Entry(f"{STANDARD}{module}", name, signature, tuple(comment)))
        comment = []
    return found


def joined(header: list[str]) -> str:
    """The header of a definition in a line, without `def`."""
    text = " ".join([line.strip() for line in header])
    return text.removeprefix("def ").removesuffix("{").strip().replace("( ", "(").replace(" )", ")")


def constructors(e: Entry) -> list[str]:
    """The names of the constructors of a data type."""
    return CONSTRUCTOR.findall(e.signature)


# --- the table


def table(modules: dict[str, list[Entry]]) -> str:
    """Modules, each with what it defines, one a line: how it is called, and what it does."""
    called = {e: short(e) for found in modules.values() for e in found}
    width = max(map(len, called.values()), default=0)
    lines = ["`relay std NAME` shows the page of one."]
    for module, found in modules.items():
        lines += ["", f'import "{STANDARD}{module}"  // {purpose(module)}']
        lines += [f"  {called[e]:{width}}  {summary(e)}".rstrip() for e in found]
    return fitted(lines)


def purpose(module: str) -> str:
    """What a standard module is for: the first sentence of its first comment."""
    line = next(line for line in standard_text(module).splitlines() if line.startswith(COMMENT))
    return line.removeprefix(COMMENT).partition(". ")[0].strip().rstrip(".")


def short(e: Entry) -> str:
    """A definition with the names of its parameters; a data type with its constructors."""
    if e.signature.startswith(DATA_TYPE):
        return f"{e.name}: {', '.join(constructors(e))}"
    return f"{e.name}({', '.join(PARAMETER.findall(e.signature))})"


def summary(e: Entry) -> str:
    """What it does, in a line."""
    text = " ".join(e.comment).partition(EXAMPLE)[0]
    return text.partition(". ")[0].strip().rstrip(".")


# --- the page of one


def page(e: Entry) -> str:
    """The whole page of a definition or a data type."""
    from relay.text.parser import parse_module

    lines = list(e.comment)
    start = next((i for i, line in enumerate(lines) if line.startswith(EXAMPLE)), len(lines))
    about = ["", *prose(lines[:start])] if lines[:start] else []
    shown = ["", *fact("Import", f'import "{e.module}"')]
    mod = parse_module(f'import "{STANDARD}prelude"\nimport "{e.module}"')
    head = [e.signature] if e.signature.startswith(DATA_TYPE) else filled(e.signature, indent="    ")
    return "\n".join([*head, *about, *shown, *examples(lines[start:], mod)])
