"""Sorting, `topk`, `searchsorted` and `unique` against NumPy, ONNX and PyTorch."""

import ml_dtypes
import numpy as np
import pytest

from op.concrete import infer, run, symbolic
from relay.diagnostic import RelayError
from relay.ir.expr import Var
from relay.ir.type import ANY, Kind, TensorType, TupleType, TypeVar
from relay.op.registry import builders

rng = np.random.default_rng(3)
SHAPES = [((7,), 0), ((3, 5), 1), ((3, 5), 0), ((2, 3, 4), -2), ((0,), 0), ((3, 0), 1)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_sort_and_argsort_agree_with_numpy(shape, axis: int, dtype: str) -> None:
    x = rng.integers(0, 4, shape).astype(dtype)
    np.testing.assert_array_equal(run("sort", x, axis=axis), np.sort(x, axis=axis))
    np.testing.assert_array_equal(run("argsort", x, axis=axis), np.argsort(x, axis=axis, kind="stable"))
    down = run("sort", x, axis=axis, is_ascend=False)
    np.testing.assert_array_equal(down, np.flip(np.sort(x, axis=axis), axis))
    order = run("argsort", x, axis=axis, is_ascend=False, dtype="int64")
    np.testing.assert_array_equal(order, np.argsort(-x.astype("int64"), axis=axis, kind="stable"))


def test_nan_is_the_greatest() -> None:
    x = np.asarray([2.0, np.nan, 1.0], "float32")
    np.testing.assert_array_equal(run("sort", x), [1.0, 2.0, np.nan])
    np.testing.assert_array_equal(run("sort", x, is_ascend=False), [np.nan, 2.0, 1.0])
    np.testing.assert_array_equal(run("argsort", x), [2, 0, 1])
    np.testing.assert_array_equal(run("topk", x, k=1, ret_type="indices"), [1])
    b = x.astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(run("argsort", b), [2, 0, 1])


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((3, 5), 1), ((4, 3), 0)])
@pytest.mark.onnx
def test_topk_agrees_with_onnx(shape, axis: int, largest: int) -> None:
    from op.onnx_node import onnx_node

    x = rng.permutation(int(np.prod(shape))).reshape(shape).astype("float32")
    want = onnx_node("TopK", [x, np.asarray([3])], outputs=2, axis=axis, largest=largest)
    found = run("topk", x, k=3, axis=axis, is_ascend=not largest, dtype="int64")
    np.testing.assert_array_equal(found[0], want[0])
    np.testing.assert_array_equal(found[1], want[1])


def test_topk_gives_what_is_asked_for() -> None:
    x = np.asarray([[3, 9, 9, 1]], "int32")
    values, indices = run("topk", x, k=2)
    np.testing.assert_array_equal(values, [[9, 9]])
    np.testing.assert_array_equal(indices, [[1, 2]])
    assert indices.dtype == np.int32
    np.testing.assert_array_equal(run("topk", x, k=2, ret_type="values", is_ascend=True), [[1, 3]])
    np.testing.assert_array_equal(run("topk", x, k=-1, ret_type="indices"), [[1, 2, 0, 3]])
    np.testing.assert_array_equal(run("dyn.topk", x, np.asarray([2]), ret_type="values"), [[9, 9]])
    np.testing.assert_array_equal(run("dyn.topk", x, np.int64(9), ret_type="values"), [[9, 9, 3, 1]])


def test_topk_with_an_expression_is_the_dynamic_one() -> None:
    x, k = Var("x"), Var("k")
    assert builders["topk"](x, k).op.name == "dyn.topk"
    call = builders["topk"](x, 3, -1, "both", True)
    assert call.op.name == "topk"
    assert (call.attrs.k, call.attrs.is_ascend) == (3, True)
    values, indices = call
    assert (values.index, indices.index) == (0, 1)


@pytest.mark.torch
def test_order_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x = rng.normal(size=(4, 9)).astype("float32")
    x[1, 3] = np.nan
    t = torch.from_numpy(x)
    for ascending in (True, False):
        want = torch.sort(t, dim=1, descending=not ascending, stable=True)
        np.testing.assert_array_equal(run("sort", x, is_ascend=ascending), want.values.numpy())
        np.testing.assert_array_equal(run("argsort", x, is_ascend=ascending), want.indices.numpy())
    want = torch.topk(t, 3, dim=1)
    np.testing.assert_array_equal(run("topk", x, k=3)[0], want.values.numpy())
    rows, wanted = np.sort(rng.normal(size=(3, 6))), rng.normal(size=(3, 4))
    for right in (False, True):
        np.testing.assert_array_equal(
            run("searchsorted", rows, wanted, right=right),
            torch.searchsorted(torch.from_numpy(rows), torch.from_numpy(wanted), right=right).numpy(),
        )


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "float32", "int8"])
def test_searchsorted_agrees_with_numpy(right: bool, dtype: str) -> None:
    line = np.sort(rng.integers(0, 9, 6)).astype(dtype)
    wanted = rng.integers(0, 10, (2, 5)).astype(dtype)
    side = "right" if right else "left"
    np.testing.assert_array_equal(
        run("searchsorted", line, wanted, right=right), np.searchsorted(line, wanted, side=side)
    )
    rows = np.sort(rng.integers(0, 9, (2, 6))).astype(dtype)
    found = run("searchsorted", rows, wanted, right=right, dtype="int64")
    np.testing.assert_array_equal(
        found, [np.searchsorted(r, w, side=side) for r, w in zip(rows, wanted, strict=True)]
    )
    np.testing.assert_array_equal(run("searchsorted", line, dtype_scalar(dtype)), np.searchsorted(line, 4))


def dtype_scalar(dtype: str) -> np.generic:
    return np.dtype(dtype).type(4)


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8"])
@pytest.mark.parametrize("n", [0, 1, 20])
@pytest.mark.onnx
def test_unique_agrees_with_onnx(n: int, dtype: str) -> None:
    from op.onnx_node import onnx_node

    x = rng.integers(0, 5, n).astype(dtype)
    for is_sorted in (True, False):
        found = run("unique", x, is_sorted=is_sorted, return_counts=True)
        want = (
            np.unique(x, return_index=True, return_inverse=True, return_counts=True)
            if n == 0
            else onnx_node("Unique", [x], outputs=4, sorted=int(is_sorted))
        )
        for a, b in zip((*found[:3], found[4]), want, strict=True):
            np.testing.assert_array_equal(a, b)
        assert found[3] == [len(found[0])]


def test_types_may_be_symbolic() -> None:
    n = TypeVar("n", Kind.Dim)
    x = TensorType((n, 4), "float32")
    assert infer("sort", x) is x
    found, still = symbolic("topk", x, k=3, axis=0)
    assert found is TupleType([TensorType((3, 4), "float32"), TensorType((3, 4), "int32")])
    assert still == [(3, "<=", n)]
    unique = infer("unique", TensorType((n,), "int64"))
    assert unique.fields[0] is TensorType((ANY,), "int64")
    assert unique.fields[2] is TensorType((n,), "int32")


@pytest.mark.parametrize(
    ("name", "attrs", "shapes", "code"),
    [
        ("topk", {"k": 5}, [(4,)], "shape-constraint"),
        ("topk", {"ret_type": "all"}, [(4,)], "attribute-type"),
        ("sort", {"axis": 1}, [(4,)], "axis-out-of-range"),
        ("sort", {}, [()], "axis-out-of-range"),
        ("searchsorted", {}, [(2, 3), (3, 4)], "type-mismatch"),
        ("unique", {}, [(2, 3)], "rank-mismatch"),
    ],
)
def test_what_cannot_be_has_a_diagnostic(name: str, attrs, shapes, code: str) -> None:
    with pytest.raises(RelayError) as caught:
        infer(name, *[TensorType(s, "float32") for s in shapes], **attrs)
    assert caught.value.codes == (code,)
