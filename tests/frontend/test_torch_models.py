"""Models of PyTorch, on the interpreter and as machine code: PyTorch says what is right."""

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch

from frontend.torch_models import MODELS, OF_TRANSFORMERS, QUICK, made
from relay.frontend import from_pytorch

pytestmark = pytest.mark.torch
PAGE = Path(__file__).parents[2] / "docs" / "pytorch.md"
LATER = [pytest.param(n, marks=pytest.mark.long) for n in MODELS if n not in QUICK]


def parts(x):
    if isinstance(x, torch.Tensor):
        return [x]
    return [p for v in x for p in parts(v)]


def furthest(found, expected) -> float:
    """The greatest difference."""
    pairs = zip(parts(found), parts(expected), strict=True)
    return max(float((a.detach() - b.detach()).abs().max()) for a, b in pairs)


@pytest.mark.parametrize("name", [*QUICK, *LATER])
def test_a_model_gives_what_pytorch_gives(name):
    if name in OF_TRANSFORMERS:
        pytest.importorskip("transformers")
    model, inputs = made(name)
    program = from_pytorch(model, inputs)
    expected = model(*inputs)
    assert furthest(program.interpret(*inputs), expected) < 1e-4
    assert furthest(program(*inputs), expected) < 1e-4


def test_the_page_lists_the_models():
    section = PAGE.read_text().partition("## Models")[2]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert [name for name, *_ in rows] == list(MODELS)
    assert all(float(cell) < 1e-4 for _, *cells in rows for cell in cells)
