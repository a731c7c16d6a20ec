"""Names and sentences are the field's: the rules of `docs/glossary.md`, as far as a test can hold them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import relay
from support import ROOT

SOURCE = Path(relay.__file__).parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
SOURCES = sorted(SOURCE.rglob("*.py"))
ERROR_PAGES = sorted((SOURCE / "errors").glob("*.md"))

ODD_WORDS = re.compile(r"\b(mend|mends|mended)\b", re.IGNORECASE)
"""Words that an engineer would not use."""


NEGATED_NOUN = re.compile(
    r"(is|are) no (?<!\wis no )(?<!\ware no )(?<!\b[Tt]here is no )(?<!\b[Tt]here are no )"
    r"(?!(longer|less|more|greater|trouble)\b)[a-z`]"
)
"""`x is no tensor`, for `x is not a tensor`; what may not stand before is looked at behind the rare words."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SIZE_WORDS = words("""
    BIG COUNT DEEP DEEPEST ENOUGH FAR FEW FEWEST FULL GREATEST HEAVY HIGH HIGHEST HUGE LARGE LARGEST LEAST
    LIGHT LIMIT LONG LONGEST LOW LOWEST MANY MAX MIN MOST NARROW NARROWEST NEAR SEVERAL SHALLOW SHORT
    SHORTEST SIZE SLOW SMALL SMALLEST TALL TINY WIDE WIDEST WORTH
""")
"""Names of constants that say neither a quantity nor a unit: `MAX_IMPORT_DEPTH` does, `DEEPEST` does not."""


PER_WORKLOAD = frozenset(["get_net", "get_workload"])
"""What each module of `relay.testing` that holds a network calls the functions that make it."""


class Names(NamedTuple):
    """What a module is read for here; all trees at once would cost each collection of garbage after them."""

    constants: list[str]
    functions: list[str]
    """Those at its top level."""
    repetitions: list[int]
    """Lines of what has a docstring that begins with "The same"."""


@cache
def modules() -> dict[Path, Names]:
    """The names of each module, by its path below `src/relay`."""
    return {p.relative_to(SOURCE): names_of(ast.parse(p.read_text("utf-8"))) for p in SOURCES}


def names_of(tree: ast.Module) -> Names:
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    repetitions = [
        node.lineno if hasattr(node, "lineno") else 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and (ast.get_docstring(node) or "").startswith("The same")
    ]
    return Names(list(constants(tree)), functions, repetitions)


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
        if pattern.search(text := path.read_text(encoding="utf-8"))
        for i, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def test_pages_use_the_words_of_engineers() -> None:
    assert lines_with(ODD_WORDS, PAGES + ERROR_PAGES) == []


def test_what_something_is_not_is_said_plainly() -> None:
    assert lines_with(NEGATED_NOUN, PAGES + ERROR_PAGES + SOURCES) == [], "write `is not a …`"


def test_no_constant_is_named_by_a_bare_size_word() -> None:
    found: set[str] = set()
    for path, module in modules().items():
        found |= {f"{path.parts[0]}: {name}" for name in module.constants if name.strip("_") in SIZE_WORDS}
    assert sorted(found) == [], "name a constant by its quantity and unit"


def test_no_docstring_begins_with_the_same() -> None:
    found = [f"{path}:{line}" for path, module in modules().items() for line in module.repetitions]
    assert found == [], "say what it is or does, without the docstring before it"


def package_of(path: Path) -> str:
    """The folder in which a function name has one meaning: one below `relay`, or a room of a large one."""
    rooms = path.parts[:-1]
    return "/".join(rooms if rooms[:1] in (("backend",), ("frontend",)) else rooms[:1])


def test_a_function_name_has_one_meaning_in_a_package() -> None:
    defined: defaultdict[tuple[str, str], set[Path]] = defaultdict(set)
    for path, module in modules().items():
        for name in module.functions:
            if not name.startswith("__"):
                defined[package_of(path), name].add(path)
    found: set[str] = set()
    for (package, name), paths in defined.items():
        if len(paths) > 1 and not (package == "testing" and name in PER_WORKLOAD):
            found.add(f"{package.partition('/')[0]}: {name}")
    assert not found, "name a function by what it does"
