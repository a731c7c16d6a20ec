"""Kinds of caches have the scores of the whole one; sessions go on, go back, and are saved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.test_llama import interpreted
from models.tiny import LAYER, written
from relay.decoding import Pool, Session
from relay.decoding.cache_arrays import arrays
from relay.diagnostic import RelayError
from relay.models import LanguageModel, load

KINDS: dict[str, dict[str, Any]] = {
    "whole": {},
    "int8": {"cache": "int8"},
    "paged": {"cache": "paged"},
    "ring": {"cache": "ring", "window": 40},
}
TOKENS = np.random.default_rng(1).integers(0, 11, (2, 40)).astype("int32")
WINDOW = 5
WIDE = {"hidden_size": 32, "head_dim": 16, "max_position_embeddings": 64}


def wide(folder: Path, **config: object) -> Path:
    """A model with heads of 16 numbers, as rounding them needs."""
    sizes = {8: 32, 12: 12}
    heads = {"q_proj": (64, 32), "k_proj": (32, 32), "v_proj": (32, 32), "o_proj": (32, 64)}
    shapes = {"model.embed_tokens": (11, 8), "model.norm": (8,), "lm_head": (11, 8)}
    shapes |= {f"model.layers.{i}.{name}": shape for i in range(2) for name, shape in LAYER.items()}
    rng = np.random.default_rng(0)
    found = {}
    for name, shape in shapes.items():
        shape = heads.get(name.split(".")[-1], tuple([sizes.get(n, n) for n in shape]))
        x = rng.normal(size=shape) / shape[-1] ** 0.5
        found[f"{name}.weight"] = (x + (len(shape) == 1)).astype("float32")
    return written(folder, found, **{**WIDE, **config})


def in_steps(step: Any, cache: Any, sizes: list[int], rows: int) -> tuple[np.ndarray, Any]:
    """Scores after steps of so many tokens each."""
    found, at = [], 0
    for t in sizes:
        scores, cache = step(
            np.ascontiguousarray(TOKENS[:rows, at : at + t]), cache, np.full(rows, at, "int32")
        )
        found.append(np.asarray(scores))
        at += t
    return np.stack(found, axis=1), cache


def checked(model: LanguageModel, step: Any, expected: np.ndarray, tolerance: float) -> None:
    """Steps of a prompt, of one token and of several give what all at once do, of one row and of two."""
    sizes = [7, 1, 1, 4, 1, 9, *[1] * 6]
    for rows in (1, 2):
        found, _ = in_steps(step, model.cache(rows, 40), sizes, rows)
        wanted = expected[:rows, np.cumsum(sizes) - 1]
        assert np.abs(found - wanted).max() <= tolerance * np.abs(expected).max()


def test_scores_of_each_kind(tmp_path: Path) -> None:
    folder = wide(tmp_path / "a")
    expected = interpreted(load(folder), "logits")(load(folder).weights, TOKENS)
    for name, said in KINDS.items():
        model = load(folder, **said)
        run = interpreted(model, "step")
        checked(
            model, lambda *args, run=run, model=model: run(model.weights, *args), expected,
            0.02 if name == "int8" else 2e-6,
        )  # fmt: skip


def test_a_ring_is_as_large_as_the_window_of_its_layer(tmp_path: Path) -> None:
    folder = wide(tmp_path / "a", model_type="mistral", sliding_window=WINDOW)
    whole, ring = load(folder), load(folder, cache="ring")
    run = interpreted(ring, "step")
    expected = interpreted(whole, "logits")(whole.weights, TOKENS)
    checked(ring, lambda *args: run(ring.weights, *args), expected, 2e-6)
    assert [x.shape for x, _ in arrays(ring.cache(2, 1000))] == [(2, WINDOW + 16, 2, 16)] * 4
    assert memory(ring.cache(1, 4096)) * 100 < memory(whole.cache(1, 4096))


def memory(cache: Any) -> int:
    """The bytes of a cache."""
    return sum(x.nbytes for x, _ in arrays(cache))


def test_bytes_take_a_quarter_and_their_scales(tmp_path: Path) -> None:
    folder = wide(tmp_path / "a")
    assert (
        memory(load(folder, cache="int8").cache(1, 64)) == memory(load(folder).cache(1, 64)) * (16 + 4) // 64
    )


def test_kinds_that_cannot_be(tmp_path: Path) -> None:
    folder = written(tmp_path / "a")
    for said in ({"cache": "rign"}, {"window": 4}, {"cache": "ring"}, {"cache": "ring", "window": 0}):
        with pytest.raises(RelayError, match="option-value"):
            load(folder, **said)
    for model, pool in ((load(folder), None), (load(folder, cache="paged"), load(folder, cache="paged"))):
        with pytest.raises(RelayError, match="option-value"):
            Session(model, pool=Pool(pool or model))


class Steps:
    """A model whose steps are interpreted: what its sessions do is looked at here."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.run = interpreted(model, "step")

    def read(self, session: Session, prompts: list[list[int]]) -> tuple[list[int], np.ndarray]:
        """How many tokens of each prompt were there already, and the scores after the prompts."""
        shared = session.begin(prompts)
        session.store.reserve([len(p) for p in prompts])
        cache, found = session.cache, []
        for row, (prompt, n) in enumerate(zip(prompts, shared, strict=True)):
            assert row == 0
            scores, cache = self.run(self.model.weights, np.asarray([prompt[n:]], "int32"), cache, [n])
            found.append(np.asarray(scores)[0])
        session.finish(cache, prompts, [len(p) for p in prompts])
        return shared, np.stack(found)


def expected_scores(model: LanguageModel, prompt: list[int]) -> np.ndarray:
    run = interpreted(model, "logits")
    return np.asarray(run(model.weights, np.asarray([prompt], "int32")))[0, -1:]


@pytest.mark.parametrize("kind", KINDS)
def test_sessions_go_on_and_back_and_are_saved(kind: str, tmp_path: Path) -> None:
    model = load(wide(tmp_path / "a"), **KINDS[kind])
    steps, session = Steps(model), Session(model)
    text = TOKENS[0].tolist()

    def check(session: Session, prompt: list[int], shared: int) -> None:
        found, scores = steps.read(session, [prompt])
        assert found == [shared]
        tolerance = 0.02 if kind == "int8" else 1e-5
        np.testing.assert_allclose(scores, expected_scores(model, prompt), atol=tolerance)

    check(session, text[:20], 0)
    check(session, text[:25], 20)
    other = [*text[:12], 10, 3, 1, 4, 1, 5, 9, 2, 6]
    check(session, other, 12)
    session.save(tmp_path / "saved.safetensors")
    again = Session.load(model, tmp_path / "saved.safetensors")
    assert again.tokens == [other]
    check(again, [*other, 7, 7], len(other))
    again.roll_back(18)
    check(again, [*other[:18], 1, 2], 18)
    again.roll_back()
    check(again, text[:9], 0)


def test_a_ring_that_has_lost_tokens_begins_anew(tmp_path: Path) -> None:
    model = load(wide(tmp_path / "a"), cache="ring", window=4)
    steps, session = Steps(model), Session(model)
    text = [*TOKENS[0].tolist(), *TOKENS[1].tolist()]
    back = [[*text[:n], (text[n] + 1) % 11, 2] for n in (30, 33)]
    for prompt, shared in ((text[:40], 0), (back[0], 30), (text[:60], 30), (back[1], 0)):
        found, scores = steps.read(session, [prompt])
        assert found == [shared]
        np.testing.assert_allclose(scores, expected_scores(model, prompt), atol=1e-5)


def test_sessions_share_the_pages_of_a_pool(tmp_path: Path) -> None:
    model = load(wide(tmp_path / "a"), cache="paged")
    for tokens in (-100, 0, True, 2.5):
        with pytest.raises(RelayError, match="option-value"):
            Pool(model, tokens=tokens)
    steps, pool = Steps(model), Pool(model, tokens=16 * 6)
    text = TOKENS[0].tolist()
    first, second = Session(model, pool=pool), Session(model, pool=pool)
    steps.read(first, [text])
    assert pool.used == 3
    prompt = [*text[:35], 1, 2]
    shared, scores = steps.read(second, [prompt])
    assert (shared, pool.used) == ([32], 4), "two pages are shared"
    np.testing.assert_allclose(scores, expected_scores(model, prompt), atol=1e-5)
    second.roll_back(20)
    assert pool.used == 4, "the page that will be written to is a copy"
    prompt = [*text[:20], 8, 8, 8]
    np.testing.assert_allclose(steps.read(second, [prompt])[1], expected_scores(model, prompt), atol=1e-5)
    np.testing.assert_allclose(
        steps.read(first, [[*text, 3]])[1], expected_scores(model, [*text, 3]), atol=1e-5
    )
    with pytest.raises(RelayError, match="pool-full"):
        steps.read(Session(model, pool=pool), [[5] * 60])
    assert pool.used == 4, "what could not be had is given back"
    del first
    assert pool.used == 2
    third = Session(model, pool=pool)
    assert steps.read(third, [text])[0] == [32], "pages that nobody has are found as well"
    assert steps.read(third, [[(text[0] + 1) % 11] * 60])[0] == [0]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_steps_write_to_the_cache_where_it_is(kind: str, tmp_path: Path) -> None:
    model = load(wide(tmp_path / "a"), **KINDS[kind])
    expected = load(tmp_path / "a").logits(TOKENS)
    checked(model, model.step, expected, 0.02 if kind == "int8" else 2e-6)
    for rows in (1, 2):
        cache = model.cache(rows, 40)
        given = [x for x, _ in arrays(cache)]
        for at in range(3):
            _, cache = model.step(TOKENS[:rows, at : at + 1], cache, at)
        assert all(x is y for (x, _), y in zip(arrays(cache), given, strict=True))
