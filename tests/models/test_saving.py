"""Folders saved as GGUF files, and GGUF files as folders."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import relay
from models.test_gguf import LONG, long_rows
from models.test_llama import EXPECTED, interpreted, logits
from models.tiny import CONFIG, tensors, written
from models.tiny_gguf import METADATA, renamed
from models.tiny_gguf import written as written_gguf
from relay.models import load
from relay.models.blocks import Blocks
from relay.models.gguf_file import read_gguf
from relay.models.gguf_writer import write_gguf


def test_a_folder_is_saved_as_the_gguf_file_of_its_model(tmp_path):
    model = load(written(tmp_path / "a"))
    model.save(tmp_path / "a.gguf")
    found = read_gguf(tmp_path / "a.gguf")
    for name, x in renamed(tensors()).items():
        np.testing.assert_array_equal(found.tensors[name], x)
    assert {**METADATA, **found.metadata} == {**found.metadata, **METADATA}
    np.testing.assert_allclose(logits(load(tmp_path / "a.gguf"))[7], EXPECTED[7], atol=2e-5)


def test_a_gguf_file_is_saved_as_the_folder_of_its_model(tmp_path):
    model = load(written_gguf(tmp_path / "a.gguf"))
    model.save(tmp_path / "a")
    again = load(tmp_path / "a")
    for name, x in tensors().items():
        np.testing.assert_array_equal(again.checkpoint.tensors[name], x)
    said = again.config
    assert said["rms_norm_eps"] == pytest.approx(CONFIG["rms_norm_eps"])
    assert CONFIG | said == said | {"rms_norm_eps": said["rms_norm_eps"]}
    again.save(tmp_path / "b.gguf")
    assert read_gguf(tmp_path / "b.gguf").metadata == model.config | read_gguf(tmp_path / "b.gguf").metadata


def test_blocks_stay_blocks(tmp_path):
    small = load(written(tmp_path / "a", long_rows(), **LONG)).quantize("q8_0")
    small.save(tmp_path / "a.gguf")
    again = load(tmp_path / "a.gguf")
    assert again.config["general.quantization_version"] == 2
    assert isinstance(again.checkpoint.tensors["blk.0.attn_q.weight"], Blocks)
    again.save(tmp_path / "b")
    for name, x in small.checkpoint.tensors.items():
        found = load(tmp_path / "b").checkpoint.tensors[name]
        np.testing.assert_array_equal(getattr(found, "data", found), getattr(x, "data", x))


GPT2 = {
    "model_type": "gpt2", "vocab_size": 11, "n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 16,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
}  # fmt: skip


def gpt2(folder):
    shapes = {"wte": (11, 32), "wpe": (16, 32), "ln_f": (32,), "h.0.ln_1": (32,), "h.0.ln_2": (32,)}
    shapes |= {"h.0.attn.c_attn": (32, 96), "h.0.attn.c_proj": (32, 32)}
    shapes |= {"h.0.mlp.c_fc": (32, 64), "h.0.mlp.c_proj": (64, 32)}
    rng, found = np.random.default_rng(0), {}
    for name, shape in shapes.items():
        found[f"transformer.{name}.weight"] = rng.normal(size=shape).astype("float32")
        if "w" not in name:
            found[f"transformer.{name}.bias"] = rng.normal(size=shape[-1:]).astype("float32")
    save_file(found, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(GPT2))
    return load(folder)


def test_matrices_by_columns_are_blocks_of_rows(tmp_path):
    whole = gpt2(tmp_path)
    small = whole.quantize("q8_0")
    exact, found = logits(whole), logits(small)
    assert 0 < np.abs(found - exact).max() < 0.03 * np.abs(exact).max()
    for name in ("b", "b.gguf"):
        small.save(tmp_path / name)
        np.testing.assert_array_equal(logits(load(tmp_path / name)), found)
    load(tmp_path / "b.gguf").save(tmp_path / "c")
    for name, x in small.checkpoint.tensors.items():
        again = load(tmp_path / "c").checkpoint.tensors[name]
        assert isinstance(x, Blocks) == isinstance(again, Blocks) == (len(x.shape) > 1)
        np.testing.assert_array_equal(getattr(again, "data", again), getattr(x, "data", x))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "frequencies of the kind 'dynamic'"),
        (
            {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
            "windows that",
        ),
        ({"hidden_act": "relu"}, "activations that"),
    ],
)
def test_what_a_gguf_file_cannot_say_is_refused(said, why, tmp_path):
    with pytest.raises(relay.RelayError, match=why):
        load(written(tmp_path / "a", **said)).save(tmp_path / "a.gguf")
    assert not (tmp_path / "a.gguf").exists()


def low_rank(rng, shape):
    return rng.normal(size=(2, shape[1])).astype("float32"), rng.normal(size=(shape[0], 2)).astype("float32")


def test_adapters_beside_gguf_files(tmp_path):
    rng, merged = np.random.default_rng(0), tensors()
    found, own = {}, {}
    names = {
        "model.layers.0.self_attn.q_proj": "blk.0.attn_q",
        "model.layers.1.mlp.down_proj": "blk.1.ffn_down",
    }
    for name, in_file in names.items():
        a, b = low_rank(rng, merged[f"{name}.weight"].shape)
        merged[f"{name}.weight"] = merged[f"{name}.weight"] + 2 * b @ a
        found |= {f"base_model.model.{name}.lora_A.weight": a, f"base_model.model.{name}.lora_B.weight": b}
        of_file = renamed({f"{name}.weight": b})[f"{in_file}.weight"]
        own |= {f"{in_file}.weight.lora_a": a, f"{in_file}.weight.lora_b": of_file}
    folder = tmp_path / "lora"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 2, "lora_alpha": 4}))
    save_file(found, folder / "adapter_model.safetensors")
    write_gguf(
        tmp_path / "lora.gguf",
        {"general.type": "adapter", "adapter.type": "lora", "adapter.lora.alpha": 4.0},
        own,
    )
    base = written_gguf(tmp_path / "base.gguf")
    model = load(base, adapters={"folder": folder, "file": tmp_path / "lora.gguf"})
    expected = logits(load(written(tmp_path / "merged", merged)))
    run = interpreted(model, "logits")
    for name in ("folder", "file"):
        found = run(model.adapters[name], np.array([[3, 1, 4, 1, 5, 9, 2, 6]], "int32"))[0]
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    with pytest.raises(relay.RelayError, match="GGUF file beside a folder"):
        load(written(tmp_path / "base"), adapters={"file": tmp_path / "lora.gguf"})
