"""Training with quantisation: derivatives that pass through rounding, and programs that are converted."""

from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

import relay
from quantize.digits_network import interpreted
from relay.transform.passes.fake_quantization import fake_quantization_to_integer
from support import ROOT

TEXT = """
def @net(%x: Tensor[(n, 8), float32], %a: Tensor[(8, 8), float32], %b: Tensor[(4, 8), float32]) {
  nn.dense(nn.relu(nn.dense(%x, %a)), %b)
}
def @loss(%w: (Tensor[(8, 8), float32], Tensor[(4, 8), float32]), %x: Tensor[(n, 8), float32],
          %y: Tensor[(n, 4), float32]) {
  let %gap = @net(%x, %w.0, %w.1) - %y;
  mean(%gap * %gap)
}
def @main(%x: Tensor[(n, 8), float32], %a: Tensor[(8, 8), float32], %b: Tensor[(4, 8), float32]) {
  @net(%x, %a, %b)
}"""


@pytest.fixture(scope="module")
def prepared() -> tuple[relay.quantize.Training, dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    weights = {k: rng.normal(size=s).astype("float32") for k, s in (("a", (8, 8)), ("b", (4, 8)))}
    x = rng.normal(size=(64, 8)).astype("float32")
    return relay.quantize.prepare_training(relay.parse(TEXT), weights, [x]), weights, x


def test_the_program_computes_what_the_converted_one_does(prepared) -> None:
    training, weights, x = prepared
    trained = interpreted(training.mod, x, weights["a"], weights["b"])
    converted = training.converted(weights)
    np.testing.assert_allclose(interpreted(converted, x), trained, atol=1e-4)
    integers = fake_quantization_to_integer(converted, use_qat=True)
    step = max(float(s.scale) for s in training.scales.values())
    np.testing.assert_allclose(interpreted(integers, x), trained, atol=2 * step * np.abs(weights["b"]).max())
    exact = np.maximum(x @ weights["a"].T, 0) @ weights["b"].T
    assert 1e-4 < np.abs(trained - exact).max() < 0.3


def test_cotangents_pass_within_the_range_and_stop_beyond(prepared) -> None:
    training, weights, x = prepared
    names = [p.name_hint for p in training.mod["net"].params]
    assert names == ["x", "a", "b"]
    executor = relay.create_executor("debug", mod=training.mod)
    gradient = executor.evaluate(relay.grad(training.mod.get_global_var("net")))
    _, (by_x, by_a, _) = gradient(x, weights["a"], weights["b"])
    float_gradient = relay.create_executor("debug", mod=relay.infer(relay.parse(TEXT)))
    plain = float_gradient.evaluate(relay.grad(relay.GlobalVar("net")))
    _, (expected, by_a_expected, _) = plain(x, weights["a"], weights["b"])
    assert np.median(np.abs(np.asarray(by_x) - np.asarray(expected))) < 0.1
    assert np.abs(np.asarray(by_a) - np.asarray(by_a_expected)).max() < 0.1 * np.abs(by_a_expected).max() + 1
    _, (beyond, *_) = gradient(100 * x, weights["a"], weights["b"])
    assert (np.asarray(beyond)[np.abs(x) > 0.2] == 0).all()


def test_training_reduces_the_loss_of_the_quantised_program(prepared) -> None:
    training, weights, x = prepared
    loss = training.mod.get_global_var("loss")
    rule = relay.optim.sgd(0.02)
    executor = relay.create_executor(mod=training.mod)
    step = executor.evaluate(relay.optim.train_step(loss, rule, training.mod))
    w = (weights["a"], weights["b"])
    state = executor.evaluate(rule.init(training.mod.type_of(loss).arg_types[0]))(w)
    y = np.tanh(x[:, :4])
    losses = []
    for _ in range(30):
        value, w, state = step(w, state, x, y)
        losses.append(float(value))
    assert losses[-1] < 0.5 * losses[0]
    found = interpreted(training.converted(dict(zip("ab", map(np.asarray, w), strict=True))), x)
    assert float(((found - y) ** 2).mean()) <= losses[-1] * 1.2


def test_learned_scales_have_the_derivatives_of_their_paper() -> None:
    x, s = relay.var("x", shape=(5,)), relay.var("s", shape=())
    mod = relay.IRModule()
    body = relay.quantize.learned_scale(x, s, -8, 7, mod)
    mod["main"] = relay.Function([x, s], body)
    mod = relay.infer(mod)
    gradient = relay.create_executor("debug", mod=mod).evaluate(relay.grad(mod.get_global_var("main")))
    values, scale = np.array([-9, -2.3, 0.2, 3.4, 50], "float32"), np.float32(0.5)
    found, (by_x, by_s) = gradient(values, scale)
    ratio = values / scale
    np.testing.assert_allclose(found, np.clip(np.round(ratio), -8, 7) * scale)
    np.testing.assert_array_equal(by_x, (ratio >= -8) & (ratio <= 7))
    parts = np.where(ratio < -8, -8, np.where(ratio > 7, 7, np.round(ratio) - ratio))
    assert float(by_s) == pytest.approx(parts.sum() / np.sqrt(5 * 7), rel=1e-5)


@pytest.mark.long
def test_the_example_reads_digits_within_a_percent_by_every_method() -> None:
    spec = spec_from_file_location("quantize_digits", ROOT / "examples" / "quantize_digits.py")
    assert spec is not None
    assert spec.loader is not None
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    found = example.accuracies()
    assert all(abs(share - found["float32"]) < 0.01 for share in found.values()), found
