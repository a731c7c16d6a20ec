"""Operators on quantised tensors, against fractions computed exactly and PyTorch's quantised tensors."""

from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest

from op.concrete import run
from relay.diagnostic import RelayError
from relay.text.api import parse
from relay.typecheck.infer import infer

F, I = np.float32, np.int32  # noqa: E741
RNG = np.random.default_rng(3)


def rounded(x: Fraction, rounding: str) -> int:
    """Nearest, halves up or away from 0."""
    if rounding == "TONEAREST" and x < 0:
        return -floor(-x + Fraction(1, 2))
    return floor(x + Fraction(1, 2))


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_requantize_rounds_the_product_by_a_fraction_of_31_bits_once(rounding: str) -> None:
    data = RNG.integers(-100_000, 100_000, 300).astype("int32")
    for ratio in (0.5, 0.3, 1.0, 2.7, 1e-3):
        scale = F(ratio)
        exact, shift = Fraction(float(scale)), 0
        while exact >= 1:
            exact, shift = exact / 2, shift + 1
        while exact < Fraction(1, 2):
            exact, shift = exact * 2, shift - 1
        fraction = Fraction(floor(exact * 2**31 + Fraction(1, 2)), 2**31) * Fraction(2) ** shift
        wanted = [rounded((int(x) - 7) * fraction, rounding) + 3 for x in data]
        found = run("qnn.requantize", data, scale, I(7), F(1), I(3), rounding=rounding, out_dtype="int32")
        assert found.tolist() == wanted
        narrow = run("qnn.requantize", data, scale, I(7), F(1), I(3), rounding=rounding, out_dtype="uint8")
        assert narrow.tolist() == np.clip(wanted, 0, 255).tolist()


def test_quantize_and_dequantize_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = RNG.normal(0, 20, (4, 3)).astype("float32")
    scales, zeros = np.array([0.1, 0.25, 0.5], "float32"), np.array([3, -2, 0])
    for dtype, kind in (("int8", torch.qint8), ("uint8", torch.quint8)):
        zero = np.abs(zeros) if dtype == "uint8" else zeros
        q = torch.quantize_per_channel(torch.tensor(x), torch.tensor(scales), torch.tensor(zero), 1, kind)
        found = run("qnn.quantize", x, scales, zero.astype("int32"), axis=1, out_dtype=dtype)
        np.testing.assert_array_equal(found, q.int_repr().numpy())
        back = run("qnn.dequantize", found, scales, zero.astype("int32"), axis=1)
        np.testing.assert_allclose(back, q.dequantize().numpy(), rtol=1e-6)


def real(q: Any, scale: float, zero: int) -> Any:
    """The numbers that integers stand for."""
    return (q.astype("float64") - zero) * scale


@pytest.mark.parametrize(
    ("name", "f"), [("qnn.add", np.add), ("qnn.subtract", np.subtract), ("qnn.mul", np.multiply)]
)
def test_arithmetic_is_near_that_of_the_numbers(name: str, f: Any) -> None:
    a, b = (RNG.integers(-128, 128, (5, 6)).astype("int8") for _ in range(2))
    found = run(name, a, b, F(0.1), I(3), F(0.07), I(-5), F(0.3), I(2))
    wanted = f(real(a, 0.1, 3), real(b, 0.07, -5)) / 0.3 + 2
    assert np.abs(found - np.clip(wanted, -128, 127)).max() <= 1


@pytest.mark.parametrize(
    ("name", "f"),
    [
        ("abs", np.abs), ("exp", np.exp), ("tanh", np.tanh), ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6), ("sqrt", lambda x: np.sqrt(np.abs(x))),
        ("log", lambda x: np.log(np.abs(x))), ("rsqrt", lambda x: 1 / np.sqrt(np.abs(x))),
    ],
)  # fmt: skip
def test_functions_are_quantised_values_of_the_numbers(name: str, f: Any) -> None:
    low = 4 if name in ("sqrt", "log", "rsqrt") else -128
    x = np.arange(low, 128).astype("int8")
    found = run(f"qnn.{name}", x, F(0.02), I(3), F(0.05), I(-10))
    wanted = np.clip(np.round(f(real(x, F(0.02), 3)) / F(0.05)) - 10, -128, 127)
    assert np.abs(found - wanted).max() <= 1
    assert (found != wanted).sum() <= 2  # ties, on one side in float32


def test_products_subtract_zero_points_first() -> None:
    x, w = RNG.integers(0, 255, (3, 5)).astype("uint8"), RNG.integers(-128, 128, (4, 5)).astype("int8")
    found = run("qnn.dense", x, w, I(7), np.arange(4, dtype="int32"), F(1), np.ones(4, "float32"), units=4)
    np.testing.assert_array_equal(found, (x.astype(int) - 7) @ (w.astype(int) - np.arange(4)[:, None]).T)
    y = RNG.integers(-128, 128, (2, 4, 5)).astype("int8")
    z = RNG.integers(-128, 128, (2, 6, 5)).astype("int8")
    found = run("qnn.batch_matmul", y, z, I(3), I(-2), F(1), F(1))
    np.testing.assert_array_equal(found, np.einsum("bnk,bmk->bnm", y.astype(int) - 3, z.astype(int) + 2))


def test_convolutions_pad_with_the_zero_point() -> None:
    torch = pytest.importorskip("torch")
    x, w = (
        RNG.integers(0, 255, (1, 3, 5, 6)).astype("uint8"),
        RNG.integers(-128, 128, (4, 3, 3, 3)).astype("int8"),
    )
    a, b = (torch.tensor(v.astype("float64") - z) for v, z in ((x, 9), (w, -4)))
    found = run("qnn.conv2d", x, w, I(9), I(-4), F(1), F(1), padding=(1, 1), strides=(2, 1))
    wanted = torch.nn.functional.conv2d(a, b, padding=1, stride=(2, 1)).numpy()
    np.testing.assert_array_equal(found, wanted)
    v = RNG.integers(-128, 128, (3, 4, 3, 3)).astype("int8")
    found = run("qnn.conv2d_transpose", x, v, I(9), I(-4), F(1), F(1), strides=(2, 2), padding=(1, 1))
    wanted = torch.nn.functional.conv_transpose2d(a, torch.tensor(v + 4.0), stride=2, padding=1).numpy()
    np.testing.assert_array_equal(found, wanted)


def test_pooling_concatenation_softmax_and_slopes() -> None:
    x = RNG.integers(0, 255, (1, 4, 4, 2)).astype("uint8")
    found = run("qnn.avg_pool2d", x, F(1), I(0), F(1), I(0), pool_size=(2, 2), strides=(2, 2))
    mean = x.reshape(1, 2, 2, 2, 2, 2).astype(float).mean((2, 4))
    np.testing.assert_array_equal(found, np.floor(mean + 0.5))
    # Rounded once, in the scale of the result: floor(mean * 8 / (1 / 2) + 1 / 2), of means that are quarters.
    y = RNG.integers(-3, 3, (1, 4, 4, 2)).astype("int8")
    found = run("qnn.avg_pool2d", y, F(8), I(0), F(0.5), I(-4), pool_size=(2, 2), strides=(2, 2))
    mean = y.reshape(1, 2, 2, 2, 2, 2).astype(float).mean((2, 4))
    np.testing.assert_array_equal(found, np.clip(np.floor(mean * 16 + 0.5) - 4, -128, 127))
    assert (found % 16 != 12).any()
    # A sum of 1 over 3 elements, times 3 / 2, is a half.
    thirds = np.array([[[[1], [0], [0]]]], "int8")
    assert run("qnn.avg_pool2d", thirds, F(1.5), I(0), F(1), I(0), pool_size=(1, 3)).item() == 1
    a, b = np.array([4, -6], "int8"), np.array([10], "int8")
    found = run("qnn.concatenate", (a, b), (F(1), F(0.5)), (I(0), I(2)), F(0.5), I(1))
    assert found.tolist() == [9, -11, 9]
    assert run(
        "qnn.leaky_relu", np.array([-8, 6], "int8"), F(0.5), I(0), F(0.5), I(1), alpha=0.25
    ).tolist() == [-1, 7]
    q = run("qnn.softmax", np.array([[0, 4, 8]], "int8"), F(0.25), I(0), F(1 / 256), I(-128))
    e = np.exp([0, 1, 2])
    assert np.abs(q - (e / e.sum() * 256 - 128)).max() <= 0.5 + 1e-3


@pytest.mark.parametrize(("data", "axis"), [("2", -1), ("[2, 3]", 1)])
def test_softmax_needs_an_axis(data: str, axis: int) -> None:
    with pytest.raises(RelayError) as error:
        infer(parse(f"def @main() {{ qnn.softmax({data}, 0.25, 0, 0.5, 0, axis={axis}) }}"))
    assert error.value.codes == ("axis-out-of-range",)
