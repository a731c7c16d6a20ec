"""Models of torchvision and transformers by `torch.compile(model, backend="relay")`, beside eager mode."""

from importlib.util import find_spec

import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch

from frontend.torch_compile_models import MODELS, OF_TORCHVISION, OF_TRANSFORMERS, TRAINED, made
from relay.frontend import torch_compile

pytestmark = pytest.mark.torch
LONG = ("densenet121", "efficientnet_b0", "mobilenet_v3_small", "swin_t", "regnet_y_400mf", "vit_b_16")
"""Those that take longest to compile."""
TOLERANCE = 2e-5
"""How far results may be from those of eager mode, of the greatest value."""


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch_compile.forget_graphs()
    yield
    torch._dynamo.reset()


def of(package: str, name: str):
    """A small model of a package, if that is installed."""
    if find_spec(package) is None:
        pytest.skip(f"needs {package}")
    return made(name)


def distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The greatest difference, of the greatest value."""
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-12))


def check(model, inputs, result) -> None:
    """Compile a model as one graph and compare what it gives."""
    with torch.no_grad():
        found = result(torch.compile(model, backend="relay", fullgraph=True)(**inputs))
        assert distance(found, result(model(**inputs))) < TOLERANCE
    assert torch_compile.graphs().share == 1.0


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long) if n in LONG else n for n in OF_TORCHVISION]
)
def test_a_model_of_torchvision_gives_what_eager_mode_gives(name):
    check(*of("torchvision", name))


@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_a_model_of_transformers_gives_what_eager_mode_gives(name):
    check(*of("transformers", name))


def step(model, run, inputs, result) -> list[torch.Tensor]:
    """The gradients of a step of training."""
    torch.manual_seed(5)
    model.zero_grad()
    y = result(run(**inputs))
    (y * y).mean().backward()
    return [p.grad if p.grad is not None else torch.zeros_like(p) for p in model.parameters()]


@pytest.mark.parametrize("name", TRAINED)
def test_a_step_of_training_has_the_gradients_of_eager_mode(name):
    model, inputs, result = of("torchvision" if name in OF_TORCHVISION else "transformers", name)
    model.double().train()  # batch normalisation over few elements loses digits of float32
    inputs = {k: x.double() if getattr(x, "is_floating_point", bool)() else x for k, x in inputs.items()}
    before = {n: b.clone() for n, b in model.named_buffers()}
    expected = step(model, model, inputs, result)
    model.load_state_dict(before, strict=False)
    found = step(model, torch.compile(model, backend="relay"), inputs, result)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-10)
    assert torch_compile.graphs().share == 1.0
    assert len(torch_compile.graphs().records) == 2


def test_at_least_twenty_models_are_tried():
    assert len(MODELS) >= 20
    assert len(OF_TRANSFORMERS) >= 8
