"""Indices of uint64 beyond int64, as arguments of programs for XLA: out of range, never negative."""

from typing import Any

import numpy as np
import pytest

import relay

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

X, LAST = np.array([1, 2, 3], "float32"), np.array([2**64 - 1], "uint64")
HEAD = "def @main(%x: Tensor[(3,), float32], %i: Tensor[(1,), uint64]) "


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ('take(%x, %i, axis=0, mode="wrap")', [1]),  # 2**64 - 1 is a multiple of 3
        ("take(%x, %i, axis=0)", [3]),
        ("one_hot(%i, 1f, 0f, depth=3)", [[0, 0, 0]]),
        ('grad(fn (%y) { sum(take(%y, %i, axis=0, mode="wrap")) })(%x).1.0', [1, 0, 0]),
        ("grad(fn (%y) { sum(take(%y, %i, axis=0)) })(%x).1.0", [0, 0, 1]),
    ],
)
def test_an_index_counts_as_it_is(body: str, wanted: list[Any]) -> None:
    found = relay.build(relay.parse(HEAD + "{ " + body + " }"), "xla")(X, LAST)
    np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize(
    "body",
    [
        "%x[%i]",
        "gather(%x, %i, axis=0)",
        "scatter_elements(%x, %i, [9f], axis=0)",
        "gather_nd(%x, expand_dims(%i, axis=0))",
        'take(%x, %i, axis=0, mode="fast")',
        "unravel_index(%i, [2u64, 3u64])",
    ],
)
def test_it_is_refused_where_minus_1_is_the_last(body: str) -> None:
    run = relay.build(relay.parse(HEAD + "{ " + body + " }"), "xla")
    with pytest.raises(relay.RelayError) as caught:
        run(X, LAST)
    assert caught.value.codes == ("index-out-of-range",)
