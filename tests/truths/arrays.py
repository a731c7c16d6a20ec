"""Truths of operators that move elements, by NumPy's functions on arrays of mpmath's numbers: exact ones."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from mpmath import mp

from relay.ir.dtype import is_float, to_numpy
from relay.op.kind import Derivative
from relay.op.registry import registry
from truths.base import Case, truth
from truths.computed import computed

NUMBERS = (1.0, -0.5, 3e38, 1e-45, -7.0, 0.0, np.inf, 6e-39, -2.0, 1e-30, 255.0, np.nan, 4.0, -0.125, 1e30)

DATA = "the dtype of the data"


def some(*shape: int, dtype: str = "float32") -> Any:
    """Return an array with numbers of all sizes in it; of an integer or boolean dtype, different ones."""
    if not is_float(dtype):
        return (np.arange(np.prod(shape, dtype=int)).reshape(shape) * 37 % 100).astype(to_numpy(dtype))
    with np.errstate(all="ignore"):
        return np.resize(NUMBERS, shape).astype(to_numpy(dtype))


def moves(
    name: str,
    f: Callable[..., Any],
    *operands: Any,
    dtypes: Sequence[str] = ("float32", "int8"),
    more: Sequence[str] = ("float16", "float64", "bool"),
    fixed: Sequence[int] = (),
    **attrs: Any,
) -> None:
    """Declare an operator that moves elements.  An operand that is a tuple of numbers is a shape of data.

    The dtypes of `more` are tried in the long run; an attribute that is `DATA` is the dtype.
    """

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in (*dtypes, *more) if long else dtypes:
            xs = [_data(x, dtype) for x in operands]
            has_slopes = registry[name].derivative is not Derivative.ZERO and is_float(dtype)
            own = {key: dtype if value is DATA else value for key, value in attrs.items()}
            yield computed(f, *xs, ulps=0, fixed=fixed, has_slopes=has_slopes, **own)


def _data(x: Any, dtype: str) -> Any:
    if isinstance(x, list):
        return tuple([_data(field, dtype) for field in x])
    return some(*x, dtype=dtype) if isinstance(x, tuple) else x


FLOATS = ("float16", "float64")
INDEX = np.asarray([[0, 2], [-1, 1]])

# --- shapes ---

moves("reshape", lambda x: x.reshape(3, 2), (2, 3), newshape=(3, -1))
moves("contrib_reverse_reshape", lambda x: x.reshape(10, 2, 4), (10, 4, 2), newshape=(-1, 2, 4))
moves("reshape_like", lambda x, like: x.reshape(3, 2), (2, 3), np.zeros((3, 2), "int32"))
moves("expand_dims", lambda x: x[:, None, None], (2, 3), axis=1, num_newaxis=2)
moves("squeeze", lambda x: x.reshape(3, 1), (1, 3, 1), axis=(0,))
moves("nn.batch_flatten", lambda x: x.reshape(2, 12), (2, 3, 4))
moves("dyn.reshape", lambda x, shape: x.reshape(3, 2), (2, 3), np.asarray([3, 2]), fixed=(1,))
moves("dyn.expand_dims", lambda x, axis: x[:, None], (2, 3), np.asarray(1), fixed=(1,), num_newaxis=1)
moves("dyn.squeeze", lambda x, axis: x[:, 0], (2, 1, 3), np.asarray([1]), fixed=(1,))
moves("transpose", lambda x: x.transpose(2, 0, 1), (2, 3, 4), axes=(2, 0, 1))
moves("transpose", np.transpose, (2, 3, 4))
moves("reverse", lambda x: x[:, ::-1], (2, 3), axis=1)
moves("layout_transform", lambda x: x.reshape(1, 2, 2, 3).transpose(0, 1, 3, 2), (1, 4, 3), src_layout="NCW",
      dst_layout="NCW2c")  # fmt: skip

# --- copies ---

moves("broadcast_to", lambda x: np.broadcast_to(x, (2, 4, 3)).copy(), (4, 1), shape=(2, 4, 3))
moves("broadcast_to_like", lambda x, like: np.broadcast_to(x, (2, 3)).copy(), (3,), np.zeros((2, 3), "int32"))
moves(
    "dyn.broadcast_to",
    lambda x, shape: np.broadcast_to(x, (2, 3)).copy(),
    (3,),
    np.asarray([2, 3]),
    fixed=(1,),
)
moves("tile", lambda x: np.tile(x, (2, 3, 1)), (2, 3), reps=(2, 3, 1))
moves("dyn.tile", lambda x, reps: np.tile(x, (2, 1)), (2, 3), np.asarray([2, 1]), fixed=(1,))
moves("repeat", lambda x: np.repeat(x, 2, axis=1), (2, 3), repeats=2, axis=1)
moves("meshgrid", lambda xs: tuple(np.meshgrid(*xs, indexing="xy")), [(2,), (3,)], indexing="xy")
moves("stack", lambda xs: np.stack(xs, axis=1), [(2, 3), (2, 3)], axis=1)
moves("concatenate", lambda xs: np.concatenate(xs, axis=1), [(2, 3), (2, 1), (2, 0)], axis=1)
moves("split", lambda x: tuple(np.split(x, [1, 4], axis=1)), (2, 5), indices_or_sections=(1, 4), axis=1)
moves("sliding_window", lambda x: np.stack([x[:, 0:3], x[:, 2:5]], axis=1), (2, 6), axis=1, window_shape=(3,),
      strides=(2,))  # fmt: skip

# --- slices and indices ---

moves("strided_slice", lambda x: x[1:4:2, ::-1], (5, 4), begin=(1, -1), end=(4, -9), strides=(2, -1))
moves("dyn.strided_slice", lambda x, *_: x[1:4:2], (5, 4), *map(np.asarray, ([1], [4], [2])), fixed=(1, 2, 3))
moves("slice_like", lambda x, like: x[:2, :3], (5, 4), np.zeros((2, 3), "int32"))
moves("take", lambda x, i: x[:, i], (3, 4), INDEX, axis=1, mode="wrap")
moves("take", lambda x, i: x[np.clip(i, 0, 4)], (5, 2), np.asarray([7, -3, 2]), axis=0)
moves("gather", lambda x, i: np.take_along_axis(x, i % 3, axis=1), (2, 3), INDEX, axis=1)
moves("gather_nd", lambda x, i: x[tuple(i)], (3, 4), np.asarray([[0, 2, 1], [3, -1, 0]]))
moves("adv_index", lambda xs: xs[0][xs[1], xs[2]], [(3, 4), np.asarray([0, 2, -1]), np.asarray([[1], [3]])])
moves("nn.embedding", lambda i, x: x[i], np.asarray([[0, 4], [2, 2]]), (5, 3), dtypes=("float32",),
      more=FLOATS)  # fmt: skip


def with_rows(x: Any, rows: Any, update: Any) -> Any:
    """Return a copy with some rows replaced."""
    copied = x.copy()
    copied[rows] = update
    return copied


moves("strided_set", lambda x, v, *_: with_rows(x, slice(1, 3), v), (5, 2), (2, 2),
      *map(np.asarray, ([1], [3], [1])), fixed=(2, 3, 4))  # fmt: skip
moves("scatter_nd", lambda x, i, v: with_rows(x, tuple(i), v), (3, 4), np.asarray([[0, 2], [3, -1]]), (2,))
moves("scatter_elements", lambda x, i, v: with_rows(x, (np.arange(2)[:, None], i), v), (2, 4), INDEX, (2, 2),
      axis=1)  # fmt: skip
moves("matrix_set_diag", lambda x, d: with_rows(x, (np.arange(3), np.arange(3)), d), (3, 4), (3,))

# --- paddings, masks and blocks ---


def padded(x: Any, value: Any, *widths: tuple[int, int]) -> Any:
    """Return an array with numbers around it."""
    sizes = [low + n + high for n, (low, high) in zip(x.shape, widths, strict=True)]
    result = np.full(sizes, value, x.dtype)
    result[tuple(slice(low, low + n) for n, (low, _) in zip(x.shape, widths, strict=True))] = x
    return result


def zero(x: Any) -> Any:
    return mp.mpf(0) if x.dtype == object else 0


moves("nn.pad", lambda x: padded(x, zero(x), (1, 0), (0, 2)), (2, 3), pad_width=((1, 0), (0, 2)))
moves("nn.pad", lambda x, v: padded(x, v[()], (1, 0), (0, 2)), (2, 3), (), pad_width=((1, 0), (0, 2)))
moves("nn.pad", lambda x: np.pad(x, ((1, 0), (0, 2)), mode="edge"), (2, 3), pad_width=((1, 0), (0, 2)),
      pad_mode="edge")  # fmt: skip
moves("nn.mirror_pad", lambda x: np.pad(x, ((1, 0), (0, 2)), mode="symmetric"), (2, 3),
      pad_width=((1, 0), (0, 2)))  # fmt: skip
moves("nn.mirror_pad", lambda x: np.pad(x, ((1, 0), (0, 2)), mode="reflect"), (2, 3),
      pad_width=((1, 0), (0, 2)), mode="REFLECT")  # fmt: skip


def dilated(x: Any) -> Any:
    result = np.full((2 * x.shape[0] - 1, 3 * x.shape[1] - 2), zero(x), x.dtype)
    result[::2, ::3] = x
    return result


moves("nn.dilate", dilated, (2, 3), strides=(2, 3), more=FLOATS)
moves("trilu", lambda x, k: np.where(np.triu(np.ones(x.shape), 1) > 0, x, zero(x)), (3, 4), np.int32(1),
      fixed=(1,))  # fmt: skip
moves("sequence_mask", lambda x, n: np.where(np.arange(3)[:, None] < n, x, -1), (3, 2), np.asarray([2, 3]),
      mask_value=-1.0, dtypes=("float32",), more=FLOATS)  # fmt: skip
moves("reverse_sequence", lambda x, n: np.stack([x[0, [1, 0, 2]], x[1, ::-1]]), (2, 3), np.asarray([2, 3]))


def blocks_to_depth(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


def depth_to_blocks(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, 2, 2, c // 4, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c // 4, 2 * h, 2 * w)


def space_to_batch(x: Any) -> Any:
    n, h, w = x.shape
    return x.reshape(n, h // 2, 2, w // 3, 3).transpose(2, 4, 0, 1, 3).reshape(6 * n, h // 2, w // 3)


def batch_to_space(x: Any) -> Any:
    n, h, w = x.shape
    return x.reshape(2, 3, n // 6, h, w).transpose(2, 3, 0, 4, 1).reshape(n // 6, 2 * h, 3 * w)


moves("nn.space_to_depth", blocks_to_depth, (1, 2, 4, 6), block_size=2)
moves("nn.depth_to_space", depth_to_blocks, (1, 8, 2, 3), block_size=2)
moves("nn.space_to_batch_nd", space_to_batch, (1, 2, 6), block_shape=(2, 3), paddings=((0, 0), (0, 0)))
moves("nn.batch_to_space_nd", batch_to_space, (6, 1, 2), block_shape=(2, 3), crops=((0, 0), (0, 0)))

# --- marks ---

for mark in ("checkpoint", "stop_fusion", "bitpack_start", "bitpack_end"):
    moves(f"annotation.{mark}", lambda x: x, (2, 3))
moves("annotation.cast_hint", lambda x: x, (2, 3), dtypes=("float32",), dtype="float16")
for mark in ("compiler_begin", "compiler_end"):
    moves(f"annotation.{mark}", lambda x: x, (2, 3), compiler="default")
moves("debug", lambda x: x, (2, 3))
moves("device_copy", lambda x: x, (2, 3), src_device="cpu", dst_device="cpu")
moves("on_device", lambda x: x, (2, 3), virtual_device="cpu")
moves("shard", lambda x: x, (2, 3), spec=())

# --- numbers that are made ---

moves("zeros_like", lambda x: np.full(x.shape, zero(x)), (2, 3))
moves("ones_like", lambda x: np.full(x.shape, zero(x) + 1), (2, 3))
moves("full_like", lambda x, v: np.full(x.shape, v[()]), (2, 3), ())
moves("full", lambda v: np.full((2, 3), v[()]), (), shape=(2, 3))
moves("one_hot", lambda i, a, b: np.where(np.arange(4) == i[:, None], a, b), np.asarray([2, 0, 9, -1]),
      (), (), depth=4, dtype=DATA, dtypes=("float32",))  # fmt: skip


@truth("zeros")
def zeros(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "int8", "bool"):
        yield Case((), np.zeros((2, 3), to_numpy(dtype)), attrs={"shape": (2, 3), "dtype": dtype})


@truth("ones")
def ones(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "int8", "bool"):
        yield Case((), np.ones((2, 3), to_numpy(dtype)), attrs={"shape": (2, 3), "dtype": dtype})


@truth("unravel_index")
def unravel_index(long: bool) -> Iterator[Case]:
    yield Case((np.asarray([5, 3, 0]), np.asarray([2, 3])), np.asarray(np.unravel_index([5, 3, 0], (2, 3))))
