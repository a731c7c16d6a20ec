"""All rules on a document, and their edits on its text."""

from collections.abc import Callable, Collection, Sequence

from relay.diagnostic import RelayError
from relay.lint import expressions as expressions  # registers its rules
from relay.lint import names as names  # the same
from relay.lint import sums as sums  # the same
from relay.lint.finding import RULES, Edit, Finding
from relay.lsp.index import Document

ROUNDS = 20
"""How often edits are made: one may make another possible."""


def findings(document: Document, chosen: Collection[str]) -> list[Finding]:
    """What rules find in a text without errors, in its order; warnings of the compiler are among it."""
    if any(d.severity == "error" for d in document.diagnostics):
        return []
    found = [Finding(d) for d in document.diagnostics]
    found += [f for name in chosen for f in RULES[name].find(document)]
    return sorted(found, key=lambda f: f.diagnostic.span.start if f.diagnostic.span is not None else -1)


def default_findings(document: Document) -> list[Finding]:
    """What the default rules find, without the warnings of the compiler."""
    own = [r.name for r in RULES.values() if r.is_default]
    return [f for f in findings(document, own) if f.diagnostic.code in RULES]


def fixed(
    text: str, check: Callable[[str], Document], chosen: Collection[str], formatted: Callable[[str], str]
) -> tuple[str, int]:
    """The text with all edits made, in the canonical form, and how many there were.

    An edit that would make the program wrong is not made.
    """
    count = 0
    for _ in range(ROUNDS):
        edits = [f.edit for f in findings(check(text), chosen) if f.edit is not None]
        made = apart(edits)
        new = edited(text, made)
        if made and _has_errors(check(new)):
            made = [e for e in made if not _has_errors(check(edited(text, [e])))][:1]
            new = edited(text, made)
        if not made:
            break
        count += len(made)
        text = new
    try:
        return (formatted(text) if count else text), count
    except RelayError:
        return text, count


def apart(edits: Sequence[Edit]) -> list[Edit]:
    """Edits that do not touch each other, from the first on."""
    found: list[Edit] = []
    for edit in sorted(edits, key=lambda e: (e.start, -e.end)):
        if not found or edit.start >= found[-1].end:
            found.append(edit)
    return found


def edited(text: str, edits: Sequence[Edit]) -> str:
    """A text with edits made that do not touch each other."""
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _has_errors(document: Document) -> bool:
    return any(d.severity == "error" for d in document.diagnostics)
