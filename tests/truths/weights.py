"""Truths of convolutions by weights that are transformed before, from published matrices."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed
from truths.products import convolved, draw, padded, sums

# The matrices of F(2, 3) and F(6, 3): Lavin and Gray, 2015, as Lavin's program wincnn prints them.
OF_OUTPUT = np.asarray([[1, 1, 1, 0], [0, 1, -1, 1]], object)
OF_DATA = np.asarray([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, -1, 0, 1]], object)
OF_WEIGHT, DIVISOR = np.asarray([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]], object), 2
OF_WEIGHT_6, DIVISOR_6 = (
    np.asarray(
        [
            [90, 0, 0],
            [-20, -20, -20],
            [-20, 20, -20],
            [1, 2, 4],
            [1, -2, 4],
            [64, 32, 16],
            [64, -32, 16],
            [0, 0, 90],
        ],
        object,
    ),
    90,
)


def turned(matrix: Any, x: Any, count: int) -> Any:
    """Return an array whose last axes are multiplied by a matrix."""
    for axis in range(x.ndim - count, x.ndim):
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


def transformed(w: Any) -> Any:
    """Return a weight `(o, c, ...)` as it is multiplied: `(..., o, c)`."""
    rank = w.ndim - 2
    return np.moveaxis(turned(OF_WEIGHT, w, rank) / DIVISOR**rank, (0, 1), (-2, -1))


def filtered(x: Any, u: Any) -> Any:
    """Return the convolution of data by a transformed weight, with two results of a tile along each axis."""
    x, rank = padded(x, 1, mp.mpf(0))[0], x.ndim - 2
    tiles = [n // 2 - 1 for n in x.shape[1:]]
    result = np.empty((u.shape[-2], *[2 * n for n in tiles]), object)
    for tile in np.ndindex(*tiles):
        seen = x[(slice(None), *[slice(2 * t, 2 * t + 4) for t in tile])]
        data = turned(OF_DATA, seen, rank)
        products = np.moveaxis(np.sum(u * np.moveaxis(data, 0, -1)[..., None, :], axis=-1), -1, 0)
        place = (slice(None), *[slice(2 * t, 2 * t + 2) for t in tile])
        result[place] = turned(OF_OUTPUT, products, rank)
    return result[None]


PREFIX = "nn.contrib_conv"
sums(f"{PREFIX}2d_winograd_weight_transform", transformed, (2, 2, 3, 3), tile_size=2)
sums(f"{PREFIX}3d_winograd_weight_transform", transformed, (1, 2, 3, 3, 3), tile_size=2)
sums(f"{PREFIX}3d_winograd_weight_transform", lambda w: transformed(w[:, :, 0])[:, :, None],
     (2, 1, 1, 3, 3), tile_size=2)  # fmt: skip
sums(f"{PREFIX}2d_winograd_nnpack_weight_transform",
     lambda w: turned(OF_WEIGHT_6, w, 2) / DIVISOR_6**2, (1, 2, 3, 3))  # fmt: skip
sums(f"{PREFIX}2d_winograd_without_weight_transform", filtered, (1, 2, 4, 4), (4, 4, 2, 2), ulps=8,
     tile_size=2, padding=1)  # fmt: skip
sums(f"{PREFIX}3d_winograd_without_weight_transform", filtered, (1, 2, 2, 2, 2), (4, 4, 4, 1, 2), ulps=8,
     tile_size=2, padding=1)  # fmt: skip


@truth(f"{PREFIX}2d_winograd_without_weight_transform")
def winograd(long: bool) -> Iterator[Case]:
    for dtype in ("float32", "float64"):
        x, w = draw((1, 2, 4, 4), dtype), np.round(4 * draw((3, 2, 3, 3), dtype, 1)) / 4
        u = transformed(w.astype("float64").astype(object)).astype(dtype)
        case = computed(lambda x, w: convolved(x, w, padding=1), x, w, is_normwise=True, has_slopes=False)
        yield Case((x, u), case.value, attrs={"tile_size": 2, "padding": 1}, ulps=8, scale=case.scale)


def in_blocks(w: Any, high: int, wide: int) -> Any:
    """Return a weight `(h, w, c, o)` as blocks of its matrix."""
    count, outs = w[..., 0].size, w.shape[-1]
    blocks = np.zeros((-(-outs // high), -(-count // wide), high, wide), w.dtype)
    if w.dtype == object:
        blocks[...] = mp.mpf(0)
    for k, place in enumerate(np.ndindex(w.shape[:-1])):
        for o in range(outs):
            blocks[o // high, k // wide, o % high, k % wide] = w[(*place, o)]
    return blocks


@truth(f"{PREFIX}2d_gemm_weight_transform")
def gemm_weight(long: bool) -> Iterator[Case]:
    whole = np.arange(36, dtype="int8").reshape(2, 2, 3, 3)
    yield Case((whole,), in_blocks(whole, 2, 5), attrs={"tile_N": 2, "tile_K": 5})
    x = draw((2, 2, 2, 3), "float32")
    yield computed(lambda w: in_blocks(w, 2, 3), x, ulps=0, tile_N=2, tile_K=3)


@truth(f"{PREFIX}2d_gemm_without_weight_transform")
def gemm(long: bool) -> Iterator[Case]:
    def formula(x: Any, blocks: Any) -> Any:
        w = np.empty((3, 2, 2, 2), object)  # (o, c, h, w)
        for k, (i, j, c) in enumerate(np.ndindex(2, 2, 2)):
            for o in range(3):
                w[o, c, i, j] = blocks[o // 2, k // 3, o % 2, k % 3]
        return convolved(x.transpose(0, 3, 1, 2), w, padding=1).transpose(0, 2, 3, 1)

    for dtype in ("float32", "float64"):
        xs = (draw((1, 3, 2, 2), dtype), draw((2, 3, 2, 3), dtype, 1))
        yield computed(
            formula, *xs, is_normwise=True, channels=3, kernel_size=2, data_layout="NHWC", padding=1
        )
