"""GGUF files that are saved here, as the package gguf reads them."""

import json

import numpy as np
import pytest

pytest.importorskip("gguf", reason="needs gguf")
pytest.importorskip("tokenizers", reason="needs the lm extra")

import gguf

from models.test_gguf import LONG, long_rows
from models.test_tokenizers import CHATML, trained
from models.tiny import written
from relay.models import load
from relay.models.blocks import numbers_of
from relay.op.blocks.quantize import QUANTIZERS

pytestmark = pytest.mark.extras
FORMATS = (None, *QUANTIZERS)


def folder(path):
    """A model whose rows are whole blocks, with a tokenizer and a template."""
    made, rng = trained(), np.random.default_rng(0)
    size = made.get_vocab_size()
    found = {name: rng.normal(size=x.shape).astype("float32") for name, x in long_rows().items()}
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        found[name] = rng.normal(size=(size, 32)).astype("float32")
    written(path, found, **LONG, vocab_size=size)
    (path / "tokenizer.json").write_text(made.to_str())
    said = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": CHATML}
    (path / "tokenizer_config.json").write_text(json.dumps(said))
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_tensors_and_metadata_are_those_of_the_model(form, tmp_path):
    model = load(folder(tmp_path / "a"))
    model = model if form is None else model.quantize(form)
    model.save(tmp_path / "a.gguf")
    saved = load(tmp_path / "a.gguf").checkpoint
    read = gguf.GGUFReader(tmp_path / "a.gguf")

    said = {k: f.contents() for k, f in read.fields.items() if not k.startswith("GGUF.")}
    assert said == dict(saved.config)
    assert said["general.architecture"] == "llama"
    vocabulary = trained().get_vocab()
    assert said["tokenizer.ggml.tokens"] == sorted(vocabulary, key=vocabulary.__getitem__)
    assert said["tokenizer.ggml.eos_token_id"] == vocabulary["</s>"]
    assert said["tokenizer.chat_template"] == CHATML

    assert {t.name for t in read.tensors} == set(saved.tensors)
    blocks = 0
    for t in read.tensors:
        found = saved.tensors[t.name]
        blocks += t.tensor_type is not gguf.GGMLQuantizationType.F32
        assert tuple(t.shape[::-1].tolist()) == tuple(found.shape)
        expected = gguf.quants.dequantize(t.data, t.tensor_type)
        np.testing.assert_array_equal(numbers_of(found), expected.reshape(found.shape), err_msg=t.name)
    assert (blocks > 0) == (form is not None)
