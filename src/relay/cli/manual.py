"""The parts of the pages of manuals: prose, facts and examples, filled to the width of a page."""

import textwrap

from relay.ir.module import IRModule

EXAMPLE = "relay> "
CONTINUED = " " * len(EXAMPLE)
"""What the further lines of an example begin with."""
LINE_CHARS = 100


def filled(text: str, width: int = LINE_CHARS, indent: str = "") -> list[str]:
    """Text filled to a width; all lines but the first are indented."""
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def prose(lines: list[str]) -> list[str]:
    """Paragraphs, filled anew."""
    paragraphs = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(["\n".join(filled(p)) for p in paragraphs]).split("\n")


def fact(title: str, what: str | list[str]) -> list[str]:
    """A title and a text, filled to the width, or the lines of a table."""
    if isinstance(what, list):
        return [f"{title}:", *[f"  {line}" for line in what]]
    lines = filled(what, LINE_CHARS - 13)
    return [f"{title + ':' if i == 0 else '':<13}{line}" for i, line in enumerate(lines)]


def examples(lines: list[str], mod: IRModule) -> list[str]:
    """The examples of a docstring, each with the type of its value; they use definitions of `mod`."""
    if not lines:
        return []
    shown = ["", "Example:"]
    typed = ""
    for line in [*lines, EXAMPLE]:
        if typed and (line.startswith(EXAMPLE) or not line):
            shown.append(f"  : {type_of_example(typed, mod)}")
            typed = ""
        if line.startswith((EXAMPLE, CONTINUED)):
            typed += line[len(EXAMPLE) :] + "\n"
        if line != EXAMPLE:
            shown.append(f"  {line}".rstrip())
    return shown


def type_of_example(text: str, mod: IRModule) -> str:
    """The type of an expression over the definitions of a module."""
    from relay.text.parser import parse_expression
    from relay.typecheck.infer import infer_expr

    return str(mod.type_of(infer_expr(parse_expression(text, mod=mod), mod)))
