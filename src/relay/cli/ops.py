"""`relay ops [NAME]`: the operator manual, written from the operators themselves."""

import inspect
from dataclasses import MISSING, fields
from keyword import iskeyword
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin

import click

from relay.cli.explain import pages
from relay.cli.manual import EXAMPLE, examples, fact, filled, prose
from relay.cli.op_errors import errors
from relay.cli.reports import json_option, print_json
from relay.cli.terminal import fitted
from relay.diagnostic import did_you_mean, fail
from relay.ir.module import IRModule
from relay.op.attribute import DTypeName, Size, attribute_types
from relay.op.base import ANY_DTYPE, BOOLEAN, FLOATING, INTEGRAL, NUMERIC, Operator
from relay.op.places import attribute_order
from relay.op.registry import alias_of, builders, registry

SETS = {
    ANY_DTYPE: "any",
    FLOATING: "floating-point",
    INTEGRAL: "integers",
    NUMERIC: "numbers",
    BOOLEAN: "bool",
}


@click.command()
@click.argument("name", required=False)
@click.option("--search", metavar="WORDS", help="The operators on whose page all these words stand.")
@json_option
def ops(name: str | None, search: str | None, as_json: bool) -> None:
    """Show the operator manual: the page of operator NAME, or a table of the operators of group NAME.

    Without NAME the table has all operators.
    """
    names = sorted(registry)
    group = [n for n in names if name and n.rpartition(".")[0] == name]
    chosen = group if name is not None else names
    if search is not None:
        chosen = found_by(search, chosen)
    is_page = search is None and name is not None and not group
    if as_json:
        classes = [find(name)] if is_page and name is not None else [registry[n] for n in chosen]
        print_json([operator_object(cls) for cls in classes])
    elif is_page and name is not None:
        click.echo(operator_page(find(name)))
    else:
        click.echo(operator_table(chosen))


def operator_object(cls: type[Operator]) -> dict[str, str]:
    """An operator for machines."""
    return {
        "name": cls.name,
        "call": call(cls),
        "summary": first_sentence(cls),
        "page": operator_page(cls),
    }


def find(name: str) -> type[Operator]:
    """The operator of that name or alias (`unknown-operator`)."""
    cls = registry.get(alias_of.get(name, name))
    if cls is None:
        alike = [n for n in sorted(registry) if name and name in n]
        listing = f"there are {', '.join(f'`{n}`' for n in alike[:12])}{', …' if len(alike) > 12 else ''}"
        fail(
            "unknown-operator",
            f"there is no operator `{name}`",
            hint=listing
            if len(alike) > 1
            else did_you_mean(name, [*registry, *alias_of]) or "`relay ops` lists them all",
        )
    return cls


def found_by(words: str, names: list[str]) -> list[str]:
    """The operators whose name, aliases, attributes or description have all words (`unknown-operator`)."""
    wanted = words.lower().split()
    found = [n for n in names if all(w in searched_text(registry[n]) for w in wanted)]
    if not found:
        hint = did_you_mean(words, [*registry, *alias_of]) or "search for one word, or for a part of it"
        fail("unknown-operator", f"no operator's page has `{words}`", hint=hint)
    return found


def searched_text(cls: type[Operator]) -> str:
    """What a search looks through, in lower case."""
    aliases = [a for a, name in alias_of.items() if name == cls.name]
    return "\n".join([cls.name, *aliases, *attribute_types(cls), *operator_description(cls)]).lower()


# --- the table


def operator_table(names: list[str]) -> str:
    """Operators, one a line, by group: each called, and what it does."""
    groups: dict[str, list[type[Operator]]] = {}
    for name in names:
        groups.setdefault(name.rpartition(".")[0], []).append(registry[name])
    width = max([len(call(cls)) for cls in registry.values() if len(call(cls)) <= 44], default=0)
    count = f"{len(names)} operator{'s' * (len(names) > 1)}"
    lines = [f"{count}; `relay ops NAME` shows the page of one."]
    for group in sorted(groups):
        lines += ["", group or "(root)"]
        lines += [f"  {call(cls):{width}}  {first_sentence(cls)}" for cls in groups[group]]
    return fitted(lines)


def call(cls: type[Operator]) -> str:
    """The operator applied to its operands: `nn.dense(data, weight)`; `?` marks what may be left out."""
    required = len(cls.operands) - cls.optional
    names = [x if i < required else f"{x}?" for i, x in enumerate(cls.operands)]
    if cls.variadic:
        names[-1] = f"{names[-1].rstrip('?')}…"
    return f"{cls.name}({', '.join([*attribute_order(cls)[: cls.attributes_first], *names])})"


def first_sentence(cls: type[Operator]) -> str:
    """What the operator does, in a line."""
    paragraph = " ".join(operator_description(cls)).partition("  ")[0]
    return paragraph.partition(". ")[0].partition(" Source:")[0].rstrip(".")


def operator_description(cls: type[Operator]) -> list[str]:
    """The lines of the docstring."""
    return inspect.cleandoc(cls.__doc__ or "").splitlines()


# --- the page of one


def operator_page(cls: type[Operator]) -> str:
    """The whole page of one operator."""
    lines = operator_description(cls)
    start = next((i for i, line in enumerate(lines) if line.startswith(EXAMPLE)), len(lines))
    derivative = "none" if cls.derivative is None else cls.derivative.value
    facts: list[tuple[str, str | list[str]]] = [
        *types(cls),
        ("Attributes", attributes(cls) or "none"),
        ("Errors", ", ".join(errors(cls, pages())) or "none of its own"),
        ("Derivative", derivative),
        ("Fusion", cls.fusion.value),
        ("In Python", in_python(cls)),
    ]
    aliases = sorted(a for a, name in alias_of.items() if name == cls.name)
    if aliases:
        facts.append(("Also called", ", ".join(aliases)))
    shown = [line for title, what in facts for line in fact(title, what)]
    return "\n".join(
        [*heading(cls), "", *prose(lines[:start]), "", *shown, *examples(lines[start:], IRModule())]
    )


def heading(cls: type[Operator]) -> list[str]:
    """The call with its attributes and their defaults, filled to the width."""
    given = [
        f"{name}={'…' if d is MISSING else word(d)}" for name, d in defaults(cls)[cls.attributes_first :]
    ]
    between = ", " if given and cls.operands else ""
    return filled(f"{call(cls).removesuffix(')')}{between}{', '.join(given)})", indent="    ")


def types(cls: type[Operator]) -> list[tuple[str, str]]:
    """What the operands may be, and the rule for the type of the result."""
    found = [("Operands", operands(cls))]
    if cls.signature:
        found.append(("Type", cls.signature))
    elif cls.relation_name != cls.name:
        found.append(("Relation", cls.relation_name))
    found.append(("Dtypes", SETS.get(cls.dtypes) or ", ".join(sorted(cls.dtypes))))
    return found


def operands(cls: type[Operator]) -> str:
    """The operands' names, and which may be left out or repeated."""
    if not cls.operands:
        return "none"
    required = len(cls.operands) - cls.optional
    notes = ["" if i < required else " (may be left out)" for i in range(len(cls.operands))]
    if cls.variadic:
        notes[-1] = " (any number)"
    return ", ".join([f"{name}{note}" for name, note in zip(cls.operands, notes, strict=True)])


def attributes(cls: type[Operator]) -> list[str]:
    """A line for each attribute, in the order of their places in a call: its name, type and default."""
    rows = attribute_rows(cls)
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    return [f"{n:{widths[0]}}  {t:{widths[1]}}  {d}" for n, t, d in rows]


def attribute_rows(cls: type[Operator]) -> list[tuple[str, str, str]]:
    """The name of each attribute, its type, and `required` or its default, in the order of their places."""
    hints = attribute_types(cls)
    return [
        (name, spell(hints[name]), "required" if d is MISSING else f"default {word(d)}")
        for name, d in defaults(cls)
    ]


def defaults(cls: type[Operator]) -> list[tuple[str, Any]]:
    """The attributes in the order of their places in a call, each with its default, or `MISSING`."""
    found = {f.name: f.default for f in fields(cls)}  # pyright: ignore[reportArgumentType]
    return [(name, found[name]) for name in attribute_order(cls)]


def word(value: Any) -> str:
    """A default as the language writes it."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        items = [word(x) for x in cast("tuple[Any, ...]", value)]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    return repr(value)


def spell(hint: Any) -> str:
    """The type of an attribute, as the manual writes it: `int | None`, `'end' | 'size'`, `(int, …)`."""
    origin, args = get_origin(hint), get_args(hint)
    if hint == Size:
        return "size"
    if origin in (Union, UnionType):
        return " | ".join(spell(a) for a in args)
    if origin is Literal:
        return " | ".join(repr(a) for a in args)
    if origin is tuple:
        return f"({', '.join('…' if a is ... else spell(a) for a in args)})"
    if hint is DTypeName:
        return "dtype"
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))


def in_python(cls: type[Operator]) -> str:
    """The builder and its parameters: `relay.nn.dense(data, weight, units=None, out_dtype='')`."""
    parameters = inspect.signature(builders[cls.name]).parameters.values()
    shown = [str(p.replace(annotation=p.empty)) for p in parameters]
    stars = [i for i, p in enumerate(parameters) if p.kind is p.KEYWORD_ONLY]
    if stars and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
        shown.insert(stars[0], "*")
    name = f"{cls.name}_" if iskeyword(cls.name) else cls.name
    return f"relay.{name}({', '.join(shown)})"
