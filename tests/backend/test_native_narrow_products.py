"""Quantised layers as products of small integers, against NumPy's in int64."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.backend.native.host.compiler import Compiler
from relay.backend.native.host.native_program import NativeProgram

rng = np.random.default_rng(1)
X, W = rng.integers(0, 256, (9, 33)).astype("uint8"), rng.integers(-128, 128, (40, 33)).astype("int8")
X[0], W[0] = 255, -128
ZEROS = np.arange(-20, 20, dtype="int32") * 6
OPERANDS = "%x: Tensor[(9, 33), uint8], %w: Tensor[(40, 33), int8]"


def check(mod: Any, args: Any, wanted: Any, is_narrow: bool = True) -> None:
    """A program has that value, and multiplies small integers or not."""
    np.testing.assert_array_equal(NativeProgram(mod)(*args), wanted)
    np.testing.assert_array_equal(relay.infer(mod).evaluate("main", *args), wanted)
    assert ("@relay.tile.int32" in "".join([p.text for p in Compiler(mod).program.pieces])) == is_narrow


def exact(x: Any, w: Any, x_zero: Any = 0, w_zero: Any = 0) -> Any:
    """The product of what is above zero points, in int64, as int32."""
    return ((x.astype("int64") - x_zero) @ (w.astype("int64") - w_zero).T).astype("int32")


@pytest.mark.parametrize(
    ("zeros", "values", "is_narrow"),
    [
        ("0, 0", (0, 0), True),
        ("128, 3", (128, 3), True),
        ("-32000, 5", (-32000, 5), True),
        ("-32767, 5", (-32767, 5), False),
        ("2147483647, 5", (2**31 - 1, 5), False),
    ],
)
def test_zero_points_that_are_known(zeros: str, values: tuple[int, int], is_narrow: bool) -> None:
    mod = relay.parse(f"def @main({OPERANDS}) {{ qnn.dense(%x, %w, {zeros}, 0.5f, 0.5f) }}")
    check(mod, (X, W), exact(X, W, *values), is_narrow)


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_zero_points_that_are_given(dtype: str) -> None:
    params = f"{OPERANDS}, %a: {'uint8' if dtype == 'int8' else dtype}, %b: Tensor[(40,), {dtype}]"
    scales = ", ".join(["0.5f"] * 2)
    mod = relay.parse(f"def @main({params}) {{ qnn.dense(%x, %w, %a, %b, {scales}) }}")
    args = (X, W, np.asarray(200, "uint8").astype(mod["main"].params[2].type_annotation.dtype))
    check(mod, (*args, ZEROS.astype(dtype)), exact(X, W, 200, ZEROS[:, None].astype(dtype)), dtype == "int8")


def test_weights_and_their_zero_points_are_subtracted_before_the_program_runs() -> None:
    x = relay.var("x", shape=X.shape, dtype="uint8")
    one = relay.const(0.5, "float32")
    y = relay.qnn.dense(x, relay.const(W), relay.const(7), relay.const(ZEROS), one, one)
    mod = relay.IRModule.from_expr(relay.Function([x], y))
    check(mod, (X,), exact(X, W, 7, ZEROS[:, None]))
    assert "@relay.pack.transposed" not in "".join([p.text for p in Compiler(mod).program.pieces])


@pytest.mark.parametrize("is_small", [True, False])
def test_factors_that_have_been_cast(is_small: bool) -> None:
    w = W if is_small else W.astype("int32") * 300
    text = f"""def @main(%x: Tensor[(9, 33), uint8], %w: Tensor[(40, 33), {w.dtype}]) {{
        nn.matmul(cast(%x, dtype="int32"), transpose(cast(%w, dtype="int32") - 100), out_dtype="int32") + 1
    }}"""
    check(relay.parse(text), (X, w), exact(X, w, 0, 100) + 1, is_small)


@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize("op", ["MatMulInteger", "QLinearMatMul"])
def test_models_of_onnx(op: str, has_zeros: bool) -> None:
    onnx: Any = pytest.importorskip("onnx")
    helper, tensor = onnx.helper, onnx.numpy_helper.from_array
    zero = 130 if has_zeros else 0
    held: dict[str, Any] = {
        "x_zero": np.asarray(zero, "uint8"),
        "w": np.ascontiguousarray(W.T),
        "w_zero": np.asarray(0, "int8"),
    }
    if op == "MatMulInteger":
        given, out = ["x", "w", "x_zero", "w_zero"], onnx.TensorProto.INT32
        wanted: Any = exact(X, W, zero)
    else:
        held |= {
            "scale": np.asarray(0.5, "float32"),
            "y_zero": np.asarray(3, "int8"),
            "s": np.asarray(512.0, "float32"),
        }
        given = ["x", "scale", "x_zero", "w", "scale", "w_zero", "s", "y_zero"]
        out = onnx.TensorProto.INT8
        scaled: Any = exact(X, W, zero) * 0.25 / 512
        wanted = (scaled.round() + 3).clip(-128, 127).astype("int8")
    graph = helper.make_graph(
        [helper.make_node(op, given, ["y"])], "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, X.shape)],
        [helper.make_tensor_value_info("y", out, (9, 40))],
        [tensor(v, k) for k, v in held.items()],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    mod, params = relay.frontend.from_onnx(made)
    f: Any = relay.build(mod, params=params)
    np.testing.assert_array_equal(f(X), wanted)
