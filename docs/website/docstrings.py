"""Docstrings, which are Markdown in this project, as the reStructuredText that autodoc reads."""

import re
from itertools import groupby
from typing import Any

SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)
MARKUP = re.compile(r"([\\*|])|(?<=\w)_(?=\W|$)")
TYPED = (">>> ", "relay> ", "$ ")
"""What examples begin with."""


def on_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """The event of autodoc: the lines of a docstring are replaced."""
    lines[:] = restructured(lines)


def restructured(lines: list[str]) -> list[str]:
    """The lines as reStructuredText: code in backticks, lists, indented code, examples as typed."""
    found: list[str] = []
    for is_blank, group in groupby(lines, key=lambda line: not line.strip()):
        part = list(group)
        if is_blank:
            found.append("")
        elif part[0].startswith((*TYPED, "    ")):
            found += ["::", "", *[f"   {line}" for line in part]]
        else:
            found += prose(part)
    return [*found, ""]


def prose(paragraph: list[str]) -> list[str]:
    """A paragraph, and the list that may follow on it."""
    start = next((i for i, line in enumerate(paragraph) if line.startswith("- ")), len(paragraph))
    between = [""] if 0 < start < len(paragraph) else []
    text = "\n".join([*paragraph[:start], *between, *paragraph[start:]])
    parts = SPAN.split(text)
    shown = [escaped(parts[0])]
    for code, after in zip(parts[2::3], parts[3::3], strict=True):
        shown += [rf"\ ``{' '.join(code.split())}``\ ", escaped(after)]
    return "".join(shown).splitlines()


def escaped(text: str) -> str:
    """Text whose stars, bars and underscores mean themselves."""
    return MARKUP.sub(lambda m: f"\\{m[0]}", text)
