"""Configurations of Hugging Face folders: `config.json` as settings, and the names of tensors."""

from collections.abc import Callable, Mapping
from math import log2, sqrt
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.models.rotary import rotation
from relay.models.settings import NO_WINDOW, Settings, unsupported
from relay.models.values import made

Config = Mapping[str, Any]
Said = dict[str, Any]


def settings(config: Config) -> Settings:
    """The settings that a configuration says (`model-unsupported`, `model-file`)."""
    kind = config.get("model_type")
    family = FAMILIES.get(str(kind))
    if family is None:
        unsupported(f"the model type {kind!r}")
    try:
        return Settings(**{**common(config), **family(config)})
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        fail("model-file", f"the configuration does not say what a {kind} needs: {error}",
             hint="fetch `config.json` again")  # fmt: skip


def first(config: Config, *names: str, default: Any = None) -> Any:
    """The first that a configuration says of values by these names."""
    return next((config[n] for n in names if config.get(n) is not None), default)


def common(c: Config) -> Said:
    """What most configurations say in the same way."""
    width, heads = (
        int(first(c, "hidden_size", "n_embd")),
        int(first(c, "num_attention_heads", "n_head", default=1)),
    )
    layers = int(first(c, "num_hidden_layers", "n_layer"))
    size = int(first(c, "head_dim", default=width // heads))
    context = int(first(c, "max_position_embeddings", "n_positions", default=2048))
    said: Said = {
        "vocabulary": int(c["vocab_size"]), "width": width, "layers": layers, "heads": heads,
        "shared_heads": int(first(c, "num_key_value_heads", default=heads)), "head_size": size,
        "context": context, "positions": [made("Unordered")] * layers,
        "epsilon": float(first(c, "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", default=1e-5)),
        "activation": first(c, "hidden_activation", "hidden_act", "activation_function", default="silu"),
    }  # fmt: skip
    return said


def turned(c: Config, said: Mapping[str, Any] | None = None, share: float = 1.0) -> Said:
    """Rotary embeddings, the same in all layers."""
    all_ = common(c)
    found = rope(c) if said is None else said
    size = int(all_["head_size"] * float(first(found, "partial_rotary_factor", default=share)))
    turn = rotation(
        found, size, all_["context"], float(first(c, "rope_theta", "rotary_emb_base", default=10000))
    )
    return {"positions": [made("Rotary", turn)] * all_["layers"], "turned": size}


def rope(c: Config) -> Said:
    """Parameters of rotary embeddings, by their old names or by their new ones."""
    found: Said = {**(c.get("rope_scaling") or {}), **(c.get("rope_parameters") or {})}
    for name in ("original_max_position_embeddings", "partial_rotary_factor", "rope_theta"):
        if name not in found and c.get(name) is not None:
            found[name] = c[name]
    return found


def windowed(c: Config, kind: str = "sliding_attention") -> Said:
    """The windows of layers, by the kinds of these."""
    window, kinds = c.get("sliding_window"), c.get("layer_types")
    layers = common(c)["layers"]
    if window is None or c.get("use_sliding_window") is False:
        return {}
    every: list[Any] = [kind] * layers if kinds is None else list(kinds)
    return {"windows": [int(window) if k == kind else NO_WINDOW for k in every]}


def llama(c: Config) -> Said:
    """Llama, Mistral."""
    return {**turned(c), **windowed(c)}


def qwen2(c: Config) -> Said:
    """Qwen2 and Qwen3; layers from `max_window_layers` on have a window."""
    if not c.get("use_sliding_window"):
        return turned(c)
    if "layer_types" not in c:
        most, layers = int(c["max_window_layers"]), common(c)["layers"]
        kinds = ["sliding_attention" if i >= most else "full_attention" for i in range(layers)]
        return {**turned(c), **windowed({**c, "layer_types": kinds})}
    return {**turned(c), **windowed(c)}


def mixtral(c: Config) -> Said:
    """Mixtral."""
    found = {"experts": int(c["num_local_experts"]), "chosen": int(c["num_experts_per_tok"])}
    return {**llama(c), **found}


def qwen_experts(c: Config) -> Said:
    """Qwen3 with experts."""
    if c.get("mlp_only_layers") or int(c.get("decoder_sparse_step", 1)) != 1:
        unsupported("experts in some of its layers only")
    chosen = int(c["num_experts_per_tok"])
    return {**qwen2(c), "experts": int(first(c, "num_experts", "num_local_experts")), "chosen": chosen,
            "normalised": bool(c.get("norm_topk_prob", False))}  # fmt: skip


def gemma(c: Config) -> Said:
    """Gemma, and what its successors have of it."""
    width = common(c)["width"]
    activation = first(c, "hidden_activation", default="gelu_pytorch_tanh")
    return {
        **turned(c),
        "norm": "OffsetRootMeanSquare",
        "embedding_scale": sqrt(width),
        "activation": activation,
    }


def cap(said: Any) -> float | None:
    """Where scores are capped; None for a model that caps none (`TypeError`, `ValueError`)."""
    return None if said is None else float(said)


def gemma2(c: Config) -> Said:
    """Gemma 2: every second layer has a window."""
    layers = common(c)["layers"]
    kinds = c.get("layer_types") or [
        "full_attention" if i % 2 else "sliding_attention" for i in range(layers)
    ]
    return {
        **gemma(c), **windowed({**c, "layer_types": kinds}),
        "scale": float(c["query_pre_attn_scalar"]) ** -0.5,
        "cap": cap(c.get("final_logit_softcapping")), "head_cap": cap(c.get("attn_logit_softcapping")),
    }  # fmt: skip


def gemma3(c: Config) -> Said:
    """Gemma 3: layers with a window have frequencies of their own."""
    all_ = common(c)
    layers, size, context = all_["layers"], all_["head_size"], all_["context"]
    every = int(first(c, "sliding_window_pattern", "_sliding_window_pattern", default=6))
    kinds = c.get("layer_types") or [
        "sliding_attention" if (i + 1) % every else "full_attention" for i in range(layers)
    ]
    said: Said = dict(c.get("rope_parameters") or {})
    if "full_attention" not in said:
        said = {
            "full_attention": {"rope_theta": c.get("rope_theta", 1e6), **(c.get("rope_scaling") or {})},
            "sliding_attention": {"rope_theta": c.get("rope_local_base_freq", 1e4)},
        }
    turns = {kind: made("Rotary", rotation(p, size, context)) for kind, p in said.items()}
    return {**gemma2({**c, "layer_types": kinds}), "positions": [turns[k] for k in kinds], "turned": size}


def phi(c: Config) -> Said:
    """Phi 1 and 2: attention and network read the same."""
    if c.get("qk_layernorm"):
        unsupported("norms of whole queries")
    return {**turned(c, share=0.5), "norm": "Standard", "is_gated": False, "order": "AtOnce"}


def phi3(c: Config) -> Said:
    """Phi 3 and 4."""
    return {**turned(c), **windowed(c)}


def smollm3(c: Config) -> Said:
    """SmolLM3: every fourth layer does not know the order of tokens."""
    layers = common(c)["layers"]
    every = int(first(c, "no_rope_layer_interval", default=4))
    turns = c.get("no_rope_layers") or [int((i + 1) % every != 0) for i in range(layers)]
    found = turned(c)
    positions = [
        p if is_turned else made("Unordered") for p, is_turned in zip(found["positions"], turns, strict=True)
    ]
    return {**found, **windowed(c), "positions": positions}


def gpt2(c: Config) -> Said:
    """GPT-2."""
    if not c.get("scale_attn_weights", True) or c.get("scale_attn_by_inverse_layer_idx"):
        unsupported("scores that are scaled in another way")
    return {"norm": "Standard", "is_gated": False, "inputs": "Joined"}


def neox(c: Config) -> Said:
    """GPT-NeoX."""
    order = "AtOnce" if c.get("use_parallel_residual", True) else "InTurn"
    share = float(first(c, "rotary_pct", default=0.25))
    return {
        **turned(c, share=share),
        "norm": "Standard",
        "is_gated": False,
        "order": order,
        "inputs": "Woven",
    }


def bloom(c: Config) -> Said:
    """BLOOM."""
    if c.get("apply_residual_connection_post_layernorm"):
        unsupported("residual connections behind norms")
    found = {"norm": "Standard", "is_gated": False, "inputs": "Woven", "activation": "gelu_new"}
    return {**found, "slopes": slopes(common(c)["heads"])}


def mamba(_: Config) -> Said:
    """Mamba, which has no heads; the sizes of states are those of its tensors."""
    return {}


def slopes(heads: int) -> Any:
    """How fast the scores of each head fall.  Source: Press, Smith and Lewis, 2021."""
    near = 2 ** int(log2(heads))
    found = [2.0 ** (-8 * (i + 1) / near) for i in range(near)]
    found += [2.0 ** (-4 * (2 * i + 1) / near) for i in range(heads - near)]
    return np.asarray(found, "float32").reshape(heads, 1)


FAMILIES: Mapping[str, Callable[[Config], Said]] = {
    "llama": llama, "mistral": llama, "qwen2": qwen2, "qwen3": qwen2, "mixtral": mixtral,
    "qwen3_moe": qwen_experts,
    "gemma": gemma, "gemma2": gemma2, "gemma3_text": gemma3, "phi": phi, "phi3": phi3, "smollm3": smollm3,
    "gpt2": gpt2, "gpt_neox": neox, "bloom": bloom, "mamba": mamba,
}  # fmt: skip
"""By `model_type`."""
