"""Operators without a rule for many rows, and effects, under `vmap`: row by row."""

import numpy as np
import pytest

import relay

X = np.array([[3, 1, 2], [2, 2, 1], [5, 9, 7], [4, 4, 0]], "float32")
FOUR = np.arange(4, dtype="float32")


def both(text, *args):
    """What the interpreter and machine code give."""
    mod = relay.parse(text)
    return relay.run(mod, "main", list(args)), relay.build(mod)(*args)


@pytest.mark.parametrize(
    "header", ["def @main(%x: Tensor[(4, 3), float32])", "def @main[n: Dim](%x: Tensor[(n, 3), float32])"]
)
def test_an_operator_without_a_rule_runs_for_each_row(header):
    body = "{ vmap(fn (%x) { let (%values, _, _, _) = unique(%x[0:1]); (%values, sum(%x)) })(%x) }"
    for values, sums in both(f"{header} {body}", X):
        np.testing.assert_array_equal(values, X[:, :1])
        np.testing.assert_allclose(sums, X.sum(1))


def test_trace_writes_a_line_for_each_row(capfd):
    text = 'def @main(%x: Tensor[(4,), float32]) { vmap(fn (%x) { trace("{} of {}", %x * 2.0, 8) })(%x) }'
    for found in both(text, FOUR):
        np.testing.assert_array_equal(found, FOUR * 2)
    lines = capfd.readouterr().err.splitlines()
    assert lines == ["0.0 of 8", "2.0 of 8", "4.0 of 8", "6.0 of 8"] * 2


def test_trace_of_what_the_rows_share_writes_a_line_for_each_row(capfd):
    both(
        'def @main[n: Dim](%x: Tensor[(n,), float32]) { vmap(fn (%x) { let %_ = trace("row"); %x })(%x) }',
        FOUR,
    )
    assert capfd.readouterr().err.splitlines() == ["row"] * 8


def test_effects_under_a_condition_happen_for_its_rows(capfd):
    text = """
    def @main(%x: Tensor[(4,), float32]) {
      vmap(fn (%x) { if (%x > 1.0) { assert(%x > 1.5, "large"); trace("{}", %x) } else { %x } })(%x)
    }
    """
    for found in both(text, FOUR):
        np.testing.assert_array_equal(found, FOUR)
    assert capfd.readouterr().err.splitlines() == ["2.0", "3.0"] * 2


def test_a_condition_that_fails_for_one_row_fails():
    text = 'def @main(%x: Tensor[(4,), float32]) { vmap(fn (%x) { assert(%x < 3.0, "small"); %x })(%x) }'
    mod = relay.parse(text)
    for run in (lambda: relay.run(mod, "main", [FOUR]), lambda: relay.build(mod)(FOUR)):
        with pytest.raises(relay.RelayError, match="small"):
            run()
