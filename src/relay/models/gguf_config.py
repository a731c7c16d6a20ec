"""Metadata of GGUF files as `config.json` of a folder."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relay.models.gguf_settings import Metadata
from relay.models.rotary import llama3
from relay.models.settings import NO_WINDOW, Settings, unsupported

Said = dict[str, Any]
LLAMA3: Said = {
    "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0,
}  # fmt: skip
"""What the models say whose frequencies a file has as `rope_freqs`, beside their factor and first context."""
FIRST_CONTEXT = 8192
"""The tokens that they were made for first, unless it is their context by that factor."""
CLASSES = {
    "llama": "Llama", "mistral": "Mistral", "mixtral": "Mixtral", "qwen2": "Qwen2", "qwen3": "Qwen3",
    "qwen3_moe": "Qwen3Moe", "gemma": "Gemma", "gemma2": "Gemma2", "gemma3_text": "Gemma3", "phi": "Phi",
    "phi3": "Phi3", "smollm3": "SmolLM3", "gpt_neox": "GPTNeoX", "bloom": "Bloom", "mamba": "Mamba",
}  # fmt: skip
"""What classes of transformers are called, before `ForCausalLM`."""


def model_type(m: Metadata) -> str:
    """What configurations call the family of a file."""
    if m.architecture == "llama":
        return (
            "mixtral"
            if m.get("expert_count")
            else "mistral"
            if m.get("attention.sliding_window")
            else "llama"
        )
    return {"qwen3moe": "qwen3_moe", "gemma3": "gemma3_text", "phi2": "phi", "gptneox": "gpt_neox"}.get(
        m.architecture, m.architecture
    )


def config_of(values: Mapping[str, Any], tensors: Mapping[str, Any], s: Settings) -> Said:
    """The configuration of a file (`model-unsupported`)."""
    m = Metadata(values, tensors)
    kind = model_type(m)
    said = {
        "model_type": kind, "vocab_size": s.vocabulary, "hidden_size": s.width, "num_hidden_layers": s.layers,
        "num_attention_heads": s.heads, "num_key_value_heads": s.shared_heads, "head_dim": s.head_size,
        "intermediate_size": m.get("feed_forward_length"), "max_position_embeddings": s.context,
        "rms_norm_eps": s.epsilon, "hidden_act": s.activation, "torch_dtype": "float32",
        "tie_word_embeddings": "output.weight" not in tensors,
        "architectures": [f"{CLASSES[kind]}ForCausalLM" if kind in CLASSES else "GPT2LMHeadModel"],
    }  # fmt: skip
    if s.turned:
        said |= rotary_config(m, s)
    windows = {w for w in s.windows if w != NO_WINDOW}
    if windows:
        said["sliding_window"] = windows.pop()
    elif "sliding_window" in SLIDING.get(kind, ()):
        said["sliding_window"] = None
    own = FAMILIES.get(kind)
    said |= {} if own is None else own(m, s)
    for key in ("bos", "eos", "padding"):
        said[f"{key.removesuffix('ding')}_token_id"] = values.get(f"tokenizer.ggml.{key}_token_id")
    return said


SLIDING = {"mistral": ("sliding_window",), "mixtral": ("sliding_window",), "phi3": ("sliding_window",)}
"""Families whose configurations have a window unless they say that there is none."""


def rotary_config(m: Metadata, s: Settings) -> Said:
    """What is said of frequencies (`model-unsupported`)."""
    base = float(m.get("rope.freq_base", 1e4))
    found: Said = {"rope_theta": base}
    if s.turned != s.head_size:
        found["partial_rotary_factor"] = s.turned / s.head_size
    kind = m.get("rope.scaling.type", "none")
    said: Said = {}
    shared = m.tensors.get("rope_freqs.weight")
    short, long = (m.tensors.get(f"rope_factors_{k}.weight") for k in ("short", "long"))
    if shared is not None:
        said = slowed(base, np.asarray(shared), s)
    elif short is not None and long is not None:
        said = {"rope_type": "longrope", "short_factor": short.tolist(), "long_factor": long.tolist()}
    elif kind in ("linear", "yarn"):
        said = {"rope_type": kind, "factor": float(m.get("rope.scaling.factor"))}
    if not said:
        return found
    original = m.get("rope.scaling.original_context_length")
    if original is not None and kind != "linear":
        said["original_max_position_embeddings"] = original
        found |= {"original_max_position_embeddings": original} if short is not None else {}
    if m.get("rope.scaling.attn_factor") is not None:
        said["attention_factor"] = m.get("rope.scaling.attn_factor")
    return {**found, "rope_scaling": said}


def slowed(base: float, factors: np.ndarray[Any, Any], s: Settings) -> Said:
    """The configuration by which frequencies are divided by those factors (`model-unsupported`)."""
    plain, factor = base ** -(np.arange(0, s.turned, 2) / s.turned), float(np.max(factors))
    for original in (FIRST_CONTEXT, round(s.context / factor)):
        if np.allclose(plain / llama3(plain, LLAMA3, factor, original), factors, rtol=1e-3):
            return {**LLAMA3, "factor": factor, "original_max_position_embeddings": original}
    return unsupported("frequencies that no configuration says")


# --- what each family says on its own ---


def llama_config(m: Metadata, s: Settings) -> Said:
    """Llama."""
    return {"attention_bias": "blk.0.attn_q.bias" in m.tensors, "mlp_bias": "blk.0.ffn_up.bias" in m.tensors}


def experts_config(m: Metadata, s: Settings) -> Said:
    """Mixtral."""
    return {"num_local_experts": s.experts, "num_experts_per_tok": s.chosen}


def qwen_experts_config(m: Metadata, s: Settings) -> Said:
    """Qwen3 with experts."""
    size = m.get("expert_feed_forward_length", m.get("feed_forward_length"))
    return {"num_experts": s.experts, "num_experts_per_tok": s.chosen, "norm_topk_prob": s.normalised,
            "moe_intermediate_size": size}  # fmt: skip


def gemma2_config(m: Metadata, s: Settings) -> Said:
    """Gemma 2 and 3."""
    scale = s.scale or s.head_size**-0.5
    found = {"query_pre_attn_scalar": round(scale**-2), "final_logit_softcapping": s.cap,
             "attn_logit_softcapping": s.head_cap, "hidden_activation": s.activation}  # fmt: skip
    kinds = ["full_attention" if w == NO_WINDOW else "sliding_attention" for w in s.windows]
    return found | {"layer_types": kinds} if kinds else found


def gemma3_config(m: Metadata, s: Settings) -> Said:
    """Gemma 3."""
    return {**gemma2_config(m, s), "rope_local_base_freq": float(m.get("rope.freq_base_swa", 1e4))}


def gpt2_config(m: Metadata, s: Settings) -> Said:
    """GPT-2."""
    return {"n_embd": s.width, "n_layer": s.layers, "n_head": s.heads, "n_positions": s.context,
            "n_inner": m.get("feed_forward_length"), "layer_norm_epsilon": s.epsilon,
            "activation_function": s.activation}  # fmt: skip


def neox_config(m: Metadata, s: Settings) -> Said:
    """GPT-NeoX."""
    return {"rotary_pct": s.turned / s.head_size, "layer_norm_eps": s.epsilon,
            "use_parallel_residual": s.order == "AtOnce"}  # fmt: skip


def mamba_config(m: Metadata, s: Settings) -> Said:
    """Mamba."""
    inner = m.one("ssm.inner_size")
    return {"intermediate_size": inner, "expand": inner // s.width, "state_size": m.one("ssm.state_size"),
            "conv_kernel": m.one("ssm.conv_kernel"), "time_step_rank": m.one("ssm.time_step_rank"),
            "layer_norm_epsilon": s.epsilon}  # fmt: skip


FAMILIES: Mapping[str, Callable[[Metadata, Settings], Said]] = {
    "llama": llama_config, "mixtral": experts_config, "qwen3_moe": qwen_experts_config,
    "gemma": lambda _, s: {"hidden_activation": s.activation}, "gemma2": gemma2_config,
    "gemma3_text": gemma3_config, "phi": lambda _, s: {"layer_norm_eps": s.epsilon}, "gpt2": gpt2_config,
    "gpt_neox": neox_config,
    "bloom": lambda _, s: {"n_layer": s.layers, "n_head": s.heads, "layer_norm_epsilon": s.epsilon},
    "mamba": mamba_config,
}  # fmt: skip
"""By `model_type`."""
