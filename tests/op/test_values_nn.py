"""`nn` operators against ONNX's reference evaluator and NumPy."""

import ml_dtypes
import numpy as np
import pytest

from op.concrete import decomposed, infer, run, symbolic
from op.onnx_node import onnx_node
from op.straight_line import Line, key_of
from relay.diagnostic import RelayError
from relay.ir.dim import floor_divide
from relay.ir.expr import TupleGetItem, Var
from relay.ir.type import IncompleteType, Kind, TensorType, TypeVar
from relay.op.base import array_type, builders, instance

pytestmark = pytest.mark.onnx
rng = np.random.default_rng(11)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.normal(size=shape).astype(dtype)


def close(a, b, dtype: str = "float32") -> None:
    tolerance = {"float16": 5e-3, "float32": 1e-4, "float64": 1e-10}[dtype]
    np.testing.assert_allclose(
        np.asarray(a, "float64"), np.asarray(b, "float64"), rtol=tolerance, atol=tolerance
    )


# --- matrix products --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8"])
@pytest.mark.parametrize("lead", [(3,), (), (2, 3), (0,)])
def test_dense_is_a_product_with_the_transpose(lead, dtype: str) -> None:
    x, w = (10 * normal(*lead, 4)).astype(dtype), (10 * normal(5, 4)).astype(dtype)
    wide = "float64" if np.dtype(dtype).kind == "f" else "int64"
    want = (x.astype(wide) @ w.T.astype(wide)).astype(dtype)
    np.testing.assert_allclose(
        run("nn.dense", x, w),
        want,
        rtol=1e-2 if dtype == "float16" else 1e-5,
        atol=0.5 if dtype == "float16" else 1e-3,
    )


def test_integer_products_are_exact_in_the_wide_type_and_wrap_in_the_narrow() -> None:
    x, w = np.full((1, 300), 127, "int8"), np.full((2, 300), 127, "int8")
    assert run("nn.dense", x, w, out_dtype="int32").tolist() == [[300 * 127 * 127] * 2]
    big = np.full((1, 3), 2**40, "int64")
    assert run("nn.dense", big, big).item() == (3 * 2**80 + 2**63) % 2**64 - 2**63
    mixed = run("nn.dense", np.full((1, 3), 200, "uint8"), np.full((1, 3), -100, "int8"), out_dtype="int32")
    assert mixed.item() == -60000


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_matmul_and_batch_matmul_agree_with_numpy(ta: bool, tb: bool) -> None:
    a, b = normal(2, 3, 4), normal(2, 4, 5)
    left, right = a.swapaxes(1, 2) if ta else a, b.swapaxes(1, 2) if tb else b
    close(run("nn.batch_matmul", left, right, transpose_a=ta, transpose_b=tb), a @ b)
    close(run("nn.batch_matmul", left[:1], right, transpose_a=ta, transpose_b=tb), a[:1] @ b)
    close(run("nn.matmul", left, right, transpose_a=ta, transpose_b=tb), a @ b)
    close(run("nn.matmul", left, right[0], transpose_a=ta, transpose_b=tb), a @ b[0])
    close(run("nn.matmul", left[0], right[0], transpose_a=ta, transpose_b=tb, units=5), a[0] @ b[0])


# --- convolutions -----------------------------------------------------------------------------------------

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


# --- pooling ----------------------------------------------------------------------------------------------

POOLS = [
    # data, window, strides, padding, dilation, ceil_mode
    ((2, 3, 9), (3,), (2,), (1, 1), (1,), False),
    ((1, 2, 10), (3,), (3,), (0, 1), (2,), True),
    ((1, 3, 8, 7), (2, 2), (2, 2), (0, 0, 0, 0), (1, 1), False),
    ((1, 3, 8, 7), (3, 2), (2, 3), (1, 0, 1, 1), (1, 1), True),
    ((1, 2, 7, 7), (3, 3), (1, 2), (1, 1, 1, 1), (2, 2), False),
    ((1, 2, 5, 6, 7), (2, 3, 2), (2, 2, 2), (0, 1, 0, 1, 1, 0), (1, 1, 1), True),
]


@pytest.mark.parametrize(("data", "window", "strides", "padding", "dilation", "ceil_mode"), POOLS)
def test_pools_agree_with_onnx(data, window, strides, padding, dilation, ceil_mode: bool) -> None:
    x, n = normal(*data), len(window)
    attrs = {
        "pool_size": window,
        "strides": strides,
        "padding": padding,
        "dilation": dilation,
        "ceil_mode": ceil_mode,
    }
    onnx = {
        "kernel_shape": window,
        "strides": strides,
        "pads": padding,
        "dilations": dilation,
        "ceil_mode": int(ceil_mode),
    }
    for include in (False, True):
        (want,) = onnx_node("AveragePool", [x], opset=22, count_include_pad=int(include), **onnx)
        found = run(f"nn.avg_pool{n}d", x, count_include_pad=include, **attrs)
        close(found, want)
    (want,) = onnx_node("MaxPool", [x], opset=22, **onnx)
    close(run(f"nn.max_pool{n}d", x, **attrs), want)
    letters = "DHW"[3 - n :]
    last = (0, *range(2, n + 2), 1)
    close(run(f"nn.max_pool{n}d", x.transpose(last), layout=f"N{letters}C", **attrs), want.transpose(last))


def test_pools_of_integers_and_short_floats() -> None:
    x = np.asarray([[[-3, -4, 100, 100]]], "int8")
    assert run("nn.max_pool1d", x, pool_size=2, strides=2, padding=1).tolist() == [[[-3, 100, 100]]]
    assert run("nn.avg_pool1d", x, pool_size=2, strides=2).tolist() == [[[-3, 100]]]
    h = np.full((1, 1, 8), 60000, "float16")
    assert run("nn.avg_pool1d", h, pool_size=4, strides=4).tolist() == [[[60000, 60000]]]
    b = np.ones((1, 1, 4, 4), ml_dtypes.bfloat16)
    assert run("nn.max_pool2d", b, pool_size=2).dtype == b.dtype


def test_max_pool_propagates_nan() -> None:
    x = np.asarray([[[1.0, np.nan, 2.0, 3.0]]])
    np.testing.assert_array_equal(run("nn.max_pool1d", x, pool_size=2, strides=2), [[[np.nan, 3.0]]])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_global_pools_are_over_all_spatial_axes(n: int) -> None:
    x = normal(2, 3, *(4, 5, 6)[:n])
    space = tuple(range(2, n + 2))
    for kind, want in (("avg", x.mean(axis=space, keepdims=True)), ("max", x.max(axis=space, keepdims=True))):
        close(run(f"nn.global_{kind}_pool{n}d", x), want)
        close(run(f"nn.adaptive_{kind}_pool{n}d", x, output_size=1), want)
        close(run(f"nn.adaptive_{kind}_pool{n}d", x), x)


def test_a_global_pool_can_change_the_layout() -> None:
    x = normal(2, 4, 5, 3)
    found = run("nn.global_avg_pool2d", x, layout="NHWC", out_layout="NCHW")
    close(found, x.mean(axis=(1, 2)).reshape(2, 3, 1, 1))


# --- normalisation ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_batch_norm_agrees_with_onnx(dtype: str) -> None:
    x = normal(2, 3, 4, 5, dtype=dtype)
    gamma, beta, mean, variance = normal(3), normal(3), normal(3), np.abs(normal(3)) + 0.1
    vectors = [v.astype(dtype) for v in (gamma, beta, mean, variance)]
    (want,) = onnx_node("BatchNormalization", [a.astype("float64") for a in (x, *vectors)], epsilon=1e-3)
    y, new_mean, new_variance = run("nn.batch_norm", x, *vectors, epsilon=1e-3)
    close(y, want, "float16" if dtype == "float16" else "float32")
    np.testing.assert_array_equal(new_mean, vectors[2])
    np.testing.assert_array_equal(new_variance, vectors[3])
    last = run("nn.batch_norm", x.transpose(0, 2, 3, 1), *vectors, epsilon=1e-3, axis=-1)[0]
    close(last, want.transpose(0, 2, 3, 1), "float16" if dtype == "float16" else "float32")
    close(
        decomposed("nn.batch_norm", x, *vectors, epsilon=1e-3)[0],
        want,
        "float16" if dtype == "float16" else "float32",
    )


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_normalisations_agree_with_onnx(dtype: str) -> None:
    x = normal(2, 6, 3, 4, dtype=dtype)
    gamma, beta = normal(6, dtype=dtype), normal(6, dtype=dtype)
    loose = "float16" if dtype == "float16" else "float32"
    wide = [a.astype("float64") for a in (x, gamma, beta)]
    close(
        run("nn.instance_norm", x, gamma, beta),
        onnx_node("InstanceNormalization", wide, epsilon=1e-5)[0],
        loose,
    )
    (want,) = onnx_node("GroupNormalization", wide, opset=21, num_groups=3, epsilon=1e-5)
    close(run("nn.group_norm", x, gamma, beta, num_groups=3), want, loose)
    close(decomposed("nn.group_norm", x, gamma, beta, num_groups=3), want, loose)
    scale, shift = normal(4, dtype=dtype), normal(4, dtype=dtype)
    (want,) = onnx_node(
        "LayerNormalization", [wide[0], scale.astype("float64"), shift.astype("float64")], epsilon=1e-5
    )
    close(run("nn.layer_norm", x, scale, shift), want, loose)
    close(decomposed("nn.layer_norm", x, scale, shift), want, loose)


def test_center_and_scale_leave_a_step_out() -> None:
    x, gamma, beta = normal(2, 3, 4), normal(4), normal(4)
    plain = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    close(run("nn.layer_norm", x, gamma, beta, scale=False), plain + beta)
    close(run("nn.layer_norm", x, gamma, beta, center=False), plain * gamma)


def test_lrn_agrees_with_onnx() -> None:
    x = normal(7, 7, 3, 3)  # the evaluator is right only for as many images as channels
    (want,) = onnx_node("LRN", [x], size=3, alpha=0.5, beta=0.6, bias=1.5)
    close(run("nn.lrn", x, size=3, alpha=0.5, beta=0.6, bias=1.5), want)
    close(
        run("nn.lrn", x.transpose(0, 2, 3, 1), size=3, axis=3, alpha=0.5, beta=0.6, bias=1.5),
        want.transpose(0, 2, 3, 1),
    )


def test_l2_normalize_agrees_with_onnx() -> None:
    x = normal(3, 4)
    close(run("nn.l2_normalize", x, eps=1e-12, axis=1), onnx_node("LpNormalization", [x], axis=1, p=2)[0])
    close(run("nn.l2_normalize", np.zeros(3, "float32"), eps=4.0), np.zeros(3))
    close(run("nn.l2_normalize", x, eps=1e-12), x / np.sqrt((x * x).sum()))


# --- activations and losses -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 4), -1), ((2, 3, 4), 1), ((5,), 0), ((3, 1), 1)])
def test_softmax_agrees_with_onnx(shape, axis: int, dtype: str) -> None:
    x = normal(*shape, dtype=dtype)
    for name, onnx in (("softmax", "Softmax"), ("fast_softmax", "Softmax"), ("log_softmax", "LogSoftmax")):
        (want,) = onnx_node(onnx, [x.astype("float64")], axis=axis)
        close(run(f"nn.{name}", x, axis=axis), want, "float16" if dtype == "float16" else "float32")
        close(decomposed(f"nn.{name}", x, axis=axis), want, "float16" if dtype == "float16" else "float32")


def test_softmax_of_large_numbers_is_finite() -> None:
    x = np.asarray([1e4, 1e4 - 1], "float32")
    close(run("nn.softmax", x), [0.7310586, 0.26894142])
    close(run("nn.log_softmax", x), [-0.3132617, -1.3132617])


def test_rectifiers_agree_with_onnx() -> None:
    x = normal(2, 3, 4)
    close(run("nn.relu", x), onnx_node("Relu", [x])[0])
    close(run("nn.leaky_relu", x, alpha=0.2), onnx_node("LeakyRelu", [x], alpha=0.2)[0])
    slope = normal(3)
    close(run("nn.prelu", x, slope), onnx_node("PRelu", [x, slope.reshape(3, 1)])[0])
    close(run("nn.prelu", x, normal(4), axis=-1).shape, (2, 3, 4))
    np.testing.assert_array_equal(run("nn.relu", np.asarray([np.nan, -1, 2], "float32")), [np.nan, 0, 2])
    assert run("nn.relu", np.asarray([-3, 3], "int8")).tolist() == [0, 3]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nll_loss_agrees_with_onnx(reduction: str) -> None:
    x, w = normal(2, 4, 3), np.abs(normal(4))
    targets = np.asarray([[0, 3, -100], [2, 1, 1]])
    (want,) = onnx_node("NegativeLogLikelihoodLoss", [x, targets, w], reduction=reduction, ignore_index=-100)
    close(run("nn.nll_loss", x, targets, w, reduction=reduction), want)


def test_a_target_beyond_the_classes_is_a_diagnostic() -> None:
    with pytest.raises(RelayError) as caught:
        run("nn.nll_loss", normal(1, 3), np.asarray([3]), normal(3))
    assert caught.value.codes == ("index-out-of-range",)


def test_cross_entropy_is_the_mean_over_the_batch() -> None:
    p = np.exp(normal(3, 4, dtype="float64"))
    p, y = p / p.sum(1, keepdims=True), np.eye(4)[[0, 2, 3]]
    want = -np.mean(np.log(p)[[0, 1, 2], [0, 2, 3]])
    close(run("nn.cross_entropy", p, y), want, "float64")
    close(run("nn.cross_entropy_with_logits", np.log(p), y), want, "float64")


# --- the rest ---------------------------------------------------------------------------------------------


def test_bias_add_is_along_the_channels() -> None:
    x, b = normal(2, 3, 4), normal(3)
    close(run("nn.bias_add", x, b), x + b[:, None])
    close(
        run("nn.bias_add", x.astype("float16"), normal(4, dtype="float16"), axis=-1).dtype == np.float16, True
    )


def test_dropout_gives_data_and_a_mask() -> None:
    x = normal(2, 3)
    y, mask = run("nn.dropout", x, rate=0.3)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(mask, np.ones_like(x))
    assert isinstance(builders["nn.dropout"](Var("x"), 0.3), TupleGetItem)
    assert builders["nn.dropout_raw"](Var("x"), 0.3).attrs.rate == 0.3


def test_dilate_puts_values_between() -> None:
    x = np.asarray([[1, 2], [3, 4]], "int32")
    assert run("nn.dilate", x, strides=(2, 3), dilation_value=9.0).tolist() == [
        [1, 9, 9, 2],
        [9, 9, 9, 9],
        [3, 9, 9, 4],
    ]


@pytest.mark.parametrize("scale", [(2, 3), (1.5, 2), (0.5, 1)])
@pytest.mark.parametrize(
    ("method", "mode"), [("nearest_neighbor", "nearest"), ("bilinear", "linear"), ("bicubic", "cubic")]
)
@pytest.mark.parametrize("align", [False, True])
def test_upsampling_agrees_with_onnx(scale, method: str, mode: str, align: bool) -> None:
    if align and mode == "nearest":
        return
    x = normal(1, 2, 4, 6)
    found = run("nn.upsampling", x, scale_h=scale[0], scale_w=scale[1], method=method, align_corners=align)
    sizes = np.asarray([1, 2, round(4 * scale[0]), round(6 * scale[1])])
    (want,) = onnx_node(
        "Resize",
        [x, None, None, sizes],
        mode=mode,
        cubic_coeff_a=-0.5,
        nearest_mode="floor",
        coordinate_transformation_mode="align_corners" if align else "asymmetric",
    )
    close(found, want)
    last = run(
        "nn.upsampling",
        x.transpose(0, 2, 3, 1),
        scale_h=scale[0],
        scale_w=scale[1],
        method=method,
        align_corners=align,
        layout="NHWC",
    )
    close(last, want.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
def test_upsampling_3d_agrees_with_onnx(mode: str) -> None:
    x = normal(1, 2, 2, 3, 4)
    attrs = {"scale_d": 2, "scale_h": 1, "scale_w": 3}
    sizes = np.asarray([1, 2, 4, 3, 12])
    (want,) = onnx_node("Resize", [x, None, None, sizes], mode="linear", coordinate_transformation_mode=mode)
    found = run("nn.upsampling3d", x, method="trilinear", coordinate_transformation_mode=mode, **attrs)
    close(found, want)
    nearest = run("nn.upsampling3d", x, **attrs)
    close(nearest, x.repeat(2, axis=2).repeat(3, axis=4))


# --- types ------------------------------------------------------------------------------------------------


def test_sizes_of_convolutions_are_exact_formulas() -> None:
    n, h = TypeVar("n", Kind.Dim), TypeVar("h", Kind.Dim)
    x, w = TensorType((n, 3, h, h), "float32"), TensorType((8, 3, 3, 3), "float32")
    same = infer("nn.conv2d", x, w, padding=1)
    assert same is TensorType((n, 8, h, h), "float32")
    found, still = symbolic("nn.conv2d", x, w, strides=2, dilation=2)
    assert found is TensorType((n, 8, floor_divide(h - 5, 2) + 1, floor_divide(h - 5, 2) + 1), "float32")
    assert still == [(5, "<=", h)] * 2
    assert infer(
        "nn.conv2d_transpose", x, TensorType((3, 8, 4, 4), "float32"), strides=2, padding=1
    ) is TensorType((n, 8, 2 * h, 2 * h), "float32")
    assert infer("nn.max_pool2d", x, pool_size=2, strides=2).shape[2] is floor_divide(h - 2, 2) + 1
    assert infer("nn.upsampling", x, scale_h=2, scale_w=1.5).shape[2:] == (2 * h, floor_divide(6 * h + 2, 4))


def test_a_weight_of_unknown_shape_follows_from_the_attributes() -> None:
    from op.concrete import Concrete
    from relay.op.base import instance

    t, weight, out = Concrete(), IncompleteType(), IncompleteType()
    op = instance("nn.conv2d", {"channels": 8, "kernel_size": (3, 5), "kernel_layout": "HWIO"})
    op.relate(t, [TensorType((1, 4, 9, 9), "float32"), weight], out)
    assert t.resolve(weight) is TensorType((3, 5, 4, 8), "float32")
    assert t.resolve(out) is TensorType((1, 8, 7, 5), "float32")
    t, weight, out = Concrete(), IncompleteType(), IncompleteType()
    instance("nn.dense", {"units": 7}).relate(t, [TensorType((2, 4), "float32"), weight], out)
    assert t.resolve(weight) is TensorType((7, 4), "float32")


F = "float32"


@pytest.mark.parametrize(
    ("name", "attrs", "shapes", "code"),
    [
        ("nn.dense", {}, [(2, 3), (4, 5)], "contraction-mismatch"),
        ("nn.dense", {}, [(), (4, 5)], "rank-mismatch"),
        ("nn.dense", {"units": 5}, [(2, 3), (4, 3)], "shape-constraint"),
        ("nn.dense", {}, [(2, 3), (4, 3, 1)], "rank-mismatch"),
        ("nn.matmul", {}, [(2, 3), (3,)], "rank-mismatch"),
        ("nn.batch_matmul", {}, [(2, 3, 4), (3, 5, 4)], "broadcast-mismatch"),
        ("nn.conv2d", {}, [(1, 3, 5, 5), (4, 2, 3, 3)], "channel-mismatch"),
        ("nn.conv2d", {"groups": 2}, [(1, 3, 5, 5), (4, 1, 3, 3)], "groups-mismatch"),
        ("nn.conv2d", {"groups": 2}, [(1, 4, 5, 5), (3, 2, 3, 3)], "groups-mismatch"),
        ("nn.conv2d", {}, [(1, 3, 2, 5), (4, 3, 3, 3)], "shape-constraint"),
        ("nn.conv2d", {}, [(3, 5, 5), (4, 3, 3, 3)], "rank-mismatch"),
        ("nn.conv2d", {"channels": 5}, [(1, 3, 5, 5), (4, 3, 3, 3)], "shape-constraint"),
        ("nn.conv2d", {"kernel_size": 5}, [(1, 3, 5, 5), (4, 3, 3, 3)], "shape-constraint"),
        ("nn.conv2d", {"strides": 0}, [(1, 3, 5, 5), (4, 3, 3, 3)], "attribute-value"),
        ("nn.conv2d", {"padding": (1, 1, 1)}, [(1, 3, 5, 5), (4, 3, 3, 3)], "attribute-value"),
        ("nn.conv2d", {"padding": -1}, [(1, 3, 5, 5), (4, 3, 3, 3)], "attribute-value"),
        ("nn.conv2d", {"data_layout": "NCWW"}, [(1, 3, 5, 5), (4, 3, 3, 3)], "bad-layout"),
        ("nn.conv2d", {"out_dtype": "f"}, [(1, 3, 5, 5), (4, 3, 3, 3)], "attribute-type"),
        ("nn.conv2d_transpose", {}, [(1, 3, 5, 5), (4, 3, 3, 3)], "channel-mismatch"),
        ("nn.max_pool2d", {"pool_size": 9}, [(1, 3, 5, 5)], "shape-constraint"),
        ("nn.max_pool2d", {"pool_size": (2, 2, 2)}, [(1, 3, 5, 5)], "attribute-value"),
        ("nn.batch_norm", {}, [(1, 3, 5), (4,), (3,), (3,), (3,)], "channel-mismatch"),
        ("nn.layer_norm", {"axis": 3}, [(1, 3, 5), (5,), (5,)], "axis-out-of-range"),
        ("nn.group_norm", {"num_groups": 2}, [(1, 3, 5), (3,), (3,)], "groups-mismatch"),
        ("nn.group_norm", {}, [(1, 3, 5), (3,), (3,)], "missing-attribute"),
        ("nn.bias_add", {}, [(1, 3), (4,)], "channel-mismatch"),
        ("nn.softmax", {"axis": 1}, [(3,)], "axis-out-of-range"),
        ("nn.lrn", {"size": 4}, [(1, 3, 5)], "attribute-value"),
        ("nn.cross_entropy", {}, [(1, 3), (1, 4)], "type-mismatch"),
        ("nn.dilate", {"strides": (1,)}, [(1, 3)], "attribute-value"),
        ("nn.upsampling", {"scale_h": 0}, [(1, 3, 2, 2)], "attribute-value"),
        ("nn.conv2d_backward_weight", {}, [(2, 4, 3, 3), (1, 3, 5, 5)], "type-mismatch"),
        ("nn.conv2d_backward_weight", {"kernel_size": 2}, [(1, 4, 3, 3), (1, 3, 5, 5)], "shape-constraint"),
        ("nn.conv2d_backward_weight", {"groups": 2}, [(1, 4, 3, 3), (1, 3, 5, 5)], "groups-mismatch"),
        ("nn.conv2d_backward_weight", {"channels": 5}, [(1, 4, 3, 3), (1, 3, 5, 5)], "shape-constraint"),
        ("nn.conv2d_backward_weight", {"grad_layout": "NHW"}, [(1, 4, 3, 3), (1, 3, 5, 5)], "bad-layout"),
        ("nn.max_pool2d_grad", {"pool_size": 2}, [(1, 3, 5, 5), (1, 3, 5, 5)], "type-mismatch"),
        ("nn.max_pool2d_tangent", {"pool_size": 2}, [(1, 3, 4, 4), (1, 3, 5, 5)], "type-mismatch"),
        ("nn.avg_pool2d_grad", {"pool_size": 9}, [(1, 3, 4, 4), (1, 3, 5, 5)], "shape-constraint"),
        ("nn.adaptive_avg_pool1d_grad", {"output_size": 3}, [(1, 3, 4), (1, 3, 5)], "type-mismatch"),
        ("nn.upsampling_grad", {"scale_h": 2}, [(1, 3, 2, 2), (1, 3, 2, 2)], "type-mismatch"),
    ],
)
def test_what_cannot_be_has_a_diagnostic(name: str, attrs, shapes, code: str) -> None:
    with pytest.raises(RelayError) as caught:
        infer(name, *[TensorType(s, F) for s in shapes], **attrs)
    assert caught.value.codes == (code,)


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
    x, w = Var("x", TensorType((n, 3, 8, 8), F), span=None), Var("w", TensorType((4, 3, 3, 3), F), span=None)
    y = line.apply(instance("nn.conv2d", {"strides": 2, "padding": 1}), (x, w))
    line.reverse({key_of(y): Var("g", y.type_annotation, span=None)}, [x, w])
    assert [op.name for _, op, _ in line.bindings[1:]] == ["nn.conv2d_transpose", "nn.conv2d_backward_weight"]
