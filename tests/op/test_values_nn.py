"""`nn` operators against ONNX's reference evaluator and NumPy."""

import ml_dtypes
import numpy as np
import pytest

import relay
from op.concrete import decomposed, infer, run, symbolic
from op.onnx_node import onnx_node
from relay.diagnostic import RelayError
from relay.ir.dim import floor_divide
from relay.ir.expr import TupleGetItem, Var
from relay.ir.type import IncompleteType, Kind, TensorType, TypeVar
from relay.op.registry import builders, instance

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


@pytest.mark.parametrize("executor", ["debug", "native"])
def test_what_is_no_number_stays_where_upsampling_reads_it(executor: str) -> None:
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype("float32")
    x[0, 0, 1, 1], x[0, 1, 0, 3] = np.nan, np.inf
    how = 'scale_h=2, scale_w=2, method="bilinear", align_corners=True'
    mod = relay.parse(f"def @main(%x: Tensor[(1, 2, 3, 4), float32]) {{ nn.upsampling(%x, {how}) }}")
    found = relay.create_executor(executor, mod=mod).evaluate()(x)
    up = torch.nn.functional.interpolate
    wanted = up(torch.tensor(x), scale_factor=2, mode="bilinear", align_corners=True).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


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
        ("nn.matmul", {"transpose_b": True}, [(2, 3), (3,)], "rank-mismatch"),
        ("nn.batch_matmul", {}, [(2, 3, 4), (3, 5, 4)], "broadcast-mismatch"),
        ("nn.conv2d", {}, [(1, 3, 5, 5), (4, 2, 3, 3)], "channel-mismatch"),
        ("nn.conv2d", {"groups": 2}, [(1, 3, 5, 5), (4, 1, 3, 3)], "groups-mismatch"),
        ("nn.conv2d", {"groups": 2}, [(1, 4, 5, 5), (3, 2, 3, 3)], "groups-mismatch"),
        ("nn.conv2d", {}, [(1, 3, 2, 5), (4, 3, 3, 3)], "shape-constraint"),
        ("nn.conv2d", {}, [(3, 5, 5), (4, 3, 3, 3)], "rank-mismatch"),
        ("nn.conv2d", {"channels": 5}, [(1, 3, 5, 5), (4, 3, 3, 3)], "shape-constraint"),
        ("nn.conv2d", {"kernel_size": 5}, [(1, 3, 5, 5), (4, 3, 3, 3)], "shape-constraint"),
        ("nn.dropout", {"rate": 1.5}, [(2, 3)], "attribute-value"),
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
        ("nn.lrn", {"size": 0}, [(1, 3, 5)], "attribute-value"),
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
