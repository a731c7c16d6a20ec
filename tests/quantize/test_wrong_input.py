"""Options and examples that quantisation cannot use, and weights that it leaves alone."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.cli.quantize import METHODS as COMMAND_METHODS
from relay.cli.quantize import options_of
from relay.quantize.config import WEIGHT_ONLY
from relay.quantize.histogram import Channels, Products
from relay.quantize.ranges import METHODS

TEXT = "def @main(%x: Tensor[(n, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(nn.relu(%x), %w) }"
LOOP = """
def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32]) {
  let %go = fn (%y: Tensor[(1, 2), float32], %i: int32) -> Tensor[(1, 2), float32] {
    if (sum(%y) > 10.0 || %i > 50) { %y } else { %go(nn.dense(%y, %w), %i + 1) }
  };
  %go(%x, 0)
}"""


def weights() -> dict[str, np.ndarray[Any, Any]]:
    return {"w": np.random.default_rng(0).normal(size=(4, 8)).astype("float32")}


def examples() -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).normal(size=(3, 8)).astype("float32")


@pytest.mark.parametrize(
    "options",
    [
        {"config": "int8"}, {"config": relay.quantize.Static(), "method": "mse"}, {"method": ["mse"]},
        {"skip": None}, {"skip": "dense_7"}, {"skip": "nn.relu"}, {"operators": ["nn.dens"]},
        {"global_scale": 0}, {"global_scale": "wide"}, {"per_channel": "no"}, {"smooth": 2},
        {"method": "rtn", "bits": 4.0}, {"method": "rtn", "bits": "4"}, {"method": "rtn", "group_size": 4.0},
        {"method": "rtn", "smallest": "a"}, {"method": "gptq", "damping": float("nan")},
    ],
)  # fmt: skip
def test_a_wrong_option_is_one_diagnostic(options: dict[str, Any]) -> None:
    with pytest.raises(relay.RelayError) as found:
        relay.quantize.quantize(relay.parse(TEXT), weights(), [examples()], **options)
    assert [d.code for d in found.value.diagnostics] == ["quantize-option"]


@pytest.mark.parametrize("options", [{"global_scale": "x"}, {"skip_conv_layers": 3}])
def test_a_wrong_option_of_qconfig_is_one_diagnostic(options: dict[str, Any]) -> None:
    with pytest.raises(relay.RelayError, match="quantize-option"):
        relay.quantize.qconfig(**options)


def test_training_takes_static_quantisation_and_all_weights() -> None:
    mod = relay.parse(TEXT)
    with pytest.raises(relay.RelayError, match="quantize-option"):
        relay.quantize.prepare_training(mod, weights(), [examples()], relay.quantize.WeightOnly())
    training = relay.quantize.prepare_training(mod, weights(), [examples()])
    with pytest.raises(relay.RelayError, match="missing-input"):
        training.converted({})


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_weights_that_are_not_finite_stay(number: float) -> None:
    text = """
    def @main(%x: Tensor[(n, 8), float32], %w: Tensor[(4, 8), float32], %v: Tensor[(4, 8), float32]) {
      (nn.dense(%x, %w), nn.dense(%x, %v))
    }"""
    broken = weights()["w"]
    broken[0, 0] = number
    _, report = relay.quantize.report(relay.parse(text), {"w": broken, "v": weights()["w"]}, [examples()])
    assert [r.name for r in report.rows] == ["dense_1"]


def test_weights_without_rows_stay() -> None:
    mod = relay.parse(TEXT.replace("(4, 8)", "(0, 8)"))
    with pytest.raises(relay.RelayError, match="nothing-to-quantize"):
        relay.quantize.quantize(mod, {"w": np.zeros((0, 8), "float32")}, [examples()])


def test_statistics_are_of_rows_that_are_finite() -> None:
    x = np.array([[1, 2], [np.nan, 4], [3, np.inf], [-5, 6]], "float32")
    channels, products = Channels(-1), Products()
    for kept in (channels, products):
        kept.add(x)
        kept.add(np.zeros((3, 0), "float32")[:, :0])
    assert np.array_equal(np.asarray(channels.greatest), [5, 6])
    assert channels.mean.tolist() == [-2, 4]
    assert np.array_equal(np.asarray(products.sums), [[26, -28], [-28, 40]])


def test_a_report_on_a_loop_that_takes_other_rounds_when_it_is_quantised() -> None:
    w = np.float32([[1.001, 0.3], [0.2, 1.0]])
    inputs = [np.float32([[0.5, 0.4]]), np.float32([[0.3, 0.1]])]
    _, report = relay.quantize.report(relay.parse(LOOP), {"w": w}, inputs)
    assert report.examples == 2
    with pytest.raises(relay.RelayError, match="missing-calibration"):
        relay.quantize.report(relay.parse(LOOP), {"w": w}, inputs, examples=[])


def test_the_command_has_all_methods_and_passes_zeros_on() -> None:
    assert (*METHODS, *WEIGHT_ONLY) == COMMAND_METHODS
    assert options_of({"smooth": 0.0, "group_size": 0, "skip": (), "order": False}) == {
        "smooth": 0.0, "group_size": 0,
    }  # fmt: skip
