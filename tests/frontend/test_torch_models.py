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


def rows() -> dict[str, list[float]]:
    """What the table of the page says of each model."""
    section = PAGE.read_text().partition("## Models")[2]
    table = section[section.index("| model |") :].partition("\n\n")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {name: [*map(float, cells)] for name, *cells in lines}


def written(name: str, said: list[float], measured: list[float]) -> None:
    """Put what was measured into the row of a model, whose further cells another test measures."""
    before, after = ("".join(f" {x:.0e} |" for x in cells[: len(measured)]) for cells in (said, measured))
    page = PAGE.read_text()
    assert f"| {name} |{before}" in page
    PAGE.write_text(page.replace(f"| {name} |{before}", f"| {name} |{after}"))


@pytest.mark.parametrize("name", [*QUICK, *LATER])
def test_a_model_gives_what_pytorch_gives(name, bless):
    if name in OF_TRANSFORMERS:
        pytest.importorskip("transformers")
    model, inputs = made(name)
    program = from_pytorch(model, inputs)
    expected = model(*inputs)
    measured = [furthest(found, expected) for found in (program.interpret(*inputs), program(*inputs))]
    if bless:
        written(name, rows()[name], measured)
    assert max(measured) < 1e-4
    said = rows()[name]
    # Another machine rounds otherwise.
    assert all(m <= 10 * s for m, s in zip(measured, said, strict=False)), (measured, said)


def test_the_page_lists_the_models():
    assert list(rows()) == list(MODELS)
    assert all(x < 1e-4 for cells in rows().values() for x in cells)
