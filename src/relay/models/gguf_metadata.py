"""Settings of a folder as the metadata of a GGUF file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from relay.models.gguf_settings import gguf_settings
from relay.models.hugging_face import rope
from relay.models.rotary import llama3
from relay.models.settings import ACTIVATIONS, NO_WINDOW, Settings, unsupported
from relay.models.values import parts_of

Array = np.ndarray[Any, Any]
Said = dict[str, Any]
ARCHITECTURES = {
    "llama": "llama", "mistral": "llama", "mixtral": "llama", "qwen2": "qwen2", "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe", "gemma": "gemma", "gemma2": "gemma2", "gemma3_text": "gemma3", "phi": "phi2",
    "phi3": "phi3", "smollm3": "smollm3", "gpt2": "gpt2", "gpt_neox": "gptneox", "bloom": "bloom",
    "mamba": "mamba",
}  # fmt: skip
"""`general.architecture` by `model_type`."""


def metadata_of(config: Mapping[str, Any], s: Settings, tensors: Said) -> Said:
    """The metadata of a file of these tensors, to which it adds frequencies (`model-unsupported`)."""
    kind = str(config.get("model_type"))
    name = ARCHITECTURES[kind]
    said: Said = {
        "context_length": s.context, "embedding_length": s.width, "block_count": s.layers,
        "feed_forward_length": feed_size(tensors, s), "vocab_size": s.vocabulary,
    }  # fmt: skip
    said |= of_states(tensors) if kind == "mamba" else of_heads(s)
    layered = s.norm == "Standard"
    said[f"attention.layer_norm_{'' if layered else 'rms_'}epsilon"] = s.epsilon
    if s.turned:
        said |= of_rotation(config, s, tensors)
    if kind == "gpt_neox":
        said["use_parallel_residual"] = s.order == "AtOnce"
    if kind == "gemma3_text":
        said["rope.freq_base_swa"] = near_base(config)
    windows = {w for w in s.windows if w != NO_WINDOW}
    if windows:
        said["attention.sliding_window"] = windows.pop()
    for key, cap in (("attn", s.head_cap), ("final", s.cap)):
        if cap is not None:
            said[f"{key}_logit_softcapping"] = float(cap)
    if s.experts:
        said |= {"expert_count": s.experts, "expert_used_count": s.chosen}
    found = {"general.architecture": name} | {f"{name}.{key}": x for key, x in said.items()}
    check_same(s, gguf_settings(found, tensors), kind)
    return found


def feed_size(tensors: Mapping[str, Any], s: Settings) -> int:
    """The size between the two products of a network; 0 without one."""
    down = tensors.get("blk.0.ffn_down.weight", tensors.get("blk.0.ffn_down_exps.weight"))
    return 0 if down is None else int(down.shape[-1])


def of_heads(s: Settings) -> Said:
    """What is said of heads."""
    return {
        "attention.head_count": s.heads, "attention.head_count_kv": s.shared_heads,
        "attention.key_length": s.head_size, "attention.value_length": s.head_size,
    }  # fmt: skip


def of_states(tensors: Mapping[str, Any]) -> Said:
    """What is said of states."""
    inner, size = tensors["blk.0.ssm_a"].shape
    return {
        "attention.head_count": 0, "ssm.conv_kernel": tensors["blk.0.ssm_conv1d.weight"].shape[1],
        "ssm.inner_size": inner, "ssm.state_size": size,
        "ssm.time_step_rank": tensors["blk.0.ssm_dt.weight"].shape[1],
    }  # fmt: skip


def near_base(config: Mapping[str, Any]) -> float:
    """The base of the frequencies of layers with a window."""
    by_kind: Said = config.get("rope_parameters") or {}
    near: Said = by_kind.get("sliding_attention") or {}
    return float(near.get("rope_theta", config.get("rope_local_base_freq", 1e4)))


def of_rotation(config: Mapping[str, Any], s: Settings, tensors: Said) -> Said:
    """What is said of frequencies; those that have no key become tensors (`model-unsupported`)."""
    common = rope(config)
    said: Said = {**common, **(common.get("full_attention") or {})}
    base = float(said.get("rope_theta") or config.get("rotary_emb_base") or default_base(config))
    kind = said.get("rope_type", said.get("type")) or "default"
    found: Said = {"rope.dimension_count": s.turned, "rope.freq_base": base}
    original = said.get("original_max_position_embeddings")
    match kind:
        case "default":
            return found
        case "linear" | "yarn":
            found |= {"rope.scaling.type": kind, "rope.scaling.factor": float(said["factor"])}
        case "llama3":
            plain = base ** -(np.arange(0, s.turned, 2) / s.turned)
            slow = llama3(plain, said, float(said["factor"]), int(original or s.context))
            tensors["rope_freqs.weight"] = (plain / slow).astype("float32")
        case "longrope" | "su":
            for key in ("short", "long"):
                tensors[f"rope_factors_{key}.weight"] = np.asarray(said[f"{key}_factor"], "float32")
            if said.get("factor"):
                found["rope.scaling.factor"] = float(said["factor"])
        case _:
            unsupported(f"frequencies of the kind {kind!r}, for which GGUF files have no key")
    if original is not None and kind != "llama3":
        found["rope.scaling.original_context_length"] = int(original)
    if said.get("attention_factor") is not None:
        found["rope.scaling.attn_factor"] = float(said["attention_factor"])
    return found


def default_base(config: Mapping[str, Any]) -> float:
    """The base of frequencies where a configuration says none."""
    return 1e6 if config.get("model_type") == "gemma3_text" else 1e4


# --- what a file cannot say ---


def check_same(folder: Settings, file: Settings, kind: str) -> None:
    """That readers of the file will have the settings of the folder (`model-unsupported`)."""
    pairs = {
        "windows": [[*s.windows] or [NO_WINDOW] * s.layers for s in (folder, file)],
        "scales of scores": [s.scale or s.head_size**-0.5 for s in (folder, file)],
        "activations": [ACTIVATIONS[s.activation] for s in (folder, file)],
        "shares of experts": [s.normalised or not s.experts for s in (folder, file)],
        "frequencies": [frequencies(s) for s in (folder, file)],
    }
    for what, (own, read) in pairs.items():
        if np.shape(own) != np.shape(read) or not is_near(own, read):
            unsupported(f"{what} that GGUF files of {kind!r} cannot say")


def is_near(a: Any, b: Any) -> bool:
    """Whether texts are equal, or numbers up to their rounding."""
    return a == b if isinstance(a, str) else np.allclose(a, b, rtol=1e-5)


def frequencies(s: Settings) -> Array:
    """All numbers by which the layers turn pairs, zeros for those that turn none."""
    found: list[Array] = []
    for place in s.positions:
        parts = [part for part in parts_of(place) if part.name != place.name]
        numbers = [np.ravel(np.asarray(x, "float64")) for part in parts for x in part.fields]
        found += numbers or [np.zeros(1)]
    return np.concatenate(found)
