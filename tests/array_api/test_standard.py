"""`relay.numpy` has the names and signatures of the standard, and `docs/numpy.md` says which."""

import inspect

import numpy as np
import pytest

from array_api.cases import CASES, xp
from array_api.standard import STANDARD, is_there, rows, tables, words
from support import ROOT

PAGE = ROOT / "docs" / "numpy.md"
START, END = "<!-- functions -->\n", "<!-- end of functions -->"


def test_the_tables_of_the_page_are_those_of_the_namespace(bless: bool) -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    shown, _, after = rest.partition(END)
    if bless:
        shown = tables()
        PAGE.write_text(before + START + shown + END + after, encoding="utf-8")
    assert shown == tables(), "write them with --bless"


def test_nine_in_ten_are_there() -> None:
    found = [there for *_, there, _ in rows()]
    assert found.count("yes") >= 0.9 * len(found)


ELSEWHERE = frozenset(
    words("""arange asarray empty empty_like eye from_dlpack full linspace ones zeros
    astype can_cast finfo iinfo isdtype result_type broadcast_shapes""")
)
"""Functions without arrays to draw, which tests of their own hold."""


def test_every_function_is_held_to_numpy() -> None:
    chapters = [
        c for c in STANDARD if c not in ("Constants", "Dtypes", "Inspection", "The array", "linalg", "fft")
    ]
    missing = [n for c in chapters for n in STANDARD[c].split() if n not in CASES and n not in ELSEWHERE]
    assert missing == []


NOT_FUNCTIONS = ("__version__", "Device", "linalg", "fft")


def test_the_list_is_that_of_array_api_strict() -> None:
    strict = pytest.importorskip("array_api_strict", reason="needs array-api-strict, of the test extra")
    ours = {
        n for c, names in STANDARD.items() if c not in ("The array", "linalg", "fft") for n in names.split()
    }
    theirs = {n for n in strict.__all__ if "flags" not in n.lower() and n not in NOT_FUNCTIONS}
    assert ours == theirs
    assert set(STANDARD["linalg"].split()) == {*strict.linalg.__all__, "eig", "eigvals"}
    assert set(STANDARD["fft"].split()) == set(strict.fft.__all__)


@pytest.mark.parametrize("name", [n for c, n, _, _ in rows() if is_there(c, n) and n in (*CASES, *ELSEWHERE)])
def test_signatures_are_those_of_array_api_strict(name: str) -> None:
    """Each parameter of the standard is one of ours, by position or name as there."""
    strict = pytest.importorskip("array_api_strict", reason="needs array-api-strict, of the test extra")
    theirs = [*inspect.signature(getattr(strict, name)).parameters.values()]
    ours = [*inspect.signature(getattr(xp, name)).parameters.values()]
    by_name = {p.name: p for p in ours}
    for place, p in enumerate(theirs):
        if p.kind is p.POSITIONAL_ONLY:
            assert ours[place].kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)
        elif p.kind is p.VAR_POSITIONAL:
            assert ours[place].kind is p.kind
        elif p.name not in NOT_OURS:
            found = by_name[p.name]
            assert found.kind in (p.kind, p.POSITIONAL_OR_KEYWORD)
            assert (found.default is p.empty) == (p.default is p.empty)


NOT_OURS = frozenset({"kwargs"})


def test_promotion_is_that_of_array_api_strict() -> None:
    """Where the strict namespace promotes two dtypes, it is to the dtype that ours gives."""
    strict = pytest.importorskip("array_api_strict", reason="needs array-api-strict, of the test extra")
    names = [*xp.__array_namespace_info__().dtypes()]
    for a in names:
        for b in names:
            try:
                theirs = strict.result_type(getattr(strict, a), getattr(strict, b))
            except TypeError:
                continue
            found = xp.result_type(getattr(xp, a), getattr(xp, b))
            assert found == np.dtype(str(theirs).rpartition(".")[2]), (a, b)
            made = xp.ones(2, dtype=a), xp.ones((1, 2), dtype=b)
            assert xp.where(xp.asarray(True), *made).dtype == found
