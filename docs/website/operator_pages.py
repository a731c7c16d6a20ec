"""The manual of the operators: a page for each, what `relay ops NAME` shows, and a table of all."""

import re
import sys
from collections.abc import Iterator, Mapping

from relay.cli.explain import pages
from relay.cli.manual import EXAMPLE, examples
from relay.cli.op_errors import errors
from relay.cli.ops import (
    attribute_rows,
    call,
    first_sentence,
    heading,
    in_python,
    operator_description,
    types,
)
from relay.ir.module import IRModule
from relay.op.base import Operator
from relay.op.registry import alias_of, registry

FOLDER = "operators/"
LONGEST_TITLE = 50
"""Characters of a title; what is longer ends at its first comma."""
ORPHAN = "---\norphan: true\n---"
"""A page that is reached from a table, not from the contents: hundreds in these would slow the build."""
ABOUT = """\
# Operators

There are {count} operators. Each has a page with its operands, types and attributes, its derivative, the
errors that it reports, and an example; `relay ops NAME` prints the same in a terminal. How each is
differentiated is on the page of [derivatives](derivatives.md), what `vmap` makes of it among the
[batching rules](batching-rules.md).

"""


def operator_pages() -> Iterator[tuple[str, str]]:
    """The pages, by their paths in the site."""
    groups: dict[str, list[type[Operator]]] = {}
    for name in sorted(registry):
        groups.setdefault(group(name), []).append(registry[name])
    families = sorted(groups, key=lambda f: (not f.startswith("relay."), -len(groups[f]), f))
    yield (
        "operators.md",
        ABOUT.format(count=len(registry)) + "\n".join([table(f, groups[f]) for f in families]),
    )
    codes = pages()
    for name in sorted(registry):
        yield f"{FOLDER}{name}.md", operator_page(registry[name], codes)


def group(name: str) -> str:
    """The family, or the module where there is none: `nn`, or `relay.op.trigonometry`."""
    return name.rpartition(".")[0] or registry[name].__module__


def title(family: str) -> str:
    """What a reader looks for: the name of a family, or the first sentence of a module."""
    if not family.startswith("relay."):
        return f"`{family}`"
    about = (sys.modules[family].__doc__ or "").partition("\n")[0]
    sentence = about.partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= LONGEST_TITLE else re.split(r"[:;,] ", sentence)[0]


def table(family: str, classes: list[type[Operator]]) -> str:
    """The operators of a family, each with what it computes."""
    lines = [f"## {title(family)}", "", "| operator | what it computes |", "|---|---|"]
    lines += [f"| [`{call(c)}`]({FOLDER}{c.name}.md) | {cell(first_sentence(c))} |" for c in classes]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    """A text in a table, where a bar would end it."""
    return text.replace("|", "\\|")


def operator_page(cls: type[Operator], codes: Mapping[str, str]) -> str:
    """The page of one operator; `codes` has the pages of errors."""
    about = operator_description(cls)
    start = next((i for i, line in enumerate(about) if line.startswith(EXAMPLE)), len(about))
    parts = [
        ORPHAN,
        "[Operators](../operators.md)",
        f"# {cls.name}",
        block("relay", heading(cls)),
        "\n".join(about[:start]).strip(),
    ]
    parts += [f"**{name}:** {code(what)}" for name, what in types(cls)]
    rows = attribute_rows(cls)
    if rows:
        head = "| attribute | type | default |\n|---|---|---|\n"
        lines = [f"| `{n}` | `{cell(t)}` | {cell(d.removeprefix('default '))} |" for n, t, d in rows]
        parts.append(head + "\n".join(lines))
    found = errors(cls, codes)
    shown = ", ".join([f"[`{e}`](../errors/{e}.md)" for e in found]) or "none of its own"
    derivative = "none" if cls.derivative is None else cls.derivative.value
    parts += [
        f"**Errors:** {shown}",
        f"**Derivative:** {derivative}",
        f"**Fusion:** {cls.fusion.value}",
    ]
    aliases = sorted(a for a, name in alias_of.items() if name == cls.name)
    if aliases:
        parts.append(f"**Also called:** {', '.join([f'`{a}`' for a in aliases])}")
    example = examples(about[start:], IRModule())[2:]
    if example:
        parts += ["## Example", block("text", [line.removeprefix("  ") for line in example])]
    parts += ["## In Python", "```{py:function} " + in_python(cls) + "\n:no-contents-entry:\n```"]
    return "\n\n".join(parts) + "\n"


def code(what: str | list[str]) -> str:
    """A fact of the manual, its rules and names as code."""
    text = what if isinstance(what, str) else " ".join(what)
    return f"`{text}`" if any(c in text for c in "([<-") and "may be" not in text else text


def block(language: str, lines: list[str]) -> str:
    """A fenced block."""
    return "\n".join([f"```{language}", *lines, "```"])
