"""What people may give wrongly for models and decoding is a diagnostic."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import relay
import relay.models
from models import tiny
from relay.decoding import Options, Session
from relay.decoding.generate import prompts_of
from relay.models.language_model import LanguageModel


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return relay.models.load(tiny.written(tmp_path_factory.mktemp("tiny")))


@pytest.mark.parametrize(
    "options",
    [
        {"temperature": "hot"}, {"temperature": float("nan")}, {"temperature": float("inf")}, {"top_k": 2.5},
        {"top_k": -1}, {"max_tokens": None}, {"max_tokens": True}, {"frequency_penalty": float("inf")},
        {"stop": 3}, {"stop": ["a", 1]}, {"regex": 3}, {"json_schema": 3}, {"process": 3}, {"draft": "small"},
        {"adapter": 1}, {"seed": -1},
    ],
)  # fmt: skip
def test_an_option_of_another_kind(options: dict[str, Any]) -> None:
    with pytest.raises(relay.RelayError, match="option-value"):
        Options(**options)


def test_one_text_that_ends_it_is_a_list_of_one() -> None:
    assert Options(stop="end").stop == ("end",)


def test_what_prompts_are() -> None:
    assert prompts_of("a") == (["a"], False)
    assert prompts_of(np.array([1, 2])) == ([[1, 2]], False)
    assert prompts_of(["a", "b"]) == (["a", "b"], True)
    assert prompts_of([np.array([1, 2]), (3,)]) == ([[1, 2], [3]], True)
    assert prompts_of(np.array([[1, 2], [3, 4]])) == ([[1, 2], [3, 4]], True)
    for wrong in (None, 3, [1.5], {"a": 1}, [["a"]], [True], [1, "a"]):
        with pytest.raises(relay.RelayError, match="option-value"):
            prompts_of(wrong)


def test_a_session_is_of_the_model(model: LanguageModel, tmp_path: Path) -> None:
    other = relay.models.load(tiny.written(tmp_path / "other"))
    with pytest.raises(relay.RelayError, match="not a session of this model"):
        model.generate([1], session=Session(other))
    with pytest.raises(relay.RelayError, match="option-value"):
        Session(model, rows=0)


@pytest.mark.parametrize("tokens", ["", "[[1", "3", '[["a"]]', "[]"])
def test_a_saved_session_that_is_damaged(model: LanguageModel, tmp_path: Path, tokens: str) -> None:
    path = tmp_path / "s.safetensors"
    save_file(
        {"0": np.zeros(1, "float32")},
        path,
        {"format": "2", "model": repr(model), "tokens": tokens, "written": "[1]"},
    )
    with pytest.raises(relay.RelayError, match="bad-session"):
        Session.load(model, path)


@pytest.mark.parametrize("name", ["mlp.gate_proj", "mlp.down_proj", "self_attn.q_proj", "input_layernorm"])
def test_a_tensor_of_another_rank(tmp_path: Path, name: str) -> None:
    found = tiny.tensors()
    for shape in ((), (0,), (2, 2, 2)):
        found[f"model.layers.0.{name}.weight"] = np.zeros(shape, "float32")
        with pytest.raises(relay.RelayError, match="model-file"):
            relay.models.load(tiny.written(tmp_path, found))


@pytest.mark.parametrize("value", ["x", [], {}])
@pytest.mark.parametrize("key", ["final_logit_softcapping", "attn_logit_softcapping"])
def test_a_cap_that_is_not_a_number(tmp_path: Path, key: str, value: Any) -> None:
    config = {"model_type": "gemma2", "query_pre_attn_scalar": 4, key: value}
    with pytest.raises(relay.RelayError, match="model-file"):
        relay.models.load(tiny.written(tmp_path, **config))
