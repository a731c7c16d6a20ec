"""ONNX's tests of small models, of operators as PyTorch writes them, and of real models."""

import pytest

from frontend.known_failures import is_excepted
from frontend.onnx_suites import cases, outcome

pytestmark = pytest.mark.onnx

SMALL = ("simple", "pytorch-operator", "pytorch-converted")
SAMPLE = slice(3, None, 20)
"""The tests that run as machine code each time."""


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def failures(kind: str, some: slice, executor: str) -> dict[str, str]:
    """What goes wrong with tests of a kind."""
    asked = [c for c in cases(kind)[some] if not is_excepted(c.name)]
    return {c.name: why for c in asked if (why := outcome(c, executor))}


@pytest.mark.parametrize("kind", SMALL)
def test_small_models_give_what_onnx_says(kind: str) -> None:
    assert failures(kind, slice(None), "debug") == {}


@pytest.mark.parametrize("kind", SMALL)
def test_a_sample_of_them_gives_the_same_as_machine_code(kind: str) -> None:
    assert failures(kind, SAMPLE, "native") == {}


@pytest.mark.long
@pytest.mark.parametrize("kind", [*SMALL, "real"])
def test_all_of_them_give_the_same_as_machine_code(kind: str) -> None:
    assert failures(kind, slice(None), "native") == {}
