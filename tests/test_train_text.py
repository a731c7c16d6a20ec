"""The transformer of `examples/train_text.py` learns, and takes PyTorch's steps."""

import importlib.util
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from support import ROOT


def module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def example() -> Any:
    return module(ROOT / "examples" / "train_text.py")


def test_some_steps_with_dropout_lower_the_loss(example: Any) -> None:
    _, losses = example.train(15, 0, 0.1)
    assert np.log(len(example.CHARACTERS)) - 0.1 < losses[0] < np.log(len(example.CHARACTERS)) + 0.1
    assert np.mean(losses[-5:]) < 3.5


def test_weights_are_updated_in_their_places(example: Any) -> None:
    params, rule = example.initial(0), example.rule(10)
    state, step = relay.optim.initial_state(rule, params), example.compiled_step(rule)
    given = params["blocks"][0]["qkv"], params["last"]
    key = relay.random.threefry_key(0).value
    params, state, _ = step(params, state, key, *next(example.batches(0)))
    assert params["blocks"][0]["qkv"] is given[0]
    assert params["last"] is given[1]


@pytest.mark.long
def test_a_text_goes_on(example: Any) -> None:
    found = example.continued(example.initial(0), "When I ", 3)
    assert found.startswith("When I ")
    assert len(found) == len("When I ") + 3


def test_no_place_sees_what_follows_it(example: Any) -> None:
    scores, params = relay.compile(example.scores), example.initial(1)
    tokens, _ = next(example.batches(0))
    changed = tokens[:1].copy()
    changed[:, 40:] = 0
    before, after = scores(params, tokens[:1]), scores(params, changed)
    np.testing.assert_allclose(before[:, :40], after[:, :40], rtol=1e-5, atol=1e-6)
    assert abs(before[:, 40:] - after[:, 40:]).max() > 1e-3


@pytest.mark.long
def test_a_thousand_steps_learn_the_sonnets(example: Any) -> None:
    _, losses = example.train(1000, 0, 0.0)
    assert np.mean(losses[-20:]) < 0.5


@pytest.mark.torch
def test_each_step_is_that_of_pytorch(example: Any) -> None:
    pytest.importorskip("torch")
    sys.path.append(str(ROOT / "benchmarks"))
    benchmark = module(ROOT / "benchmarks" / "text.py")
    ours, theirs = benchmark.in_relay(example, 20), benchmark.in_torch(example, 20)
    for tokens, targets in islice(example.batches(0), 20):
        np.testing.assert_allclose(ours(tokens, targets), theirs(tokens, targets), rtol=1e-5)
