"""Decoding without an end: with a ring, memory stays what it is."""

import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from models.tiny import written
from relay.models import load

WARM = 2000
KILOBYTES = 1024
LOOP = """
import "std/decode"

def @run(%weights: Weights, %cache: Cache[1, 2, 2], %first: Tensor[(1, 1), int32], %most: int32) {
  let %read = fn (%x: Tensor[(1, 1), int32], %c: Cache[1, 2, 2], %p: Tensor[(1,), int32]) {
    @step(%weights, %x, %c, %p)
  };
  let %choose = fn (%l: Tensor[(1, 11), float32], %sum: Tensor[(1,), int32]) {
    let %t = @greedy(%l);
    (%t, mod(%sum * 31 + %t, 65521))
  };
  let (%logits, %cache) = %read(%first, %cache, [0]);
  let (_, %end, %sum) = @decode(%read, %choose, fn (%t, %s) { True }, %logits, %cache, [1], [0], %most);
  (%end, %sum)
}
"""


def loop_of(folder: Path) -> tuple[Any, Any]:
    """A model of 900 weights, and a loop that decodes with it in one call."""
    model = load(written(folder), cache="ring", window=24)
    mod, weights, _ = model.extended(LOOP)
    run = relay.build(mod, entries=["run"])["run"]
    return model, lambda most: run(weights.of(None), model.cache(1, 1), [[3]], most)


def grown(run: Any, most: int) -> int:
    """By how many bytes the greatest memory of the process grows while so many tokens are decoded."""
    run(WARM)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end, _ = run(most)
    assert np.asarray(end).tolist() == [most]
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * KILOBYTES


def test_memory_does_not_grow(tmp_path: Path) -> None:
    _, run = loop_of(tmp_path / "a")
    assert grown(run, 20_000) < 1 << 20


@pytest.mark.long
def test_a_million_tokens(tmp_path: Path) -> None:
    model, run = loop_of(tmp_path / "a")
    assert grown(run, 1_000_000) < 1 << 20
    found = model.generate([3], max_tokens=3000)
    assert (len(found.tokens), found.reason) == (3000, "length")
