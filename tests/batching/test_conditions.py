"""Derivatives of conditions that differ from row to row."""

import numpy as np
import pytest

import relay

X = np.array([1, -2, 3, 0], "float32")


@pytest.mark.parametrize("build", [lambda f: f, relay.compile], ids=["interpreted", "compiled"])
def test_a_branch_that_a_row_does_not_take_adds_nothing_to_its_gradient(build):
    def root(x):
        return relay.cond(x > 0.0, lambda: relay.sqrt(x), lambda: x * 0.0)

    wanted = np.array([0.5, 0, 0.5 / np.sqrt(3), 0], "float32")
    value, (slope,) = build(relay.vmap(relay.grad(root)))(X)
    np.testing.assert_allclose(value, np.sqrt(np.maximum(X, 0)), rtol=1e-6)
    np.testing.assert_allclose(slope, wanted, rtol=1e-6)
    total, (slope,) = build(relay.grad(lambda x: relay.vmap(root)(x).sum()))(X)
    assert total == pytest.approx(1 + np.sqrt(3))
    np.testing.assert_allclose(slope, wanted, rtol=1e-6)


def test_cheap_branches_are_selected_where_nothing_is_differentiated():
    body = "if (%x > 0.0) { %x * %x } else { sin(%x) }"
    text = f"def @main(%x: Tensor[(n,), float32]) {{ vmap(fn (%x) {{ {body} }})(%x) }}"
    assert "where(" in str(relay.transform.ExpandGrad()(relay.infer(relay.parse(text))))
