"""What files of ONNX contain beside what its specification says first, and models that come as files."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from frontend.onnx_models import model, node

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def native(proto: Any) -> Any:
    return relay.build(relay.frontend.from_onnx(proto)[0])


def graph(kind: str, *operands: str) -> Any:
    """A graph of one node."""
    from onnx import helper

    outputs = [helper.make_empty_tensor_value_info("result")]
    return helper.make_graph([node(kind, operands, ["result"])], "body", [], outputs)


def test_a_sum_of_an_image_and_its_enlarged_halves_has_open_sizes() -> None:
    nodes = [
        node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Resize", ["half", "", "scales"], ["large"]),
        node("Add", ["x", "large"], ["sum"]),
        node("Resize", ["sum", "", "scales"], ["y"]),
    ]
    scales = np.array([1, 1, 2, 2], "float32")
    call = native(model(nodes, {"x": ("float32", [1, 2, "h", "w"])}, ["y"], {"scales": scales}, opset=17))
    x = np.random.default_rng(0).normal(size=(1, 2, 6, 4)).astype("float32")
    double = np.ones((1, 1, 2, 2), "float32")
    half = x.reshape(1, 2, 3, 2, 2, 2).max((3, 5))
    np.testing.assert_array_equal(call(x), np.kron(x + np.kron(half, double), double))
    with pytest.raises(relay.RelayError, match=r"`add` cannot broadcast \(1, 2, 7, 4\) with \(1, 2, 6, 4\)"):
        call(np.zeros((1, 2, 7, 4), "float32"))


def test_a_size_of_minus_1_is_open() -> None:
    proto = model([node("Relu", ["x"], ["y"])], {"x": ("float32", [-1, 2])}, ["y"])
    mod, _ = relay.frontend.from_onnx(proto)
    assert "%x: Tensor[(?, 2), float32]" in str(mod)
    wrong = model([node("Relu", ["x"], ["y"])], {"x": ("float32", [-2, 2])}, ["y"])
    with pytest.raises(relay.RelayError, match="a size cannot be -2"):
        relay.frontend.from_onnx(wrong)


def test_a_real_signal_may_have_no_axis_of_parts() -> None:
    x = np.random.default_rng(0).normal(size=(2, 20)).astype("float32")

    def spectrum(sizes: list[int]) -> Any:
        nodes = [node("STFT", ["x", "step", "", "length"], ["y"], onesided=1)]
        return native(
            model(nodes, {"x": ("float32", sizes)}, ["y"], {"step": np.int64(4), "length": np.int64(8)})
        )

    np.testing.assert_array_equal(spectrum([2, 20])(x), spectrum([2, 20, 1])(x[..., None]))
    with pytest.raises(relay.RelayError, match="the signal has rank 2 or 3, not 1"):
        spectrum([20])


def test_a_message_names_the_first_of_many_nodes_and_the_report_all() -> None:
    from relay.frontend.onnx.report import coverage

    nodes = [node("Swoosh", ["x"], [f"y{k}"], name=f"layer{k}", domain="my.domain") for k in range(151)]
    proto = model(nodes, {"x": ("float32", [2])}, ["y0"])
    with pytest.raises(relay.RelayError) as found:
        relay.frontend.from_onnx(proto)
    text = str(found.value)
    assert "which 151 nodes use (`layer0`, `layer1`, `layer2`, …)" in text
    assert "layer3" not in text
    assert "--report" in text
    lines = coverage(proto).splitlines()
    assert max(map(len, lines)) <= 110
    assert all(any(f"layer{k}" in line for line in lines) for k in range(151))
    wide = model([node("Concat", [f"x{k}" for k in range(99)], ["y"])], {}, ["y"])
    with pytest.raises(relay.RelayError, match="no node and no input produces `x0`") as found:
        relay.frontend.from_onnx(wide)
    assert "x11, … 87 more)" in str(found.value)


def squeezed(last: Any) -> Any:
    """`squeeze(x, 1)` as PyTorch exports it, which leaves an axis of another size, and a node behind it."""
    either = {"then_branch": graph("Squeeze", "x", "axis"), "else_branch": graph("Identity", "x")}
    nodes = [
        node("Shape", ["x"], ["sizes"]),
        node("Gather", ["sizes", "axis"], ["size"]),
        node("Equal", ["size", "one"], ["single"]),
        node("If", ["single"], ["z"], name="choice", **either),
        last,
    ]
    weights = {"axis": np.array([1]), "one": np.array([1]), "w": np.eye(3, dtype="float32")}
    return model(nodes, {"x": ("float32", ["n", "m", 3])}, ["y"], weights)


@pytest.mark.parametrize("executor", ["debug", "native"])
def test_a_choice_of_ranks_of_which_one_fits_is_asserted(executor: str) -> None:
    mod, _ = relay.frontend.from_onnx(squeezed(node("Gemm", ["z", "w"], ["y"])))
    call = relay.create_executor(executor, mod=mod).evaluate()
    x = np.arange(6, dtype="float32").reshape(2, 1, 3)
    np.testing.assert_array_equal(call(x), x[:, 0])
    with pytest.raises(relay.RelayError, match="`choice` must take its then branch"):
        call(np.zeros((2, 2, 3), "float32"))


@pytest.mark.parametrize("executor", ["debug", "native"])
def test_a_choice_of_ranks_that_both_fit_is_a_branch(executor: str) -> None:
    mod, _ = relay.frontend.from_onnx(squeezed(node("ReduceSum", ["z"], ["y"], keepdims=0)))
    call = relay.create_executor(executor, mod=mod).evaluate()
    for m in (1, 4):
        assert call(np.ones((2, m, 3), "float32")) == 6 * m
    with pytest.raises(relay.RelayError, match="which branch is taken must be known"):
        relay.frontend.from_onnx(squeezed(node("Identity", ["z"], ["y"])))


@pytest.mark.long
def test_the_voice_detector_of_silero_gives_what_onnx_runtime_gives() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="needs ONNX Runtime")
    found = find_spec("silero_vad")
    if found is None or found.origin is None:
        pytest.skip("needs tests/requirements-models.txt")
    files = sorted((Path(found.origin).parent / "data").glob("*.onnx"))
    assert len(files) == 6
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> Any:
        return rng.normal(0, 0.1, shape).astype("float32")

    for file in files:
        session = runtime.InferenceSession(file)
        names = [i.name for i in session.get_inputs()]
        call = native(file)
        for rate, samples in (
            (16000, 576),
            *([(8000, 288)] if "sr" in names and "16k" not in file.name else []),
        ):
            for rows in (1,) if "openvino" in file.name else (1, 3):
                given: dict[str, Any] = {"input": drawn(rows, samples), "state": drawn(2, rows, 128)}
                given |= {"sr": np.array(rate), "h": drawn(1, 1, 128), "c": drawn(1, 1, 128)}
                given = {n: given[n] for n in names}
                for ours, theirs in zip(call(**given), session.run(None, given), strict=True):
                    np.testing.assert_allclose(ours, theirs, atol=1e-5)
