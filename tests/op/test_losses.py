"""Losses and their gradients against PyTorch's, which `record_losses.py` has written."""

import json
from typing import Any

import numpy as np
import pytest

import relay
from support import ROOT

CASES: list[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "losses.json").read_text(encoding="utf-8")
)


def value_and_slope(backend: str, case: dict[str, Any], dtype: str) -> tuple[Any, Any]:
    """The value of a loss, and the gradient of its sum by the predictions."""
    name = case["name"]
    integral = name == "softmax_cross_entropy"
    data = np.asarray(case["predictions"], dtype), np.asarray(case["targets"], "int64" if integral else dtype)
    x, y = (relay.var(n, shape=a.shape, dtype=str(a.dtype)) for n, a in zip("xy", data, strict=True))
    loss = relay.Function([x, y], getattr(relay.nn, name)(x, y, **case["attrs"]))
    value, (slope, _) = relay.create_executor(backend).evaluate(relay.grad(loss))(*data)
    return value, slope


@pytest.mark.parametrize("backend", ["debug", "native"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['name']}-{c['attrs']}")
def test_values_and_slopes_are_those_of_pytorch(backend: str, case: dict[str, Any]) -> None:
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-6)):
        value, slope = value_and_slope(backend, case, dtype)
        np.testing.assert_allclose(value, case["value"], rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(slope, case["slope"], rtol=tolerance, atol=tolerance)


def test_confident_logits_of_either_sign_cost_what_they_should() -> None:
    x = np.asarray([30.0, -30.0], "float32")
    case = {
        "name": "binary_cross_entropy_with_logits", "predictions": x, "targets": [1.0, 0.0],
        "attrs": {"reduction": "none"},
    }  # fmt: skip
    value, slope = value_and_slope("debug", case, "float32")
    np.testing.assert_allclose(value, np.exp([-30.0, -30.0]), rtol=1e-5)
    np.testing.assert_allclose(slope, [-np.exp(-30.0), np.exp(-30.0)], rtol=1e-5)


def test_classes_may_be_along_the_last_axis() -> None:
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(2, 3, 5)), rng.integers(0, 5, (2, 3))
    logs = x - np.log(np.exp(x).sum(axis=-1, keepdims=True))
    want = -np.take_along_axis(logs, labels[..., None], axis=-1)[..., 0]
    for dtype in ("int64", "int32", "uint8"):
        mod = relay.parse(
            f"def @main(%x: Tensor[(b, t, c), float64], %y: Tensor[(b, t), {dtype}]) "
            '{ nn.softmax_cross_entropy(%x, %y, reduction="none", axis=-1) }'
        )
        for backend in ("debug", "native"):
            got = relay.create_executor(backend, mod=mod).evaluate()(x, labels.astype(dtype))
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_excluded_classes_cost_nothing() -> None:
    case = {
        "name": "softmax_cross_entropy", "predictions": [[0.0, -np.inf, 0.0]], "targets": [2],
        "attrs": {"reduction": "mean"},
    }  # fmt: skip
    value, slope = value_and_slope("debug", case, "float32")
    np.testing.assert_allclose(value, np.log(2), rtol=1e-6)
    np.testing.assert_allclose(slope, [[0.5, 0.0, -0.5]], rtol=1e-6)


MEAN_SQUARE = "def @main(%x: Tensor[(n,), float16]) { nn.mse_loss(%x, zeros_like(%x)) }"


def test_narrow_floats_are_added_up_in_float32() -> None:
    x = np.full((4000,), 4.0, "float16")
    got = relay.run(relay.parse(MEAN_SQUARE), "main", [x])
    assert got == 16


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("nn.softmax_cross_entropy([[1.0, 2.0]], [1f32])", "dtype-not-supported"),
        ("nn.softmax_cross_entropy([[1.0, 2.0]], [1, 2])", "mismatch"),
        ("nn.softmax_cross_entropy([[1.0, 2.0]], [1], label_smoothing=2.0)", "attribute-value"),
        ("nn.softmax_cross_entropy([[1.0, 2.0]], [1], axis=2)", "axis-out-of-range"),
        ("nn.huber_loss([1.0], [2.0], delta=0.0)", "attribute-value"),
        ("nn.mse_loss([1.0], [[2.0]])", "mismatch"),
        ("nn.mse_loss([1i32], [2i32])", "dtype-not-supported"),
        ('nn.kl_div(1.0, 2.0, reduction="batchmean")', "rank-mismatch"),
        ('nn.mse_loss([1.0], [2.0], reduction="batchmean")', "attribute"),
    ],
)
def test_what_is_wrong_gets_a_diagnostic(text: str, code: str) -> None:
    with pytest.raises(relay.RelayError, match=code):
        relay.infer(relay.parse(text))


@pytest.mark.parametrize("backend", ["debug", "native"])
def test_a_label_that_is_no_class_is_a_diagnostic(backend: str) -> None:
    mod = relay.parse("def @main(%y: Tensor[(1,), int32]) { nn.softmax_cross_entropy([[1.0, 2.0]], %y) }")
    with pytest.raises(relay.RelayError, match="index-out-of-range"):
        relay.create_executor(backend, mod=mod).evaluate()(np.asarray([2], "int32"))


def test_one_vector_of_scores_has_one_label():
    scores = np.array([1, 2, 3], "float32")
    run = relay.create_executor("native")
    f = relay.parse_expr("fn (%x: Tensor[(3,), float32], %y: int64) { nn.softmax_cross_entropy(%x, %y) }")
    wanted = np.log(np.exp(scores).sum()) - scores[1]
    np.testing.assert_allclose(run.evaluate(f)(scores, np.int64(1)), wanted, rtol=1e-6)
