"""Static quantisation of whole programs: what is written, what it computes, what it says is wrong."""

import numpy as np
import pytest

import relay
from quantize.digits_network import interpreted
from relay.quantize import Static
from relay.quantize.api import plan_for
from relay.quantize.prepare import prerequisite_optimize
from relay.quantize.sites import OPERATORS, find_sites
from relay.transform.passes.fake_quantization import fake_quantization_to_integer
from support import cli


def in_integers(mod: relay.IRModule) -> relay.IRModule:
    return fake_quantization_to_integer(mod, use_qat=True)


def close_to_integers(mod: relay.IRModule, x: np.ndarray, steps: float) -> np.ndarray:
    """The result of a quantised module, which in integers is at most `steps` away."""
    found = interpreted(mod, x)
    np.testing.assert_allclose(interpreted(in_integers(mod), x), found, atol=steps)
    return found


@pytest.mark.parametrize(
    "config",
    [
        Static("minmax"),
        Static("percentile"),
        Static("entropy"),
        Static("mse"),
        Static(activations="int8", symmetric=True),
        Static(per_channel=False, weight_scale="power2"),
        Static(weight_scale="mse", activations="int8"),
    ],
)
def test_every_method_reads_digits_within_a_percent(digits, config: Static) -> None:
    found = close_to_integers(digits.plan(config).quantized(), digits.images, 1.5)
    assert abs(digits.accuracy(found) - digits.accuracy(digits.scores)) < 0.01


def test_digits_by_compiled_integers(digits) -> None:
    options = {"smooth": 0.5, "bias_correction": True, "method": "mse"}
    mod = relay.quantize.quantize(digits.mod, digits.weights, digits.calibration, **options)
    found = relay.build(in_integers(mod))(digits.images)
    assert abs(digits.accuracy(found) - digits.accuracy(digits.scores)) < 0.01
    left = operators(relay.optimize(in_integers(mod))[0])
    assert not left.keys() & {"nn.conv2d", "nn.dense"}
    assert (left["qnn.conv2d"], left["qnn.dense"]) == (2, 1)


def operators(mod: relay.IRModule) -> dict[str, int]:
    return {str(k): v for k, v in relay.analysis.list_op_freqs(mod).items()}


RESIDUAL = """
def @main(%x: Tensor[(2, 4, 6, 6), float32], %a: Tensor[(4, 4, 3, 3), float32],
          %b: Tensor[(4, 4, 3, 3), float32], %c: Tensor[(3, 8), float32]) {
  let %p = nn.relu(nn.conv2d(%x, %a, padding=(1, 1)));
  let %q = nn.relu(nn.conv2d(%p, %b, padding=(1, 1)) + %p);
  let %r = concatenate((%q, nn.max_pool2d(%p, pool_size=(3, 3), padding=(1, 1))), axis=1);
  nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%r)), %c)
}"""


def residual_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"a": (4, 4, 3, 3), "b": (4, 4, 3, 3), "c": (3, 8)}
    return {k: rng.normal(size=s).astype("float32") for k, s in shapes.items()}


def test_sums_and_joins_between_products_are_quantised() -> None:
    mod = relay.parse(RESIDUAL)
    x = np.random.default_rng(1).normal(size=(2, 4, 6, 6)).astype("float32")
    plan = plan_for(mod, residual_weights(), [x], Static())
    assert [s.name for s in plan.sites] == [
        "conv2d_0", "conv2d_1", "add_0", "concatenate_0", "global_avg_pool2d_0", "dense_0",
    ]  # fmt: skip
    quantised = plan.quantized()
    expected = interpreted(prerequisite_optimize(mod, residual_weights()), x)
    found = close_to_integers(quantised, x, 0.02 * np.abs(expected).max())
    np.testing.assert_allclose(found, expected, atol=0.03 * np.abs(expected).max())
    left = operators(relay.optimize(in_integers(quantised))[0])
    assert not left.keys() & {"nn.conv2d", "nn.dense", "add", "concatenate"}, left


def test_a_sum_whose_value_goes_elsewhere_stays_in_floats() -> None:
    text = """
    def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(4, 4), float32]) {
      let %y = nn.dense(%x, %w) + %x;
      nn.softmax(%y) + nn.dense(%y, %w)
    }"""
    mod = prerequisite_optimize(relay.parse(text), {"w": np.eye(4, dtype="float32")})
    assert [s.name for s in find_sites(mod, OPERATORS)] == ["dense_0", "dense_1"]


def test_values_in_branches_and_recursion_are_calibrated() -> None:
    text = """
    def @main(%x: Tensor[(2, 3), float32], %n: int32) -> Tensor[(2, 3), float32] {
      if (%n == 0) { %x } else { @main(nn.dense(%x, [[2f, 0f, 0f], [0f, 2f, 0f], [0f, 0f, 2f]]), %n - 1) }
    }"""
    x = np.linspace(-1, 1, 6).reshape(2, 3).astype("float32")
    plan = plan_for(relay.parse(text), None, [(x, 4)], Static())
    (scale,) = plan.scales.values()
    assert float(scale.scale) == pytest.approx(16 / 255)
    np.testing.assert_allclose(relay.build(plan.quantized())(x, 4), 16 * x, atol=16 * 16 / 255)


def test_weights_that_are_arguments_are_quantised_as_they_come() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.dense(%x, %w) }"
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 3)).astype("float32"), rng.normal(size=(4, 3)).astype("float32")
    mod = relay.quantize.quantize(relay.parse(text), None, [(x, w)])
    np.testing.assert_allclose(relay.build(mod)(x, w), x @ w.T, atol=0.1)


def test_what_is_skipped_stays(digits) -> None:
    def sites(*skip: str) -> list[str]:
        return [
            s.name
            for s in plan_for(digits.mod, digits.weights, digits.calibration[:1], Static(skip=skip)).sites
        ]

    assert sites("conv2d_0") == ["conv2d_1", "dense_0"]
    assert sites("nn.conv2d") == ["dense_0"]
    with pytest.raises(relay.RelayError, match="nothing to quantise"):
        sites("@network")


LAYERS = """
def @main(%x: Tensor[(n, 8), float32], %a: Tensor[(8, 8), float32], %b: Tensor[(4, 8), float32]) {
  nn.dense(nn.relu(nn.dense(%x, %a)), %b)
}"""


class Layers:
    """Two layers, their weights and data."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.mod = relay.parse(LAYERS, "layers.relay")
        self.weights = {k: rng.normal(size=s).astype("float32") for k, s in (("a", (8, 8)), ("b", (4, 8)))}
        self.calibration = [rng.normal(size=(16, 8)).astype("float32") for _ in range(3)]
        self.x = rng.normal(size=(20, 8)).astype("float32")
        self.exact = np.maximum(self.x @ self.weights["a"].T, 0) @ self.weights["b"].T


@pytest.fixture(scope="module")
def layers() -> Layers:
    return Layers()


def test_the_report_has_a_row_for_each_operator(layers) -> None:
    mod, report = relay.quantize.report(
        layers.mod, layers.weights, layers.calibration, examples=[layers.x[:10], layers.x[10:]]
    )
    assert [r.name for r in report.rows] == ["dense_0", "dense_1"]
    first, last = report.rows
    assert first.alone.noise == pytest.approx(first.total.noise)
    assert last.total.snr < last.alone.snr
    gap = (interpreted(mod, layers.x) - layers.exact).astype("float64")
    assert report.result.max_error == pytest.approx(np.abs(gap).max(), rel=1e-3)
    snr = 10 * np.log10((layers.exact.astype("float64") ** 2).sum() / (gap**2).sum())
    assert report.result.snr == pytest.approx(snr, abs=0.01)
    assert report.by_sensitivity()[0].alone.snr == min(r.alone.snr for r in report.rows)
    assert "layers.relay:3" in str(report)


def test_known_names_quantise_as_they_did(digits) -> None:
    known = relay.quantize.current_qconfig()
    assert known.calibrate_mode == "global_scale"
    assert (known.skip_conv_layers, known.skip_dense_layer) == ((0,), True)
    with relay.quantize.qconfig(global_scale=16.0, do_simulation=True):
        assert relay.quantize.current_qconfig().global_scale == 16
        mod = relay.quantize.quantize(digits.mod, params=digits.weights)
    assert relay.quantize.current_qconfig().global_scale == 8
    found = operators(mod)
    assert (found["qnn.quantize"], found["nn.dense"], found["nn.conv2d"]) == (1, 1, 2)


def test_known_modes_of_calibration(layers) -> None:
    for mode in ("kl_divergence", "percentile"):
        with relay.quantize.qconfig(calibrate_mode=mode, weight_scale="max", skip_dense_layer=False):
            dataset = [{"x": x} for x in layers.calibration]
            mod = relay.quantize.quantize(layers.mod, layers.weights, dataset=dataset)
        assert operators(mod)["qnn.dense"] == 2
        assert np.abs(interpreted(mod, layers.x) - layers.exact).mean() < 0.1 * np.abs(layers.exact).mean()


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        (None, "needs calibration"),
        ([], "has no examples"),
        ({"x": 1}, "not a dict"),
        (np.zeros((3, 8), "float32"), "not ndarray"),
        ([{"xs": np.zeros((3, 8))}], "did you mean `x`"),
        ([{}], "no value for `x`"),
        ([np.zeros((3, 9), "float32")], "does not fit"),
        ([(np.zeros((3, 8)), 1)], "2 values for 1 parameters"),
    ],
)
def test_wrong_calibration_is_told(layers, calibration, message: str) -> None:
    with pytest.raises(relay.RelayError, match=message):
        relay.quantize.quantize(layers.mod, layers.weights, calibration)


@pytest.mark.parametrize(
    "options",
    [{"method": "kl"}, {"methd": "mse"}, {"percentile": 20}, {"smooth": True}, {"activations": "int4"}],
)
def test_wrong_options_are_told(options: dict) -> None:
    with pytest.raises(relay.RelayError) as found:
        relay.quantize.quantize(relay.IRModule(), **options)
    assert found.value.codes == ("quantize-option",)
    with pytest.raises(relay.RelayError, match="calibrate_mode"):
        relay.quantize.qconfig(calibrate_mod="percentile")


def test_the_command_line_quantises(layers, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "layers.relay").write_text(LAYERS)
    np.savez("w.npz", **layers.weights)
    np.savez("data.npz", x=np.stack(layers.calibration), unrelated=np.zeros(3))
    given = ("quantize", "layers.relay", "--weights", "w.npz", "--calibration")
    said = cli(*given, "data.npz", "-o", "q.relay", "--report", "--integers")
    assert said.status == 0, said.output
    assert "dense_1" in said.output
    np.savez("one.npz", x=layers.x)
    said = cli("run", "q.relay", "one.npz", "--output", "out.npz")
    assert said.status == 0, said.output
    np.testing.assert_allclose(np.load("out.npz")["result"], layers.exact, atol=0.5)
    np.savez("wrong.npz", xs=layers.x)
    wrong = cli(*given, "wrong.npz")
    assert (wrong.status, "is it the array `xs`" in wrong.output) == (1, True)
    np.savez("wrong.npz", x=layers.x[None, None])
    assert "does not fit" in cli(*given, "wrong.npz").output
    assert "missing-calibration" in cli("quantize", "layers.relay", "--weights", "w.npz").output
