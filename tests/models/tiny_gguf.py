"""The tiny Llama as a GGUF file, and wider ones in blocks."""

from pathlib import Path
from typing import Any

import numpy as np

from models.tiny import tensors
from relay.models.gguf_writer import write_gguf

NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip
METADATA = {
    "general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 32,
    "llama.embedding_length": 8, "llama.feed_forward_length": 12, "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2, "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 100.0, "llama.rope.dimension_count": 2,
}  # fmt: skip


def neighbours(x: np.ndarray, heads: int) -> np.ndarray:
    """Rows of queries or keys in the order that llama.cpp's converter gives them."""
    return x.reshape(heads, 2, len(x) // heads // 2, -1).swapaxes(1, 2).reshape(x.shape)


def renamed(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Tensors by their names in GGUF files."""
    out = {}
    for key, x in found.items():
        name = key.removesuffix(".weight")
        at = ""
        if name.startswith("model.layers."):
            _, _, layer, name = name.split(".", 3)
            at = f"blk.{layer}."
        heads = {"self_attn.q_proj": 4, "self_attn.k_proj": 2}.get(name)
        out[f"{at}{NAMES[name]}.weight"] = x if heads is None else neighbours(x, heads)
    return out


def written(path: Path, found: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None) -> Path:
    """A file of the tiny model, with other tensors or more metadata if they are given."""
    write_gguf(path, METADATA | (metadata or {}), renamed(tensors()) if found is None else found)
    return path
