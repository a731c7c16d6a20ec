"""Values of operators on shapes and indices, against NumPy's own functions and cases worked by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relay
from op.concrete import infer, run
from op.operands import random_array
from relay.diagnostic import RelayError
from relay.ir.dtype import to_numpy
from relay.ir.type import ANY, TensorType, TupleType
from relay.op.arrays import array_type

DTYPES = ("float32", "float16", "bfloat16", "int4", "int64", "bool")


def draw(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    return random_array(shape, dtype, np.random.default_rng(seed))


def same(found: Any, expected: Any) -> None:
    """Shape, dtype and every element are equal."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            same(a, b)
        return
    expected = np.asarray(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.asarray(found).tolist() == expected.tolist()


def code_of(name: str, *operands: Any, **attrs: Any) -> str:
    """The code of the diagnostic that running an operator ends in."""
    with pytest.raises(RelayError) as error:
        run(name, *operands, **attrs)
    return error.value.codes[0]


def type_code(name: str, *types: Any, **attrs: Any) -> str:
    """The code of the diagnostic that inferring an operator's type ends in."""
    with pytest.raises(RelayError) as error:
        infer(name, *types, **attrs)
    return error.value.codes[0]


def tensor(*shape: int, dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)


ONE_OPERAND: list[tuple[str, dict[str, Any], tuple[int, ...], Callable[[Any], Any]]] = [
    ("reshape", {"newshape": (6,)}, (2, 3), lambda x: x.reshape(6)),
    ("reshape", {"newshape": (0, -1)}, (2, 3, 4), lambda x: x.reshape(2, 12)),
    ("reshape", {"newshape": (2, -1)}, (0, 4), lambda x: x.reshape(2, 0)),
    ("reshape", {"newshape": (-1,)}, (), lambda x: x.reshape(1)),
    ("reshape", {"newshape": (0, 3), "allowzero": True}, (3, 0), lambda x: x.reshape(0, 3)),
    ("transpose", {}, (2, 3, 4), np.transpose),
    ("transpose", {"axes": (0, -1, 1)}, (2, 3, 4), lambda x: np.transpose(x, (0, 2, 1))),
    ("transpose", {}, (), np.transpose),
    ("expand_dims", {"axis": -1}, (2, 0), lambda x: x[..., None]),
    ("expand_dims", {"axis": 1, "num_newaxis": 2}, (2, 3), lambda x: x[:, None, None]),
    ("squeeze", {}, (1, 3, 1), np.squeeze),
    ("squeeze", {"axis": (-1,)}, (1, 3, 1), lambda x: np.squeeze(x, -1)),
    ("nn.batch_flatten", {}, (2, 3, 4), lambda x: x.reshape(2, 12)),
    ("split", {"indices_or_sections": 3, "axis": 1}, (2, 6), lambda x: np.split(x, 3, 1)),
    ("split", {"indices_or_sections": (1, 1, 4)}, (5,), lambda x: np.split(x, [1, 1, 4])),
    ("tile", {"reps": (2, 1, 2)}, (2, 3), lambda x: np.tile(x, (2, 1, 2))),
    ("tile", {"reps": 2}, (2, 3), lambda x: np.tile(x, 2)),
    ("tile", {"reps": (2,)}, (), lambda x: np.tile(x, 2)),
    ("repeat", {"repeats": 2, "axis": -1}, (2, 3), lambda x: np.repeat(x, 2, -1)),
    ("repeat", {"repeats": 3}, (2, 0), lambda x: np.repeat(x, 3)),
    ("broadcast_to", {"shape": (4, 2, 3)}, (2, 1), lambda x: np.broadcast_to(x, (4, 2, 3))),
    ("broadcast_to", {"shape": (0, 3)}, (), lambda x: np.broadcast_to(x, (0, 3))),
    ("strided_slice", {"begin": (1, 0), "end": (3, 2)}, (5, 4), lambda x: x[1:3, 0:2]),
    ("strided_slice", {"begin": (-3,), "end": (-1,)}, (5, 4), lambda x: x[-3:-1]),
    ("strided_slice", {"begin": (0, 3), "end": (9, 0), "strides": (2, -1)}, (5, 4), lambda x: x[0:9:2,
    3:0:-1]),
    ("strided_slice", {"begin": (-1,), "end": (-6,), "strides": (-1,)}, (5, 4), lambda x: x[::-1]),
    ("strided_slice", {"begin": (9,), "end": (-2147483648,), "strides": (-2,)}, (5, 4), lambda x: x[::-2]),
    ("strided_slice", {"begin": (1,), "end": (3,), "axes": (-1,)}, (5, 4), lambda x: x[:, 1:3]),
    ("strided_slice", {"begin": (1, 2), "end": (2, -1), "slice_mode": "size"}, (5, 4), lambda x: x[1:3, 2:]),
    ("strided_slice", {"begin": (-3,), "end": (2,), "slice_mode": "size"}, (5, 4), lambda x: x[-3:-1]),
    ("strided_slice", {"begin": (0,), "end": (5,)}, (0, 4), lambda x: x[:5]),
    ("strided_slice", {"begin": (-1,), "end": (-9,), "strides": (-1,)}, (0, 4), lambda x: x[::-1]),
    ("reverse", {"axis": -1}, (2, 3), lambda x: x[:, ::-1]),
    ("nn.pad", {"pad_width": ((1, 2), (0, 1))}, (2, 3), lambda x: np.pad(x, ((1, 2), (0, 1)))),
    ("nn.pad", {"pad_width": ((1, 1),), "pad_mode": "edge"}, (3,), lambda x: np.pad(x, 1, mode="edge")),
    ("nn.pad", {"pad_width": ((2, 1),), "pad_mode": "reflect"}, (3,), lambda x: np.pad(x, (2, 1),
    mode="reflect")),
    ("nn.mirror_pad", {"pad_width": ((3, 1),)}, (3,), lambda x: np.pad(x, (3, 1), mode="symmetric")),
    ("nn.mirror_pad", {"pad_width": ((0, 0), (2, 1)), "mode": "REFLECT"}, (2, 3),
     lambda x: np.pad(x, ((0, 0), (2, 1)), mode="reflect")),
    ("layout_transform", {"src_layout": "NCHW", "dst_layout": "NHWC"}, (2, 3, 4, 5), lambda x: x.transpose(0,
    2, 3, 1)),
    ("layout_transform", {"src_layout": "NCHW", "dst_layout": "NCHW4c"}, (2, 8, 3, 5),
     lambda x: x.reshape(2, 2, 4, 3, 5).transpose(0, 1, 3, 4, 2)),
    ("layout_transform", {"src_layout": "NCHW4c", "dst_layout": "NHWC"}, (2, 2, 3, 5, 4),
     lambda x: x.transpose(0, 2, 3, 1, 4).reshape(2, 3, 5, 8)),
    ("layout_transform", {"src_layout": "NCHW4c", "dst_layout": "NCHW2c"}, (1, 2, 3, 5, 4),
     lambda x: x.transpose(0, 1, 4, 2, 3).reshape(1, 4, 2, 3, 5).transpose(0, 1, 3, 4, 2)),
    ("layout_transform", {"src_layout": "OIHW", "dst_layout": "OIHW4i8o"}, (16, 8, 1, 3),
     lambda x: x.reshape(2, 8, 2, 4, 1, 3).transpose(0, 2, 4, 5, 3, 1)),
    ("sliding_window", {"axis": 0, "window_shape": (2, 3), "strides": (1, 2)}, (4, 7),
     lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3))[:, ::2]),
    ("trilu", {}, (3, 4), None),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "attrs", "shape", "expected"), [c for c in ONE_OPERAND if c[3]])
def test_rearrangements_are_those_of_numpy(
    name: str, attrs: dict[str, Any], shape: Any, expected: Any, dtype: str
) -> None:
    x = draw(shape, dtype)
    same(run(name, x, **attrs), expected(np.asarray(x)))


RESHAPES = [
    ((2, 3, 4), (4, 0, 2), (4, 3, 2)), ((2, 3, 4), (2, 0, 0), (2, 3, 4)), ((2, 3, 4), (6, 1, -1), (6, 1, 4)),
    ((2, 3, 4), (3, -1, 8), (3, 1, 8)), ((2, 3, 4), (-2,), (2, 3, 4)), ((2, 3, 4), (2, -2), (2, 3, 4)),
    ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)), ((2, 3, 4), (-3, 4), (6, 4)), ((2, 3, 4, 5), (-3, -3), (6, 20)),
    ((2, 3, 4), (0, -3), (2, 12)), ((2, 3, 4), (-3, -2), (6, 4)), ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
    ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)), ((2, 3, 4), (1, -1), (1, 24)), ((24,), (2, -4, 3, 4),
    None),
    ((2, 6, 4), (0, -4, 2, -1, 0), (2, 2, 3, 4)), ((12, 2), (-4, -1, 4, 0), (3, 4, 2)),
    ((2, 0), (0, -4, 3, 0), (2, 3, 0)), ((0, 2), (-4, 0, 5, 0), (0, 5, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "newshape", "expected"), [r for r in RESHAPES if r[2]])
def test_reshape_codes(shape: tuple[int, ...], newshape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    same(run("reshape", x, newshape=newshape), x.reshape(expected))


@pytest.mark.parametrize(("shape", "newshape", "expected"), [
    ((10, 5, 4), (-1, 0), (50, 4)), ((2, 3, 4), (4, 0, 2), (4, 3, 2)), ((2, 3, 4), (2, 0, 0), (2, 3, 4)),
    ((2, 3, 4), (2, 4, -1), (2, 4, 3)), ((2, 3, 4), (-3, 0), (6, 4)), ((2, 3, 4), (0, -4, 1, 4), None),
    ((2, 3, 4), (-2, -4, 2, -1), (2, 3, 2, 2)),
])  # fmt: skip
def test_reverse_reshape_reads_the_codes_from_the_right(shape: Any, newshape: Any, expected: Any) -> None:
    if expected:
        x = np.arange(np.prod(shape)).reshape(shape)
        same(run("contrib_reverse_reshape", x, newshape=newshape), x.reshape(expected))


@pytest.mark.parametrize(("newshape", "code"), [
    ((4,), "reshape-size"), ((-1, 4), "reshape-size"), ((-1, -1), "attribute-value"), ((-5,),
    "attribute-value"),
    ((0, 0, 0), "attribute-value"), ((-3, -3), "attribute-value"), ((-4, 2), "attribute-value"),
    ((-4, -1, -1, 0), "attribute-value"), ((-4, 3, -1, 0), "reshape-size"), ((-1, 0, 0), "attribute-value"),
    ((-4, -1, 0, 0), "attribute-value"), ((-4, 2, -5, 0), "attribute-value"), ((-4, 0, 5, 0), "reshape-size"),
])  # fmt: skip
def test_reshape_refuses(newshape: tuple[int, ...], code: str) -> None:
    assert type_code("reshape", tensor(2, 3), newshape=newshape) == code


def test_reshape_like_replaces_a_range_of_axes() -> None:
    x, like = draw((1, 2, 3, 4)), draw((5, 3, 8))
    same(run("reshape_like", x, draw((2, 12), "int64")), x.reshape(2, 12))
    same(run("reshape_like", x, like, lhs_begin=1, rhs_begin=1), x.reshape(1, 3, 8))
    same(
        run("reshape_like", x, draw((6, 5)), lhs_begin=1, lhs_end=3, rhs_begin=0, rhs_end=1),
        x.reshape(1, 6, 4),
    )
    assert type_code("reshape_like", tensor(2, 3), tensor(7)) == "reshape-size"


@pytest.mark.parametrize("dtype", DTYPES)
def test_joining_is_that_of_numpy(dtype: str) -> None:
    x, y, z = draw((2, 3), dtype, 1), draw((4, 3), dtype, 2), draw((0, 3), dtype, 3)
    same(run("concatenate", (x, y, z)), np.concatenate([x, y, z]))
    same(run("concatenate", (x.T, y.T), axis=-1), np.concatenate([x.T, y.T], -1))
    same(run("stack", (x, x, x), axis=-1), np.stack([x, x, x], -1))
    same(run("stack", (x[0, 0], x[0, 1])), np.stack([x[0, 0], x[0, 1]]))
    for indexing in ("ij", "xy"):
        same(
            run("meshgrid", (x[0], y[:, 0], x[0, 0]), indexing=indexing),
            np.meshgrid(x[0], y[:, 0], x[0, 0], indexing=indexing),
        )


def test_joining_refuses() -> None:
    assert type_code("concatenate", TupleType([tensor(2, 3), tensor(2, 4)])) == "type-mismatch"
    assert type_code("concatenate", TupleType([tensor(2, 3), tensor(2, dtype="int8")])) == "type-mismatch"
    assert type_code("concatenate", TupleType([tensor(2), tensor(2)]), axis=1) == "axis-out-of-range"
    assert type_code("concatenate", TupleType([])) == "empty-tuple"
    assert type_code("stack", TupleType([tensor(2), tensor(3)])) == "type-mismatch"
    assert type_code("split", tensor(5), indices_or_sections=2) == "split-size"
    assert type_code("split", tensor(5), indices_or_sections=(2, 6)) == "split-size"
    assert type_code("split", tensor(5), indices_or_sections=(3, 2)) == "attribute-value"
    assert type_code("transpose", tensor(2, 3), axes=(0, 0)) == "attribute-value"
    assert type_code("transpose", tensor(2, 3), axes=(0,)) == "attribute-value"
    assert type_code("squeeze", tensor(2, 3), axis=0) == "shape-constraint"
    assert type_code("broadcast_to", tensor(2), shape=(3,)) == "broadcast-mismatch"
    assert type_code("broadcast_to", tensor(3), shape=(1,)) == "type-mismatch"


@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [((6,), (9,), (1,)), ((3,), (2,), (1,)), ((-6,), (5,), (1,)), ((0,), (3,), (-1,))],
)
def test_slices_that_leave_the_axis_are_refused(begin: Any, end: Any, strides: Any) -> None:
    assert (
        type_code("strided_slice", tensor(5), begin=begin, end=end, strides=strides) == "slice-out-of-range"
    )


def test_summing_back_undoes_stretching() -> None:
    x = draw((5, 2, 4), "int64")
    same(run("collapse_sum_to", x, shape=(2, 1)), x.sum(0).sum(1, keepdims=True))
    same(run("collapse_sum_like", x, draw((4,))), x.sum((0, 1)))
    same(run("collapse_sum_to", x, shape=()), x.sum())
    same(run("collapse_sum_to", draw((0, 3)), shape=(3,)), np.zeros(3, "float32"))
    ones = np.ones((3000,), "float16")
    assert run("collapse_sum_to", ones, shape=()) == 3000  # accumulates in float32


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_chooses_and_broadcasts(dtype: str) -> None:
    c, x, y = draw((3, 1), "bool", 4), draw((4,), dtype, 5), draw((), dtype, 6)
    same(run("where", c, x, y), np.where(c, x, y))
    same(run("where", c[0, 0], x, y), np.where(c[0, 0], x, y))


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_take_is_that_of_numpy(mode: str, axis: int | None) -> None:
    x, indices = draw((4, 5, 2)), np.array([[0, -1, 3], [7, 1, -9]])
    same(run("take", x, indices, axis=axis, mode=mode), np.take(x, indices, axis, mode=mode))
    same(run("take", x, np.int32(2), axis=axis, mode=mode), np.take(x, 2, axis, mode=mode))
    same(
        run("take", x, np.zeros((0, 2), "int8"), axis=axis, mode=mode),
        np.take(x, np.zeros((0, 2), int), axis),
    )


def test_take_with_batch_axes_goes_row_by_row() -> None:
    x, indices = draw((3, 2, 5, 4)), np.random.default_rng(0).integers(0, 5, (3, 2, 6))
    expected = np.stack([np.stack([x[i, j][indices[i, j]] for j in range(2)]) for i in range(3)])
    same(run("take", x, indices, axis=2, batch_dims=2), expected)
    expected = np.stack([np.take(x[i], indices[i], 1) for i in range(3)])
    same(run("take", x, indices, axis=2, batch_dims=1), expected)
    assert (
        type_code("take", tensor(3, 4), tensor(3, 2, dtype="int64"), axis=0, batch_dims=1)
        == type_code("take", tensor(3, 4), tensor(3, 2, dtype="int64"), batch_dims=1)
        == "attribute-value"
    )


def test_take_fast_refuses_what_is_out_of_range() -> None:
    x = draw((4,))
    same(run("take", x, np.array([3, 0]), axis=0, mode="fast"), x[[3, 0]])
    for bad in (4, -1):
        assert code_of("take", x, np.array([0, bad]), axis=0, mode="fast") == "index-out-of-range"
    assert code_of("take", draw((0,)), np.array([0]), axis=0) == "index-out-of-range"
    assert type_code("take", tensor(4), tensor(2), axis=0) == "dtype-not-supported"


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_and_its_scatter_are_along_an_axis(dtype: str) -> None:
    x, indices = draw((3, 4), dtype, 7), np.array([[0, 3, -1], [1, 1, 2]])
    same(run("gather", x, indices, axis=1), np.take_along_axis(x[:2], indices, 1))
    places, updates = np.array([[2, 0, 1], [1, 3, 0]]), draw((2, 3), dtype, 8)
    expected = x.copy()
    np.put_along_axis(expected[:2], places, updates, 1)
    same(run("scatter_elements", x, places, updates, axis=1), expected)
    assert code_of("gather", x, np.array([[4]]), axis=1) == "index-out-of-range"
    assert code_of("scatter_elements", x, np.array([[-5]]), updates[:1, :1], axis=1) == "index-out-of-range"


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("add", [111, 2, 3]),
        ("mul", [1000, 2, 3]),
        ("min", [1, 2, 3]),
        ("max", [100, 2, 3]),
        ("update", [100, 2, 3]),
    ],
)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_scatters_combine_repeated_places(how: str, expected: list[int], dtype: str) -> None:
    x, updates = np.array([1, 2, 3], dtype), np.array([10, 100], dtype)
    same(run("scatter_elements", x, np.array([0, 0]), updates, reduction=how), np.array(expected, dtype))
    same(run("scatter_nd", x, np.array([[0, 0]]), updates, mode=how), np.array(expected, dtype))
    assert x.tolist() == [1, 2, 3]


def test_gather_nd_and_scatter_nd_go_to_points() -> None:
    x = draw((3, 4, 5))
    points = np.array([[0, 2], [3, -1]])
    same(run("gather_nd", x, points), x[points[0], points[1]])
    same(run("gather_nd", x, points[:1]), x[points[0]])
    batched = np.array([[[0, 1], [3, 2], [1, 1]], [[4, 4], [0, 3], [2, 2]]])
    expected = np.stack([x[i][batched[0, i], batched[1, i]] for i in range(3)])
    same(run("gather_nd", x, batched, batch_dims=1), expected)
    out = x.copy()
    out[points[0], points[1]] = 1.0
    same(run("scatter_nd", x, points, np.ones((2, 5), "float32")), out)
    assert code_of("gather_nd", x, np.array([[3]])) == "index-out-of-range"
    assert type_code("gather_nd", tensor(3), tensor(2, 2, dtype="int64")) == "attribute-value"


def test_indices_as_in_numpy() -> None:
    x = draw((3, 4, 2))
    i, j = np.array([[0], [2]]), np.array([1, -1, 0])
    same(run("adv_index", (x, i, j)), x[i, j])
    same(run("adv_index", (x, i)), x[i])
    same(
        run("unravel_index", np.array([5, 3, 0]), np.array([2, 3])),
        np.stack(np.unravel_index([5, 3, 0], (2, 3))),
    )
    assert code_of("unravel_index", np.array([6]), np.array([2, 3])) == "index-out-of-range"
    mask = draw((3, 4), "bool")
    same(run("argwhere", mask), np.argwhere(mask).astype("int32"))
    same(run("argwhere", np.float32(2)), np.zeros((1, 0), "int32"))
    p = np.random.default_rng(0).permutation(7)
    same(run("invert_permutation", p), np.argsort(p))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("k", [-4, -1, 0, 2, 5])
def test_triangles_are_those_of_numpy(k: int, upper: bool) -> None:
    x = draw((2, 3, 4))
    same(run("trilu", x, np.int64(k), upper=upper), np.triu(x, k) if upper else np.tril(x, k))


def test_one_diagonal_is_set_as_by_numpy() -> None:
    for k, n in ((0, 3), (1, 3), (3, 1), (-2, 1)):
        x, d = draw((3, 4)), draw((n,), seed=9)
        expected = x.copy()
        for i in range(n):
            expected[i + max(-k, 0), i + max(k, 0)] = d[i]
        same(run("matrix_set_diag", x, d, k=k), expected)


def test_several_diagonals_stand_by_their_alignment() -> None:
    # 3x4, diagonals -1 to 1 have lengths 2, 3 and 3; the row of -1 has one unused place.
    x = np.zeros((3, 4), "int32")
    left = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 0]], "int32")
    expected = np.array([[4, 1, 0, 0], [7, 5, 2, 0], [0, 8, 6, 3]], "int32")
    same(run("matrix_set_diag", x, left, k=(-1, 1)), expected)
    right = np.array([[1, 2, 3], [4, 5, 6], [0, 7, 8]], "int32")
    same(run("matrix_set_diag", x, right, k=(-1, 1), align="LEFT_RIGHT"), expected)


def test_sequences() -> None:
    x = np.arange(12).reshape(3, 4)
    expected = np.array([[1, 0, 2, 3], [4, 5, 6, 7], [11, 10, 9, 8]])
    same(run("reverse_sequence", x, np.array([2, 1, 4])), expected)
    same(run("reverse_sequence", x.T, np.array([2, 1, 4]), seq_axis=0, batch_axis=1), expected.T)
    masked = np.array([[0, 1, -1, -1], [-1, -1, -1, -1], [8, 9, 10, 11]])
    same(run("sequence_mask", x, np.array([2, 0, 9]), mask_value=-1.0, axis=1), masked)
    same(run("sequence_mask", x.T, np.array([2, 0, 9]), mask_value=-1.0, axis=0), masked.T)


def test_creation() -> None:
    for dtype in DTYPES:
        same(run("zeros", shape=(2, 0), dtype=dtype), np.zeros((2, 0), to_numpy(dtype)))
        same(run("ones", shape=(), dtype=dtype), np.ones((), to_numpy(dtype)))
        x = draw((2, 3), dtype)
        same(run("zeros_like", x), np.zeros_like(x))
        same(run("ones_like", x), np.ones_like(x))
        same(run("full_like", x, x[0, 0]), np.full_like(x, x[0, 0]))
    same(run("full", np.float32(2.7), shape=(2,), dtype="int8"), np.array([2, 2], "int8"))
    same(run("full", np.int64(7), shape=()), np.int64(7))
    same(run("shape_of", draw((2, 0, 3))), np.array([2, 0, 3], "int32"))
    same(run("shape_of", draw(()), dtype="int64"), np.zeros(0, "int64"))
    same(run("ndarray_size", draw((2, 3))), np.int32(6))
    same(
        run("one_hot", np.array([[1, 3]]), np.int32(5), np.int32(-1), depth=3, axis=0, dtype="int32"),
        np.array([[[-1, -1]], [[5, -1]], [[-1, -1]]], "int32"),
    )


@pytest.mark.parametrize(
    "limits", [(0, 5, 1), (2, 9, 3), (9, 2, -3), (5, 5, 1), (5, 0, 1), (0.0, 1.0, 0.25), (1.5, -2.0, -0.5)]
)
def test_arange_is_that_of_numpy(limits: tuple[Any, Any, Any]) -> None:
    dtype = "float32" if isinstance(limits[0], float) else "int64"
    expected = np.arange(*limits, dtype=dtype)
    same(run("arange", **dict(zip(("start", "stop", "step"), limits, strict=True)), dtype=dtype), expected)
    same(run("arange", *[np.dtype(dtype).type(v) for v in limits], dtype=dtype), expected)


@pytest.mark.parametrize(("equation", "shapes"), [
    ("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ii->i", ((3, 3),)), ("ii", ((3, 3),)),
    ("bij,bkj->bik", ((5, 2, 3), (5, 4, 3))), ("...ij,...jk->...ik", ((5, 1, 2, 3), (4, 3, 2))), ("i,j->ji",
    ((2,), (3,))),
    ("ijk->", ((2, 3, 0),)), ("...->...", ((2, 3),)), ("a,a,a->a", ((4,), (4,), (4,))), (",i->i", ((), (3,))),
])  # fmt: skip
def test_einsum_is_that_of_numpy(equation: str, shapes: Any) -> None:
    xs = tuple(draw(s, "float64", i) for i, s in enumerate(shapes))
    found = run("einsum", xs, equation=equation)
    np.testing.assert_allclose(found, np.einsum(equation, *xs), rtol=1e-12)


@pytest.mark.parametrize(
    "equation", ["ij,jk->iz", "ij", "i j;k", "ij,jk->ii", "->->", "ij,jk,kl->il", "..i,jk->j"]
)
def test_einsum_refuses_a_wrong_equation(equation: str) -> None:
    assert (
        type_code("einsum", TupleType([tensor(2, 3), tensor(3, 4)]), equation=equation) == "attribute-value"
    )


def test_blocks_between_depth_batch_and_space() -> None:
    x = np.arange(16).reshape(1, 1, 4, 4)
    deep = run("nn.space_to_depth", x, block_size=2)
    assert deep[0, :, 0, 0].tolist() == [0, 1, 4, 5]
    same(run("nn.depth_to_space", deep, block_size=2), x)
    y = np.arange(2 * 3 * 4 * 6).reshape(2, 4, 6, 3)
    for layout, z in (("NHWC", y), ("NCHW", y.transpose(0, 3, 1, 2))):
        there = run("nn.space_to_depth", z, block_size=2, layout=layout)
        same(run("nn.depth_to_space", there, block_size=2, layout=layout), z)
    same(
        run("nn.space_to_batch_nd", np.array([[1, 2, 3]]), block_shape=(2,), paddings=((0, 1),)),
        np.array([[1, 3], [2, 0]]),
    )
    # The example of TensorFlow's documentation: a 4 by 4 image in blocks of 2 by 2.
    blocks = run(
        "nn.space_to_batch_nd",
        np.arange(1, 17).reshape(1, 4, 4, 1),
        block_shape=(2, 2),
        paddings=((0, 0), (0, 0)),
    )
    assert blocks.reshape(4, 4).tolist() == [[1, 3, 9, 11], [2, 4, 10, 12], [5, 7, 13, 15], [6, 8, 14, 16]]
    z = draw((2, 5, 7, 3))
    there = run("nn.space_to_batch_nd", z, block_shape=(2, 3), paddings=((1, 0), (0, 2)), pad_value=1.5)
    same(run("nn.batch_to_space_nd", there, block_shape=(2, 3), crops=((1, 0), (0, 2))), z)


def test_pad_value_and_border() -> None:
    x = np.array([[1, 2]], "int8")
    same(run("nn.pad", x, np.int8(9), pad_width=((1, 0), (0, 1))), np.array([[9, 9, 9], [1, 2, 9]], "int8"))
    same(run("nn.pad", x, np.float32(3.7), pad_width=((0, 0), (1, 0))), np.array([[3, 1, 2]], "int8"))
    assert type_code("nn.pad", tensor(2), pad_width=((2, 0),), pad_mode="reflect") == "shape-constraint"
    assert type_code("nn.pad", tensor(2), pad_width=((-1, 0),), pad_mode="edge") == "attribute-value"
    assert type_code("nn.pad", tensor(2), pad_width=((-2, -1),)) == "slice-out-of-range"
    assert type_code("nn.pad", tensor(2, 2), pad_width=((1, 0),)) == "attribute-value"


def test_strided_set_and_slice_like() -> None:
    x, v = draw((5, 4)), draw((2, 4), seed=3)
    expected = x.copy()
    expected[1:5:2] = v
    same(run("strided_set", x, v, np.array([1]), np.array([5]), np.array([2])), expected)
    same(run("slice_like", x, draw((2, 3))), x[:2, :3])
    same(run("slice_like", x, draw((9, 3)), axes=(1,)), x[:, :3])
    assert type_code("slice_like", tensor(2, 2), tensor(3, 2)) == "slice-out-of-range"


@pytest.mark.parametrize(
    ("begin", "end", "strides", "expected"),
    [
        ((1, 0), (4, 2), (1, 1), lambda x: x[1:4, :2]),
        ((-1,), (-6,), (-2,), lambda x: x[::-2]),
        ((0, -3), (9, -1), (2, 1), lambda x: x[0:9:2, -3:-1]),
    ],
)
def test_dynamic_slices_are_those_of_numpy(begin: Any, end: Any, strides: Any, expected: Any) -> None:
    x = draw((5, 4))
    places = [np.array(p, "int64") for p in (begin, end, strides)]
    same(run("dyn.strided_slice", x, *places), expected(x))
    assert infer("dyn.strided_slice", array_type(x), *[array_type(p) for p in places]).shape[0] is ANY


def test_a_dynamic_slice_by_size() -> None:
    x = draw((5, 4))
    one = np.array([1, 1])
    found = run("dyn.strided_slice", x, np.array([-3, 1]), np.array([2, -1]), one, slice_mode="size")
    same(found, x[-3:-1, 1:])


def test_strided_slice_at_places_that_are_expressions_is_dynamic() -> None:
    x = relay.var("x", shape=(5, 4))
    known = relay.strided_slice(x, relay.const([1]), relay.const([3]))
    assert (known.attrs.name, known.attrs.begin) == ("strided_slice", (1,))
    begin = relay.var("begin", shape=(1,), dtype="int64")
    f = relay.Function([x, begin], relay.strided_slice(x, begin, [4]))
    found = relay.create_executor("debug").evaluate(f)(draw((5, 4)), np.array([2]))
    same(found, draw((5, 4))[2:4])


def test_dynamic_slices_cut_no_more_axes_than_there_are() -> None:
    places = [TensorType((2,), "int64")] * 3
    with pytest.raises(RelayError, match="attribute-value"):
        infer("dyn.strided_slice", TensorType((5,), "float32"), *places)
