"""Names of many nodes in a message: how many there are, and the first of them."""

from collections.abc import Sequence
from textwrap import fill

MAX_NAMED = 3
"""The most names in a message; a report has all of them."""
REPORT_COLUMNS = 100
"""The width of the lines of a report."""
ALL_NAMES = "`relay import MODEL --report` names all nodes"


def users(nodes: Sequence[str]) -> str:
    """Which nodes use something: `a`, `a and b use`, or how many and the first."""
    quoted = [f"`{n}`" for n in nodes[:MAX_NAMED]]
    if len(nodes) == 1:
        return f"{quoted[0]} uses"
    if len(nodes) <= MAX_NAMED:
        return f"{', '.join(quoted)} use"
    return f"{len(nodes)} nodes use ({', '.join(quoted)}, …)"


def first_of(names: Sequence[str]) -> str:
    """Names, of many the first and how many there are."""
    quoted = [f"`{n}`" for n in names[:MAX_NAMED]]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(quoted) + more


def paragraph(nodes: Sequence[str]) -> str:
    """All names, in indented lines."""
    indent = "  "
    return fill(
        ", ".join(nodes), REPORT_COLUMNS, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
