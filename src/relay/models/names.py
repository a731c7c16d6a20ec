"""Names of tensors: those that this package uses, which are llama.cpp's, in checkpoints of Hugging Face."""

from collections.abc import Mapping, Sequence

LLAMA = {
    "token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head",
    "attn_norm": "model.layers.{i}.input_layernorm",
    "attn_q": "model.layers.{i}.self_attn.q_proj", "attn_k": "model.layers.{i}.self_attn.k_proj",
    "attn_v": "model.layers.{i}.self_attn.v_proj", "attn_output": "model.layers.{i}.self_attn.o_proj",
    "attn_q_norm": "model.layers.{i}.self_attn.q_norm", "attn_k_norm": "model.layers.{i}.self_attn.k_norm",
    "ffn_norm": "model.layers.{i}.post_attention_layernorm",
    "ffn_gate": "model.layers.{i}.mlp.gate_proj", "ffn_up": "model.layers.{i}.mlp.up_proj",
    "ffn_down": "model.layers.{i}.mlp.down_proj",
}  # fmt: skip
MIXTRAL = {
    **LLAMA, "ffn_gate_inp": "model.layers.{i}.block_sparse_moe.gate",
    "ffn_gate.expert": "model.layers.{i}.block_sparse_moe.experts.{e}.w1",
    "ffn_up.expert": "model.layers.{i}.block_sparse_moe.experts.{e}.w3",
    "ffn_down.expert": "model.layers.{i}.block_sparse_moe.experts.{e}.w2",
}  # fmt: skip
QWEN_EXPERTS = {
    **LLAMA, "ffn_gate_inp": "model.layers.{i}.mlp.gate",
    "ffn_gate.expert": "model.layers.{i}.mlp.experts.{e}.gate_proj",
    "ffn_up.expert": "model.layers.{i}.mlp.experts.{e}.up_proj",
    "ffn_down.expert": "model.layers.{i}.mlp.experts.{e}.down_proj",
}  # fmt: skip
GEMMA2 = {
    **LLAMA, "post_attention_norm": "model.layers.{i}.post_attention_layernorm",
    "ffn_norm": "model.layers.{i}.pre_feedforward_layernorm",
    "post_ffw_norm": "model.layers.{i}.post_feedforward_layernorm",
}  # fmt: skip
PHI = {
    **LLAMA, "output_norm": "model.final_layernorm", "attn_output": "model.layers.{i}.self_attn.dense",
    "ffn_norm": "model.layers.{i}.input_layernorm",
    "ffn_up": "model.layers.{i}.mlp.fc1", "ffn_down": "model.layers.{i}.mlp.fc2",
}  # fmt: skip
PHI3 = {
    **LLAMA, "attn_qkv": "model.layers.{i}.self_attn.qkv_proj",
    "ffn_gate_up": "model.layers.{i}.mlp.gate_up_proj",
}  # fmt: skip
GPT2 = {
    "token_embd": "transformer.wte", "position_embd": "transformer.wpe", "output_norm": "transformer.ln_f",
    "output": "lm_head", "attn_norm": "transformer.h.{i}.ln_1", "attn_qkv": "transformer.h.{i}.attn.c_attn",
    "attn_output": "transformer.h.{i}.attn.c_proj", "ffn_norm": "transformer.h.{i}.ln_2",
    "ffn_up": "transformer.h.{i}.mlp.c_fc", "ffn_down": "transformer.h.{i}.mlp.c_proj",
}  # fmt: skip
NEOX = {
    "token_embd": "gpt_neox.embed_in", "output_norm": "gpt_neox.final_layer_norm", "output": "embed_out",
    "attn_norm": "gpt_neox.layers.{i}.input_layernorm",
    "attn_qkv": "gpt_neox.layers.{i}.attention.query_key_value",
    "attn_output": "gpt_neox.layers.{i}.attention.dense",
    "ffn_norm": "gpt_neox.layers.{i}.post_attention_layernorm",
    "ffn_up": "gpt_neox.layers.{i}.mlp.dense_h_to_4h", "ffn_down": "gpt_neox.layers.{i}.mlp.dense_4h_to_h",
}  # fmt: skip
BLOOM = {
    "token_embd": "transformer.word_embeddings", "token_embd_norm": "transformer.word_embeddings_layernorm",
    "output_norm": "transformer.ln_f", "output": "lm_head",
    "attn_norm": "transformer.h.{i}.input_layernorm",
    "attn_qkv": "transformer.h.{i}.self_attention.query_key_value",
    "attn_output": "transformer.h.{i}.self_attention.dense",
    "ffn_norm": "transformer.h.{i}.post_attention_layernorm",
    "ffn_up": "transformer.h.{i}.mlp.dense_h_to_4h", "ffn_down": "transformer.h.{i}.mlp.dense_4h_to_h",
}  # fmt: skip
MAMBA = {
    "token_embd": "backbone.embeddings", "output_norm": "backbone.norm_f", "output": "lm_head",
    "attn_norm": "backbone.layers.{i}.norm", "ssm_in": "backbone.layers.{i}.mixer.in_proj",
    "ssm_conv1d": "backbone.layers.{i}.mixer.conv1d", "ssm_x": "backbone.layers.{i}.mixer.x_proj",
    "ssm_dt": "backbone.layers.{i}.mixer.dt_proj", "ssm_a": "backbone.layers.{i}.mixer.A_log",
    "ssm_d": "backbone.layers.{i}.mixer.D", "ssm_out": "backbone.layers.{i}.mixer.out_proj",
}  # fmt: skip
NAMES: Mapping[str, Mapping[str, str]] = {
    "mixtral": MIXTRAL, "qwen3_moe": QWEN_EXPERTS, "gemma2": GEMMA2, "gemma3_text": GEMMA2, "phi": PHI,
    "phi3": PHI3,
    "gpt2": GPT2, "gpt_neox": NEOX, "bloom": BLOOM, "mamba": MAMBA,
}  # fmt: skip
"""By `model_type`; that of others is `LLAMA`."""


def names_of(kind: str) -> Mapping[str, str]:
    """The names of a `model_type`."""
    return NAMES.get(kind, LLAMA)


PREFIXES = (
    "",
    "model.",
    "transformer.",
    "gpt_neox.",
    "backbone.",
    "language_model.",
    "model.language_model.",
)
"""What stands before names, or is left out: a model without its head has names of its own."""


def spellings(name: str) -> list[str]:
    """A name as checkpoints may have it."""
    bare = [name] + [name.removeprefix(p) for p in PREFIXES if p and name.startswith(p)]
    return [p + b for b in bare for p in PREFIXES]


def spellings_in_gguf(name: str) -> Sequence[str]:
    """The names of a tensor in GGUF files, which this package uses; a layer with one norm has it for both."""
    return (name, name.replace(".ffn_norm", ".attn_norm")) if name.endswith(".ffn_norm") else (name,)


def spellings_of(name: str, names: Mapping[str, str]) -> Sequence[str]:
    """The names of a tensor of this package in a checkpoint: `blk.3.ffn_up.expert.1` of layer 3, expert 1."""
    layer = expert = ""
    if name.startswith("blk."):
        _, layer, name = name.split(".", 2)
    if ".expert." in name:
        name, expert = name.removesuffix(".").rsplit(".", 1)
    pattern = names.get(name)
    return spellings(pattern.format(i=layer, e=expert)) if pattern is not None else ()
