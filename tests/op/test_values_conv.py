"""Convolutions, and what their derivatives are made of, against ONNX's reference evaluator and NumPy."""

import numpy as np
import pytest

from op.concrete import infer, run, symbolic
from op.onnx_node import onnx_node
from op.straight_line import Line, key_of
from relay.ir.expr import Var
from relay.ir.type import Kind, TensorType, TypeVar
from relay.op.arrays import array_type
from relay.op.registry import instance

pytestmark = pytest.mark.onnx
rng = np.random.default_rng(11)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.normal(size=shape).astype(dtype)


def close(a, b, dtype: str = "float32") -> None:
    tolerance = {"float16": 5e-3, "float32": 1e-4, "float64": 1e-10}[dtype]
    np.testing.assert_allclose(
        np.asarray(a, "float64"), np.asarray(b, "float64"), rtol=tolerance, atol=tolerance
    )


CONVS = [
    # data, weight, strides, padding (before…, after…), dilation, groups
    ((2, 3, 9), (4, 3, 3), (1,), (0, 0), (1,), 1),
    ((1, 4, 10), (6, 2, 3), (2,), (1, 2), (2,), 2),
    ((1, 3, 7, 8), (4, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    ((2, 4, 9, 7), (4, 1, 3, 2), (2, 1), (0, 1, 2, 0), (1, 2), 4),
    ((1, 4, 8, 8), (8, 1, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 4),
    ((1, 6, 5, 5), (4, 3, 1, 1), (2, 2), (0, 0, 0, 0), (1, 1), 2),
    ((1, 2, 5, 6, 4), (3, 2, 2, 3, 2), (1, 2, 1), (0, 1, 1, 1, 0, 0), (1, 1, 2), 1),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("data", "weight", "strides", "padding", "dilation", "groups"), CONVS)
def test_convolutions_agree_with_onnx(data, weight, strides, padding, dilation, groups, dtype: str) -> None:
    x, w = normal(*data, dtype=dtype), normal(*weight, dtype=dtype)
    (want,) = onnx_node(
        "Conv",
        [x.astype("float64"), w.astype("float64")],
        strides=strides,
        pads=padding,
        dilations=dilation,
        group=groups,
    )
    n = len(strides)
    attrs = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    close(run(f"nn.conv{n}d", x, w, **attrs), want, "float16" if dtype == "float16" else dtype)
    letters = "DHW"[3 - n :]
    last, hwio = (0, *range(2, n + 2), 1), (*range(2, n + 2), 1, 0)
    channels_last = run(
        f"nn.conv{n}d",
        x.transpose(last),
        w.transpose(hwio),
        data_layout=f"N{letters}C",
        kernel_layout=f"{letters}IO",
        **attrs,
    )
    close(channels_last, want.transpose(last), "float16" if dtype == "float16" else dtype)
    mixed = run(f"nn.conv{n}d", x, w, out_layout=f"N{letters}C", out_dtype="float64", **attrs)
    assert mixed.dtype == np.float64
    close(mixed, want.transpose(last), "float16" if dtype == "float16" else dtype)


def test_a_depthwise_weight_may_have_the_multiple_as_an_axis() -> None:
    x, w = normal(1, 3, 6, 6), normal(6, 1, 3, 3)
    (want,) = onnx_node("Conv", [x, w], group=3)
    close(run("nn.conv2d", x, w, groups=3), want)
    close(run("nn.conv2d", x, w.reshape(3, 2, 3, 3), groups=3, channels=6, kernel_size=3), want)
    hwoi = w.reshape(3, 2, 3, 3).transpose(2, 3, 0, 1)
    close(
        run("nn.conv2d", x.transpose(0, 2, 3, 1), hwoi, groups=3, data_layout="NHWC", kernel_layout="HWOI"),
        want.transpose(0, 2, 3, 1),
    )


def test_integer_convolution_is_exact() -> None:
    x, w = (
        rng.integers(-128, 128, (1, 8, 6, 6)).astype("int8"),
        rng.integers(-128, 128, (4, 8, 3, 3)).astype("int8"),
    )
    want = onnx_node("Conv", [x.astype("float64"), w.astype("float64")])[0].astype("int64")
    np.testing.assert_array_equal(run("nn.conv2d", x, w, out_dtype="int32"), want)
    np.testing.assert_array_equal(run("nn.conv2d", x, w), want.astype("int8"))


def test_large_images_are_unfolded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from relay.op.nn import conv

    x, w = normal(1, 3, 33, 20), normal(4, 3, 3, 3)
    whole = run("nn.conv2d", x, w, strides=2, padding=1)
    monkeypatch.setattr(conv, "MOST_COLUMNS", 500)
    np.testing.assert_allclose(run("nn.conv2d", x, w, strides=2, padding=1), whole, rtol=1e-5, atol=1e-5)


def test_convolution_of_no_images_is_no_image() -> None:
    assert run("nn.conv2d", normal(0, 3, 5, 5), normal(4, 3, 3, 3)).shape == (0, 4, 3, 3)
    assert (
        run("nn.conv2d", normal(1, 0, 5, 5), normal(4, 0, 3, 3)).tolist() == np.zeros((1, 4, 3, 3)).tolist()
    )


TRANSPOSED = [
    ((2, 3, 5), (3, 4, 3), (2,), (1, 1), (1,), (1,), 1),
    ((1, 4, 5), (4, 3, 3), (3,), (0, 2), (2,), (0,), 2),
    ((1, 3, 4, 5), (3, 2, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), (1, 1), 1),
    ((1, 4, 3, 3), (4, 2, 2, 3), (1, 2), (0, 1, 1, 0), (2, 1), (0, 1), 2),
    ((1, 4, 3, 3), (4, 1, 3, 3), (2, 2), (0, 0, 0, 0), (1, 1), (0, 0), 4),
    ((1, 2, 3, 2, 3), (2, 3, 2, 2, 2), (2, 1, 2), (0, 0, 0, 1, 0, 1), (1, 1, 1), (1, 0, 0), 1),
]


@pytest.mark.parametrize(("data", "weight", "strides", "padding", "dilation", "extra", "groups"), TRANSPOSED)
def test_transposed_convolution_is_the_adjoint_of_convolution(
    data, weight, strides, padding, dilation, extra, groups
) -> None:
    x, w = normal(*data, dtype="float64"), normal(*weight, dtype="float64")
    n = len(strides)
    attrs = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    found = run(f"nn.conv{n}d_transpose", x, w, output_padding=extra, **attrs)
    z = normal(*found.shape, dtype="float64")
    (back,) = onnx_node("Conv", [z, w], strides=strides, pads=padding, dilations=dilation, group=groups)
    inside = tuple(slice(0, d) for d in x.shape)
    np.testing.assert_allclose((found * z).sum(), (x * back[inside]).sum(), rtol=1e-9)


def test_transposed_convolution_agrees_with_onnx() -> None:
    x, w = normal(1, 3, 4, 4), normal(3, 2, 3, 3)
    (want,) = onnx_node("ConvTranspose", [x, w], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    attrs = {"strides": (2, 2), "padding": (1, 1), "output_padding": (1, 1)}
    close(run("nn.conv2d_transpose", x, w, **attrs), want)
    close(
        run(
            "nn.conv2d_transpose",
            x.transpose(0, 2, 3, 1),
            w.transpose(2, 3, 1, 0),
            data_layout="NHWC",
            kernel_layout="HWOI",
            **attrs,
        ),
        want.transpose(0, 2, 3, 1),
    )


# --- operators that derivatives are made of ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8"])
@pytest.mark.parametrize(("data", "weight", "strides", "padding", "dilation", "groups"), CONVS)
def test_weights_get_the_products_of_results_and_what_taps_saw(
    data, weight, strides, padding, dilation, groups, dtype: str
) -> None:
    n, x = len(strides), (3 * normal(*data)).astype(dtype)
    attrs = {"strides": strides, "padding": padding, "dilation": dilation, "groups": groups}
    y = (3 * normal(*run(f"nn.conv{n}d", x, np.zeros(weight, dtype), **attrs).shape)).astype(dtype)
    wide = np.pad(x.astype("float64"), ((0, 0), (0, 0), *zip(padding[:n], padding[n:], strict=True)))
    want, grouped = np.zeros(weight), y.astype("float64").reshape(data[0], groups, -1, *y.shape[2:])
    for tap in np.ndindex(*weight[2:]):
        seen = wide[
            (..., *[slice(i * r, i * r + (o - 1) * s + 1, s)
                    for i, r, o, s in zip(tap, dilation, y.shape[2:], strides, strict=True)])
        ]  # fmt: skip
        seen = seen.reshape(data[0], groups, -1, *y.shape[2:])
        letters = "xyz"[:n]
        found = np.einsum(f"ngo{letters},ngi{letters}->goi", grouped, seen)
        want[(slice(None), slice(None), *tap)] = found.reshape(weight[:2])
    if dtype == "int8":
        found = run(f"nn.conv{n}d_backward_weight", y, x, kernel_size=weight[2:], out_dtype="int32", **attrs)
        assert found.tolist() == want.tolist()
        return
    close(run(f"nn.conv{n}d_backward_weight", y, x, kernel_size=weight[2:], **attrs), want, dtype)
    if all(s == 1 for s in strides):
        close(run(f"nn.conv{n}d_backward_weight", y, x, **attrs), want, dtype)


def test_a_window_takes_its_size_from_what_it_made() -> None:
    n, h, k = (TypeVar(name, Kind.Dim) for name in "nhk")
    data, grad = TensorType((n, 3, h, h), "float32"), TensorType((n, 4, h - k + 1, h - k + 1), "float32")
    assert infer("nn.conv2d_backward_weight", grad, data) == TensorType((4, 3, k, k), "float32")
    found, open_checks = symbolic("nn.conv2d_backward_weight", grad, data, kernel_size=3)
    assert found == TensorType((4, 3, 3, 3), "float32")
    assert [(a, c, b) for a, c, b in open_checks if c == "=="] == [(h - 2, "==", h - k + 1)] * 2


def test_the_first_of_equal_elements_is_the_greatest() -> None:
    x, g = np.asarray([[[[1.0, 3.0], [3.0, 3.0]]]]), np.asarray([[[[5.0]]]])
    for name in ("nn.max_pool2d", "nn.adaptive_max_pool2d"):
        attrs = {"pool_size": 2} if name == "nn.max_pool2d" else {"output_size": 1}
        assert run(f"{name}_grad", g, x, **attrs).tolist() == [[[[0.0, 5.0], [0.0, 0.0]]]]
        assert run(f"{name}_tangent", np.arange(4.0).reshape(x.shape), x, **attrs).item() == 1.0
    x[0, 0, 1, 0] = np.nan
    assert run("nn.max_pool2d_grad", g, x, pool_size=2).tolist() == [[[[0.0, 0.0], [5.0, 0.0]]]]


def test_a_window_that_sees_only_padding_has_no_derivative() -> None:
    x, attrs = np.asarray([[[1.0, 2.0]]]), {"pool_size": 2, "strides": 2, "padding": 2}
    assert run("nn.max_pool1d", x, **attrs).tolist() == [[[-np.inf, 2.0, -np.inf]]]
    assert run("nn.max_pool1d_grad", np.asarray([[[3.0, 4.0, 5.0]]]), x, **attrs).tolist() == [[[0.0, 4.0]]]
    assert run("nn.max_pool1d_tangent", x, x, **attrs).tolist() == [[[0.0, 2.0, 0.0]]]


def test_a_wide_result_of_narrow_operands_has_narrow_cotangents() -> None:
    x, w = normal(2, 3, 5, 5, dtype="float16"), normal(4, 3, 3, 3, dtype="float16")
    for name, operands in (
        ("nn.conv2d", (x, w)),
        ("nn.conv2d_transpose", (x, w[:3, :2])),
        ("nn.dense", (x[0, 0], w[0, 0, :1].repeat(5, 1)[:, :5])),
        ("nn.batch_matmul", (x[0], x[1])),
        ("nn.matmul", (x[0], x[1, 0])),
    ):
        seed = normal(*run(name, *operands).shape)
        narrow = cotangents(name, seed, *operands, out_dtype="float32")
        exact = cotangents(name, seed.astype("float64"), *[x.astype("float64") for x in operands])
        for a, b in zip(narrow, exact, strict=True):
            assert a.dtype == np.float16
            close(a, b, "float16")


def cotangents(name: str, g: np.ndarray, *xs: np.ndarray, **attrs) -> list[np.ndarray]:
    """The cotangents of an operator's operands, from that of its result."""
    line, seed = Line(), Var("g", array_type(g), span=None)
    params = [Var("x", array_type(x), span=None) for x in xs]
    y = line.apply(instance(name, attrs), tuple(params))
    found = line.reverse({key_of(y): seed}, params)
    return line.run([seed, *params], [g, *xs], found)


def test_sizes_that_are_known_need_no_cutting_whatever_the_batch_is() -> None:
    line, n = Line(), TypeVar("n", Kind.Dim)
    x, w = (
        Var("x", TensorType((n, 3, 8, 8), "float32"), span=None),
        Var("w", TensorType((4, 3, 3, 3), "float32"), span=None),
    )
    y = line.apply(instance("nn.conv2d", {"strides": 2, "padding": 1}), (x, w))
    line.reverse({key_of(y): Var("g", y.type_annotation, span=None)}, [x, w])
    assert [op.name for _, op, _ in line.bindings[1:]] == ["nn.conv2d_transpose", "nn.conv2d_backward_weight"]
