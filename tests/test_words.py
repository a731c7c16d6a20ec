"""Names and sentences are the field's: the rules of `docs/glossary.md`, as far as a test can hold them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import relay
from support import ROOT

SOURCE = Path(relay.__file__).parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
ERROR_PAGES = sorted((SOURCE / "errors").glob("*.md"))

ODD_WORDS = re.compile(r"\b(mend|mends|mended)\b", re.IGNORECASE)
"""Words that an engineer would not use."""

SIZE_WORDS = frozenset(
    """
    BIG COUNT DEEP DEEPEST ENOUGH FAR FEW FEWEST FULL GREATEST HEAVY HIGH HIGHEST HUGE LARGE LARGEST LEAST LIGHT
    LIMIT LONG LONGEST LOW LOWEST MANY MAX MIN MOST NARROW NARROWEST NEAR SEVERAL SHALLOW SHORT SHORTEST SIZE SLOW
    SMALL SMALLEST TALL TINY WIDE WIDEST WORTH
    """.split()
)
"""Names of constants that say neither a quantity nor a unit: `MAX_IMPORT_DEPTH` does, `DEEPEST` does not."""

SIZE_WORDS_LEFT = {
    "backend": frozenset(
        """
        COUNT DEEP DEEPEST FAR FEW FEWEST HEAVY HUGE LARGE LARGEST LEAST LIMIT LONG LONGEST LOWEST MANY MOST NARROW
        NEAR SEVERAL SHALLOW SHORT SIZE SMALL WIDEST WORTH
        """.split()
    ),
    "op": frozenset("_NEAR _WIDE FEW FULL LEAST LONG TINY".split()),
    "transform": frozenset("DEEPEST LARGEST WIDE".split()),
}
"""Constants that have yet to get a name, by folder.  The list only shrinks."""


@cache
def modules() -> dict[Path, ast.Module]:
    """The syntax tree of each module, by its path below `src/relay`."""
    return {p.relative_to(SOURCE): ast.parse(p.read_text("utf-8")) for p in sorted(SOURCE.rglob("*.py"))}


def constants(tree: ast.Module) -> Iterator[str]:
    """The names that a module assigns at its top level, where they are in capitals."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and name.id.isupper():
                    yield name.id


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{i}: {line}"
        for path in paths
        for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def test_pages_use_the_words_of_engineers() -> None:
    assert lines_with(ODD_WORDS, PAGES + ERROR_PAGES) == []


def test_no_constant_is_named_by_a_bare_size_word() -> None:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, tree in modules().items():
        found[path.parts[0]] |= {name for name in constants(tree) if name.strip("_") in SIZE_WORDS}
    assert {folder: names for folder, names in found.items() if names} == SIZE_WORDS_LEFT, (
        "name a constant by its quantity and unit; take those that have such a name out of the list"
    )
