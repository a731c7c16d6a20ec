"""Metadata of GGUF files as settings."""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any, cast

import numpy as np

from relay.diagnostic import fail
from relay.models.hugging_face import cap, slopes
from relay.models.rotary import fixed, rotation
from relay.models.settings import NO_WINDOW, Settings, unsupported
from relay.models.values import Made, made

Said = dict[str, Any]
Tensors = Mapping[str, Any]


class Metadata:
    """The values of a file by the names of one architecture."""

    def __init__(self, values: Mapping[str, Any], tensors: Tensors) -> None:
        """`values` are all of the file."""
        self.values, self.tensors = values, tensors
        self.architecture = str(values.get("general.architecture"))

    def get(self, name: str, default: Any = None) -> Any:
        """A value, or the default."""
        return self.values.get(f"{self.architecture}.{name}", default)

    def one(self, name: str, default: Any = None) -> int:
        """A number that is the same for all layers (`KeyError`, `ValueError`)."""
        found = self.get(name, default)
        if found is None:
            raise KeyError(f"{self.architecture}.{name}")
        if isinstance(found, list):
            numbers = set(cast("list[Any]", found))
            if len(numbers) != 1:
                raise ValueError(f"{name} differs between layers")
            found = numbers.pop()
        return int(found)

    @property
    def layers(self) -> int:
        """How many layers there are; at least 1, at most as many as the file has tensors."""
        n = self.one("block_count")
        if not 0 < n <= len(self.tensors):
            raise ValueError(f"{n} layers")
        return n

    @property
    def head_size(self) -> int:
        """Numbers of a head."""
        return self.one(
            "attention.key_length", self.one("embedding_length") // (self.one("attention.head_count") or 1)
        )


def gguf_settings(values: Mapping[str, Any], tensors: Tensors) -> Settings:
    """The settings that a file says (`model-unsupported`, `model-file`)."""
    m = Metadata(values, tensors)
    family = ARCHITECTURES.get(m.architecture)
    if family is None:
        unsupported(f"the architecture {m.architecture!r}")
    try:
        return Settings(**{**gguf_common(m), **family(m)})
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        fail("model-file", f"the file does not say what a model of {m.architecture} needs: {error}",
             hint="fetch the file again")  # fmt: skip


def gguf_common(m: Metadata) -> Said:
    """What all say in the same way."""
    heads = m.one("attention.head_count") or 1  # those without attention have none
    epsilon = m.get("attention.layer_norm_rms_epsilon", m.get("attention.layer_norm_epsilon", 1e-5))
    return {
        "vocabulary": int(m.tensors["token_embd.weight"].shape[0]), "width": m.one("embedding_length"),
        "layers": m.layers, "heads": heads, "shared_heads": m.one("attention.head_count_kv", heads) or 1,
        "head_size": m.head_size, "context": m.one("context_length", 2048), "epsilon": float(epsilon),
        "positions": [made("Unordered")] * m.layers, "experts": m.one("expert_count", 0),
        "chosen": m.one("expert_used_count", 0), "cap": cap(m.get("final_logit_softcapping")),
        "head_cap": cap(m.get("attn_logit_softcapping")),
    }  # fmt: skip


def scaled(m: Metadata, size: int, *, base: float | None = None, plain: bool = False) -> Made:
    """How heads are turned; `plain` without scaling."""
    theta = float(m.get("rope.freq_base", 1e4)) if base is None else base
    context = m.one("context_length", 2048)
    if plain:
        return rotation({"rope_theta": theta}, size, context)
    shared = m.tensors.get("rope_freqs.weight")
    if shared is not None:
        return fixed(theta ** -(np.arange(0, size, 2) / size) / np.asarray(shared, "float64"))
    said: Said = {"rope_theta": theta, "rope_type": m.get("rope.scaling.type", "default")}
    said |= {"factor": m.get("rope.scaling.factor"), "attention_factor": m.get("rope.scaling.attn_factor")}
    said["original_max_position_embeddings"] = m.get("rope.scaling.original_context_length")
    if said["rope_type"] == "none":
        said["rope_type"] = "default"
    short, long = (m.tensors.get(f"rope_factors_{k}.weight") for k in ("short", "long"))
    if short is not None and long is not None:
        said |= {"rope_type": "longrope", "short_factor": short.tolist(), "long_factor": long.tolist()}
    return rotation(said, size, context)


def gguf_turned(m: Metadata, kind: str) -> Said:
    """Rotary embeddings, the same in all layers."""
    size = m.one("rope.dimension_count", m.head_size)
    return {"positions": [made(kind, scaled(m, size))] * m.layers, "turned": size}


def gguf_windowed(m: Metadata, every: int = 1) -> Said:
    """A window in all layers but each so many'th one."""
    window = m.get("attention.sliding_window")
    if not window:
        return {}
    return {
        "windows": [NO_WINDOW if every > 1 and (i + 1) % every == 0 else int(window) for i in range(m.layers)]
    }


def gguf_llama(m: Metadata) -> Said:
    """Llama and Mistral: rows of queries and keys are in the order of neighbours."""
    return {**gguf_turned(m, "RotaryNeighbours"), **gguf_windowed(m)}


def qwen(m: Metadata) -> Said:
    """Qwen2, Qwen3."""
    return gguf_turned(m, "Rotary")


def gguf_gemma(m: Metadata) -> Said:
    """Gemma; the file has 1 added to the weights of norms."""
    size = m.head_size
    found = {"positions": [made("Rotary", scaled(m, size))] * m.layers, "turned": size}
    return {**found, "embedding_scale": sqrt(m.one("embedding_length")), "activation": "gelu_pytorch_tanh"}


def scale_of_gemma(m: Metadata, layers: int) -> Said:
    """The scale of scores, which files do not say: the largest model, by its layers, has another."""
    size = m.one("embedding_length") // m.one("attention.head_count") if m.layers == layers else m.head_size
    return {"scale": size**-0.5}


def gguf_gemma2(m: Metadata) -> Said:
    """Gemma 2: every second layer has a window."""
    return {**gguf_gemma(m), **gguf_windowed(m, 2), **scale_of_gemma(m, 46)}


def gguf_gemma3(m: Metadata) -> Said:
    """Gemma 3: layers with a window have frequencies of their own."""
    size, every = m.head_size, 6
    local = float(m.get("rope.freq_base_swa", 1e4))
    near, far = (made("Rotary", t) for t in (scaled(m, size, base=local, plain=True), scaled(m, size)))
    positions = [far if (i + 1) % every == 0 else near for i in range(m.layers)]
    return {**gguf_gemma(m), **gguf_windowed(m, every), **scale_of_gemma(m, 62), "positions": positions}


def phi2(m: Metadata) -> Said:
    """Phi 1 and 2."""
    found = gguf_turned(m, "Rotary")
    return {**found, "norm": "Standard", "is_gated": False, "order": "AtOnce", "activation": "gelu_new"}


def gguf_phi3(m: Metadata) -> Said:
    """Phi 3 and 4."""
    return {**gguf_turned(m, "Rotary"), **gguf_windowed(m)}


def gguf_smollm3(m: Metadata) -> Said:
    """SmolLM3: every fourth layer does not know the order of tokens."""
    found = gguf_turned(m, "RotaryNeighbours")
    positions = [made("Unordered") if (i + 1) % 4 == 0 else p for i, p in enumerate(found["positions"])]
    return {**found, "positions": positions}


def gguf_gpt2(_: Metadata) -> Said:
    """GPT-2, StarCoder."""
    return {"norm": "Standard", "is_gated": False, "inputs": "Joined", "activation": "gelu_new"}


def gguf_neox(m: Metadata) -> Said:
    """GPT-NeoX; the file has its heads in the order of `Joined`."""
    order = "AtOnce" if m.get("use_parallel_residual", True) else "InTurn"
    found = gguf_turned(m, "Rotary")
    return {
        **found,
        "norm": "Standard",
        "is_gated": False,
        "inputs": "Joined",
        "activation": "gelu",
        "order": order,
    }


def gguf_bloom(m: Metadata) -> Said:
    """BLOOM; the file has its heads in the order of `Joined`."""
    return {**gguf_gpt2(m), "slopes": slopes(m.one("attention.head_count"))}


ARCHITECTURES: Mapping[str, Callable[[Metadata], Said]] = {
    "llama": gguf_llama, "qwen2": qwen, "qwen3": qwen, "qwen3moe": qwen, "gemma": gguf_gemma,
    "gemma2": gguf_gemma2, "gemma3": gguf_gemma3, "phi2": phi2, "phi3": gguf_phi3, "smollm3": gguf_smollm3,
    "gpt2": gguf_gpt2, "gptneox": gguf_neox, "bloom": gguf_bloom, "mamba": lambda _: {},
}  # fmt: skip
"""By `general.architecture`."""
