"""Compiled programs that JAX keeps on disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

PROGRAM = """
import numpy as np
import relay

mod = relay.parse('''
def @loss(%w: Tensor[(8, 4), float32], %v: Tensor[(3, 8), float32], %x: Tensor[(5, 4), float32],
          %y: Tensor[(5,), int32]) {
  nn.softmax_cross_entropy(nn.dense(nn.gelu(nn.dense(%x, %w)), %v), %y)
}
def @main(%w: Tensor[(8, 4), float32], %v: Tensor[(3, 8), float32], %x: Tensor[(5, 4), float32],
          %y: Tensor[(5,), int32]) {
  grad(@loss)(%w, %v, %x, %y)
}''')
built = relay.build(mod, "xla")
built(*[np.ones(s, "float32") for s in ((8, 4), (3, 8), (5, 4))], np.zeros(5, "int32"))
print(built.report())
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    before: set[str] = set()
    for seed in ("1", "2"):
        settings = {
            "PYTHONHASHSEED": seed,
            "JAX_COMPILATION_CACHE_DIR": str(kept),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        run = [sys.executable, "-c", PROGRAM]
        ran = subprocess.run(run, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
        assert "@main: whole" in ran.stdout, ran.stderr
        found = {file.name for file in kept.iterdir() if not file.name.endswith("-atime")}
        assert found
        assert not before or found == before
        before = found
