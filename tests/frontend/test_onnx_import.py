"""Importing ONNX models: names, sizes, places, weights, functions, and what is wrong with a model."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relay
from frontend.onnx_models import model, node
from relay.diagnostic import RelayError
from support import cli

pytestmark = pytest.mark.onnx


@pytest.fixture(autouse=True)
def _needs_onnx() -> None:
    pytest.importorskip("onnx", reason="needs the onnx extra")


def imported(proto: Any, **options: Any) -> Any:
    from relay.frontend import from_onnx

    return from_onnx(proto, **options)


def value(proto: Any, *arrays: Any, **options: Any) -> Any:
    mod, params = imported(proto, **options)
    return relay.create_executor("debug", mod=mod).evaluate()(*arrays, **params)


def codes(proto: Any, **options: Any) -> tuple[str, ...]:
    with pytest.raises(RelayError) as error:
        imported(proto, **options)
    return error.value.codes


def small(opset: int = 21) -> Any:
    return model(
        [node("MatMul", ["input ids", "w/0"], ["h"], name="mm"), node("Relu", ["h"], ["y"])],
        {"input ids": ("float32", ["batch", 2])},
        ["y"],
        {"w/0": np.array([[1, -1], [2, 3]], "float32")},
        opset,
    )


def test_names_and_symbolic_sizes_are_kept() -> None:
    mod, params = imported(small())
    assert not params
    text = str(mod)
    assert '%"input ids": Tensor[(batch, 2), float32]' in text
    assert "let %h: Tensor[(batch, 2), float32]" in text
    main = mod["main"]
    assert main.body.var.name_hint == "h"


def test_a_model_with_symbolic_sizes_is_called_at_others_and_differentiated() -> None:
    mod, _ = imported(small())
    (size,) = mod["main"].type_params
    assert size.name_hint == "batch"
    more = relay.parse("def @loss(%x: Tensor[(n, 2), float32]) { sum(@main(%x)) }", init_module=mod)
    slope = relay.create_executor(mod=more).evaluate(relay.grad(more.get_global_var("loss")))
    for rows in (1, 3):
        _, (found,) = slope(np.ones((rows, 2), "float32"))
        assert found.shape == (rows, 2)


def test_spans_point_to_the_node() -> None:
    span = imported(small())[0]["main"].body.value.span
    assert span.line == 1
    assert 'h = MatMul(input ids, w/0) "mm"' in span.source.text


def test_weights_can_stay_parameters() -> None:
    proto = model(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": ("float32", [1, 20])},
        ["y"],
        {"w": np.ones((20, 3), "float32")},
    )
    mod, params = imported(proto, freeze_params=False)
    assert [p.name_hint for p in mod["main"].params] == ["x", "w"]
    assert params["w"].shape == (20, 3)
    np.testing.assert_array_equal(
        value(proto, np.ones((1, 20), "float32"), freeze_params=False), [[20, 20, 20]]
    )


def test_weights_that_decide_types_and_scalars_stay_constants() -> None:
    proto = model(
        [
            node("Resize", ["x", "", "factors"], ["r"], mode="nearest"),
            node("Add", ["r", "bias"], ["s"]),
            node("Mul", ["s", "half"], ["y"]),
        ],
        {"x": ("float32", [1, 2])},
        ["y"],
        {
            "factors": np.array([1, 2], "float32"),
            "bias": np.ones(4, "float32"),
            "half": np.array(0.5, "float32"),
        },
    )
    mod, params = imported(proto, freeze_params=False)
    assert list(params) == ["bias"]
    assert [p.name_hint for p in mod["main"].params] == ["x", "bias"]
    np.testing.assert_array_equal(
        value(proto, np.array([[1, 3]], "float32"), freeze_params=False), [[1, 1, 2, 2]]
    )


def test_shapes_computed_from_symbolic_sizes_are_known() -> None:
    proto = model(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"]),
            node("Unsqueeze", ["n", "axis"], ["n1"]),
            node("Concat", ["n1", "rest"], ["to"], axis=0),
            node("Reshape", ["x", "to"], ["y"]),
        ],
        {"x": ("float32", ["n", 6])},
        ["y"],
        {"zero": np.int64(0), "axis": np.array([0]), "rest": np.array([2, -1])},
    )
    mod, _ = imported(proto)
    assert str(mod["main"].ret_type) == "Tensor[(n, 2, 3), float32]"


def test_sizes_are_joined_and_split_where_they_are_symbolic() -> None:
    proto = model(
        [
            node("Shape", ["x"], ["s"]),
            node("Slice", ["s", "two", "four"], ["last"]),
            node("Concat", ["rest", "last"], ["joined"], axis=0),
            node("Reshape", ["x", "joined"], ["a"]),
            node("Transpose", ["a"], ["b"], perm=[0, 2, 1]),
            node("Slice", ["s", "zero", "two"], ["front"]),
            node("Slice", ["s", "two", "three"], ["rows"]),
            node("Concat", ["front", "eight", "rows"], ["apart"], axis=0),
            node("Reshape", ["b", "apart"], ["y"]),
            node("Squeeze", ["rows"], ["count"]),
            node("Range", ["start", "count", "step"], ["z"]),
        ],
        {"x": ("float32", ["n", 3, "m", 8])},
        ["y", "z"],
        {
            **{name: np.array([i]) for name, i in (("zero", 0), ("two", 2), ("three", 3), ("four", 4))},
            "rest": np.array([-1]),
            "eight": np.array([8]),
            "start": np.int64(0),
            "step": np.int64(1),
        },
    )
    mod, _ = imported(proto)
    assert str(mod["main"].ret_type) == "(Tensor[(n, 3, 8, m), float32], Tensor[(m,), int64])"
    assert "dyn.reshape" not in str(mod)
    x = np.arange(2 * 3 * 5 * 8, dtype="float32").reshape(2, 3, 5, 8)
    y, z = value(proto, x)
    np.testing.assert_array_equal(y, x.transpose(0, 1, 3, 2))
    np.testing.assert_array_equal(z, np.arange(5))


def test_an_axis_that_is_an_input_can_be_given() -> None:
    proto = model(
        [node("Squeeze", ["x", "axes"], ["y"])], {"x": ("float32", [2, 1]), "axes": ("int64", [1])}, ["y"]
    )
    assert codes(proto) == ("onnx-needs-value",)
    found = value(proto, np.ones((2, 1), "float32"), static={"axes": np.array([1])})
    np.testing.assert_array_equal(found, [1, 1])


def test_a_size_that_decides_types_can_be_said() -> None:
    nodes = [node("SplitToSequence", ["x", "two"], ["xs"]), node("SequenceLength", ["xs"], ["y"])]
    proto = model(nodes, {"x": ("float32", ["n"])}, ["y"], {"two": np.int64(2)})
    with pytest.raises(RelayError, match=r"say the sizes: .*shape={'x': …}.*--shape x=…") as error:
        imported(proto)
    assert error.value.codes == ("onnx-needs-value",)
    assert value(proto, np.zeros(5, "float32"), shape={"x": (5,)}) == 3


def test_every_unsupported_operator_is_listed_at_once() -> None:
    proto = model(
        [
            node("Foo", ["x"], ["a"], name="one"),
            node("Bar", ["a"], ["y"], domain="d"),
            node("Foo", ["y"], ["z"]),
        ],
        {"x": ("float32", [1])},
        ["z"],
    )
    with pytest.raises(RelayError) as error:
        imported(proto)
    assert error.value.codes == ("onnx-unsupported", "onnx-unsupported")
    assert "`one`, `z`" in str(error.value)


def test_functions_of_the_model_are_put_in_place() -> None:
    from onnx import helper

    function = helper.make_function(
        "my", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 21)]
    )
    proto = model(
        [node("Twice", ["x"], ["y"], domain="my")], {"x": ("float32", [2])}, ["y"], functions=[function]
    )
    np.testing.assert_array_equal(value(proto, np.array([1, 2], "float32")), [2, 4])


CYCLE = (("Add", ["x", "b"], ["a"]), ("Relu", ["a"], ["b"]))


def test_a_cycle_is_found() -> None:
    assert codes(model([node(*n) for n in CYCLE], {"x": ("float32", [1])}, ["b"])) == ("onnx-model",)


def test_nodes_may_stand_in_any_order() -> None:
    proto = model([node("Relu", ["a"], ["y"]), node("Neg", ["x"], ["a"])], {"x": ("float32", [1])}, ["y"])
    np.testing.assert_array_equal(value(proto, np.array([-2], "float32")), [2])


@pytest.mark.parametrize("cut", [0, 1, 10, 60, 100])
def test_a_file_that_is_cut_short_is_refused(cut: int) -> None:
    data = small().SerializeToString()
    assert codes(data[:cut]) == ("onnx-model",)


def test_external_data_stay_in_the_folder(tmp_path: Path) -> None:
    from onnx import TensorProto

    inside = tmp_path / "model"
    inside.mkdir()
    (tmp_path / "secret.bin").write_bytes(np.ones(2, "float32").tobytes())
    (inside / "w.bin").write_bytes(np.array([3, 4], "float32").tobytes())
    (inside / "link.bin").symlink_to(tmp_path / "secret.bin")
    os.mkfifo(inside / "pipe.bin")
    for where, expected in (
        ("w.bin", None),
        ("../secret.bin", "onnx-external-data"),
        ("gone.bin", "onnx-external-data"),
        ("link.bin", "onnx-external-data"),
        ("pipe.bin", "onnx-external-data"),
        ("w.bin\0", "onnx-external-data"),
    ):
        w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
        w.external_data.add(key="location", value=where)
        w.external_data.add(key="length", value=str(1 << 50))  # more than there is
        proto = model([node("Add", ["x", "w"], ["y"])], {"x": ("float32", [2])}, ["y"])
        proto.graph.initializer.append(w)
        path = inside / "model.onnx"
        path.write_bytes(proto.SerializeToString())
        if expected is None:
            np.testing.assert_array_equal(value(path, np.zeros(2, "float32")), [3, 4])
        else:
            assert codes(path) == (expected,)


def test_the_oldest_and_the_newest_operator_sets() -> None:
    import onnx

    x = np.array([[1, 1]], "float32")
    for opset in (1, 6, 7, 13, onnx.defs.onnx_opset_version()):
        np.testing.assert_array_equal(value(small(opset), x), [[3, 2]])


def test_a_model_is_run_and_saved_from_the_command_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.onnx").write_bytes(small().SerializeToString())
    np.save("x.npy", np.array([[1, 1]], "float32"))
    assert cli("run", "small.onnx", "--input", "x.npy").output == "[[3.0, 2.0]]\n"
    assert cli("import", "small.onnx", "-o", "small.relay").output == ""
    assert cli("run", "small.relay", "x.npy").output == "[[3.0, 2.0]]\n"
    assert "let %h" in cli("import", "small.onnx").output
    report = cli("import", "small.onnx", "--report").output
    assert report.startswith("small.onnx: 2 of 2 nodes can be converted\n")


def test_a_report_names_the_nodes_that_nothing_converts(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = [node("Swoosh", [f"x{k}"], [f"x{k + 1}"], domain="my.domain") for k in range(12)]
    Path("m.onnx").write_bytes(model(nodes, {"x0": ("float32", [2])}, ["x12"]).SerializeToString())
    report = cli("import", "m.onnx", "--report").output
    assert report.startswith("m.onnx: 0 of 12 nodes can be converted\n")
    assert "which 12 nodes use (`x1`, `x2`, `x3`, …)\n" in report
    assert "\n  " + ", ".join([f"x{k + 1}" for k in range(12)]) + "\n" in report
    assert "converts('Swoosh', domain='my.domain')" in report


def test_inputs_that_decide_types_are_taken_from_the_command_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    proto = model(
        [node("Unsqueeze", ["x", "axes"], ["y"])], {"x": ("float32", [2]), "axes": ("int64", [1])}, ["y"]
    )
    Path("m.onnx").write_bytes(proto.SerializeToString())
    np.save("axes.npy", np.array([1]))
    assert cli("run", "m.onnx", "[1.0, 2.0]", "axes=axes.npy").output == "[[1.0],\n [2.0]]\n"


def test_importing_relay_does_not_import_onnx() -> None:
    import subprocess
    import sys

    program = "import relay, relay.frontend, sys; assert 'onnx' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("option", ["shape", "static", "dtype"])
def test_what_is_said_of_an_input_that_is_not_there_is_refused(option: str) -> None:
    proto = model([node("Relu", ["image"], ["y"])], {"image": ("float32", ["n"])}, ["y"])
    with pytest.raises(relay.RelayError, match="did you mean `image`") as found:
        relay.frontend.from_onnx(proto, **{option: {"imag": "float32" if option == "dtype" else (4,)}})
    assert found.value.codes == ("unknown-input",)


def test_shapes_that_only_the_inputs_say() -> None:
    proto = model(
        [
            node("Reshape", ["x", "to"], ["r"]),
            node("Expand", ["r", "wide"], ["e"]),
            node("ConstantOfShape", ["wide"], ["z"]),
            node("Add", ["e", "z"], ["y"]),
        ],
        {"x": ("float32", ["n"]), "to": ("int64", [2]), "wide": ("int64", [3])},
        ["y"],
    )
    x = np.arange(4, dtype="float32")
    found = value(proto, x, np.array([4, -1]), np.array([2, 4, 3]))
    np.testing.assert_array_equal(found, np.broadcast_to(x.reshape(4, 1), (2, 4, 3)))


def test_sizes_are_known_where_a_tensor_is_stretched_or_filled_by_them() -> None:
    proto = model(
        [
            node("Shape", ["x"], ["s"]),
            node("ConstantOfShape", ["s"], ["z"]),
            node("Expand", ["one", "s"], ["e"]),
            node("Add", ["z", "e"], ["y"]),
        ],
        {"x": ("float32", ["n", "m"])},
        ["y"],
        {"one": np.ones((1, 1), "float32")},
    )
    mod, _ = imported(proto)
    assert str(mod["main"].ret_type) == "Tensor[(n, m), float32]"
    np.testing.assert_array_equal(value(proto, np.zeros((2, 3), "float32")), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("mode", "scale"), [("nearest", 2.0), ("linear", 2.0), ("linear", 1.5), ("cubic", 0.6)]
)
def test_images_of_any_size_are_resized(mode: str, scale: float) -> None:
    from onnx.reference import ReferenceEvaluator

    resize = node("Resize", ["x", "", "scales"], ["y"], mode=mode)
    scales = np.array([1, 1, scale, scale], "float32")
    open_model = model([resize], {"x": ("float32", ["n", 2, "h", "w"])}, ["y"], {"scales": scales})
    mod, _ = imported(open_model)
    if scale == 2:
        assert "Tensor[(n, 2, 2 * h, 2 * w), float32]" in str(mod)
    for shape in ((1, 2, 3, 4), (2, 2, 7, 5)):
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        (expected,) = ReferenceEvaluator(open_model).run(None, {"x": x})
        np.testing.assert_allclose(
            relay.create_executor("debug", mod).evaluate()(x), expected, rtol=1e-4, atol=1e-5
        )


def test_a_resized_axis_is_one_that_changes() -> None:
    resize = node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")
    sizes = np.array([1, 2, 6, 8])
    mod, _ = imported(model([resize], {"x": ("float32", [1, 2, 3, 4])}, ["y"], {"sizes": sizes}))
    assert "image.resize2d(%x, size=(6, 8));" in str(mod)


@pytest.mark.parametrize("boxes", [["n", "k", 4], ["n", None, 4], [1, 6, 4]])
def test_any_number_of_boxes(boxes: list[Any]) -> None:
    from onnx.reference import ReferenceEvaluator

    suppress = node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["y"])
    inputs = {"boxes": ("float32", boxes), "scores": ("float32", [1, 2, 6])}
    weights = {"most": np.array([3]), "overlap": np.array([0.5], "float32")}
    proto = model([suppress], inputs, ["y"], weights, 11)
    mod, _ = imported(proto)
    rng = np.random.default_rng(0)
    args = np.sort(rng.random((1, 6, 4)).astype("float32"), axis=2), rng.random((1, 2, 6)).astype("float32")
    (expected,) = ReferenceEvaluator(proto).run(None, dict(zip(inputs, args, strict=True)))
    for executor in ("debug", "native"):
        found = relay.create_executor(executor, mod).evaluate()(*args)
        np.testing.assert_array_equal(found, expected)
