"""Low-rank adapters beside the weights that they are added to."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import relay
from models.test_llama import TOKENS, interpreted, logits
from models.tiny import tensors, written
from relay.models import load


def adapter(folder, rank: int, seed: int, **said: object):
    """An adapter of two matrices; the weights with it added."""
    rng = np.random.default_rng(seed)
    found, merged = {}, tensors()
    for name in ("model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"):
        o, i = merged[f"{name}.weight"].shape
        a, b = rng.normal(size=(rank, i)).astype("float32"), rng.normal(size=(o, rank)).astype("float32")
        found[f"base_model.model.{name}.lora_A.weight"] = a
        found[f"base_model.model.{name}.lora_B.weight"] = b
        merged[f"{name}.weight"] = merged[f"{name}.weight"] + 4 / rank * b @ a
    folder.mkdir()
    (folder / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "r": rank, "lora_alpha": 4, **said})
    )
    save_file(found, folder / "adapter_model.safetensors")
    return merged


def test_adapters_are_chosen_by_the_weights_of_a_call(tmp_path):
    merged = {name: adapter(tmp_path / name, rank, rank) for name, rank in (("a", 2), ("b", 3))}
    folders = {name: tmp_path / name for name in merged}
    model = load(written(tmp_path / "base"), adapters=folders)
    run = interpreted(model, "logits")
    np.testing.assert_allclose(run(model.weights, TOKENS)[0], logits(load(tmp_path / "base")), atol=1e-6)
    for name, found in merged.items():
        expected = logits(load(written(tmp_path / f"{name}_merged", found)))
        np.testing.assert_allclose(run(model.adapters[name], TOKENS)[0], expected, atol=1e-4)


def test_rows_of_a_batch_have_adapters_of_their_own(tmp_path):
    merged = {name: adapter(tmp_path / name, rank, rank) for name, rank in (("a", 2), ("b", 3))}
    model = load(written(tmp_path / "base"), adapters={name: tmp_path / name for name in merged})
    rows = np.concatenate([TOKENS, TOKENS[:, ::-1], TOKENS])
    mod = model.program(by_row=True)
    weights = model.weights_of(mod, by_row=True).of(["b", None, "a"])
    found = relay.create_executor("debug", mod=mod).evaluate("logits")(weights, rows)
    for i, name in enumerate(("b", None, "a")):
        alone = load(written(tmp_path / f"{i}", merged.get(name, tensors())))
        expected = interpreted(alone, "logits")(alone.weights, rows[i : i + 1].copy())[0]
        np.testing.assert_allclose(found[i], expected, atol=1e-4)
    for wrong in (["a"], ["a", "c"]):
        with pytest.raises(relay.RelayError, match="adapter"):
            model.step([[1], [1]], None, 0, adapter=wrong)


@pytest.mark.long
def test_requests_of_a_batch_are_each_as_alone_with_its_adapter(tmp_path):
    for name, rank in (("a", 2), ("b", 3)):
        adapter(tmp_path / name, rank, rank)
    model = load(written(tmp_path / "base"), adapters={name: tmp_path / name for name in "ab"})
    prompts, names = [[3, 1, 4], [1, 2], [5, 6, 7, 8], [3, 1, 4]], ["b", None, "a", "a"]
    together = model.generate(prompts, max_tokens=8, adapter=names)
    for prompt, name, found in zip(prompts, names, together, strict=True):
        assert model.generate(prompt, max_tokens=8, adapter=name).tokens == found.tokens
    assert together[0].tokens != together[3].tokens


def test_what_is_wrong_with_an_adapter_is_said(tmp_path):
    adapter(tmp_path / "a", 2, 0, use_dora=True)
    base = written(tmp_path / "base")
    with pytest.raises(relay.RelayError, match="not a plain LoRA"):
        load(base, adapters={"a": tmp_path / "a"})
    with pytest.raises(relay.RelayError, match="cannot-read"):
        load(base, adapters={"b": tmp_path / "b"})
    with pytest.raises(relay.RelayError, match="no adapter 'c'"):
        load(base).step([[1]], None, 0, adapter="c")
