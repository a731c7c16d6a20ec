"""Weights in groups: GPTQ and AWQ against rounding to nearest, and against all that a grid allows."""

import itertools

import numpy as np
import pytest

import relay
from quantize.digits_network import interpreted
from relay.quantize import WeightOnly
from relay.quantize.awq import awq_factors
from relay.quantize.gptq import gptq
from relay.quantize.groups import grid_for, in_groups, nearest, output_error, packed
from relay.quantize.weights import weight_plan
from support import cli


def layer(seed: int, n: int, k: int, rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """A weight, and correlated inputs of channels of different size."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(rows, k)) @ (np.eye(k) + 0.5 * rng.normal(size=(k, k)) / k**0.5)
    return rng.normal(size=(n, k)).astype("float32"), mixed * rng.lognormal(0, 1, k)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_rounding_to_nearest_is_the_nearest_point_of_the_grid(bits: int, symmetric: bool) -> None:
    w = layer(0, 3, 20)[0]
    found = nearest(w, bits, 8, symmetric)
    grid = grid_for(in_groups(w, 8), bits, symmetric)
    for i, j in itertools.product(range(3), range(20)):
        points = (np.arange(1 << bits) - grid.zero[i, j // 8]) * grid.scale[i, j // 8]
        gaps = np.abs(points - w[i, j])
        assert abs(found.matrix()[i, j] - w[i, j]) <= gaps.min() + 1e-6
    program = relay.Function([], found.expr(relay.const(0)))
    np.testing.assert_array_equal(interpreted(relay.IRModule.from_expr(program)), found.matrix())


def test_bytes_hold_the_first_number_lowest() -> None:
    assert packed(np.array([[1, 2, 3]]), 4).tolist() == [[0x21, 0x03]]
    assert packed(np.array([[1, 2, 3, 0, 3]]), 2).tolist() == [[0b00111001, 0b11]]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("order", [False, True])
def test_gptq_is_better_than_rounding_to_nearest(seed: int, order: bool) -> None:
    w, x = layer(seed, 6, 64)
    for bits, symmetric in ((2, False), (4, True), (4, False)):
        found = gptq(w, x.T @ x, bits, 16, symmetric, order)
        expected = ((x @ (found.matrix() - w).astype("float64").T) ** 2).sum()
        assert output_error(w, found.matrix(), x.T @ x) == pytest.approx(expected, rel=1e-6)
        assert expected < output_error(w, nearest(w, bits, 16, symmetric).matrix(), x.T @ x)


def test_gptq_in_blocks_is_that_column_by_column() -> None:
    w, x = layer(3, 4, 300, 900)
    found = gptq(w, x.T @ x, 4, 50, True)
    left, h = w.astype("float64"), x.T @ x
    h = h + 0.01 * h.diagonal().mean() * np.eye(300)
    factor = np.linalg.cholesky(np.linalg.inv(h)).T
    q = np.zeros((4, 300))
    for i in range(300):
        if i % 50 == 0:
            grid = grid_for(left[:, None, i : i + 50], 4, True)
        level = grid.levels(left[:, i], 0)
        q[:, i] = level
        error = (left[:, i] - grid.numbers(level, 0)) / factor[i, i]
        left[:, i:] -= np.outer(error, factor[i, i:])
    assert (found.q.reshape(4, -1) == q).mean() > 0.999


@pytest.mark.parametrize("seed", range(6))
def test_gptq_is_between_the_optimum_and_rounding_to_nearest(seed: int) -> None:
    w, x = layer(seed, 1, 4)
    h = x.T @ x
    grid = grid_for(in_groups(w, 4), 2, False)
    points = [(np.arange(4) - grid.zero[0, 0]) * grid.scale[0, 0]] * 4
    best = min(output_error(w, np.array([p]), h) for p in itertools.product(*points))
    found = output_error(w, gptq(w, h, 2, 4, False, order=True).matrix(), h)
    assert best <= found * (1 + 1e-9)
    assert found <= output_error(w, nearest(w, 2, 4, False).matrix(), h) * (1 + 1e-6)


def test_inputs_without_signal_and_without_rank() -> None:
    w, x = layer(0, 3, 16, 4)
    x[:, 5] = 0
    found = gptq(w, x.T @ x, 4, 8, True).matrix()
    assert np.isfinite(found).all()
    assert (found[:, 5] == 0).all()
    assert np.isfinite(awq_factors([w], np.abs(x).mean(0), x.T @ x, 4, 8, True)).all()


@pytest.mark.parametrize("seed", range(6))
def test_awq_takes_the_best_of_its_exponents(seed: int) -> None:
    w, x = layer(seed, 8, 32)
    both, h, size = [w[:4], w[4:]], x.T @ x, np.abs(x).mean(0)

    def error(s: np.ndarray) -> float:
        return sum(
            output_error(v, nearest((v * s).astype("float32"), 4, 16, True).matrix() / s, h) for v in both
        )

    found = awq_factors(both, size, h, 4, 16, True)
    for alpha in np.arange(20) / 20:
        s = size**alpha
        s = (s / np.sqrt(s.max() * s.min())).astype("float32")
        assert error(found) <= error(s) * (1 + 1e-6)
    assert error(found) <= error(np.ones(32, "float32"))


@pytest.mark.parametrize("method", ["rtn", "gptq", "awq"])
@pytest.mark.parametrize("bits", [4, 8])
def test_digits_are_read_within_a_percent(digits, method: str, bits: int) -> None:
    config = WeightOnly(method=method, bits=bits)
    calibration = digits.calibration[:2] if bits == 4 else digits.calibration[:1]
    mod = weight_plan(digits.prepared, calibration, config).quantized()
    found = interpreted(mod, digits.images)
    assert abs(digits.accuracy(found) - digits.accuracy(digits.scores)) < 0.01


def test_products_that_read_one_value_share_the_factors_of_awq() -> None:
    text = """
    def @main(%x: Tensor[(n, 32), float32], %q: Tensor[(8, 32), float32], %k: Tensor[(32, 8), float32]) {
      (nn.dense(%x, %q), nn.matmul(%x, %k))
    }"""
    w, x = layer(0, 16, 32)
    weights, x = {"q": w[:8], "k": w[8:].T.copy()}, x.astype("float32")
    options = {"method": "awq", "bits": 8, "group_size": 16}
    mod, report = relay.quantize.report(relay.parse(text), weights, [x], **options)
    assert mod.astext().count("*") == 1
    assert min(r.alone.snr for r in report.rows) > 40
    for found, expected in zip(relay.build(mod)(x), (x @ w[:8].T, x @ w[8:].T), strict=True):
        np.testing.assert_allclose(found, expected, atol=0.02 * np.abs(expected).max())


TWO_LAYERS = """
def @main(%x: Tensor[(n, 32), float32], %a: Tensor[(8, 32), float32], %b: Tensor[(8, 32), float32]) {
  (nn.dense(%x, %a), nn.dense(tanh(%x), %b))
}"""


@pytest.mark.parametrize("method", ["rtn", "gptq", "awq"])
def test_the_weights_of_the_most_noise_are_in_eight_bits(method: str) -> None:
    w, x = layer(0, 16, 32)
    w[8:, ::32] *= 40  # the scale of these is all that the group has
    weights, x = {"a": w[:8], "b": w[8:]}, x.astype("float32")
    mod, options = relay.parse(TWO_LAYERS), {"method": method, "group_size": 32}
    plain, mixed, named = [
        relay.quantize.report(mod, weights, [x], **options, eight_bits=e)[1] for e in (0, 0.5, "dense_0")
    ]
    assert plain.by_sensitivity()[0].name == mixed.by_sensitivity()[1].name == "dense_1"
    first, second = [[r.rows[i].alone.snr for r in (plain, mixed, named)] for i in range(2)]
    assert first[0] == first[1] < first[2] - 15
    assert second[2] == second[0] < second[1] - 15
    for share, count in ((0.49, 0), (1, 2)):
        made = relay.quantize.quantize(mod, weights, [x], **options, eight_bits=share)
        assert made.astext().count("bits=8") == count


def test_weights_that_are_not_there_and_options_that_do_not_fit_are_told() -> None:
    text = "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }"
    mod, w = relay.parse(text), np.ones((4, 8), "float32")
    with pytest.raises(relay.RelayError, match="no weights to quantise"):
        relay.quantize.quantize(mod, method="rtn")
    with pytest.raises(relay.RelayError, match="`gptq` needs calibration"):
        relay.quantize.quantize(mod, {"w": w}, method="gptq")
    with pytest.raises(relay.RelayError, match="a share of `eight_bits` needs calibration"):
        relay.quantize.quantize(mod, {"w": w}, method="rtn", eight_bits=0.5)
    with pytest.raises(relay.RelayError, match="`eight_bits` has `dense_1`, which names nothing"):
        relay.quantize.quantize(mod, {"w": w}, method="rtn", eight_bits=["dense_1"])
    for options in (
        {"eight_bits": 2},
        {"eight_bits": None},
        {"eight_bits": [1]},
        {"bits": 3},
        {"group_size": 0},
        {"bits": 2, "group_size": 3},
        {"percentile": 99},
    ):
        with pytest.raises(relay.RelayError) as found:
            relay.quantize.quantize(mod, {"w": w}, method="rtn", **options)
        assert found.value.codes == ("quantize-option",)


def test_the_command_line_quantises_weights(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }"
    (tmp_path / "layer.relay").write_text(text)
    np.savez("w.npz", w=layer(0, 4, 8)[0])
    said = cli(
        "quantize", "layer.relay", "--weights", "w.npz", "--method", "rtn", "--bits", "8", "--group-size", "8"
    )
    assert said.status == 0, said.output
    assert "dequantize_groups(" in said.output
