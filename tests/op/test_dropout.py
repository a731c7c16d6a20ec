"""Dropout by a key: which elements it drops, what becomes of the others, and of their gradients."""

import warnings
from typing import Any

import numpy as np
import pytest

import relay
from relay.op.random_keys import random_key
from relay.op.threefry import draw_words

PROGRAM = """
def @main(%x: Tensor[(n, m), float32], %key: Tensor[(10,), uint64]) {
  nn.dropout(%x, %key, rate=0.25)
}
def @loss(%x: Tensor[(n, m), float32], %key: Tensor[(10,), uint64]) -> float32 {
  sum(nn.dropout(%x * %x, %key, rate=0.25).0)
}
def @slope(%x: Tensor[(n, m), float32], %key: Tensor[(10,), uint64]) { grad(@loss)(%x, %key).1.0 }
def @tangent(%x: Tensor[(n, m), float32], %dx: Tensor[(n, m), float32], %key: Tensor[(10,), uint64]) {
  jvp(fn (%y: Tensor[(n, m), float32]) { nn.dropout(%y, %key, rate=0.25).0 })((%x,), (%dx,)).1
}
"""
BACKENDS = ("debug", "native")


@pytest.fixture(scope="module", params=BACKENDS)
def run(request: pytest.FixtureRequest) -> Any:
    mod = relay.parse(PROGRAM)
    executor = relay.create_executor(request.param, mod=mod)
    return lambda name, *args: executor.evaluate(mod.get_global_var(name))(*args)


def kept_of(shape: tuple[int, ...], seed: int, rate: float) -> Any:
    """The mask as the manual defines it."""
    words, _ = draw_words(np, random_key(seed), int(np.prod(shape)))
    return np.asarray([int(w) >= rate * 2**64 for w in words]).reshape(shape)


def test_elements_are_dropped_by_words_and_the_others_scaled(run: Any) -> None:
    x = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    kept = kept_of((5, 7), 3, 0.25)
    y, mask = run("main", x, random_key(3))
    np.testing.assert_array_equal(mask, kept.astype("float32"))
    np.testing.assert_array_equal(y, np.where(kept, x * np.float32(1 / 0.75), 0))


def test_the_derivatives_drop_what_the_value_drops(run: Any) -> None:
    x, dx = np.random.default_rng(0).normal(size=(2, 4, 6)).astype("float32")
    kept = kept_of((4, 6), 9, 0.25)
    np.testing.assert_allclose(
        run("slope", x, random_key(9)), np.where(kept, 2 * x / 0.75, 0), rtol=1e-6, atol=0
    )
    np.testing.assert_allclose(
        run("tangent", x, dx, random_key(9)), np.where(kept, dx / 0.75, 0), rtol=1e-6, atol=0
    )


def test_one_key_gives_one_mask_and_another_key_another(run: Any) -> None:
    x = np.ones((20, 20), "float32")
    first, again, other = (run("main", x, random_key(seed))[1] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_share_and_the_mean_are_right(run: Any) -> None:
    y, mask = run("main", np.ones((300, 400), "float32"), random_key(7))
    assert abs(mask.mean() - 0.75) < 0.005
    assert abs(y.mean() - 1) < 0.01


def test_infinities_are_dropped_like_numbers(run: Any) -> None:
    y, mask = run("main", np.full((6, 6), np.inf, "float32"), random_key(7))
    np.testing.assert_array_equal(y, np.where(mask == 1, np.inf, 0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_key_at_the_end_of_its_counter_is_renewed(backend: str) -> None:
    x = np.ones((9, 3), "float32")
    key = np.asarray([1, 2, 3, 4, 5, 6, 7, 2**64 - 5, 0, 0], "uint64")
    words, _ = draw_words(np, key, 27)
    want = words.reshape(9, 3) >= 2**62
    got = relay.create_executor(backend, mod=relay.parse(PROGRAM)).evaluate()(x, key)[1]
    np.testing.assert_array_equal(got, want.astype("float32"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("rate", "want"), [(0.0, 2.0), (1.0, 0.0)])
def test_the_ends_of_the_rate(backend: str, rate: float, want: float) -> None:
    x = relay.var("x", shape=(3,), dtype="float32")
    loss = relay.Function([x], relay.sum(relay.nn.dropout(x, relay.random.threefry_key(1), rate)))
    run = relay.create_executor(backend).evaluate(relay.grad(loss))
    value, (slope,) = run(np.full(3, 2, "float32"))
    assert value == 3 * want
    np.testing.assert_array_equal(slope, np.full(3, want / 2, "float32"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats(dtype: str) -> None:
    x = relay.var("x", shape=(8,), dtype=dtype)
    made = relay.Function([x], relay.nn.dropout_raw(x, relay.random.threefry_key(4), 0.3))
    data = np.arange(1, 9).astype(relay.create_executor("debug").evaluate(relay.const(1, dtype)).dtype)
    (a, m), (b, k) = (relay.create_executor(name).evaluate(made)(data) for name in BACKENDS)
    assert a.tobytes() == b.tobytes()
    assert m.tobytes() == k.tobytes()


def test_builders_take_the_key_before_the_rate_and_a_float_as_the_rate() -> None:
    x, key = relay.var("x", shape=(3,), dtype="float32"), relay.random.threefry_key(1)
    assert relay.nn.dropout(x, 0.2).tuple_value.attrs.rate == 0.2
    assert relay.nn.dropout(x, rate=0.2).tuple_value.args == (x,)
    assert relay.nn.dropout(x, key, 0.2).tuple_value.args == (x, key)
    assert relay.nn.dropout(x, key).tuple_value.attrs.rate == 0.5
    with pytest.raises(TypeError, match="multiple values for argument 'rate'"):
        relay.nn.dropout(x, 0.2, 0.3)


@pytest.mark.parametrize("seed", [1, np.int64(1)])
def test_a_whole_number_in_the_place_of_the_key_is_a_seed(seed: int) -> None:
    x = np.ones((50, 50), "float32")
    dropped = np.asarray(relay.function(lambda x: relay.nn.dropout(x, seed, rate=0.25))(x))
    by_key = relay.function(lambda x: relay.nn.dropout(x, relay.random.threefry_key(1), 0.25))(x)
    np.testing.assert_array_equal(dropped, np.asarray(by_key))
    # 2,500 draws of probability 1/4 have a standard deviation of 0.0087.
    assert 0.2 < (dropped == 0).mean() < 0.3
    raw = relay.nn.dropout_raw(relay.var("x", shape=(3,), dtype="float32"), seed)
    assert (len(raw.args), raw.attrs.rate) == (2, 0.5)


def test_passes_keep_what_a_key_drops() -> None:
    text = """def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
      let %y = nn.conv2d(%x, %w, padding=(1, 1), kernel_size=(3, 3), channels=4);
      nn.conv2d(nn.dropout(%y, random.threefry_key(seed=1), rate=0.5).0, %w, kernel_size=(3, 3), channels=4)
    }"""
    mod = relay.infer(relay.parse(text))
    rng = np.random.default_rng(0)
    x, w = (rng.normal(size=s).astype("float32") for s in ((1, 4, 6, 6), (4, 4, 3, 3)))
    want = relay.create_executor("debug", mod=mod).evaluate()(x, w)
    for change in (
        relay.transform.SimplifyInference(),
        relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}),
        relay.transform.optimize,
    ):
        changed = change(mod)
        assert "dropout" in str(changed)
        got = relay.create_executor("debug", mod=changed).evaluate()(x, w)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_key_of_another_type_and_a_wrong_rate_are_refused() -> None:
    for text, code in (
        ("nn.dropout([1.0], 0.5, rate=0.5)", "ten words of uint64"),
        ("nn.dropout([1.0], [1, 2], rate=0.5)", "mismatch"),
        ("nn.dropout([1.0], random.threefry_key(seed=1), rate=1.5)", "attribute-value"),
        ("nn.dropout([1i32], random.threefry_key(seed=1))", "dtype-not-supported"),
    ):
        with pytest.raises(relay.RelayError, match=code):
            relay.infer(relay.parse(text))


def test_dropout_without_a_key_warns_where_it_is_differentiated() -> None:
    text = "def @f(%x: float32) { nn.dropout(%x).0 } def @main(%x: float32) { let %g = @f; grad(%g)(%x) }"
    mod = relay.infer(relay.parse(text))
    assert [d.code for d in relay.analysis.lint(mod)] == ["identity-dropout"]
    with pytest.warns(UserWarning, match="without a key drops nothing"):
        relay.transform.expand_grad(mod)
    for kept in (
        "def @main(%x: float32) { nn.dropout(%x).0 }",
        "def @main(%x: float32) { (nn.dropout(%x).0, grad(fn (%y: float32) { %y * %y })(%x)) }",
        "def @main(%x: float32) { grad(fn (%y: float32) { nn.dropout(%y, rate=0.0).0 })(%x) }",
        "def @f(%x: float32) { nn.dropout(%x, random.threefry_key(seed=1)).0 } "
        "def @main(%x: float32) { grad(@f)(%x) }",
    ):
        mod = relay.infer(relay.parse(kept))
        assert relay.analysis.lint(mod) == []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            relay.transform.expand_grad(mod)


UNKNOWN = """
def @both(%x: Tensor[(n, ?), float32], %key: Tensor[(n, 10), uint64]) {
  vmap(fn (%x, %key) { nn.dropout(%x, %key, rate=0.25) })(%x, %key)
}
def @keys(%x: Tensor[(?,), float32], %key: Tensor[(n, 10), uint64]) {
  vmap(fn (%x, %key) { nn.dropout(%x, %key, rate=0.25) }, in_axes=(None, 0))(%x, %key)
}
def @data(%x: Tensor[(n, ?), float32], %key: Tensor[(10,), uint64]) {
  vmap(fn (%x, %key) { nn.dropout(%x, %key, rate=0.25) }, in_axes=(0, None))(%x, %key)
}
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_of_unknown_size_are_dropped_by_their_keys(backend: str) -> None:
    mod = relay.parse(UNKNOWN)
    executor = relay.create_executor(backend, mod=mod)
    x = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")
    keys = np.stack([random_key(seed) for seed in range(3)])
    for name, data, key, masks in (
        ("both", x, keys, [kept_of((5,), seed, 0.25) for seed in range(3)]),
        ("keys", x[0], keys, [kept_of((5,), seed, 0.25) for seed in range(3)]),
        ("data", x, keys[0], [kept_of((5,), 0, 0.25)] * 3),
    ):
        y, mask = executor.evaluate(mod.get_global_var(name))(data, key)
        np.testing.assert_array_equal(mask, np.stack(masks).astype("float32"))
        np.testing.assert_array_equal(y, np.where(masks, data * np.float32(1 / 0.75), 0))
