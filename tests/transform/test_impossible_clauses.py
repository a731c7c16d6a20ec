"""Clauses that no value of the sizes of a copy reaches are left out of it."""

import numpy as np
import pytest

import relay

TEXT = """
type Row<n: Dim> { Whole(Tensor[(n,), float32]), Pairs(Tensor[(n / 2, 2), float32]) }
def @add<n: Dim>(%x: Tensor[(n,), float32], %w: Row[n]) -> Tensor[(n,), float32] {
  match (%w) { Whole(%w) => %x + %w, Pairs(%w) => %x + reshape(%w, (-1,)) }
}
def @flat<n: Dim>(%x: Tensor[(n,), float32], %w: Row[n]) -> Tensor[(n,), float32] {
  match (%w) { Whole(%w) => %w, Pairs(%w) => reshape(%w, (-1,)) }
}
def @main(%x: Tensor[(3,), float32], %y: Tensor[(4,), float32]) {
  (@add(%x, Whole(%x)), @flat(%x, Whole(%x)), @add(%y, Pairs(reshape(%y, (2, 2)))))
}
"""


@pytest.mark.parametrize("executor", ["debug", "native"])
def test_sizes_that_do_not_fit_a_clause(executor: str) -> None:
    mod = relay.parse(TEXT)
    x, y = np.arange(3, dtype="float32"), np.arange(4, dtype="float32")
    found = relay.create_executor(executor, mod=mod).evaluate()(x, y)
    for ours, expected in zip(found, (2 * x, x, 2 * y), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_the_clause_is_gone_from_that_copy_alone() -> None:
    copies = relay.transform.monomorphize(relay.infer(relay.parse(TEXT)))
    assert str(copies).count("Pairs(%w") == 1
