"""Truths of operators whose shapes are operands, of sparse tensors, and of views and indices: exact ones."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from relay.ir.dtype import to_numpy
from truths.arrays import DATA, FLOATS, moves, padded, with_rows
from truths.base import Case, truth
from truths.computed import computed

PLACES = np.asarray([[0, 1], [0, 3], [2, 0], [3, 1]])
SIZES = np.asarray([4, 5])

moves("dyn.full", lambda v, shape: np.full((2, 3), v[()]), (), np.asarray([2, 3]), fixed=(1,))
moves("dyn.nn.pad", lambda x, w, v: padded(x, v[()], (1, 0), (0, 2)), (2, 3),
      np.asarray([[1, 0], [0, 2]]), (), fixed=(1,), dtypes=("float32",))  # fmt: skip
moves("dyn.nn.upsampling", lambda x, *_: x.repeat(2, axis=2).repeat(3, axis=3), (1, 2, 3, 2), np.float32(2),
      np.float32(3), fixed=(1, 2), dtypes=("float32",), more=FLOATS)  # fmt: skip
moves("dyn.nn.upsampling3d", lambda x, *_: x.repeat(2, axis=2).repeat(3, axis=4), (1, 2, 3, 2, 2),
      np.float32(2), np.float32(1), np.float32(3), fixed=(1, 2, 3), dtypes=("float32",),
      more=FLOATS)  # fmt: skip
moves("nn.upsampling", lambda x: x.repeat(2, axis=2).repeat(3, axis=3), (1, 2, 3, 2), scale_h=2, scale_w=3,
      dtypes=("float32",), more=FLOATS)  # fmt: skip
moves("nn.upsampling3d", lambda x: x.repeat(2, axis=2).repeat(3, axis=4), (1, 2, 3, 2, 2), scale_d=2,
      scale_h=1, scale_w=3, dtypes=("float32",), more=FLOATS)  # fmt: skip
moves("dyn.one_hot", lambda i, a, b, n: np.where(np.arange(4) == i[:, None], a, b), np.asarray([2, 0, 9, -1]),
      (), (), np.int32(4), fixed=(3,), dtype=DATA, dtypes=("float32",))  # fmt: skip


def dense(places: Any, values: Any, default: Any) -> Any:
    """Return the matrix of a sparse one."""
    result = np.full((4, 5), default[()])
    for place, value in zip(places, values, strict=True):
        result[tuple(place)] = value
    return result


moves("sparse_to_dense", dense, PLACES, (4,), (), output_shape=(4, 5))
moves("dyn.sparse_to_dense", lambda p, _, v, d: dense(p, v, d), PLACES, SIZES, (4,), (), fixed=(1,))


@truth("dyn.zeros")
def dyn_zeros(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "int8", "bool"):
        right = np.zeros((2, 3), to_numpy(dtype))
        yield Case((np.asarray([2, 3]),), right, attrs={"dtype": dtype}, fixed=(0,))


@truth("dyn.ones")
def dyn_ones(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "int8", "bool"):
        right = np.ones((2, 3), to_numpy(dtype))
        yield Case((np.asarray([2, 3]),), right, attrs={"dtype": dtype}, fixed=(0,))


@truth("dyn.topk")
def dyn_topk(long: bool) -> Iterator[Case]:
    x = np.asarray([[3.0, -1.0, np.inf, 0.5], [2.0, 5.0, -7.0, 1e30]], "float32")
    places = np.asarray([[2, 0], [3, 1]], "int32")
    yield computed(lambda x, _: (np.stack([x[0, [2, 0]], x[1, [3, 1]]]), places), x, np.int32(2), ulps=0,
                   fixed=(1,))  # fmt: skip
    whole = np.asarray([[7, -128, 127, 7]], "int8")
    right = (np.asarray([[127, 7, 7]], "int8"), np.asarray([[2, 0, 3]], "int32"))
    yield Case((whole, np.int32(3)), right, fixed=(1,))


@truth("sparse_reshape")
def sparse_reshape(long: bool) -> Iterator[Case]:
    flat = PLACES @ [5, 1]
    right = np.stack([flat // 10, flat // 5 % 2, flat % 5], axis=1)
    yield Case((PLACES, SIZES, np.asarray([2, -1, 5])), (right, np.asarray([2, 2, 5])))


@truth("sparse_fill_empty_rows")
def sparse_fill_empty_rows(long: bool) -> Iterator[Case]:
    places = np.asarray([[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]])
    is_empty = np.asarray([False, True, False, False, True])

    def filled(p: Any, v: Any, s: Any, d: Any) -> Any:
        return places, np.asarray([v[0], v[1], d[()], v[2], v[3], d[()]], v.dtype), is_empty

    for dtype in ("float32", "int8"):
        xs = (PLACES, np.asarray([1, 2, 3, 4], dtype), np.asarray([5, 4]), np.asarray(9, dtype))
        yield computed(filled, *xs, ulps=0, has_slopes=dtype == "float32", fixed=(2,))


# --- views, indices and buffers ---

moves("view_as_complex", lambda x: (x[:, 0], x[:, 1]), (3, 2), dtypes=("float32",), more=FLOATS)
moves("view_as_real", lambda a, b: np.stack([a, b], axis=-1), (3,), (3,), dtypes=("float32",), more=FLOATS)
moves("index", lambda x: x[1], (5, 4), items=(1,))
moves("index", lambda x: x[..., ::-2], (2, 3, 4), items=("...", (None, None, -2)))
moves("index", lambda x, i: x[i, 1:3], (5, 4), np.asarray([3, -1, 0]), items=("%", (1, 3, None)))
moves("index_update", lambda x, v: with_rows(x, 1, v), (5, 4), (4,), items=(1,))
moves(
    "index_update", lambda x, v: with_rows(x, slice(None, None, 2), v), (5, 4), (), items=((None, None, 2),)
)
moves("nn.fifo_buffer", lambda x, kept: np.concatenate([kept[:, 1:], x], axis=1), (2, 1), (2, 3), axis=1)

# --- what passes operands on ---

for name, attrs in (("tap", {"number": -1}), ("trace", {"label": "x"}), ("check_nan", {"operator": "exp"})):
    moves(name, lambda x, *_: x, (2, 3), *[(2, 3)] * (name == "check_nan"), dtypes=("float32",), **attrs)


@truth("dim_value")
def dim_value(long: bool) -> Iterator[Case]:
    for size in (0, 3, 2**40):
        yield Case((), np.asarray(size, "int64"), attrs={"dim": size})
