"""Donated arrays, which results are written to: those of training steps above all."""

from typing import Any

import numpy as np
import pytest

import relay
from backend.reuse import MEGABYTE, assert_same, peak


def test_donated_arrays_are_the_results() -> None:
    text = """
    attributes @main { donate: ("w", "s") }
    def @main(%w: Tensor[(64, 32), float32], %s: (Tensor[(8,), bfloat16], Tensor[(k,), int8]), %x: float32) {
      (%w * %x, (%s.0 + 1bf16, %s.1 with { [0]: 7i8 }))
    }
    """
    built = relay.build(relay.parse(text))
    bf16 = relay.const(0.0, "bfloat16").value.dtype
    w, a, b = np.ones((64, 32), "float32"), np.ones(8, bf16), np.ones(3, "int8")
    (found, (first, second)) = built(w, (a, b), 3.0)
    assert found is w
    assert first is a
    assert second is b
    assert (w[0, 0], float(a[0]), b.tolist()) == (3, 2, [7, 1, 1])
    assert relay.parse(relay.parse(text).astext())["main"].attrs["donate"] == ("w", "s")


STEP = """
def @main(%w: Tensor[(64, n), float32], %b: Tensor[(64, n), float32], %x: Tensor[(64, n), float32]) {
  (%w - 0.5f * %x, %b + %x)
}
"""


@pytest.mark.parametrize("calls", ["in machine code", "by name"])
def test_arrays_that_cannot_be_overwritten_stay(calls: str) -> None:
    built = relay.build(relay.parse(STEP), donate=("w", "b"))

    def step(*args: Any) -> Any:
        return built(*args) if calls == "in machine code" else built(**dict(zip("wbx", args, strict=True)))

    def ones() -> Any:
        return np.ones((64, 32), "float32")

    x, w, frozen, larger = ones(), ones(), ones(), np.ones((65, 32), "float32")
    frozen.flags.writeable = False
    found, second = step(frozen, w, x)
    assert found is not frozen
    assert second is w
    again, _ = step(found, larger[1:], x)
    assert again is found, "the result of a program is overwritten"
    assert (larger == 1).all()
    assert (frozen == 1).all()
    found, second = step(x, ones(), x)
    assert found is not x
    np.testing.assert_array_equal(x, ones())
    np.testing.assert_array_equal(found, ones() / 2)
    transposed = np.ones((32, 64), "float32").T
    assert step(transposed, ones(), x)[0] is not transposed
    for pair in ((x, x), (larger[1:], larger[:-1])):
        with pytest.raises(relay.RelayError) as error:
            step(*pair, ones())
        assert error.value.codes == ("donated",)
        assert "`%b` and `%w` share memory" in str(error.value)


@pytest.mark.parametrize("calls", ["in machine code", "by name"])
def test_a_result_without_elements_is_no_donated_array(calls: str) -> None:
    """The object around an array is gone after its last use, and the result's may be in its place."""
    text = """
    def @main(%w: Tensor[(n,), float32], %k: int32, %x: Tensor[(m,), float32]) {
      let %s = sum(%w);
      (if (%k == 0) { tanh(%x) * %s } else { @main(%w, %k - 1, %x).0 }, %s)
    }
    """
    built = relay.build(relay.parse(text), donate="w", threads=1)
    w, x = np.ones(8, "float32"), np.ones(0, "float32")
    for k in (0, 1):
        args = (w, np.int32(k), x)
        found, total = built(*args) if calls == "in machine code" else built(w=w, k=args[1], x=x)
        assert found is not w
        assert (np.shape(found), total) == ((0,), 8)


def test_a_name_that_is_no_parameter_is_refused() -> None:
    for build in (
        lambda: relay.build(relay.parse(STEP), donate="y"),
        lambda: relay.build(relay.parse(STEP.replace("def", 'attributes @main { donate: ("y",) } def'))),
    ):
        with pytest.raises(relay.RelayError) as error:
            build()
        assert error.value.codes == ("donated",)
    with pytest.raises(relay.RelayError, match="names parameters as strings"):
        relay.build(relay.parse(STEP), donate=(1,))


def test_a_training_step_updates_weights_in_their_place() -> None:
    text = """
    def @main(%w: T, %m: T, %x: Tensor[(8, 512), float32]) {
      let (%loss, (%g,)) = grad(fn (%v) { sum(tanh(%x @ %v)) })(%w);
      let %m = 0.9f * %m + %g;
      (%w - 0.01f * %m, %m, %loss)
    }
    """
    mod = relay.parse(text.replace(": T,", ": Tensor[(512, 512), float32],"))
    draw = np.random.default_rng(0)
    w, m, x = [draw.normal(size=s).astype("float32") for s in ((512, 512), (512, 512), (8, 512))]
    expected = mod.evaluate("main", w, m, x)
    step = relay.build(mod, donate=("w", "m"))
    found = step(w, m, x)
    assert found[0] is w
    assert_same(found, expected, "a step")
    kept = relay.build(mod)
    kept(w, m, x)
    assert peak(step) < peak(kept) - 0.6 * MEGABYTE


WEIGHT = 512 * 384 * 4
"""Bytes of a weight."""
SGD = "(%w - 0.1f * %g, %loss)"
MOMENTUM = "let %m = 0.9f * %m + %g; (%w - 0.01f * %m, %m, %loss)"
ADAM = """
let %m = 0.9f * %m + 0.1f * %g;
let %v = 0.99f * %v + 0.01f * %g * %g;
(%w - 0.01f * %m / (sqrt(%v) + 0.01f), %m, %v, %loss)
"""


@pytest.mark.parametrize(
    ("update", "donated", "tensors", "threads"),
    [(SGD, "w", 0.8, 1), (MOMENTUM, "wm", 0.8, 2), (ADAM, "wmv", 1.8, 2)],
    ids=["sgd", "momentum", "adam"],
)
def test_optimisers_write_to_the_weights(update: str, donated: str, tensors: float, threads: int) -> None:
    """The product that is the gradient, and what follows it; Adam's is a tensor, which two sums read."""
    params = ", ".join([f"%{p}: Tensor[(512, 384), float32]" for p in donated])
    text = f"""
    def @main({params}, %x: Tensor[(69, 512), float32]) {{
      let (%loss, (%g,)) = grad(fn (%u) {{ sum(tanh(%x @ %u)) }})(%w);
      {update}
    }}
    """
    mod, draw = relay.parse(text), np.random.default_rng(0)
    args = [np.abs(draw.normal(size=(512, 384)).astype("float32")) for _ in donated]
    x = draw.normal(size=(69, 512)).astype("float32") / 100
    expected = mod.evaluate("main", *args, x)
    step = relay.build(mod, donate=tuple(donated), threads=threads)
    found = step(*args, x)
    assert all(a is b for a, b in zip(found, args, strict=False))
    assert_same(found, expected, update)
    assert peak(step) < tensors * WEIGHT + 2 * 69 * 384 * 4 + WEIGHT / 2


def test_what_follows_a_product_takes_the_place_of_what_it_reads_at_one_index() -> None:
    """What the product has packed, and what groups before it have read, is there."""
    takes = {
        "%a - 0.1f * (transpose(%x) @ %y)": True,
        "%b - sum(%b, 0, True) * (transpose(%x) @ %y)": True,
        "nn.relu(%c + transpose(%c) @ %y)": True,
        "%d + %d[0] * (transpose(%x) @ %y)": False,
        "reverse(%e, 0) + transpose(%x) @ %y": False,
        "nn.relu(%f + %x @ %f)": False,  # panels of the second factor are packed while rows go over them
    }
    params = ", ".join([f"%{p}: Tensor[(128, 128), float32]" for p in "abcdefxy"])
    mod = relay.parse(f"def @main({params}) {{ ({', '.join(takes)}) }}")
    args = [np.random.default_rng(i).normal(size=(128, 128)).astype("float32") for i in range(8)]
    expected = mod.evaluate("main", *args)
    found = relay.build(mod, donate=tuple("abcdef"))(*args)
    assert [x is a for x, a in zip(found, args, strict=False)] == list(takes.values())
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-2)


def test_files_know_what_is_donated(tmp_path: Any) -> None:
    built = relay.build(relay.parse(STEP), donate="w")
    built.export_library(tmp_path / "step.rlo")
    w, x = np.ones((64, 8), "float32"), np.ones((64, 8), "float32")
    assert relay.load_module(tmp_path / "step.rlo")(w, x, x)[0] is w
