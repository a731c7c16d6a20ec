"""Statistics and lengths at the ends of the range of their dtype, with derivatives, in both executors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import relay
from relay.ir.dtype import to_numpy

SIZES = [("float32", 1e20), ("float32", 1e-30), ("float16", 1e4), ("float16", 1e-3), ("bfloat16", 1e20)]
ROW = np.array([1.0, -1.0, 0.5, 3.0])


def results(text: str, *args: Any) -> Mapping[str, Any]:
    """Return what the executors compute, by their names."""
    mod = relay.parse(text)
    return {
        "debug": relay.create_executor("debug", mod).evaluate()(*args),
        "native": relay.build(mod)(*args),
    }


def gradient(body: str, dtype: str) -> str:
    """Return a program that computes the derivative of an expression in `%x`."""
    return (
        f"def @f(%x: Tensor[(4,), {dtype}]) {{ {body} }} "
        f"def @main(%x: Tensor[(4,), {dtype}]) {{ grad(@f)(%x).1.0 }}"
    )


def near(y: Any, wanted: Any, dtype: str) -> None:
    """Check results within a few units of their dtype."""
    share = {"float32": 1e-6, "float16": 3e-3, "bfloat16": 2e-2}[dtype]
    least = 2.0**-24 if dtype == "float16" else 0.0
    np.testing.assert_allclose(np.asarray(y, "float64"), wanted, share, least)


@pytest.mark.parametrize(("dtype", "size"), SIZES)
@pytest.mark.parametrize("unbiased", [False, True])
def test_a_deviation_is_not_rounded_as_a_variance(dtype: str, size: float, unbiased: bool) -> None:
    x = (ROW * size).astype(to_numpy(dtype))
    wide = x.astype("float64")
    wanted = np.std(wide, ddof=int(unbiased))
    away = (wide - np.mean(wide)) / (wanted * (4 - unbiased))
    attrs = f"unbiased={unbiased}"
    for y in results(f"def @main(%x: Tensor[(4,), {dtype}]) {{ std(%x, {attrs}) }}", x).values():
        near(y, wanted, dtype)
    for y in results(f"def @main(%x: Tensor[(4,), {dtype}]) {{ mean_std(%x, {attrs}) }}", x).values():
        near(y[1], wanted, dtype)
    for y in results(gradient(f"std(%x, {attrs})", dtype), x).values():
        near(y, away, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_variance_is_about_the_mean_before_it_is_rounded(dtype: str) -> None:
    size = 1e7 if dtype == "float32" else 1e15
    x = np.array([size, size + 1, size + 3], dtype)
    for y in results(f"def @main(%x: Tensor[(3,), {dtype}]) {{ variance(%x) }}", x).values():
        np.testing.assert_allclose(y, 14 / 9, 1e-6)
    rows = (1 + 1e-6 * np.random.default_rng(0).normal(size=(64, 1000))).astype("float32")
    for y in results("def @main(%x: Tensor[(64, 1000), float32]) { variance(%x, axis=1) }", rows).values():
        np.testing.assert_allclose(y, np.var(rows.astype("float64"), axis=1), 1e-6)


@pytest.mark.parametrize(("dtype", "size"), [(d, s) for d, s in SIZES if s != 1e-3])
def test_lengths_have_room_for_squares(dtype: str, size: float) -> None:
    x = (ROW * size).astype(to_numpy(dtype))
    wide = x.astype("float64")
    length = np.sqrt(np.sum(wide * wide))
    eps = "eps=0.0"
    for y in results(f"def @main(%x: Tensor[(4,), {dtype}]) {{ nn.l2_normalize(%x, {eps}) }}", x).values():
        near(y, wide / length, dtype)
    for y in results(gradient(f"take(nn.l2_normalize(%x, {eps}), 0)", dtype), x).values():
        near(y, (np.eye(4)[0] - wide[0] * wide / length**2) / length, dtype)
    other = np.array([1.0, 2.0, 0.5, 0.0]) * size
    z = other.astype(to_numpy(dtype)).astype("float64")
    cosine = np.sum(wide * z) / (length * np.sqrt(np.sum(z * z)))
    body = f"nn.cosine_similarity(%x, %z, axis=0, {eps})"
    program = f"def @main(%x: Tensor[(4,), {dtype}], %z: Tensor[(4,), {dtype}]) {{ {body} }}"
    for y in results(program, x, z.astype(to_numpy(dtype))).values():
        near(y, cosine, dtype)
    own = f"nn.cosine_similarity(%x, %x, axis=0, {eps})"
    for y in results(f"def @main(%x: Tensor[(4,), {dtype}]) {{ {own} }}", x).values():
        near(y, 1, dtype)
    for y in results(gradient(own, dtype), x).values():
        assert np.all(np.abs(np.asarray(y, "float64")) * size < 1e-2)


@pytest.mark.parametrize("size", [1.1e38, 1e-40])
def test_rows_at_the_ends_of_the_range_are_normalised(size: float) -> None:
    x = (ROW * size).astype("float32")
    weights = np.array([0.5, 1.0, -1.0, 2.0], "float32") * np.float32(1e10 if size > 1 else 1e-10)
    wide, w = x.astype("float64"), weights.astype("float64")
    definitions, mains = "", ""
    bodies = (
        "nn.layer_norm(%x, %x, %x, scale=False, center=False, epsilon=0.0)",
        "nn.rms_norm(%x, ones_like(%x), epsilon=0.0)",
        "nn.l2_normalize(%x, eps=0.0)",
    )
    params = "%x: Tensor[(4,), float32], %w: Tensor[(4,), float32]"
    for i, body in enumerate(bodies):
        definitions += f"def @f{i}({params}) {{ {body} * %w }} "
        mains += f"{body}, grad(@f{i})(%x, %w).1.0, "
    for y in results(f"{definitions} def @main({params}) {{ ({mains}) }}", x, weights).values():
        for i in range(3):
            away = wide - np.mean(wide) if i == 0 else wide
            length = np.sqrt(np.sum(away * away) / (1 if i == 2 else 4))
            near(y[2 * i], away / length, "float32")
            moved = w - np.mean(w) if i == 0 else w
            moved = moved - away * np.sum(moved * away) / np.sum(away * away)
            near(y[2 * i + 1], moved / length, "float32")


@pytest.mark.parametrize("size", [1e-17, 1e-14, 1e-11, 1e11, 1e14, 1e16, 1e18])
def test_rows_of_any_size_have_second_derivatives(size: float) -> None:
    x, w = (ROW * size).astype("float32"), (np.array([0.5, 1.0, -1.0, 2.0]) * size).astype("float32")
    params = "%x: Tensor[(4,), float32], %w: Tensor[(4,), float32]"
    text = (
        f"def @f({params}) {{ sum(nn.rms_norm(%x, ones_like(%x), epsilon=0.0) * %w) }} "
        f"def @g({params}) {{ sum(grad(@f)(%x, %w).1.0 * %w) }} "
        f"def @main({params}) {{ grad(@g)(%x, %w).1.0 }}"
    )
    u, v = x.astype("float64"), w.astype("float64")
    root, along = np.sqrt(np.mean(u * u)), v @ u
    wanted = 3 * along**2 * u / (16 * root**5) - (v @ v * u + 2 * along * v) / (4 * root**3)
    for y in results(text, x, w).values():
        np.testing.assert_allclose(y, wanted, 1e-5)


def test_a_scale_does_not_overflow_where_the_result_is_zero() -> None:
    params = "%x: Tensor[(4,), float32], %g: Tensor[(4,), float32]"
    for body in (
        "nn.layer_norm(%x, %x, %x, scale=False, center=False, epsilon=0.0)",
        "nn.rms_norm(%x, %g, epsilon=0.0)",
    ):
        x = np.float32(1e-33) * (np.float32([1, 2, -3, 4]) if "layer" in body else np.ones(4, "float32"))
        text = f"def @f({params}) {{ {body} * %g }} def @main({params}) {{ grad(@f)(%x, %g).1.0 }}"
        for y in results(text, x, np.full(4, 1e9, "float32")).values():
            np.testing.assert_array_equal(y, 0)
    body = "nn.layer_norm(%x, %x, %x, scale=False, center=False, epsilon=1e-62)"
    for y in results(
        f"def @main(%x: Tensor[(4,), float32]) {{ {body} }}", np.full(4, 1e10, "float32")
    ).values():
        np.testing.assert_array_equal(y, 0)


def test_powers_have_the_slopes_of_pytorch_at_zero_and_infinity() -> None:
    x, n = np.array([-0.0, 0.0, -0.0, np.inf, np.inf]), np.array([-1.0, -3.0, -3.0, 1 / 3, 1.7])
    for dtype in ("float32", "float64"):
        params = f"%x: Tensor[(5,), {dtype}], %n: Tensor[(5,), {dtype}]"
        text = f"def @f({params}) {{ power(%x, %n) }} def @main({params}) {{ grad(@f)(%x, %n).1 }}"
        for by_base, by_exponent in results(text, x.astype(dtype), n.astype(dtype)).values():
            np.testing.assert_array_equal(by_base, [-np.inf, -np.inf, -np.inf, 0, np.inf])
            np.testing.assert_array_equal(by_exponent, [np.inf, -np.inf, np.inf, np.inf, np.inf])


def test_xla_has_room_for_squares_too() -> None:
    pytest.importorskip("jax")
    x = (ROW * 1.1e38).astype("float32")
    wide = x.astype("float64")
    for body, wanted in (
        ("std(%x)", np.std(wide)),
        ("nn.l2_normalize(%x, eps=0.0)", wide / np.sqrt(np.sum(wide * wide))),
        ("nn.cosine_similarity(%x, %x, axis=0)", 1.0),
        ("nn.rms_norm(%x)", wide / np.sqrt(np.mean(wide * wide))),
        ("nn.layer_norm(%x, %x, %x, scale=False, center=False)", (wide - np.mean(wide)) / np.std(wide)),
    ):
        mod = relay.parse(f"def @main(%x: Tensor[(4,), float32]) {{ {body} }}")
        near(relay.build(mod, target="xla")(x), wanted, "float32")


SLOPES = {
    -1: [0.0, 0.0],
    0.5: [2.154700538379, -1.866025403784],
    1.5: [0.732956475829, -0.846345237248],
    2: [0.6, -0.8],
    3: [0.444851351731, -0.790846847521],
}
"""Derivatives of the norm of `[3.0, -4.0, 0.0]` by its first two numbers, of `torch.linalg.vector_norm`."""


@pytest.mark.parametrize("order", SLOPES)
def test_a_norm_has_no_slope_at_zero(order: float) -> None:
    def f(x: Any) -> Any:
        return relay.numpy.sum(relay.numpy.linalg.vector_norm(x, axis=1, ord=order))

    rows = np.array([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0]], "float32")
    # PyTorch takes the subgradient of least length.
    wanted = [[*SLOPES[order], 0.0], [0.0, 0.0, 0.0]]
    for run in (relay.function(relay.grad(f)), relay.compile(relay.grad(f))):
        np.testing.assert_allclose(run(rows)[1][0], wanted, 1e-6)
