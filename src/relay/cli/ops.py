"""`relay ops [NAME]`: the operator manual, written from the operators themselves."""

import inspect
from dataclasses import MISSING, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click

from relay.diagnostic import did_you_mean, fail
from relay.op.base import (
    ANY_DTYPE,
    BOOLEAN,
    FLOATING,
    INTEGRAL,
    NUMERIC,
    DTypeName,
    Operator,
    alias_of,
    attribute_types,
    registry,
)

EXAMPLE = "relay>"
SETS = {
    ANY_DTYPE: "any",
    FLOATING: "floating-point",
    INTEGRAL: "integers",
    NUMERIC: "numbers",
    BOOLEAN: "bool",
}


@click.command()
@click.argument("name", required=False)
def ops(name: str | None) -> None:
    """Show the operator manual: the page of operator NAME, or a table of all operators."""
    if name is None:
        click.echo(table())
        return
    cls = registry.get(alias_of.get(name, name))
    if cls is None:
        fail(
            "unknown-operator",
            f"there is no operator `{name}`",
            hint=did_you_mean(name, [*registry, *alias_of]) or "`relay ops` lists them all",
        )
    click.echo(page(cls))


def table() -> str:
    """Every operator, one a line, by group: its call and what it does."""
    groups: dict[str, list[type[Operator]]] = {}
    for name in sorted(registry):
        groups.setdefault(name.rpartition(".")[0], []).append(registry[name])
    width = max([len(call(cls)) for cls in registry.values() if len(call(cls)) <= 44], default=0)
    lines = [f"{len(registry)} operators; `relay ops NAME` shows the page of one."]
    for group in sorted(groups):
        lines += ["", group or "(root)"]
        lines += [f"  {call(cls):{width}}  {first_sentence(cls)}" for cls in groups[group]]
    return "\n".join(lines)


def call(cls: type[Operator]) -> str:
    """The operator applied to its operands: `nn.dense(data, weight)`."""
    required = len(cls.operands) - cls.optional
    names = [x if i < required else f"{x}?" for i, x in enumerate(cls.operands)]
    if cls.variadic:
        names[-1] = f"{names[-1].rstrip('?')}…"
    return f"{cls.name}({', '.join(names)})"


def description(cls: type[Operator]) -> list[str]:
    """The lines of the docstring."""
    return inspect.cleandoc(cls.__doc__ or "").splitlines()


def first_sentence(cls: type[Operator]) -> str:
    """What the operator does, in a line."""
    paragraph = " ".join(description(cls)).partition("  ")[0]
    return paragraph.partition(". ")[0].partition(" Source:")[0].rstrip(".")


def page(cls: type[Operator]) -> str:
    """The whole page of one operator."""
    prose = description(cls)
    start = next((i for i, line in enumerate(prose) if line.lstrip().startswith(EXAMPLE)), len(prose))
    prose, example = prose[:start], prose[start:]
    while prose and not prose[-1].strip():
        prose.pop()
    lines = [call(cls), "", *prose, ""]
    if cls.signature:
        lines.append(f"Type:        {cls.signature}")
    elif cls.relation_name != cls.name:
        lines.append(f"Relation:    {cls.relation_name}")
    lines.append(f"Base types:  {SETS.get(cls.dtypes) or ', '.join(sorted(cls.dtypes))}")
    lines += attributes(cls)
    derivative = "none" if cls.derivative is None else cls.derivative.value
    lines += [f"Derivative:  {derivative}", f"Fusion:      {cls.fusion.value}"]
    aliases = sorted(a for a, name in alias_of.items() if name == cls.name)
    if aliases:
        lines.append(f"Also called: {', '.join(aliases)}")
    if example:
        lines += ["", "Example:", *[f"  {line}".rstrip() for line in example]]
    return "\n".join(lines)


def attributes(cls: type[Operator]) -> list[str]:
    """A line for each attribute: its name, type and default."""
    types = attribute_types(cls)
    rows: list[tuple[str, str, str]] = []
    for f in fields(cls):  # pyright: ignore[reportArgumentType]
        default = "required" if f.default is MISSING else f"default {f.default!r}"
        rows.append((f.name, spell(types[f.name]), default))
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    lines = [f"{n:{widths[0]}}  {t:{widths[1]}}  {d}" for n, t, d in rows]
    return ["Attributes:"] + [f"  {line}" for line in lines]


def spell(hint: Any) -> str:
    """The type of an attribute, as the manual writes it: `int | None`, `'end' | 'size'`, `(int, …)`."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " | ".join(spell(a) for a in args)
    if origin is Literal:
        return " | ".join(repr(a) for a in args)
    if origin is tuple:
        return f"({', '.join('…' if a is ... else spell(a) for a in args)})"
    if hint is DTypeName:
        return "base type"
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))
