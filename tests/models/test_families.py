"""Scores and tokens of each family beside those of transformers, on small random models."""

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs transformers")

import torch
import transformers

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


REFUSED = {
    "Llama, dynamic": "frequencies of the kind 'dynamic'",
    "Qwen2, windows": "windows that",
    "Qwen3 MoE": "shares of experts that",
    "Gemma 2": "scales of scores that",
    "Gemma 3": "scales of scores that",
}
"""What GGUF files cannot say of these configurations."""
SAID = {
    "Qwen3 MoE": {"norm_topk_prob": True},
    "Gemma 2": {"query_pre_attn_scalar": 8},
    "Gemma 3": {"query_pre_attn_scalar": 8},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_models_go_to_gguf_files_and_back(name, tmp_path, monkeypatch):
    if name in REFUSED:
        model_of(name).save_pretrained(tmp_path / "refused")
        with pytest.raises(relay.RelayError, match=REFUSED[name]):
            load(tmp_path / "refused").save(tmp_path / "a.gguf")
        if name not in SAID:
            return
        model, config, said = FAMILIES[name]
        monkeypatch.setitem(FAMILIES, name, (model, config, said | SAID[name]))
    model = model_of(name)
    model.save_pretrained(tmp_path / "a")
    load(tmp_path / "a").save(tmp_path / "a.gguf")
    ours = load(tmp_path / "a.gguf")
    tokens = torch.randint(3, 97, (1, 9))
    with torch.no_grad():
        expected = model(tokens).logits
    run = relay.create_executor("debug", mod=ours.module).evaluate("logits")
    assert furthest(run(ours.weights, tokens.int().numpy()), expected) < TOLERANCE
    ours.save(tmp_path / "b")
    again = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "b").eval()
    with torch.no_grad():
        assert furthest(again(tokens).logits.numpy(), expected) < TOLERANCE


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
