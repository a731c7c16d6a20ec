"""`std/beam`: against all continuations, and against the beam search of transformers."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

import relay
import tiny_decoder

pytestmark = pytest.mark.long
PROGRAM = """import "std/beam"
def @main(
  %says: fn(Tensor[(w, n), int32], int32) -> Tensor[(w, v), float32], %ends: Tensor[(e,), int32],
  %penalty: float32, %patience: int32, %fill: Tensor[(w, n), int32]
) {
  let %step = fn (%x: Tensor[(w, 1), int32], %c, %p: int32) {
    let %c = %c with { [:, %p]: %x[:, 0] };
    (%says(%c, %p + 1), %c)
  };
  let %reorder = fn (%c: Tensor[(w, n), int32], %rows) { take(%c, %rows, axis=0) };
  let %kind = if (%patience == 0) { Eager } else if (%patience == 1) { Hopeful } else { Patient };
  @beam_search(%step, %reorder, %ends, %penalty, %kind, %fill, %says(%fill, 0), %fill, 0)
}
"""
EAGER, HOPEFUL, PATIENT = range(3)
Says = Callable[[Any], Any]


@cache
def program() -> Any:
    return relay.build(relay.parse(PROGRAM))


def searched(says: Says, ends: list[int], penalty: float, patience: int, fill: Any) -> tuple[Any, Any]:
    """Continuations and their scores; `says(rows)` gives the logits after the tokens of each row."""

    def logits(rows: Any, length: Any) -> Any:
        return np.asarray(says(np.asarray(rows)[:, : int(length)]), "float32")

    return program()(logits, np.asarray(ends, "int32"), penalty, patience, np.asarray(fill, "int32"))


def tiny(seed: int, prompt: list[int], vocabulary: int) -> Says:
    w = tiny_decoder.weights(seed, vocabulary)
    return lambda rows: np.stack([tiny_decoder.logits(w, [*prompt, *row])[-1] for row in rows.tolist()])


def test_enough_beams_find_the_best_of_all_continuations() -> None:
    says = tiny(1, [0, 2], 3)
    found, scores = searched(says, [-1], 1.0, PATIENT, np.zeros((9, 3)))
    sums: dict[tuple[int, ...], float] = {}
    for tokens in product(range(3), repeat=3):
        each = [says(np.asarray([tokens[:i]], "int64"))[0] for i in range(3)]
        sums[tokens] = sum(
            x[t] - np.log(np.exp(x - x.max()).sum()) - x.max() for x, t in zip(each, tokens, strict=True)
        )
    best = sorted(sums, key=lambda t: -sums[t])[:9]
    np.testing.assert_array_equal(found, best)
    np.testing.assert_allclose(scores, [sums[t] / 3 for t in best], rtol=1e-5)


def test_one_beam_is_greedy() -> None:
    w = tiny_decoder.weights(2)
    found, _ = searched(tiny(2, [3, 1], 11), [-1], 0.0, EAGER, np.zeros((1, 8)))
    assert found[0].tolist() == tiny_decoder.greedy(w, [3, 1], 8)


def test_a_continuation_that_ends_is_filled_behind() -> None:
    scores = np.log([[0.1, 0.2, 0.7]])
    found, _ = searched(lambda rows: np.repeat(scores, len(rows), 0), [2], 1.0, EAGER, np.full((2, 4), 9))
    assert found[0].tolist() == [2, 9, 9, 9]


@pytest.mark.torch
@pytest.mark.parametrize("patience", [EAGER, HOPEFUL, PATIENT])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 2.0, -0.5])
def test_beam_search_is_that_of_transformers(patience: int, penalty: float) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    for seed in range(5):
        torch.manual_seed(seed)
        config = transformers.GPT2Config(
            vocab_size=13, n_embd=16, n_layer=1, n_head=2, n_positions=32, initializer_range=0.6,
            bos_token_id=0, eos_token_id=5, pad_token_id=9,
        )  # fmt: skip
        model = transformers.GPT2LMHeadModel(config).eval()
        prompt = torch.randint(0, 13, (1, 3))
        with torch.no_grad():
            expected = model.generate(
                prompt, num_beams=4, num_return_sequences=4, max_new_tokens=9, do_sample=False,
                length_penalty=penalty, early_stopping=(True, False, "never")[patience],
                return_dict_in_generate=True, output_scores=True, attention_mask=torch.ones_like(prompt),
            )  # fmt: skip

            def says(rows: Any, model: Any = model, prompt: Any = prompt) -> Any:
                before = prompt.expand(len(rows), -1)
                return model(torch.cat([before, torch.tensor(rows).long()], 1)).logits[:, -1].numpy()

            found, scores = searched(says, [5], penalty, patience, np.full((4, 9), 9))
        wanted = expected.sequences[:, 3:].numpy()
        np.testing.assert_array_equal(found[:, : wanted.shape[1]], wanted)
        np.testing.assert_allclose(scores, expected.sequences_scores.numpy(), rtol=1e-4)
