"""`relay diff OLD NEW`: what differs between two programs, whatever they look like as texts."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

import click

from relay.cli.files import display_name, programs, read_module
from relay.cli.progress import progress
from relay.ir.module import IRModule

SIGNS = {"added": "+", "removed": "-", "changed": "~"}


@dataclass(frozen=True, slots=True)
class Difference:
    """A definition or a data type that is in one program only, or not the same in both."""

    name: str
    kind: str
    """`added`, `removed` or `changed`."""
    place: str
    """Of what has changed, where it differs first, and how."""
    lines: tuple[str, ...]
    """Of what has changed, the two forms line by line, as `diff` prints them."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a list of the differences in JSON.")
@click.argument("old")
@click.argument("new")
def diff(old: str, new: str, as_json: bool) -> int:
    """Print what differs between the programs in OLD and NEW, by definition (`-` is standard input; of two
    folders, between the programs in them that have the same name).

    Names of variables, comments and layout make no difference, nor does sugar.  The exit status is 1 if there
    is a difference.
    """
    with progress("comparing"):
        found = {name: list(differences(*both)) for name, both in pairs(old, new).items()}
    if as_json:
        listing = [{"file": name, **asdict(d)} for name, several in found.items() for d in several]
        click.echo(json.dumps(listing, indent=2))
        return 1 if listing else 0
    for name, several in found.items():
        if several and name:
            click.echo(f"{name}:")
        for d in several:
            click.echo(f"{SIGNS[d.kind]} {d.name}" + (f": {d.place}" if d.place else ""))
            for line in d.lines:
                click.echo(f"    {line}")
    if not any(found.values()):
        what = "have the same programs" if "" not in found else "are the same program"
        click.echo(f"{display_name(old)} and {display_name(new)} {what}", err=True)
        return 0
    return 1


def pairs(old: str, new: str) -> dict[str, tuple[IRModule, IRModule]]:
    """What is compared: two programs, or those of two folders by their names in them, of which one that is in
    one folder only is compared with an empty program (`cannot-read`).
    """
    if not (Path(old).is_dir() and Path(new).is_dir()):
        return {"": (read_module(old), read_module(new))}

    def by_name(folder: str) -> dict[str, str]:
        return {str(Path(p).relative_to(folder)): p for p in programs([folder])}

    def read(folder: Mapping[str, str], name: str) -> IRModule:
        return read_module(folder[name]) if name in folder else IRModule()

    before, after = by_name(old), by_name(new)
    return {name: (read(before, name), read(after, name)) for name in sorted({*before, *after})}


def differences(old: IRModule, new: IRModule) -> Iterator[Difference]:
    """The data types, then the definitions, in which two programs differ."""

    def types(mod: IRModule) -> dict[str, Any]:
        found = mod.type_definitions.items()
        return {v.name_hint: t for v, t in found if v.name_hint not in mod.imported}

    def definitions(mod: IRModule) -> dict[str, Any]:
        return {f"@{v.name_hint}": f for v, f in mod.functions.items() if v.name_hint not in mod.imported}

    def type_text(name: str, mod: IRModule) -> str:
        v = mod.get_global_type_var(name)
        return IRModule(type_definitions={v: mod.type_definitions[v]}).astext()

    def definition_text(name: str, mod: IRModule) -> str:
        v = mod.get_global_var(name.removeprefix("@"))
        return IRModule({v: mod.functions[v]}).astext()

    yield from compared(types(old), types(new), lambda name, is_new: type_text(name, new if is_new else old))
    yield from compared(
        definitions(old),
        definitions(new),
        lambda name, is_new: definition_text(name, new if is_new else old),
    )


def compared(
    old: Mapping[str, Any], new: Mapping[str, Any], text: Callable[[str, bool], str]
) -> Iterator[Difference]:
    """What differs between items by name; `text(name, is_new)` prints one of either program."""
    from relay.ir.equal import first_mismatch

    for name in {**old, **new}:
        if name not in old or name not in new:
            kind = "removed" if name in old else "added"
            yield Difference(name, kind, "", tuple(text(name, name in new).rstrip("\n").split("\n")))
            continue
        found = first_mismatch(old[name], new[name])
        if found is not None:
            before, after = [text(name, is_new).rstrip("\n").split("\n") for is_new in (False, True)]
            shown = list(unified_diff(before, after, lineterm="", n=2))[2:]
            yield Difference(name, "changed", str(found), tuple(shown))
