"""The training example learns."""

import importlib.util
import signal
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

import relay
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


KILLED = """
import importlib.util, os, signal, sys
import relay
spec = importlib.util.spec_from_file_location("train_digits", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
save, saves = relay.training.save_state, 0

def save_then_die(*args, **options):
    global saves
    saves += 1
    if saves == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return save(*args, **options)

relay.training.save_state = save_then_die
example.train(epochs=2, batch=128, rate=0.01, seed=3, state=sys.argv[2])
"""


def test_a_killed_run_goes_on_and_ends_with_the_very_weights(example, tmp_path):
    state = str(tmp_path / "state")
    script = str(ROOT / "examples" / "train_digits.py")
    killed = subprocess.run([sys.executable, "-c", KILLED, script, state], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    assert relay.training.saved_steps(state) == [1]
    weights, curve = example.train(epochs=2, batch=128, rate=0.01, seed=3, state=state)
    uninterrupted, whole = example.train(epochs=2, batch=128, rate=0.01, seed=3)
    assert curve == whole
    for a, b in zip(weights, uninterrupted, strict=True):
        assert a.tobytes() == b.tobytes()
