"""A tiny Llama: transformers gave its scores, which stand here."""

import contextlib
import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import relay
from models.tiny import tensors, written
from relay.models import LanguageModel, load, perplexity

TOKENS = np.array([[3, 1, 4, 1, 5, 9, 2, 6]], "int32")
EXPECTED = {
    0: [0.97788, 0.21907, -0.75368, -0.99039, -0.2599, 0.72441, 1.00127, 0.30029, -0.69395, -1.01048,
    -0.34019],
    3: [0.35623, -0.57215, -0.94178, -0.39167, 0.54094, 0.94527, 0.42646, -0.50883, -0.9472, -0.46054,
    0.47588],
    7: [-0.3275, -0.36242, -0.0434, 0.318, 0.36885, 0.05948, -0.30798, -0.37467, -0.07546, 0.29744, 0.37986],
}  # fmt: skip
"""Scores after some of the tokens, by transformers 5.24 in float32."""


def interpreted(model: LanguageModel, name: str):
    return relay.create_executor("debug", mod=model.module).evaluate(name)


def logits(model: LanguageModel) -> np.ndarray:
    return interpreted(model, "logits")(model.weights, TOKENS)[0]


def test_scores_are_those_of_transformers(tmp_path):
    found = logits(load(written(tmp_path)))
    for place, scores in EXPECTED.items():
        np.testing.assert_allclose(found[place], scores, atol=2e-5)


def test_compiled_steps_with_a_cache_give_the_same_scores(tmp_path):
    model = load(written(tmp_path))
    found, cache = model.step(TOKENS[:, :4], model.cache(1, 8), 0)
    np.testing.assert_allclose(found[0], EXPECTED[3], atol=2e-5)
    for i in range(4, 8):
        found, cache = model.step(TOKENS[:, i : i + 1], cache, i)
    np.testing.assert_allclose(found[0], EXPECTED[7], atol=2e-5)


def test_files_of_a_family_are_read_once_in_a_process(tmp_path, monkeypatch):
    first = load(written(tmp_path)).module
    monkeypatch.setattr("relay.text.imports._read_import", None)
    assert relay.structural_equal(load(tmp_path).module, first)


def test_rows_of_a_batch_stand_at_places_of_their_own(tmp_path):
    model = load(written(tmp_path))
    step = interpreted(model, "step")
    cache = model.cache(2, 8)
    rows = np.concatenate([TOKENS[:, :3], TOKENS[:, :3]])
    _, cache = step(model.weights, rows, cache, np.zeros(2, "int32"))
    found, cache = step(model.weights, TOKENS[:, [3, 1]].T.copy(), cache, np.array([3, 1], "int32"))
    np.testing.assert_allclose(found[0], EXPECTED[3], atol=2e-5)
    for i in (2, 3):
        found, cache = step(model.weights, TOKENS[:, [i, i]].T.copy(), cache, np.array([4, i], "int32"))
    np.testing.assert_allclose(found[1], EXPECTED[3], atol=2e-5)


def test_weights_are_read_where_they_are_mapped(tmp_path):
    model = load(written(tmp_path))
    matrix = model.weights.head.fields[0]
    assert isinstance(matrix.base, np.ndarray)
    assert not matrix.flags.owndata
    assert matrix.dtype == np.float32


@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 4e-3), ("bfloat16", 4e-2)])
def test_weights_stay_as_they_are_stored(tmp_path, dtype, tolerance):
    model = load(written(tmp_path, tensors(dtype if dtype == "float16" else ml_dtypes.bfloat16)))
    assert str(model.weights.head.fields[0].dtype) == dtype
    np.testing.assert_allclose(logits(model)[7], EXPECTED[7], atol=tolerance)


def test_a_program_has_code_for_what_its_model_has(tmp_path):
    text = str(load(written(tmp_path)).module)
    assert "Float32" in text
    assert "BFloat16" not in text
    assert "Experts" not in text
    relay.parse(text)


def test_parts_of_a_checkpoint_are_read_by_their_index(tmp_path):
    from safetensors.numpy import save_file

    folder = written(tmp_path)
    (folder / "model.safetensors").unlink()
    every = sorted(tensors().items())
    places = {}
    for number, part in enumerate((every[:10], every[10:]), 1):
        name = f"model-0000{number}-of-00002.safetensors"
        save_file(dict(part), folder / name)
        places |= {key: name for key, _ in part}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    np.testing.assert_allclose(logits(load(folder))[7], EXPECTED[7], atol=2e-5)


def refused(folder: Path) -> str:
    with pytest.raises(relay.RelayError) as caught:
        load(folder)
    assert len(caught.value.diagnostics) == 1
    return str(caught.value)


def test_what_is_wrong_with_a_folder_is_said(tmp_path):
    assert "there is no" in refused(tmp_path / "none")
    assert "config.json" in refused(tmp_path)
    folder = written(tmp_path / "a", model_type="unheard")
    assert "model-unsupported" in refused(folder)
    assert "'relu6'" in refused(written(tmp_path / "b", hidden_act="relu6"))
    assert "configuration says (12, 8)" in refused(written(tmp_path / "c", vocab_size=12))
    assert "no model has such sizes" in refused(written(tmp_path / "d", num_key_value_heads=3))
    assert "is missing" in refused(written(tmp_path / "e", num_hidden_layers=3))
    assert "'abc'" in refused(written(tmp_path / "f", hidden_size="abc"))
    assert "rotary embeddings" in refused(written(tmp_path / "g", rope_scaling={"rope_type": "odd"}))


def test_pickled_weights_are_not_read(tmp_path):
    folder = written(tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    said = refused(folder)
    assert "a pickle" in said
    assert "save_pretrained" in said


def test_damaged_files_have_one_diagnostic(tmp_path):
    folder = written(tmp_path)
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for i in range(200):
        data = bytearray(whole)
        if i % 2:
            del data[int(random.integers(len(data))) :]
        else:
            for place in random.integers(min(len(data), 2500), size=3):
                data[place] ^= 1 << int(random.integers(8))
        path.write_bytes(data)
        with contextlib.suppress(relay.RelayError):
            load(folder)


def test_perplexity_is_of_each_token_but_the_first(tmp_path):
    model = load(written(tmp_path))
    run = interpreted(model, "logits")
    model.logits = lambda tokens, adapter=None: run(model.weights, np.asarray(tokens, "int32"))
    scores = logits(model).astype("float64")
    chances = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    surprises = -np.log(chances[np.arange(7), TOKENS[0, 1:]])
    assert np.isclose(perplexity(model, TOKENS[0].tolist()), np.exp(surprises.mean()))
    pieces = [logits_of(model, TOKENS[:, a : a + 4]) for a in (0, 2, 4)]
    expected = []
    for begin, (a, found) in zip((0, 1, 1), zip((0, 2, 4), pieces, strict=True), strict=True):
        x = found.astype("float64")
        chance = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        expected += [-np.log(chance[i, TOKENS[0, a + i + 1]]) for i in range(begin, 3)]
    assert np.isclose(perplexity(model, TOKENS[0].tolist(), window=4), np.exp(np.mean(expected)))
    with pytest.raises(relay.RelayError, match="at least two"):
        perplexity(model, [1])
    with pytest.raises(relay.RelayError, match="no tokenizer"):
        perplexity(model, "a text")


def logits_of(model: LanguageModel, tokens: np.ndarray) -> np.ndarray:
    return interpreted(model, "logits")(model.weights, np.ascontiguousarray(tokens))[0]
