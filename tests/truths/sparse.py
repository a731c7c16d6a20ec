"""Truths of sparse products, blocked weights, resized images and factored matrices."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed
from truths.products import convolved, draw, padded

INDICES, STARTS = np.asarray([0, 2, 1, 0], "int32"), np.asarray([0, 2, 2, 3, 4], "int32")
"""A sparse matrix `(4, 3)`, by rows."""


def dense(values: Any, width: int = 3) -> Any:
    """Return the matrix of a sparse one."""
    result = np.full((4, width), mp.mpf(0))
    for row in range(4):
        for k in range(STARTS[row], STARTS[row + 1]):
            result[row, INDICES[k]] += values[k]
    return result


def on_sparse(name: str, f: Callable[[Any, Any], Any], *shape: int, **attrs: Any) -> None:
    """Declare a function of data and a sparse matrix."""

    @truth(name)
    def cases(long: bool) -> Iterator[Case]:
        for dtype in ("float32", "float64"):
            xs = (draw(shape, dtype), draw((4,), dtype, 1), INDICES, STARTS)
            yield computed(lambda x, v, *_: f(x, dense(v)), *xs, is_normwise=True, **attrs)


on_sparse("nn.sparse_dense", lambda x, w: x @ w.T, 2, 3)
on_sparse("nn.sparse_dense", lambda x, w: w @ x.T, 2, 3, sparse_lhs=True)
on_sparse("nn.internal.sparse_dense_padded", lambda x, w: x @ w.T, 2, 3)
on_sparse("nn.sparse_add", lambda x, w: x + w, 4, 3)
on_sparse("nn.sparse_conv2d", lambda x, w: x @ w.T, 1, 2, 2, 3)


@truth("nn.sparse_transpose")
def sparse_transpose(long: bool) -> Iterator[Case]:
    indices, starts = np.asarray([0, 2, 1, 0], "int32"), np.asarray([0, 2, 3, 4], "int32")
    for dtype in ("float32", "float64"):
        # Its own transpose in all but the values.
        yield computed(lambda v, *_: (v[[0, 3, 2, 1]], indices, starts), draw((4,), dtype), indices, starts,
                       ulps=0)  # fmt: skip


def case(f: Callable[..., Any], dtype: str, *shapes: tuple[int, ...], **attrs: Any) -> Case:
    """Return a case whose rounding is relative to the greatest of its results."""
    return computed(f, *[draw(s, dtype, i) for i, s in enumerate(shapes)], is_normwise=True, **attrs)


@truth("nn.contrib_dense_pack")
def dense_pack(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        yield case(lambda x, w: x @ w.transpose(0, 2, 1).reshape(4, 3).T, dtype, (2, 3), (2, 3, 2),
                   weight_layout="NC2n")  # fmt: skip


def unblocked(x: Any) -> Any:
    """Return data `(n, c, h, w)` from blocks of channels."""
    n, blocks, h, w, size = x.shape
    return x.transpose(0, 1, 4, 2, 3).reshape(n, blocks * size, h, w)


def blocked(x: Any, size: int) -> Any:
    """Return data in blocks of channels."""
    n, c, h, w = x.shape
    return x.reshape(n, c // size, size, h, w).transpose(0, 1, 3, 4, 2)


@truth("nn.contrib_conv2d_NCHWc")
def conv2d_blocked(long: bool) -> Iterator[Case]:
    def formula(x: Any, w: Any) -> Any:
        flat = w.transpose(0, 5, 1, 4, 2, 3).reshape(2, 2, 2, 2)
        return blocked(convolved(unblocked(x), flat), 2)

    yield case(formula, "float64", (1, 1, 3, 3, 2), (1, 1, 2, 2, 2, 2), data_layout="NCHW2c",
               kernel_layout="OIHW2i2o")  # fmt: skip


@truth("nn.contrib_depthwise_conv2d_NCHWc")
def depthwise_blocked(long: bool) -> Iterator[Case]:
    def formula(x: Any, w: Any) -> Any:
        data, flat = unblocked(x), w.transpose(0, 5, 1, 4, 2, 3).reshape(2, 1, 2, 2)
        channels = [convolved(data[:, c : c + 1], flat[c : c + 1]) for c in range(2)]
        return blocked(np.concatenate(channels, axis=1), 2)

    yield case(formula, "float64", (1, 1, 3, 3, 2), (1, 1, 2, 2, 1, 2), groups=2, data_layout="NCHW2c",
               kernel_layout="OIHW1i2o")  # fmt: skip


@truth("image.dilation2d")
def dilation2d(long: bool) -> Iterator[Case]:
    def formula(x: Any, w: Any) -> Any:
        x = padded(x, 1, mp.ninf)
        taps = [x[:, :, i : i + 4, j : j + 4] + w[:, i, j][:, None, None] for i, j in np.ndindex(2, 2)]
        return np.stack(taps).max(axis=0)

    for dtype in ("float32", "float64"):
        yield case(formula, dtype, (1, 2, 3, 3), (2, 2, 2), padding=(1, 1))


@truth("nn.correlation")
def correlation(long: bool) -> Iterator[Case]:
    def formula(x: Any, y: Any) -> Any:
        x, y = x[0], padded(y, 1, mp.mpf(0))[0]
        shifted = [y[:, 1 + i : 4 + i, 1 + j : 4 + j] for i in (-1, 0, 1) for j in (-1, 0, 1)]
        return np.stack([np.sum(x * s, axis=0) / 2 for s in shifted])[None]

    yield case(formula, "float64", (1, 2, 3, 3), (1, 2, 3, 3), max_displacement=1, padding=1)


@truth("image.affine_grid")
def affine_grid(long: bool) -> Iterator[Case]:
    def formula(m: Any) -> Any:
        places = [
            [mp.mpf(2 * j) / 3 - 1, mp.mpf(2 * i) / 2 - 1, mp.mpf(1)] for i in range(3) for j in range(4)
        ]
        return (m @ np.asarray(places, object).T).reshape(1, 2, 3, 4)

    for dtype in ("float32", "float64"):
        yield case(formula, dtype, (1, 2, 3), target_shape=(3, 4))


@truth("image.resize1d")
def resize1d(long: bool) -> Iterator[Case]:
    def formula(x: Any) -> Any:
        columns = []
        for i in range(7):
            place = (mp.mpf(i) + mp.mpf(1) / 2) * 5 / 7 - mp.mpf(1) / 2
            low = int(mp.floor(place))
            share = place - low
            columns.append(x[..., max(low, 0)] * (1 - share) + x[..., min(low + 1, 4)] * share)
        return np.stack(columns, axis=-1)

    for dtype in ("float32", "float64"):
        yield case(formula, dtype, (1, 2, 5), size=(7,))


def halved(x: Any, axis: int) -> Any:
    """Return data with twice as many numbers along an axis, interpolated between centres."""
    before = np.concatenate([x.take([0], axis), x.take(range(x.shape[axis] - 1), axis)], axis)
    after = np.concatenate([x.take(range(1, x.shape[axis]), axis), x.take([-1], axis)], axis)
    both = np.stack([(before + 3 * x) / 4, (3 * x + after) / 4], axis + 1)
    return both.reshape(*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :])


for name, rank in (("image.resize2d", 2), ("image.resize3d", 3), ("dyn.image.resize2d", 2)):

    @truth(name)
    def resize(long: bool, name: str = name, rank: int = rank) -> Iterator[Case]:
        def formula(x: Any, *_: Any) -> Any:
            for axis in range(2, 2 + rank):
                x = halved(x, axis)
            return x

        x = draw((1, 1, *[2] * rank), "float64")
        if name.startswith("dyn"):
            sizes = (np.asarray([4, 4]), np.zeros(4, "float32"))
            yield computed(formula, x, *sizes, fixed=(1, 2), is_normwise=True)
        else:
            yield computed(formula, x, size=(4,) * rank, is_normwise=True)


def kernel(distance: Any, alpha: Any) -> Any:
    """Return the weight of an element at a distance, after Keys, 1981."""
    d = abs(distance)
    if d <= 1:
        return ((alpha + 2) * d - (alpha + 3)) * d * d + 1
    return alpha * (((d - 5) * d + 8) * d - 4) if d < 2 else mp.mpf(0)


def cubic_rows(
    size: int, out: int, coordinates: str, cubic_alpha: float = -0.5, cubic_exclude: int = 0
) -> Any:
    """Return the weights of elements in each result: those beyond the ends repeat them, or have none."""
    rows = np.full((out, size), mp.mpf(0))
    for i in range(out):
        place = place_of(i, size, out, coordinates)
        near = [int(mp.floor(place)) + k for k in range(-1, 3)]
        inside = [k for k in near if 0 <= k < size] if cubic_exclude else near
        total = mp.fsum(kernel(place - k, mp.mpf(cubic_alpha)) for k in inside)
        for k in inside:
            rows[i, min(max(k, 0), size - 1)] += kernel(place - k, mp.mpf(cubic_alpha)) / total
    return rows


ROUNDED = {"floor": mp.floor, "ceil": mp.ceil, "round_prefer_floor": lambda p: mp.ceil(p - 0.5)}


def nearest_rows(size: int, out: int, coordinates: str, rounding_method: str = "floor") -> Any:
    """Return 1 for the element of each result, 0 for others."""
    rows = np.full((out, size), mp.mpf(0))
    for i in range(out):
        place = place_of(i, size, out, coordinates)
        rounded = ROUNDED[rounding_method](place)
        rows[i, int(min(max(rounded, 0), size - 1))] = mp.mpf(1)
    return rows


def place_of(i: int, size: int, out: int, coordinates: str) -> Any:
    """Return the place of a result among the elements, as ONNX's `Resize` says."""
    if coordinates == "align_corners":
        return mp.mpf(i) * (size - 1) / (out - 1)
    shift = mp.mpf(int(coordinates == "half_pixel")) / 2
    return (i + shift) * size / out - shift


RESIZED = (
    ("cubic", "half_pixel", {"cubic_alpha": -0.75}),
    ("cubic", "align_corners", {}),
    ("cubic", "asymmetric", {"cubic_exclude": 1}),
    ("nearest_neighbor", "asymmetric", {}),
    ("nearest_neighbor", "half_pixel", {"rounding_method": "round_prefer_floor"}),
    ("nearest_neighbor", "align_corners", {"rounding_method": "ceil"}),
)
"""Ways without a form of their own in the other truths; the fifth is PyTorch's "nearest-exact"."""

for name, shape, size in (
    ("image.resize1d", (1, 2, 4), (7,)),
    ("image.resize2d", (1, 1, 4, 3), (3, 5)),
    ("image.resize3d", (1, 1, 2, 3, 2), (3, 2, 3)),
    ("dyn.image.resize2d", (1, 1, 4, 3), (3, 5)),
):

    @truth(name)
    def resize_otherwise(
        long: bool, name: str = name, shape: tuple[int, ...] = shape, size: tuple[int, ...] = size
    ) -> Iterator[Case]:
        for number, (method, coordinates, attrs) in enumerate(RESIZED):
            if not long and (number % 3 or name != "image.resize2d"):
                continue
            rows_of = partial(
                cubic_rows if method == "cubic" else nearest_rows, coordinates=coordinates, **attrs
            )

            def formula(x: Any, *_: Any, rows_of: Any = rows_of) -> Any:
                for axis, out in enumerate(size, 2):
                    x = np.moveaxis(np.tensordot(rows_of(x.shape[axis], out), x, (1, axis)), 0, axis)
                return x

            for dtype in ("float32", "float64") if long else ("float32",):
                own = {"method": method, "coordinate_transformation_mode": coordinates, **attrs}
                if name.startswith("dyn"):
                    sizes = (np.asarray(size), np.zeros(4, "float32"))
                    yield computed(formula, draw(shape, dtype), *sizes, fixed=(1, 2), is_normwise=True, **own)
                else:
                    yield computed(formula, draw(shape, dtype), size=size, is_normwise=True, **own)


# --- matrices ---


@truth("linalg.adjugate")
def adjugate(long: bool) -> Iterator[Case]:
    def formula(a: Any) -> Any:
        result = np.empty((3, 3), object)
        for i, j in np.ndindex(3, 3):
            p, q, r, s = np.delete(np.delete(a, i, 0), j, 1).ravel()
            result[j, i] = (p * s - q * r) * (-1) ** (i + j)
        return result

    for dtype in ("float32", "float64"):
        a = np.asarray([[2, 1, 0], [1, -3, 1], [0, 2, 4]], dtype)
        yield computed(formula, a, ulps=16, is_normwise=True)


def factored(a: Any) -> Any:
    """Return the lower triangular factor of `(a + a.T) / 2`."""
    a, low = (a + a.T) / 2, np.full((3, 3), mp.mpf(0))
    for i in range(3):
        for j in range(i + 1):
            rest = a[i, j] - np.sum(low[i, :j] * low[j, :j])
            low[i, j] = mp.sqrt(rest) if i == j else rest / low[j, j]
    return low


@truth("linalg.cholesky")
def cholesky(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        a = np.asarray([[4, 1, 0.5], [1, 3, -1], [0.5, -1, 2]], dtype)
        yield computed(factored, a, is_normwise=True, ulps=16)
        yield computed(lambda a: factored(a).T, a, upper=True, is_normwise=True, ulps=16)


@truth("linalg.slogdet")
def slogdet(long: bool) -> Iterator[Case]:
    def formula(a: Any) -> Any:
        det = mp.det(mp.matrix(a.tolist()))
        return np.asarray(mp.sign(det), object), np.asarray(mp.log(abs(det)), object)

    for dtype in ("float32", "float64"):
        a = np.asarray([[2, 1, 0], [1, -3, 1], [0, 2, 4]], dtype)
        yield computed(formula, a, ulps=16, is_normwise=True)


@truth("linalg.triangular_solve")
def triangular_solve(long: bool) -> Iterator[Case]:
    def solved(a: Any, b: Any) -> Any:
        x = b.copy()
        for i in range(3):
            x[i] = (b[i] - np.sum(a[i, :i, None] * x[:i], axis=0)) / a[i, i]
        return x

    for dtype in ("float32", "float64"):
        a, b = np.asarray([[2, 9, 9], [1, -3, 9], [0.5, 2, 4]], dtype), draw((3, 2), dtype)
        yield computed(solved, a, b, lower=True, ulps=16, is_normwise=True)
        yield computed(lambda a, b: solved(a[::-1, ::-1], b[::-1])[::-1], a, b, ulps=16, is_normwise=True)
