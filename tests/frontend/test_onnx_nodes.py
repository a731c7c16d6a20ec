"""ONNX's own tests of its operators, through the standard backend."""

import re
import warnings
from functools import cache
from importlib.metadata import version
from typing import Any

import pytest

from frontend.known_failures import EXCEPTED, FAILURES
from support import ROOT

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


PARTS = 8
SAMPLE = slice(3, None, 69)
"""The tests that run as machine code each time."""
PAGE = ROOT / "docs" / "onnx.md"
MARK = "<!-- generated: what follows is written by `pytest tests/frontend/test_onnx_nodes.py --bless` -->"


@cache
def cases() -> list[Any]:
    """The tests that come with the package."""
    loader = pytest.importorskip("onnx.backend.test.loader")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(loader.load_model_tests(kind="node"))


def is_excepted(name: str) -> bool:
    """Whether a test is on images in files or on texts."""
    return any(re.search(pattern, name) for pattern in EXCEPTED)


def outcome(case: Any, executor: str = "debug") -> str:
    """What went wrong with a test, in a line; nothing if it passes."""
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.runner import Runner

    from relay.frontend.onnx.backend import prepare

    def plain(x: Any) -> Any:
        return numpy_helper.to_array(x) if isinstance(x, TensorProto) else x

    try:
        ready = prepare(case.model, "CPU", executor)
        for inputs, expected in case.data_sets:
            found = ready.run([plain(x) for x in inputs])
            Runner.assert_similar_outputs([plain(x) for x in expected], list(found), case.rtol, case.atol)
    except Exception as error:  # whatever it is, the test has failed
        return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    return ""


@pytest.mark.parametrize("part", range(PARTS))
def test_nodes_give_what_onnx_says(part: int) -> None:
    found = {c.name: outcome(c) for c in cases()[part::PARTS] if not is_excepted(c.name)}
    unexpected = {name: why for name, why in found.items() if why and name not in FAILURES}
    assert not unexpected
    mended = sorted(name for name, why in found.items() if not why and name in FAILURES)
    assert not mended, "these pass now: take them out of the list"


def test_a_sample_of_the_nodes_gives_the_same_as_machine_code() -> None:
    asked = [c for c in cases()[SAMPLE] if not is_excepted(c.name) and c.name not in FAILURES]
    assert {c.name: why for c in asked if (why := outcome(c, "native"))} == {}


def table() -> str:
    """How many tests pass, and for each that does not the reason."""
    names = [c.name for c in cases()]
    excepted = {p: [n for n in names if re.search(p, n)] for p in EXCEPTED}
    out = sum(map(len, excepted.values()))
    asked, failed = len(names) - out, len(FAILURES)
    share = 100 * (asked - failed) / asked
    lines = [
        f"Of the {len(names)} tests of operators in `onnx` {version('onnx')},",
        f"{out} are on texts or decode images.",
        f"Of the other {asked}, {asked - failed} pass ({share:.1f}%).",
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


def test_the_page_says_what_passes(bless: bool) -> None:
    head, mark, tail = PAGE.read_text().partition(MARK)
    assert mark
    if bless:
        tail = f"\n\n{table()}"
        PAGE.write_text(head + mark + tail)
    if version("onnx") in tail:
        assert tail == f"\n\n{table()}"


def test_every_known_failure_is_a_test() -> None:
    assert not set(FAILURES) - {c.name for c in cases()}
