"""The training example learns."""

import importlib.util

import numpy as np
import pytest
from safetensors.numpy import load_file

from support import ROOT


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("train_digits", ROOT / "examples" / "train_digits.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_epochs_teach_most_digits_and_save_the_weights(example, tmp_path):
    path = tmp_path / "weights.safetensors"
    weights, curve = example.train(epochs=2, batch=32, rate=0.01, seed=0, output=path)
    assert len(curve) == 2
    assert curve[-1] > 0.75
    for name, w in load_file(path).items():
        np.testing.assert_array_equal(w, weights[example.NAMES.index(name)])


def test_the_curve_is_drawn(example, tmp_path):
    pytest.importorskip("matplotlib")
    example.draw([0.5, 0.9], tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_the_network_reads_97_of_100_unseen_digits(example):
    _, curve = example.train(epochs=30, batch=32, rate=0.01, seed=0)
    assert curve[-1] >= 0.97
