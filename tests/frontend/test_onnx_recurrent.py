"""Recurrent operators of ONNX over sequences of any length, and over long ones."""

from typing import Any

import numpy as np
import pytest

import relay
from frontend.onnx_models import model, node
from relay.ir.walk import post_order

pytestmark = pytest.mark.onnx

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
INPUT, SIZE = 3, 4


def layer(kind: str, steps: Any, batch: Any, direction: str = "forward", lengths: bool = False) -> Any:
    """A model of one layer with weights, whose outputs are all that the operator gives."""
    rng = np.random.default_rng(0)
    sides = 2 if direction == "bidirectional" else 1
    weights = {
        "w": rng.normal(size=(sides, GATES[kind] * SIZE, INPUT)),
        "r": rng.normal(size=(sides, GATES[kind] * SIZE, SIZE)) / 2,
        "b": rng.normal(size=(sides, 2 * GATES[kind] * SIZE)),
    }
    inputs: dict[str, Any] = {"x": ("float32", [steps, batch, INPUT])}
    if lengths:
        inputs["lengths"] = ("int32", [batch])
    outputs = ["y", "h", "c"] if kind == "LSTM" else ["y", "h"]
    one = node(
        kind,
        ["x", "w", "r", "b", "lengths" if lengths else ""],
        outputs,
        hidden_size=SIZE,
        direction=direction,
    )
    return model([one], inputs, outputs, {k: v.astype("float32") for k, v in weights.items()}, 14)


def expected(proto: Any, *arrays: Any) -> Any:
    """What ONNX Runtime gives."""
    runtime = pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")
    proto.ir_version = 10
    for o in proto.graph.output:
        o.type.tensor_type.elem_type = 1
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in proto.graph.input], arrays, strict=True)))


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


@pytest.mark.parametrize(
    ("kind", "direction"), [("RNN", "forward"), ("GRU", "reverse"), ("LSTM", "bidirectional")]
)
def test_sequences_of_any_length(kind: str, direction: str) -> None:
    proto = layer(kind, "steps", "batch", direction, lengths=True)
    mod, _ = relay.frontend.from_onnx(proto)
    run, fast = relay.create_executor("debug", mod).evaluate(), relay.build(mod)
    for steps, batch in ((1, 2), (2, 1), (7, 3), (33, 2)):
        x = np.random.default_rng(steps).normal(size=(steps, batch, INPUT)).astype("float32")
        lengths = np.arange(steps, steps - batch, -1).clip(1).astype("int32")
        for found in (run(x, lengths), fast(x, lengths)):
            for one, other in zip(found, expected(proto, x, lengths), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_no_steps_keep_the_states() -> None:
    mod, _ = relay.frontend.from_onnx(layer("LSTM", "steps", 2))
    nothing = np.zeros((0, 2, INPUT), "float32")
    for y, h, c in (relay.create_executor("debug", mod).evaluate()(nothing), relay.build(mod)(nothing)):
        assert y.shape == (0, 1, 2, SIZE)
        assert h.shape == c.shape == (1, 2, SIZE)
        assert not h.any()
        assert not c.any()


def test_long_sequences_are_no_longer_programs() -> None:
    proto = layer("GRU", 100, 2)
    mod, _ = relay.frontend.from_onnx(proto)
    longer, _ = relay.frontend.from_onnx(layer("GRU", 400, 2))
    assert len(list(post_order(mod["main"]))) == len(list(post_order(longer["main"])))
    x = np.random.default_rng(1).normal(size=(100, 2, INPUT)).astype("float32")
    found = relay.create_executor("debug", mod).evaluate()(x)
    for one, other in zip(found, expected(proto, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_weights_that_are_parameters() -> None:
    proto = layer("LSTM", "steps", 2)
    mod, params = relay.frontend.from_onnx(proto, freeze_params=False)
    x = np.random.default_rng(1).normal(size=(9, 2, INPUT)).astype("float32")
    assert set(params) == {"w", "r", "b"}
    for one, other in zip(relay.build(mod)(x, **params), expected(proto, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_numbers_of_activations_go_in_order_to_those_that_have_any() -> None:
    one = node(
        "RNN", ["x", "w", "r"], ["y"], hidden_size=1, direction="bidirectional",
        activations=["Softplus", "LeakyRelu"], activation_alpha=[0.5],
    )  # fmt: skip
    ones = {"w": np.ones((2, 1, 1), "float32"), "r": np.zeros((2, 1, 1), "float32")}
    mod, _ = relay.frontend.from_onnx(model([one], {"x": ("float32", [2, 1, 1])}, ["y"], ones))
    found = relay.create_executor("debug", mod).evaluate()(np.array([-2, 100], "float32").reshape(2, 1, 1))
    np.testing.assert_allclose(np.ravel(found), [np.log1p(np.exp(-2)), -1, 100, 100], rtol=1e-6)
