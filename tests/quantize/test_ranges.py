"""Histograms and ranges against definitions written out in float64."""

import math

import numpy as np
import pytest

from relay.quantize.histogram import BINS, Channels, Histogram, Products
from relay.quantize.ranges import (
    CANDIDATES,
    METHODS,
    SMALLEST_PART,
    SMOOTHING,
    chosen_range,
    divergence,
    scale_of_range,
    weight_scale,
)


def histogram(*batches: np.ndarray) -> Histogram:
    h = Histogram()
    for b in batches:
        h.add(b)
    return h


@pytest.mark.parametrize("seed", range(20))
def test_a_histogram_counts_what_one_of_all_numbers_at_once_would(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batches = [rng.normal(rng.normal(), 10.0 ** rng.integers(-6, 6), rng.integers(0, 400)) for _ in range(6)]
    h, x = histogram(*batches), np.concatenate(batches)
    assert (h.low, h.high) == (x.min(), x.max())
    width = 2.0**h.exponent
    expected = np.bincount(np.floor(x / width).astype(int) - h.first, minlength=BINS)
    np.testing.assert_array_equal(h.counts, expected)
    assert (x.max() - x.min()) / width >= BINS / 8


def test_numbers_that_are_not_finite_and_empty_arrays_are_passed_over() -> None:
    h = histogram(np.array([]), np.array([1.0, np.nan, np.inf, -2.0]), np.float32(3))
    assert (h.low, h.high, int(h.counts.sum())) == (-2.0, 3.0, 3)
    assert chosen_range(Histogram(), "mse", 99, "int8", True) == (0.0, 0.0)


def test_statistics_of_channels_and_rows_are_those_of_all_batches_together() -> None:
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(3, 5, 4)).astype("float32") for _ in range(4)]
    c, p = Channels(1), Products()
    for b in batches:
        c.add(b)
        p.add(b)
    x = np.concatenate(batches)
    np.testing.assert_allclose(c.greatest, np.abs(x).max((0, 2)))
    np.testing.assert_allclose(c.mean, x.astype("float64").mean((0, 2)))
    np.testing.assert_allclose(c.mean_magnitude, np.abs(x.astype("float64")).mean((0, 2)))
    rows = x.reshape(-1, 4).astype("float64")
    np.testing.assert_allclose(p.sums, rows.T @ rows)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("ends", [(-1.5, 3.0), (0.25, 3.0), (-7.0, -1.0), (0.0, 0.0), (-1e-30, 1e-30)])
def test_a_scale_has_zero_exactly_and_reaches_the_ends(dtype: str, ends: tuple[float, float]) -> None:
    for symmetric in (False, True):
        s = scale_of_range(*ends, dtype, symmetric)
        x = np.array([0, *ends], "float32")
        back = s.dequantized(s.quantized(x))
        assert back[0] == 0
        np.testing.assert_allclose(back, x, atol=float(s.scale) / 2 + 1e-12)
        if symmetric:
            assert int(s.zero) == (0 if dtype == "int8" else 128)


def brute_force(h: Histogram, low: float, high: float, dtype: str) -> float:
    """The divergence, with loops over bins and levels."""
    x, counts = h.content()
    kept = [
        min(c, max([counts[j] for j in (i - 1, i + 1) if 0 <= j < len(counts)])) for i, c in enumerate(counts)
    ]
    s = scale_of_range(low, high, dtype, False)
    inside = [i for i in range(len(x)) if low <= x[i] <= high]
    p = {i: float(kept[i]) for i in inside}
    p[inside[0]] += sum(kept[: inside[0]])
    p[inside[-1]] += sum(kept[inside[-1] + 1 :])
    levels: dict[float, list[int]] = {}
    for i in inside:
        levels.setdefault(float(np.round(x[i] / float(s.scale)) + float(s.zero)), []).append(i)
    q = dict.fromkeys(inside, 0.0)
    for members in levels.values():
        full = [i for i in members if p[i] > 0]
        for i in full:
            q[i] = sum(kept[j] for j in members) / len(full)
    n, total_p, total_q = len(inside), sum(p.values()), sum(q.values())
    found = 0.0
    for i in inside:
        a = (1 - SMOOTHING) * p[i] / total_p + SMOOTHING / n
        b = (1 - SMOOTHING) * q[i] / total_q + SMOOTHING / n
        found += a * math.log(a / b)
    return found


@pytest.mark.parametrize("part", [1.0, 0.6, 0.3])
def test_divergence_is_its_definition(part: float) -> None:
    x = np.random.default_rng(1).exponential(size=4000) - 0.3
    h = histogram(x)
    expected = brute_force(h, h.low, part * h.high, "uint8")
    assert divergence(h, (h.low, part * h.high), "uint8", False) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_range_of_least_squared_error_is_the_best_candidate(symmetric: bool) -> None:
    x = np.random.default_rng(2).standard_t(2, 20000)
    h = histogram(x)
    low, high = chosen_range(h, "mse", 99, "int8", symmetric)

    def error(low: float, high: float) -> float:
        s = scale_of_range(low, high, "int8", symmetric)
        return float(((s.dequantized(s.quantized(x.astype("float32"))) - x) ** 2).sum())

    parts = np.linspace(1, SMALLEST_PART, CANDIDATES)
    if symmetric:
        end = max(-h.low, h.high)
        best = min(error(-end * p, end * p) for p in parts)
    else:
        best = min(error(h.low * p, high) for p in parts)
    assert error(low, high) <= 1.02 * best
    assert error(low, high) < error(h.low, h.high)


def test_percentiles_leave_out_the_outermost_numbers() -> None:
    x = np.concatenate([np.random.default_rng(3).uniform(-1, 2, 100000), [-50, 70]])
    low, high = chosen_range(histogram(x), "percentile", 99.9, "uint8", False)
    np.testing.assert_allclose([low, high], np.quantile(x, [0.001, 0.999]), atol=0.05)
    low, high = chosen_range(histogram(x), "percentile", 99.9, "int8", True)
    np.testing.assert_allclose([-low, high], np.quantile(np.abs(x), 0.999), atol=0.05)


def test_every_method_keeps_a_uniform_distribution_whole() -> None:
    h = histogram(np.random.default_rng(4).uniform(-1, 3, 200000))
    for method in METHODS:
        low, high = chosen_range(h, method, 99.99, "uint8", False)
        assert low == pytest.approx(-1, abs=0.08)
        assert high == pytest.approx(3, abs=0.08)


def test_weights_have_scales_by_channel() -> None:
    w = np.random.default_rng(5).normal(size=(4, 3, 2)).astype("float32")
    w[2] = 0
    s = weight_scale(w, "int8", 1, "max")
    np.testing.assert_allclose(s.scale, np.abs(w).max((0, 2)) / 127, rtol=1e-6)
    np.testing.assert_allclose(s.dequantized(s.quantized(w)), w, atol=float(s.scale.max()) / 2)
    power = weight_scale(w, "int8", None, "power2")
    assert math.log2(float(power.scale)).is_integer()
    assert np.abs(w).max() / 127 <= power.scale < np.abs(w).max() / 127 * 2
    rows = np.random.default_rng(6).standard_t(2, (5, 400)).astype("float32")
    by = {k: weight_scale(rows, "int8", 0, k) for k in ("max", "mse")}
    errors = {k: ((s.dequantized(s.quantized(rows)) - rows) ** 2).sum(1) for k, s in by.items()}
    assert (errors["mse"] <= errors["max"]).all()
    assert np.abs(weight_scale(w, "int8", 1, "max", 64).quantized(w)).max() == 64
    assert weight_scale(np.zeros((2, 2), "float32"), "int8", 0, "max").scale.tolist() == [1, 1]
