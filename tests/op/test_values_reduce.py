"""Reductions and scans against NumPy and PyTorch."""

import ml_dtypes
import numpy as np
import pytest

from op.concrete import decomposed, infer, run, symbolic
from relay.diagnostic import RelayError
from relay.ir.type import ANY, Kind, TensorType, TypeVar

SHAPES = [
    ((), None),
    ((5,), 0),
    ((3, 4), 1),
    ((2, 3, 4), (0, 2)),
    ((2, 3, 4), None),
    ((0, 3), 0),
    ((3, 0), 1),
    ((2, 3, 4), -2),
]
DTYPES = ["float32", "float64", "float16", "int32", "int8", "uint8", "int64"]
rng = np.random.default_rng(7)


def values(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 5, shape).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
def test_sums_agree_with_numpy(name: str, shape, axis, dtype: str, keepdims: bool) -> None:
    x = values(shape, dtype)
    if name == "mean" and (np.dtype(dtype).kind in "iu" or x.size == 0):
        return
    want = getattr(np, name)(x.astype("float64"), axis=axis, keepdims=keepdims)
    found = run(name, x, axis=axis, keepdims=keepdims)
    if np.dtype(dtype).kind in "iu":
        want = np.asarray(getattr(np, name)(x.astype("int64"), axis=axis, keepdims=keepdims)).astype(dtype)
    np.testing.assert_allclose(
        np.asarray(found, "float64"),
        np.asarray(want, "float64"),
        rtol=2e-3 if dtype == "float16" else 1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "axis"), [s for s in SHAPES if 0 not in s[0]])
@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_extrema_agree_with_numpy(name: str, shape, axis, dtype: str) -> None:
    x = values(shape, dtype)
    if name.startswith("arg") and isinstance(axis, tuple):
        flat = np.moveaxis(x, axis, (-2, -1)).reshape(x.shape[1], -1)
        np.testing.assert_array_equal(run(name, x, axis=axis), getattr(np, name)(flat, axis=-1))
        return
    np.testing.assert_array_equal(run(name, x, axis=axis), getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize(
    ("shape", "axis"), [((0, 3), 1), ((3, 0), 0), ((2, 0, 3, 4), (0, 2)), ((2, 3, 0), (0, 1))]
)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("select_last_index", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_an_index_along_an_axis_beside_an_empty_one_is_of_no_element(
    name: str, shape, axis, keepdims: bool, select_last_index: bool
) -> None:
    x = np.zeros(shape, "float32")
    wanted = np.sum(x, axis=axis, keepdims=keepdims).shape
    found = run(name, x, axis=axis, keepdims=keepdims, select_last_index=select_last_index)
    assert (found.shape, found.dtype) == (wanted, "int32")


@pytest.mark.parametrize("name", ["all", "any"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_all_and_any_agree_with_numpy(name: str, shape, axis) -> None:
    x = rng.integers(0, 2, shape).astype(bool)
    np.testing.assert_array_equal(run(name, x, axis=axis), getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "sum", "mean"])
def test_nan_propagates_and_the_first_one_counts(name: str) -> None:
    x = np.asarray([[1.0, np.nan, 3.0, np.nan], [4.0, 1.0, 4.0, 1.0]], "float32")
    found = run(name, x, axis=1)
    np.testing.assert_array_equal(found, getattr(np, name)(x, axis=1))


def test_ties_go_to_the_first_or_on_request_the_last() -> None:
    x = np.asarray([3, 5, 5, 3])
    assert run("argmax", x) == 1
    assert run("argmax", x, select_last_index=True) == 2
    assert run("argmin", x, select_last_index=True) == 3


def test_the_extremum_of_nothing_is_the_neutral_value() -> None:
    empty = np.zeros((2, 0), "float32")
    np.testing.assert_array_equal(run("max", empty, axis=1), [-np.inf, -np.inf])
    np.testing.assert_array_equal(run("min", np.zeros((1, 0), "int8"), axis=1), [127])


def test_exclude_reduces_the_other_axes() -> None:
    x = values((2, 3, 4), "float64")
    np.testing.assert_allclose(run("sum", x, axis=1, exclude=True), x.sum(axis=(0, 2)))
    np.testing.assert_allclose(
        run("max", x, axis=(0, -1), exclude=True, keepdims=True), x.max(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(run("sum", x, axis=None, exclude=True), x)


def test_no_axes_reduce_nothing() -> None:
    x = values((2, 3), "float32")
    np.testing.assert_array_equal(run("sum", x, axis=()), x)


def test_short_floats_accumulate_in_float32() -> None:
    x = np.full(4096, 1.0, "float16")
    assert run("sum", x) == np.float16(4096)
    assert run("mean", np.full(4096, 60000.0, "float16")) == np.float16(60000)
    b = np.full(1000, 1.0, ml_dtypes.bfloat16)
    assert run("sum", b) == ml_dtypes.bfloat16(1000)
    assert float(run("mean", b)) == 1.0


def test_integers_wrap_and_their_mean_truncates() -> None:
    assert run("sum", np.full(3, 100, "int8")) == np.int8(44)
    assert run("sum", np.asarray([7, 7], ml_dtypes.int4)) == ml_dtypes.int4(-2)
    assert run("mean", np.asarray([-1, -2], "int32"), keep_dtype=True) == -1
    assert run("max", np.asarray([-3, 5], ml_dtypes.int4)) == ml_dtypes.int4(5)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [((3, 4), 1), ((2, 3, 4), (0, 2)), ((2, 3, 4), None)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_variance_and_deviation_agree_with_numpy(shape, axis, dtype: str, unbiased: bool) -> None:
    x = values(shape, dtype)
    ddof = int(unbiased)
    for name, f in (("variance", np.var), ("std", np.std)):
        found = run(name, x, axis=axis, unbiased=unbiased)
        np.testing.assert_allclose(found, f(x, axis=axis, ddof=ddof), rtol=1e-5)
    mean, variance = run("mean_variance", x, axis=axis, unbiased=unbiased)
    np.testing.assert_allclose(mean, x.mean(axis=axis), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance, x.var(axis=axis, ddof=ddof), rtol=1e-5)
    _, std = run("mean_std", x, axis=axis, keepdims=True)
    np.testing.assert_allclose(std, x.std(axis=axis, keepdims=True), rtol=1e-5)


def test_variance_takes_a_mean_that_is_known() -> None:
    x = values((3, 4), "float64")
    np.testing.assert_allclose(run("variance", x, x.mean(axis=1, keepdims=True), axis=1), x.var(axis=1))
    np.testing.assert_allclose(
        decomposed("variance", x, x.mean(axis=1, keepdims=True), axis=1), x.var(axis=1)
    )


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_logsumexp_does_not_overflow(axis) -> None:
    x = values((3, 4), "float64") + 1000
    want = np.log(np.sum(np.exp(x - 1000), axis=axis)) + 1000
    np.testing.assert_allclose(run("logsumexp", x, axis=axis), want, rtol=1e-12)
    np.testing.assert_allclose(decomposed("logsumexp", x, axis=axis), want, rtol=1e-12)
    assert run("logsumexp", np.full(3, -np.inf, "float32")) == -np.inf
    assert run("logsumexp", np.asarray([1.0, np.inf], "float32")) == np.inf


@pytest.mark.torch
def test_statistics_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x = values((3, 4, 5), "float32")
    t = torch.from_numpy(x)
    np.testing.assert_allclose(
        run("logsumexp", x, axis=(0, 2)), torch.logsumexp(t, (0, 2)).numpy(), rtol=1e-5
    )
    np.testing.assert_allclose(run("variance", x, axis=1, unbiased=True), t.var(1).numpy(), rtol=1e-5)
    np.testing.assert_allclose(run("cumprod", x, axis=1), t.cumprod(1).numpy(), rtol=1e-5)


@pytest.mark.onnx
@pytest.mark.parametrize("exclusive", [0, 1])
def test_cumsum_agrees_with_onnx(exclusive: int) -> None:
    from op.onnx_node import onnx_node

    x = values((3, 4, 2), "float32")
    (want,) = onnx_node("CumSum", [x, np.asarray(1)], exclusive=exclusive)
    np.testing.assert_allclose(run("cumsum", x, axis=1, exclusive=bool(exclusive)), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "axis"), [((5,), 0), ((3, 4), 1), ((3, 4), -2), ((2, 3), None), ((0, 3), 0)]
)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans_agree_with_numpy(name: str, shape, axis, dtype: str) -> None:
    x = values(shape, dtype)
    want = getattr(np, name)(x, axis=axis, dtype="float64" if np.dtype(dtype).kind == "f" else dtype)
    np.testing.assert_allclose(
        np.asarray(run(name, x, axis=axis), "float64"),
        np.asarray(want, "float64"),
        rtol=5e-3 if dtype == "float16" else 1e-5,
        atol=1e-3 if dtype == "float16" else 1e-6,
    )


def test_scans_can_leave_the_element_out_and_widen() -> None:
    x = np.asarray([[100, 100, 100]], "int8")
    np.testing.assert_array_equal(run("cumsum", x, axis=1, dtype="int32"), [[100, 200, 300]])
    np.testing.assert_array_equal(run("cumsum", x, axis=1, dtype="int32", exclusive=True), [[0, 100, 200]])
    np.testing.assert_array_equal(run("cumprod", x, axis=1, dtype="int32", exclusive=True), [[1, 100, 10000]])
    np.testing.assert_array_equal(
        run("cumsum", np.zeros((2, 0), "int8"), axis=1, exclusive=True), np.zeros((2, 0))
    )


def test_shapes_may_be_symbolic() -> None:
    n, m = TypeVar("n", Kind.Dim), TypeVar("m", Kind.Dim)
    x = TensorType((n, 3, m), "float32")
    assert infer("sum", x, axis=1) is TensorType((n, m), "float32")
    assert infer("mean", x, axis=(0, 2), keepdims=True) is TensorType((1, 3, 1), "float32")
    assert infer("cumsum", x) is TensorType((3 * n * m,), "float32")
    assert infer("sum", TensorType((ANY, 2), "int8"), axis=1) is TensorType((ANY,), "int8")
    found, still = symbolic("argmax", x, axis=2)
    assert found is TensorType((n, 3), "int32")
    assert still == [(0, "<", m)]


def test_a_tensor_of_unknown_rank_sums_to_a_scalar() -> None:
    shape = TypeVar("s", Kind.Shape)
    assert infer("sum", TensorType(shape, "float32")) is TensorType((), "float32")


@pytest.mark.parametrize(
    ("name", "attrs", "shape", "dtype", "code"),
    [
        ("sum", {"axis": 2}, (3, 4), "float32", "axis-out-of-range"),
        ("mean", {"axis": (0, -3)}, (3, 4), "float32", "axis-out-of-range"),
        ("sum", {"axis": (1, -1)}, (3, 4), "float32", "attribute-value"),
        ("argmax", {"axis": 1}, (3, 0), "float32", "shape-constraint"),
        ("variance", {}, (3, 4), "int32", "dtype-not-supported"),
        ("all", {}, (3,), "int32", "dtype-not-supported"),
        ("cumsum", {"axis": 1}, (3,), "int32", "axis-out-of-range"),
        ("sum", {"axis": "x"}, (3,), "int32", "attribute-type"),
        ("sum", {"axes": 1}, (3,), "int32", "unknown-attribute"),
    ],
)
def test_what_cannot_be_has_a_diagnostic(name: str, attrs, shape, dtype: str, code: str) -> None:
    with pytest.raises(RelayError) as caught:
        infer(name, TensorType(shape, dtype), **attrs)
    assert caught.value.codes == (code,)


@pytest.mark.parametrize("reverse", [False, True])
def test_linear_scan_solves_its_equations(reverse: bool) -> None:
    decay, data = values((6,), "float64"), values((6,), "float64")
    # y = shift(decay * y) + data: the recurrence as a system with one diagonal below the main one.
    system = np.eye(6) - np.diag(decay[1:], -1)
    expected = np.linalg.solve(system.T if reverse else system, data)
    np.testing.assert_allclose(run("linear_scan", decay, data, reverse=reverse), expected, rtol=1e-9)


def test_linear_scan_runs_along_an_axis_in_the_dtype() -> None:
    decay, data = values((3, 4), "float16"), values((3, 4), "float16")
    found = run("linear_scan", decay, data, axis=0)
    wide = [run("linear_scan", decay[:, i].astype("f8"), data[:, i].astype("f8")) for i in range(4)]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, np.stack(wide, 1), rtol=1e-2, atol=1e-2)


def test_linear_scan_wants_a_factor_for_each_element() -> None:
    with pytest.raises(RelayError, match="type-mismatch"):
        infer("linear_scan", TensorType((3,), "float32"), TensorType((4,), "float32"))
