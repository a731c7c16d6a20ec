"""A library of ResNet-18: from eight threads, and under sanitizers."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.testing.resnet import get_workload
from support import ROOT

pytestmark = pytest.mark.extras
SIZE = 64
"""Pixels of a side: small, so that 10,000 calls take minutes."""
SOURCE = ROOT / "tests" / "runtime" / "library_calls.c"
TIME_LIMIT_SECONDS = 1800


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Libraries of the network, an input, and what Python makes of it."""
    made = tmp_path_factory.mktemp("resnet")
    mod, params = get_workload(num_layers=18, image_shape=(3, SIZE, SIZE))
    x = np.random.default_rng(0).random((1, 3, SIZE, SIZE), "float32")
    x.tofile(made / "input")
    relay.build(mod, params=params, cache=False)(x).tofile(made / "expected")
    relay.write_library(mod, made / "libmodel.so", params=params)
    return made


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, text=True, capture_output=True, check=False, timeout=TIME_LIMIT_SECONDS
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-4000:]}"
    assert "0 wrong" in done.stdout or command[0] != "./calls"
    return done.stdout


def build(folder: Path, *flags: str) -> None:
    common = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I.", "-o", "calls", str(SOURCE)]
    run(folder, "cc", *common, *flags, "-L.", "-l:libmodel.so", "-Wl,-rpath,$ORIGIN", "-lm", "-pthread")


def test_ten_thousand_calls_from_eight_threads_have_equal_bits(folder: Path) -> None:
    build(folder)
    assert "10000 calls, 0 wrong" in run(folder, "./calls", "input", "expected", "8", "10000")


@pytest.mark.parametrize("sanitizers", ["address,undefined"])
def test_a_hundred_calls_are_clean_under_sanitizers(sanitizers: str, folder: Path) -> None:
    build(folder, f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all")
    assert "96 calls, 0 wrong" in run(folder, "./calls", "input", "expected", "8", "100")
