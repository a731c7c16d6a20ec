"""Small random models of transformers, of each family."""

from typing import Any

import torch
import transformers as T

SMALL = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 128, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
}  # fmt: skip
NEOX = {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
GEMMA = {"head_dim": 8, "sliding_window": 5, "query_pre_attn_scalar": 16}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip
LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [2.0, 3.0, 4.0, 5.0]}
ENDS = {"bos_token_id": 1, "eos_token_id": 2}

FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Llama": ("Llama", "LlamaConfig", SMALL),
    "Llama with biases": ("Llama", "LlamaConfig", {**SMALL, "attention_bias": True, "mlp_bias": True}),
    "Llama 3": ("Llama", "LlamaConfig", {**SMALL, "rope_scaling": LLAMA3}),
    "Llama, linear": ("Llama", "LlamaConfig", {**SMALL, "rope_scaling": {"rope_type": "linear",
    "factor": 4.0}}),
    "Llama, dynamic": (
        "Llama", "LlamaConfig",
        {**SMALL, "max_position_embeddings": 16, "rope_scaling": {"rope_type": "dynamic", "factor": 4.0}},
    ),
    "Llama, yarn": ("Llama", "LlamaConfig", {**SMALL, "rope_scaling": YARN}),
    "Qwen2": ("Qwen2", "Qwen2Config", SMALL),
    "Qwen2, windows": (
        "Qwen2", "Qwen2Config", {**SMALL, "use_sliding_window": True, "sliding_window": 5,
        "max_window_layers": 1},
    ),
    "Qwen3": ("Qwen3", "Qwen3Config", {**SMALL, "head_dim": 16}),
    "Qwen3 MoE": (
        "Qwen3Moe", "Qwen3MoeConfig",
        {**SMALL, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24},
    ),
    "Mistral": ("Mistral", "MistralConfig", {**SMALL, "sliding_window": 5, "head_dim": 8}),
    "Mixtral": ("Mixtral", "MixtralConfig", {**SMALL, "head_dim": 8, "num_local_experts": 4}),
    "Gemma": ("Gemma", "GemmaConfig", {**SMALL, "head_dim": 8}),
    "Gemma 2": ("Gemma2", "Gemma2Config", {**SMALL, **GEMMA}),
    "Gemma 3": ("Gemma3", "Gemma3TextConfig", {**SMALL, **GEMMA, "num_hidden_layers": 7}),
    "Phi": ("Phi", "PhiConfig", SMALL),
    "Phi-3": ("Phi3", "Phi3Config", {**SMALL, "sliding_window": 5}),
    "Phi-3, longrope": ("Phi3", "Phi3Config", {**SMALL, "original_max_position_embeddings": 16,
    "rope_scaling": LONG}),
    "SmolLM3": ("SmolLM3", "SmolLM3Config", {**SMALL, "num_hidden_layers": 5}),
    "GPT-2": (
        "GPT2LMHeadModel", "GPT2Config",
        {"vocab_size": 97, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128, **ENDS},
    ),
    "GPT-NeoX": ("GPTNeoX", "GPTNeoXConfig", NEOX),
    "GPT-NeoX, in turn": ("GPTNeoX", "GPTNeoXConfig", {**NEOX, "use_parallel_residual": False}),
    "Mamba": ("Mamba", "MambaConfig", {"vocab_size": 97, "hidden_size": 32, "num_hidden_layers": 3,
    "state_size": 4}),
    "BLOOM": ("Bloom", "BloomConfig", {"vocab_size": 97, "hidden_size": 36, "n_layer": 3, "n_head": 6}),
}  # fmt: skip


def model_of(name: str) -> Any:
    """A model of a family with random weights, biases and norms included."""
    model, config, said = FAMILIES[name]
    torch.manual_seed(len(name))
    kind = getattr(T, model if model.endswith("Model") else f"{model}ForCausalLM")
    made = kind(getattr(T, config)(**said)).eval()
    with torch.no_grad():
        for p in made.parameters():
            noise = torch.randn_like(p)
            p.copy_(p + 0.2 * noise if p.ndim == 1 else noise / p.shape[-1] ** 0.5)
    return made
