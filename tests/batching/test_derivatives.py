"""Derivatives of batched functions, and batched derivatives."""

import numpy as np
import pytest

import relay

X = np.arange(6, dtype="float32").reshape(3, 2) / 5
W = np.array([0.3, -0.7], "float32")
LIBRARY = """
import "std/list"
def @f(%x: Tensor[(2,), float32], %w: Tensor[(2,), float32]) -> float32 {
  let %r = ref(sum(%x * %w));
  let %_ = ref_write(%r, tanh(ref_read(%r)) * ref_read(%r));
  @foldl(fn (%a, %b) { %a + sum(%b * %b) }, ref_read(%r), [| %x, %w, %x * %w |])
}
def @g(%x: Tensor[(2,), float32], %w: Tensor[(2,), float32]) -> float32 {
  if (sum(%x) > 0.9) { let %y = @f(%x, %w); %y * 2.0 } else { @f(%w, %x) - 1.0 }
}
"""


def given(body, *args):
    rows = "(3, 2)" if args[0].ndim == 2 else "(2,)"
    text = f"def @main(%x: Tensor[{rows}, float32], %w: Tensor[(2,), float32]) {{ {body} }}"
    mod = relay.parse(LIBRARY + text)
    return relay.run(mod, "main", list(args)), relay.build(mod)(*args)


@pytest.mark.parametrize("f", ["f", "g"])
def test_derivatives_are_those_of_the_rows(f):
    rows = [given(f"grad(@{f})(%x, %w).1", x, W)[0] for x in X]
    by_x, by_w = np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows])
    for found in given(f"vmap(grad(@{f}), in_axes=(0, None))(%x, %w).1", X, W):
        np.testing.assert_allclose(found[0], by_x, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[1], by_w, rtol=1e-5, atol=1e-6)
    batched = f"vmap(@{f}, in_axes=(0, None))"
    for found in given(f"grad(fn (%x, %w) {{ sum({batched}(%x, %w)) }})(%x, %w).1", X, W):
        np.testing.assert_allclose(found[0], by_x, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[1], by_w.sum(0), rtol=1e-5, atol=1e-6)
    change = (by_x * X).sum(1) + by_w @ W
    for body in (
        f"jvp({batched})((%x, %w), (%x, %w)).1",
        f"vmap(fn (%x, %w) {{ jvp(@{f})((%x, %w), (%x, %w)).1 }}, in_axes=(0, None))(%x, %w)",
    ):
        for found in given(body, X, W):
            np.testing.assert_allclose(found, change, rtol=1e-5, atol=1e-6)


def test_rows_of_rows_in_either_order():
    header = "def @main(%x: Tensor[(3, 2), float32], %w: Tensor[(4, 2), float32])"
    bodies = (
        "vmap(fn (%x, %w) { vmap(@g, in_axes=(None, 0))(%x, %w) }, in_axes=(0, None))(%x, %w)",
        "vmap(fn (%w, %x) { vmap(@g, in_axes=(0, None))(%x, %w) }, in_axes=(0, None), out_axes=1)(%w, %x)",
    )
    many = np.stack([W, W * 2, -W, W + 1])
    want = [[given("@g(%x, %w)", x, w)[0] for w in many] for x in X[::2]]
    for body in bodies:
        mod = relay.parse(f"{LIBRARY} {header} {{ {body} }}")
        for found in (relay.run(mod, "main", [X, many]), relay.build(mod)(X, many)):
            np.testing.assert_allclose(found[::2], want, rtol=1e-5)
