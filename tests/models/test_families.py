"""Scores and tokens of each family beside those of transformers, on small random models."""

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs transformers")

import torch

import relay
from models.families import FAMILIES, model_of
from relay.models import load

pytestmark = pytest.mark.torch

COMPILED = (
    "Llama", "Llama, yarn", "Llama, dynamic", "Qwen2", "Qwen3", "Mixtral", "Gemma 2", "Gemma 3", "Phi",
    "Phi-3, longrope", "GPT-2", "GPT-NeoX", "BLOOM",
)  # fmt: skip
RINGS = ("Mistral", "Gemma 3", "Phi-3")
"""Those whose layers have windows."""
STEPS = 64
TOLERANCE = 1e-4
"""Of the scale of scores."""


def furthest(found, expected) -> float:
    expected = np.asarray(expected)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_are_those_of_transformers(name, tmp_path):
    model = model_of(name)
    model.save_pretrained(tmp_path)
    tokens = torch.randint(3, 97, (2, 24))
    ours = load(tmp_path)
    found = relay.create_executor("debug", mod=ours.module).evaluate("logits")(
        ours.weights, tokens.int().numpy()
    )
    with torch.no_grad():
        assert furthest(found, model(tokens).logits) < TOLERANCE


@pytest.mark.parametrize(
    ("name", "cache"), [*[(n, "whole") for n in COMPILED], *[(n, "ring") for n in RINGS]]
)
def test_greedy_tokens_are_those_of_transformers(name, cache, tmp_path):
    """Both step by step, each with a cache of its own."""
    model = model_of(name)
    model.save_pretrained(tmp_path)
    ours = load(tmp_path, cache=cache)
    tokens = torch.randint(3, 97, (1, 7))
    scores, cache = ours.step(tokens.numpy(), ours.cache(1, 7 + STEPS), 0)
    with torch.no_grad():
        theirs = model(tokens, use_cache=True)
    ties = 0
    for i in range(STEPS):
        expected = theirs.logits[:, -1].numpy()
        assert furthest(scores, expected) < TOLERANCE
        second, best = np.sort(expected[0])[-2:]
        if best - second > TOLERANCE * np.abs(expected).max():
            assert scores.argmax() == expected.argmax()
        else:
            ties += 1
        token = int(expected.argmax())
        scores, cache = ours.step([[token]], cache, 7 + i)
        with torch.no_grad():
            given = {"past_key_values": theirs.past_key_values, "use_cache": True}
            theirs = model(torch.tensor([[token]]), **given)
    assert ties < STEPS // 4
