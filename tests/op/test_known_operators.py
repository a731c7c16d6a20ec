"""Operators as programs written for the original use them; expected values are NumPy's, or formulas."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import relay
from known_runs import same, value, var
from relay import RelayError, transform
from relay.testing import run_infer_type

X = np.arange(6, dtype="float32").reshape(2, 3)
WHOLE = X.astype("int32")
BOOLEANS = np.array([[True, False, False], [True, True, True], [False, False, False]])


def test_slice_like_of_all_axes() -> None:
    same(value(relay.slice_like(var("x", 2, 3), var("y", 1, 2), axes=None), X, X[:1, :2]), X[:1, :2])


@pytest.mark.parametrize("computed", [False, True])
def test_slice_of_more_than_there_is(computed: bool) -> None:
    begin, size = np.array([0, -2]), np.array([5, 9])
    places = (begin.tolist(), size.tolist())
    if computed:
        places = (var("b", 2, dtype="int64"), var("s", 2, dtype="int64"))
    e = relay.strided_slice(var("x", 2, 3), *places, slice_mode="size")
    same(value(e, X, *((begin, size) if computed else ())), X[:, 1:])


@pytest.mark.parametrize("kind", ["debug", "native"])
def test_slice_of_an_open_axis(kind: str) -> None:
    def slice_in(mode: str) -> relay.IRModule:
        call = f'strided_slice(%x, begin=(1,), end=(4,), slice_mode="{mode}")'
        return relay.infer(relay.parse(f"def @main(%x: Tensor[(n,), float32]) {{ {call} }}"))

    run = relay.create_executor(kind, mod=slice_in("size")).evaluate()
    for n in (1, 4, 5, 8):
        same(run(np.arange(n, dtype="float32")), np.arange(n, dtype="float32")[1:5])
    with pytest.raises(RelayError):
        run(np.zeros(0, "float32"))
    assert slice_in("exact")["main"].ret_type == relay.TensorType((4,), "float32")
    exact = relay.create_executor(kind, mod=slice_in("exact")).evaluate()
    same(exact(np.arange(8, dtype="float32")), np.arange(1, 5, dtype="float32"))
    with pytest.raises(RelayError):
        exact(np.arange(4, dtype="float32"))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_local_response_normalisation_of_any_size(size: int) -> None:
    x = np.random.default_rng(0).random((1, 5, 2, 2)).astype("float32")
    bias, alpha, beta = 2.0, 0.1, 0.75
    squares = np.zeros_like(x)
    for c in range(5):  # ONNX: from floor((size - 1) / 2) before to ceil((size - 1) / 2) after
        first, last = max(0, c - (size - 1) // 2), min(4, c + size // 2)
        squares[:, c] = (x[:, first : last + 1] ** 2).sum(1)
    e = relay.nn.lrn(var("x", *x.shape), size=size, axis=1, bias=bias, alpha=alpha, beta=beta)
    np.testing.assert_allclose(value(e, x), x / (bias + alpha / size * squares) ** beta, rtol=1e-5)


def test_depth_to_space_by_the_other_spelling() -> None:
    x = np.arange(8, dtype="float32").reshape(1, 8, 1, 1)
    expected = x.reshape(1, 2, 2, 2, 1, 1).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 2, 2)
    same(value(relay.nn.depth_to_space(var("x", *x.shape), 2, mode="CDR"), x), expected)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("computed", [False, True])
def test_negative_widths_cut_off(dtype: str, computed: bool) -> None:
    x, widths = X.astype(dtype), np.array([[0, 2], [-1, 1]])
    given: Any = var("w", 2, 2, dtype="int64") if computed else widths.tolist()
    e = relay.nn.pad(var("x", 2, 3, dtype=dtype), given, 0.0)
    same(value(e, x, *([widths] if computed else [])), np.pad(x[:, 1:], ((0, 2), (0, 1))))


def test_negative_widths_have_a_derivative() -> None:
    x = relay.var("x", shape=(4,), dtype="float64")
    f = relay.Function([x], relay.nn.pad(x * x, ((-1, 2),)))
    relay.testing.check_grad(f, [np.array([1.0, 2.0, 3.0, 4.0])])
    with pytest.raises(RelayError, match="negative widths cut off what is there"):
        run_infer_type(relay.Function([x], relay.nn.pad(x, ((-3, -2),))))


def test_negative_widths_are_no_padding_of_a_convolution() -> None:
    x = np.random.default_rng(0).random((1, 2, 5, 5)).astype("float32")
    w = np.ones((3, 2, 2, 2), "float32")
    padded = relay.nn.pad(var("x", *x.shape), ((0, 0), (0, 0), (-1, 2), (1, 0)))
    mod = relay.IRModule.from_expr(relay.nn.conv2d(padded, relay.const(w)))
    made = transform.FoldExplicitPadding()(transform.InferType()(mod))
    assert "nn.pad" in str(made)
    found = relay.create_executor("debug", mod=made).evaluate()(x)
    np.testing.assert_allclose(relay.build(mod)(x), found, rtol=1e-5)


@pytest.mark.parametrize("name", ["min", "max", "sum"])
def test_reductions_of_booleans(name: str) -> None:
    found = value(getattr(relay, name)(var("x", 3, 3, dtype="bool"), axis=1, keepdims=True), BOOLEANS)
    same(
        found,
        getattr(np, name)(BOOLEANS, axis=1, keepdims=True),
    )


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
def test_choice_by_numbers(dtype: str) -> None:
    condition = (X % 2).astype(dtype)
    e = relay.where(var("c", 2, 3, dtype=dtype), var("x", 2, 3), var("y", 2, 3))
    same(value(e, condition, X, -X), np.where(condition, X, -X))


def test_pooling_of_integers() -> None:
    x = np.array([-8, 1, 2, 3, 4, 5, 6, 7], "int32").reshape(1, 1, 2, 4)
    data = var("x", *x.shape, dtype="int32")
    same(value(relay.nn.adaptive_max_pool2d(data, (1, 2)), x), np.array([[[[5, 7]]]], "int32"))
    # -8 + 1 + 4 + 5 and 2 + 3 + 6 + 7 by 4, towards 0; and a window of 3 by 1
    same(value(relay.nn.adaptive_avg_pool2d(data, (1, 2)), x), np.array([[[[0, 4]]]], "int32"))
    same(value(relay.nn.adaptive_avg_pool2d(data, (2, 2)), x), np.array([[[[-3, 2], [4, 6]]]], "int32"))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_upsampling_of_integers(dtype: str) -> None:
    x = WHOLE[None, None].astype(dtype)
    e = relay.op.dyn.nn.upsampling(var("x", *x.shape, dtype=dtype), var("h"), var("w"))
    same(value(e, x, np.float32(2), np.float32(3)), x.repeat(2, 2).repeat(3, 3))


@pytest.mark.parametrize("compute", ["int64", "float32", "float64"])
@pytest.mark.parametrize(
    ("rounding", "expected"), [("UPWARD", [12, 9, 13]), ("TONEAREST", [12, 8, 13]), ("TOEVEN", [12, 8, 12])]
)
def test_requantize_computes_in_a_dtype(compute: str, rounding: str, expected: list[int]) -> None:
    """1.5, -1.5 and 2.5 rounded, and 10."""
    scale, zero, out, point = relay.const(1.0), relay.const(0), relay.const(2.0), relay.const(10)
    x = var("x", 3, dtype="int32")
    e = relay.qnn.op.requantize(x, scale, zero, out, point, compute_dtype=compute, rounding=rounding)
    same(value(e, np.array([3, -3, 5], "int32")), np.array(expected, "int8"))


@pytest.mark.parametrize(
    "build",
    [
        lambda x, w: relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3), out_dtype="int32"),
        lambda x, w: relay.nn.conv2d_transpose(x, w, channels=4, kernel_size=(3, 3), out_dtype="int32"),
    ],
)
def test_weight_has_the_dtype_of_the_data(build: Any) -> None:
    x, w = var("x", 1, 3, 8, 8, dtype="int8"), relay.var("w")
    fn = run_infer_type(relay.Function([x, w], build(x, w)))
    assert fn.params[1].checked_type.dtype == "int8"
    assert fn.ret_type.dtype == "int32"


def test_simulated_quantisation_by_a_code() -> None:
    x = X * 100 - 200
    scale, zero, code = relay.const(0.5), relay.const(3), var("code", dtype="int32")
    e = relay.qnn.op.simulated_quantize(var("x", 2, 3), scale, zero, out_dtype=code)
    limits = {1: (-128, 127), 2: (0, 255), 3: (-(2**31), 2**31 - 1)}
    for k, (low, high) in limits.items():
        same(value(e, x, np.int32(k)), np.clip(np.round(x / 0.5) + 3, low, high).astype("float32"))
    same(value(e, x, np.int32(0)), x)
    back = relay.qnn.op.simulated_dequantize(var("x", 2, 3), scale, zero, in_dtype=code)
    same(value(back, x, np.int32(2)), (x - 3) * np.float32(0.5))
    same(value(back, x, np.int32(0)), x)


def test_positions_and_names_of_operands() -> None:
    data, offset, weight = var("x", 1, 1, 4, 4), var("o", 1, 18, 4, 4), var("w", 1, 1, 3, 3)
    call = relay.nn.deformable_conv2d(data, offset, weight, (1, 1), (1, 1), (1, 1), 1, 1, 1, (3, 3))
    assert (len(call.args), call.attrs.channels, call.attrs.kernel_size) == (3, 1, (3, 3))
    packed = relay.nn.bitpack(var("x", 8, 8, dtype="uint8"), 1, 1, 1, "uint8", "QuantizeInput")
    assert packed.attrs.pack_type == "uint8"
    by_units = relay.nn.bitserial_dense(var("x", 2, 8, dtype="uint8"), var("w", 4, 8, dtype="uint8"), units=4)
    assert by_units.attrs.units == 4


def test_sparse_matrix_by_name() -> None:
    dense = np.array([[1, 0, 2], [0, 0, 3]], "float32")
    matrix = SimpleNamespace(
        data=np.array([1, 2, 3], "float32"),
        indices=np.array([0, 2, 2], "int32"),
        indptr=np.array([0, 2, 3], "int32"),
    )
    x = var("x", 2, 3)
    same(value(relay.nn.sparse_dense(x, sparse_mat=matrix), X), X @ dense.T)
    same(value(relay.nn.sparse_dense(x, sparse_mat=matrix, sparse_lhs=True), X), dense @ X.T)
    same(value(relay.nn.sparse_add(dense_mat=x, sparse_mat=matrix), X), X + dense)
    assert len(relay.nn.sparse_transpose(x=matrix).args) == 3


def test_folding_leaves_quantised_operators() -> None:
    e = relay.qnn.op.quantize(relay.const([1.0, 2.0]), relay.const(0.5), relay.const(0)) + relay.const(
        [1, 2], "int8"
    )
    mod = transform.InferType()(relay.IRModule.from_expr(relay.Function([], e)))
    assert "qnn.quantize" in str(transform.FoldConstant(fold_qnn=False)(mod))
    assert "qnn.quantize" in str(transform.FoldConstant(False)(mod))
    assert "qnn.quantize" not in str(transform.FoldConstant(fold_qnn=True)(mod))
    kept = transform.FoldConstantExpr(mod["main"], mod, False)
    assert any(isinstance(c, relay.Call) and c.op.name == "qnn.quantize" for c in relay.post_order(kept))


def test_units_decide_the_type_of_an_untyped_weight() -> None:
    x = relay.var("x", shape=(4, 8), dtype="float32")
    for flip, shape in ((False, (8, 2)), (True, (2, 8))):
        w = relay.var("w")
        fn = run_infer_type(relay.Function([x, w], relay.nn.matmul(x, w, units=2, transpose_b=flip)))
        assert fn.params[1].checked_type == relay.TensorType(shape, "float32")
        assert fn.ret_type == relay.TensorType((4, 2), "float32")


@pytest.mark.parametrize(
    ("name", "dtype", "order"),
    [
        ("nn.dense", "float32", "m, k"),
        ("nn.matmul", "float32", "k, m"),
        ("nn.bitserial_dense", "uint8", "m, k"),
    ],
)
def test_units_decide_a_symbolic_size_which_is_checked(name: str, dtype: str, order: str) -> None:
    head = f"def @main(%x: Tensor[(2, k), {dtype}], %w: Tensor[({order}), {dtype}])"
    mod = relay.infer(relay.parse(f"{head} {{ {name}(%x, %w, units=4) }}"))
    assert mod["main"].ret_type.shape == (2, 4)
    for kind in ("debug", "native"):
        run = relay.create_executor(kind, mod=mod).evaluate()
        x, w = np.ones((2, 8), dtype), np.ones((4, 8) if order == "m, k" else (8, 4), dtype)
        assert run(x, w).shape == (2, 4)
        with pytest.raises(relay.RelayError) as caught:
            run(x, w[:3] if order == "m, k" else w[:, :3])
        assert caught.value.codes == ("shape-check",)


def test_a_region_may_be_none_where_the_size_is_computed() -> None:
    x, size = var("x", 1, 1, 2, 2), relay.var("size", shape=(2,), dtype="int32")
    e = relay.image.resize2d(x, size, None, "NCHW", "nearest_neighbor", "asymmetric", "floor")
    data = np.arange(4, dtype="float32").reshape(1, 1, 2, 2)
    run = relay.create_executor("debug").evaluate(relay.Function([x, size], e))
    same(run(data, np.array([4, 2], "int32")), data.repeat(2, axis=2))


def test_options_of_a_sparse_matrix_are_given_once() -> None:
    x, parts = var("x", 3, 4), (var("a", 2), var("i", 2, dtype="int32"), var("p", 6, dtype="int32"))
    for call in (relay.nn.sparse_dense(x, parts, True), relay.nn.sparse_dense(x, *parts, sparse_lhs=True)):
        assert (len(call.args), call.attrs.sparse_lhs) == (4, True)
    conv = relay.nn.sparse_conv2d(var("x", 1, 3, 4, 4), parts, "NCHW", (3, 3))
    assert (conv.attrs.layout, conv.attrs.kernel_size) == ("NCHW", (3, 3))
    with pytest.raises(TypeError, match="multiple values for argument 'sparse_lhs'"):
        relay.nn.sparse_dense(x, parts, True, sparse_lhs=False)


def test_a_limit_of_arange_is_given_once() -> None:
    with pytest.raises(relay.RelayError) as caught:
        relay.infer(relay.parse("arange(3f, stop=4)"))
    assert caught.value.codes == ("duplicate-attribute",)
