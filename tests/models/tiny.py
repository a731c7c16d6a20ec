"""A tiny Llama whose weights are computed: heads that share keys, a head of its own for the scores."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

CONFIG = {
    "model_type": "llama", "vocab_size": 11, "hidden_size": 8, "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "rope_theta": 100.0,
    "max_position_embeddings": 32, "hidden_act": "silu", "tie_word_embeddings": False,
}  # fmt: skip
LAYER = {
    "input_layernorm": (8,), "self_attn.q_proj": (8, 8), "self_attn.k_proj": (4, 8), "self_attn.v_proj": (4,
    8),
    "self_attn.o_proj": (8, 8), "post_attention_layernorm": (8,), "mlp.gate_proj": (12, 8),
    "mlp.up_proj": (12, 8),
    "mlp.down_proj": (8, 12),
}  # fmt: skip


def tensors(dtype: str = "float32") -> dict[str, np.ndarray]:
    """All tensors, with numbers that no generator makes: sines of their places."""
    shapes = {"model.embed_tokens": (11, 8), "model.norm": (8,), "lm_head": (11, 8)}
    shapes |= {f"model.layers.{i}.{name}": shape for i in range(2) for name, shape in LAYER.items()}
    found = {}
    for number, (name, shape) in enumerate(shapes.items()):
        x = np.sin(np.arange(np.prod(shape)) * 1.7 + number).reshape(shape)
        found[f"{name}.weight"] = (x * 0.7 + (1 if len(shape) == 1 else 0)).astype(dtype)
    return found


def written(folder: Path, found: dict[str, np.ndarray] | None = None, **config: object) -> Path:
    """A folder of the model, with other tensors or another configuration if they are given."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    save_file(tensors() if found is None else found, folder / "model.safetensors")
    return folder
