"""Programs as ONNX models: what they compute is what ONNX's checker, importer and runtime make of them."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from op.operands import operands_of, samples_of
from op.test_every_op import module_of
from relay import testing
from relay.diagnostic import RelayError
from relay.op.registry import instance, registry
from support import cli

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def exported(mod: Any, params: Any = None) -> Any:
    """The model, which ONNX's checker accepts."""
    import onnx

    model = relay.frontend.to_onnx(mod, params)
    onnx.checker.check_model(model, full_check=True)
    return model


def flat(value: Any) -> list[np.ndarray[Any, Any]]:
    """The tensors of a value."""
    return [y for x in value for y in flat(x)] if isinstance(value, tuple | list) else [np.asarray(value)]


def close(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Whether shape and dtype are the same, and elements to the precision of the dtype."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    tolerance = {"float64": 1e-8, "float32": 1e-4, "float16": 5e-3}.get(wanted.dtype.name, 5e-2)
    if wanted.dtype.kind in "biu":
        tolerance = 0
    x, y = found.astype("float64"), wanted.astype("float64")
    return np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)


def reimported(model: Any, operands: list[Any]) -> list[np.ndarray[Any, Any]]:
    """What the model gives as a program again."""
    mod, _ = relay.frontend.from_onnx(model)
    return flat(relay.create_executor("debug", mod=mod).evaluate()(*operands))


NEEDS_VALUES = {"dyn.strided_slice", "dyn.topk", "sparse_fill_empty_rows"}
"""Operators whose models the importer reads when it is given the values of operands."""


@pytest.mark.parametrize("name", sorted(registry))
def test_samples_go_round_or_are_refused(name: str) -> None:
    for s in samples_of(registry[name]):
        operands = operands_of(s)
        try:
            model = exported(module_of(name, s, operands))
        except RelayError as error:
            if set(error.codes) != {"onnx-export"}:
                raise
            continue
        if name in NEEDS_VALUES:
            continue
        wanted = flat(instance(name, s.attrs).evaluate(*operands))
        found = reimported(model, flat(operands))
        assert all(map(close, found, wanted)), (s, found, wanted)
        assert len(found) == len(wanted)


WORKLOADS: dict[str, Any] = {
    "mlp": lambda: testing.mlp.get_workload(2),
    "lstm": lambda: testing.lstm.get_workload(3, 8),
    "gru": lambda: testing.gru.get_workload(3, 8),
    "resnet": lambda: testing.resnet.get_workload(image_shape=(3, 64, 64)),
    "resnet in NHWC": lambda: testing.resnet.get_workload(layout="NHWC", image_shape=(64, 64, 3)),
    "mobilenet": lambda: testing.mobilenet.get_workload(image_shape=(3, 64, 64)),
    "transformer": lambda: testing.transformer.get_workload(1, 8, 2, 32, 4, vocabulary=50, positions=16),
    "dcgan": lambda: testing.dcgan.get_workload(1),
    "dqn": lambda: testing.dqn.get_workload(1),
    "mobilenet_v2": lambda: testing.mobilenet_v2.get_workload(image_shape=(3, 64, 64)),
    "gpt2": lambda: testing.gpt2.get_workload(1, 6, 2, 16, 4, vocabulary=11, positions=9),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_compute_the_same(name: str) -> None:
    mod, params = WORKLOADS[name]()
    model = exported(mod, params)
    rng = np.random.default_rng(0)
    inputs = {}
    for p in mod["main"].params:
        t = p.type_annotation
        if p.name_hint not in params:
            drawn = (
                rng.integers(0, 10, t.concrete_shape) if t.dtype == "int32" else rng.random(t.concrete_shape)
            )
            inputs[p.name_hint] = drawn.astype(t.dtype)
    assert {i.name for i in model.graph.input} == set(inputs)
    wanted = flat(relay.create_executor("debug", mod=mod).evaluate()(**inputs, **params))
    for found in (reimported(model, list(inputs.values())), by_runtime(model, inputs)):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * max(1e-3, abs(b).max()))


def by_runtime(model: Any, inputs: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
    """What ONNX Runtime gives, or where it is not installed the importer."""
    try:
        import onnxruntime
    except ImportError:
        return reimported(model, list(inputs.values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = onnxruntime.InferenceSession(model.SerializeToString())
    return flat(session.run(None, inputs))


def test_quotients_of_floats_are_rounded_as_numpy_rounds_them() -> None:
    x = np.array([1, -1, 6, 5.5, np.inf, 0, 3, np.nan, -1, 1], "float32")
    y = np.array([0.1, 0.1, 0.2, -2, 2, 3, 0, 1, np.inf, -np.inf], "float32")
    text = "def @main(%x: Tensor[(10,), float32], %y: Tensor[(10,), float32]) { floor_divide(%x, %y) }"
    model = exported(relay.parse(text))
    with np.errstate(all="ignore"):
        wanted = np.floor_divide(x, y)
    for found in (reimported(model, [x, y]), by_runtime(model, dict(zip(("x", "y"), (x, y), strict=True)))):
        np.testing.assert_array_equal(found[0], wanted)


def kinds(model: Any) -> list[str]:
    return [n.op_type for n in model.graph.node]


def test_symbolic_sizes_are_named() -> None:
    model = exported(relay.parse("def @main(%x: Tensor[(n, 3), float32]) { concatenate((%x, %x)) }"))
    sizes = [[d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in model.graph.input]
    assert sizes == [["n", 3]]
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "2 * n"
    np.testing.assert_array_equal(reimported(model, [np.ones((2, 3), "float32")])[0], np.ones((4, 3)))


def test_names_of_variables_are_those_of_results() -> None:
    text = "def @main(%x: Tensor[(3,), float32]) { let %hidden = tanh(%x); exp(%hidden) }"
    model = exported(relay.parse(text))
    assert [n.output[0] for n in model.graph.node] == ["hidden", "output"]


def test_functions_are_inlined_and_derivatives_written_out() -> None:
    text = """
    def @square(%x: float32) { %x * %x }
    def @main(%x: float32) { grad(@square)(%x) }
    """
    (_, (gradient,)) = relay.run(relay.parse(text), "main", [np.float32(3)])
    found = reimported(exported(relay.parse(text)), [np.asarray(3, "float32")])
    np.testing.assert_array_equal(found, [9, gradient])


def test_a_bias_belongs_to_its_product_and_nothing_unused_is_left() -> None:
    mod, params = testing.mlp.get_workload(2)
    assert kinds(exported(mod, params)) == ["Flatten", "Gemm", "Relu", "Gemm", "Relu", "Gemm", "Softmax"]


def test_gelu_is_seen_in_its_parts() -> None:
    for text in ("%x * (erf(%x * 0.70710678f) * 0.5f + 0.5f)", "%x * 0.5f * (1f + erf(%x / 1.41421356f))"):
        model = exported(relay.parse(f"def @main(%x: Tensor[(3,), float32]) {{ {text} }}"))
        assert kinds(model) == ["Gelu"]


def test_what_is_an_input_or_a_constant_can_be_a_result() -> None:
    mod = relay.parse("def @main(%x: Tensor[(2,), float32]) { (%x, %x, [1, 2]) }")
    found = reimported(exported(mod), [np.ones(2, "float32")])
    assert [x.tolist() for x in found] == [[1, 1], [1, 1], [1, 2]]


def refused(text: str) -> str:
    with pytest.raises(RelayError) as error:
        relay.frontend.to_onnx(relay.parse(text))
    assert set(error.value.codes) == {"onnx-export"}
    return str(error.value)


def test_everything_without_a_counterpart_is_listed_at_once() -> None:
    text = refused(
        "def @main(%x: Tensor[(3,), float32], %y: Tensor[(3,), float32]) {"
        " if (sum(%x) > 0f) { atan2(%x, %y) } else { %x } + atan2(%y, atan2(%x, %y)) }"
    )
    assert text.count("error[onnx-export]") == 2
    assert "`if` cannot be written as ONNX" in text
    assert "and here" in text


def test_recursion_and_functions_as_values_are_refused() -> None:
    text = "def @main(%x: int32) -> int32 { @f(%x) } def @f(%x: int32) -> int32 { @f(%x - 1) }"
    assert "a call of a function that calls itself" in refused(text)
    text = "def @main(%f: fn(int32) -> int32, %x: int32) -> int32 { %f(%x) }"
    assert "a parameter of the type fn(int32) -> int32" in refused(text)


def test_dtypes_that_a_counterpart_does_not_take_are_refused() -> None:
    assert "with the dtype bfloat16" in refused("def @main(%x: Tensor[(3,), bfloat16]) { acos(%x) }")


def test_the_command_writes_a_model(tmp_path: Path) -> None:
    source, weights, out = (tmp_path / n for n in ("net.relay", "w.npz", "net.onnx"))
    source.write_text(
        "def @main(%x: Tensor[(1, 2), float32], %w: Tensor[(3, 2), float32]) { nn.dense(%x, %w) }"
    )
    np.savez(weights, w=np.arange(6, dtype="float32").reshape(3, 2))
    assert cli("export", str(source), "--weights", str(weights)).output == ""
    assert cli("run", str(out), "[[1.0, 1.0]]").output.split() == ["[[1.0,", "5.0,", "9.0]]"]
    assert cli("export", str(source), "-o", "net.txt").status == 2
    assert "error[cannot-write]" in cli("export", str(source), "-o", str(tmp_path / "no" / "net.onnx")).output


@pytest.mark.parametrize("limit", [2**30, 0], ids=["one file", "weights beside it"])
def test_models_are_written_whole_or_not_at_all(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnx

    from relay.frontend.onnx.export import api

    monkeypatch.setattr(api, "MAX_EMBEDDED_WEIGHT_BYTES", limit)
    w = np.arange(1024, dtype="float32").reshape(1, 1024)
    mod = relay.parse("def @main(%x: Tensor[(1, 1024), float32], %w: Tensor[(1, 1024), float32]) { %x * %w }")
    out = tmp_path / "m.onnx"
    for _ in range(2):  # what was there is replaced
        api.save_onnx(relay.frontend.to_onnx(mod, {"w": w}), out)
        assert np.array_equal(onnx.numpy_helper.to_array(onnx.load(out).graph.initializer[0]), w)
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx"} | ({"m.onnx.data"} if limit == 0 else set())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = out.read_bytes()
    monkeypatch.setattr("os.replace", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RelayError, match="No space left"):
        api.save_onnx(relay.frontend.to_onnx(mod, {"w": w}), out)
    assert out.read_bytes() == before
