"""ONNX's own tests of its operators, through the standard backend."""

import re
from importlib.metadata import version

import pytest

from frontend.known_failures import EXCEPTED, FAILURES, is_excepted
from frontend.onnx_suites import KINDS, cases, outcome
from support import ROOT

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


PARTS = 8
SAMPLE = slice(3, None, 69)
"""The tests that run as machine code each time."""
TITLES = {
    "node": "operators",
    "simple": "simple models",
    "pytorch-operator": "operators from PyTorch",
    "pytorch-converted": "modules from PyTorch",
    "real": "real models, with one number for weights",
}
PAGE = ROOT / "docs" / "onnx.md"
MARK = "<!-- generated: what follows is written by `pytest tests/frontend/test_onnx_nodes.py --bless` -->"


@pytest.mark.parametrize("part", range(PARTS))
def test_nodes_give_what_onnx_says(part: int) -> None:
    found = {c.name: outcome(c) for c in cases("node")[part::PARTS] if not is_excepted(c.name)}
    unexpected = {name: why for name, why in found.items() if why and name not in FAILURES}
    assert not unexpected
    fixed = sorted(name for name, why in found.items() if not why and name in FAILURES)
    assert not fixed, "these pass now: take them out of the list"


def test_a_sample_of_the_nodes_gives_the_same_as_machine_code() -> None:
    asked = [c for c in cases("node")[SAMPLE] if not is_excepted(c.name) and c.name not in FAILURES]
    assert {c.name: why for c in asked if (why := outcome(c, "native"))} == {}


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_nodes_give_the_same_as_machine_code(part: int) -> None:
    found = {c.name: outcome(c, "native") for c in cases("node")[part::PARTS] if not is_excepted(c.name)}
    assert {name for name, why in found.items() if why} == {n for n in found if n in FAILURES}


def table() -> str:
    """How many tests pass, and for each that does not the reason: the same ones on both executors."""
    names = [c.name for c in cases("node")]
    excepted = {p: [n for n in names if re.search(p, n)] for p in EXCEPTED}
    out = sum(map(len, excepted.values()))
    asked, failed = len(names) - out, len(FAILURES)
    share = 100 * (asked - failed) / asked
    lines = [
        f"Of the {len(names)} tests of operators in `onnx` {version('onnx')},",
        f"{out} are on texts or decode images.",
        f"Of the other {asked}, {asked - failed} pass ({share:.1f}%), and the same ones as machine code.",
        "",
        "| suite | tests | on texts or images | pass on the interpreter | pass as machine code |",
        "|---|--:|--:|--:|--:|",
        *[suite(kind) for kind in KINDS],
        "",
        "| does not pass | why |",
        "|---|---|",
        *[f"| `{name}` | {FAILURES[name]} |" for name in names if name in FAILURES],
        *[
            f"| {len(found)} tests: {pattern.replace('|', ', ')} | {EXCEPTED[pattern]} |"
            for pattern, found in excepted.items()
        ],
    ]
    return "\n".join(lines) + "\n"


def suite(kind: str) -> str:
    """A row: how many tests of a kind there are, and how many pass."""
    names = [c.name for c in cases(kind)]
    out = len([n for n in names if is_excepted(n)])
    passing = len(names) - out - len([n for n in names if n in FAILURES])
    return f"| {TITLES[kind]} | {len(names)} | {out} | {'-' if kind == 'real' else passing} | {passing} |"


def test_the_page_says_what_passes(bless: bool) -> None:
    head, mark, tail = PAGE.read_text().partition(MARK)
    assert mark
    if bless:
        tail = f"\n\n{table()}"
        PAGE.write_text(head + mark + tail)
    if version("onnx") in tail:
        assert tail == f"\n\n{table()}"


def test_every_known_failure_is_a_test() -> None:
    assert not set(FAILURES) - {c.name for c in cases("node")}
