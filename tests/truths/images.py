"""Truths of images sampled between their pixels, and of regions of images, by sums over all pixels."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed


def draw(shape: Sequence[int], dtype: str, seed: int = 0) -> Any:
    """Return numbers of a normal distribution."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def hat(x: Any) -> Any:
    """Return the weight of a pixel at a distance, in linear interpolation."""
    return max(1 - abs(x), mp.mpf(0))


def cubic(x: Any) -> Any:
    """Return the weight of a pixel at a distance, after Keys, 1981, with -0.75."""
    x = abs(x)
    if x < 1:
        return (mp.mpf(5) / 4 * x - mp.mpf(9) / 4) * x * x + 1
    return -mp.mpf(3) / 4 * (((x - 5) * x + 8) * x - 4) if x < 2 else mp.mpf(0)


def nearest(x: Any) -> Any:
    """Return the weight of a pixel at a distance, without interpolation."""
    return mp.mpf(int(abs(x) < 0.5))


def read(image: Any, place: Sequence[Any], weight: Callable[[Any], Any], around: int = 0) -> Any:
    """Return the sum of weighed pixels `(c, ...)`, of the image mirrored `around` pixels at its borders."""
    widths = [(0, 0), *[(around, around)] * len(place)]
    pixels = np.pad(image, widths, mode="symmetric") if around else image
    total = np.full(image.shape[0], mp.mpf(0))
    for pixel in np.ndindex(pixels.shape[1:]):
        share = mp.fprod(weight(p + around - k) for p, k in zip(place, pixel, strict=True))
        if share:
            total = total + share * pixels[(slice(None), *pixel)]
    return total


# --- grids: Jaderberg and others, 2015, with the borders of PyTorch's `grid_sample` ---


def folded(p: Any, size: int) -> Any:
    """Return a place mirrored at the centres of the first and the last pixel."""
    p = abs(p) - 2 * (size - 1) * mp.floor(abs(p) / (2 * (size - 1)))
    return min(p, 2 * (size - 1) - p)


def on_grids(
    shape: tuple[int, ...],
    weight: Callable[[Any], Any],
    borders: Callable[[Any, int], Any],
    around: int = 0,
    dtypes: tuple[str, ...] = ("float64",),
    has_slopes: bool = False,
    **attrs: Any,
) -> None:
    """Declare a way to sample images at places."""
    rank = len(shape) - 2
    grid = np.linspace(-1.28, 1.17, rank * 6).reshape(rank, 6)[:, [3, 0, 5, 2, 4, 1]]

    def formula(x: Any, grid: Any) -> Any:
        columns = []
        for k in range(6):
            places = []
            for size, g in zip(x.shape[2:], reversed(grid[0].reshape(rank, 6)[:, k]), strict=True):
                is_aligned = attrs.get("align_corners", True)
                p = (g + 1) * (size - 1) / 2 if is_aligned else ((g + 1) * size - 1) / 2
                places.append(borders(p, size))
            columns.append(read(x[0], places, weight, around))
        return np.stack(columns, axis=-1).reshape(1, x.shape[1], *grid.shape[2:])

    @truth("image.grid_sample")
    def cases(long: bool) -> Iterator[Case]:
        for dtype in dtypes:
            xs = (draw(shape, dtype), grid.reshape(1, rank, *[1] * (rank - 2), 2, 3).astype(dtype))
            yield computed(formula, *xs, is_normwise=True, ulps=16, has_slopes=has_slopes or long, **attrs)


on_grids((1, 2, 3, 4), hat, lambda p, n: p, dtypes=("float32",), has_slopes=True)
on_grids((1, 1, 2, 2, 3), hat, lambda p, n: min(max(p, mp.mpf(0)), mp.mpf(n - 1)), layout="NCDHW",
         padding_mode="border")  # fmt: skip
on_grids((1, 2, 3, 4), hat, folded, padding_mode="reflection")
on_grids((1, 2, 3, 4), cubic, lambda p, n: p, around=3, method="bicubic", padding_mode="reflection",
         align_corners=False, has_slopes=True)  # fmt: skip
on_grids((1, 2, 3, 4), nearest, lambda p, n: p, method="nearest", align_corners=False)


@truth("image.crop_and_resize")
def crop_and_resize(long: bool) -> Iterator[Case]:
    def formula(x: Any, boxes: Any, images: Any, weight: Any, sizes: tuple[int, int]) -> Any:
        result = np.empty((len(boxes), x.shape[1], *sizes), object)
        for r, i, j in np.ndindex(len(boxes), *sizes):
            places = []
            for k, at in ((0, i), (1, j)):
                share = mp.mpf(at) / (sizes[k] - 1) if sizes[k] > 1 else mp.mpf(1) / 2
                part = boxes[r, k] + share * (boxes[r, k + 2] - boxes[r, k])
                places.append(part * (x.shape[k + 2] - 1))
            is_inside = all(0 <= p <= n - 1 for p, n in zip(places, x.shape[2:], strict=True))
            result[r, :, i, j] = read(x[images[r]], places, weight) if is_inside else mp.mpf(0.5)
        return result

    for dtype in ("float32", "float64"):
        xs = (
            draw((2, 2, 3, 4), dtype),
            np.asarray([[0.1, 0.22, 0.83, 1.2], [0.05, 0.46, 0.3, 0.03]], dtype),
            np.asarray([1, 0], "int32"),
        )
        for weight, sizes, method in ((hat, (2, 3), "bilinear"), (nearest, (1, 2), "nearest_neighbor")):
            yield computed(
                lambda *xs, w=weight, s=sizes: formula(*xs, w, s), *xs, crop_size=sizes, method=method,
                extrapolation_value=0.5, is_normwise=True,
                has_slopes=long or (dtype == "float32" and weight is hat),
            )  # fmt: skip


@truth("nn.deformable_conv2d")
def deformable_conv2d(long: bool) -> Iterator[Case]:
    def formula(x: Any, offset: Any, w: Any, *mask: Any) -> Any:
        result = np.full((1, w.shape[0], 1, 2), mp.mpf(0))
        for (i, j), tap, c in product(np.ndindex(1, 2), range(4), range(2)):
            number = 4 * c + tap  # a group of offsets for each channel
            y = i + tap // 2 + offset[0, 2 * number, i, j]
            column = 2 * j - 1 + tap % 2 + offset[0, 2 * number + 1, i, j]
            value = read(x[0, c : c + 1], (y, column), hat)[0]
            factor = mask[0][0, number, i, j] if mask else 1
            result[0, :, i, j] += w[:, c, tap // 2, tap % 2] * value * factor
        return result

    for dtype in ("float32", "float64"):
        moves = (0.3 + np.arange(32) * 0.37 % 1.7 - 0.9).reshape(1, 16, 1, 2).astype(dtype)
        xs = (draw((1, 2, 2, 3), dtype), moves, draw((2, 2, 2, 2), dtype, 1))
        attrs = {"deformable_groups": 2, "strides": (1, 2), "padding": (0, 1, 0, 0)}
        if dtype == "float32":
            yield computed(formula, *xs, is_normwise=True, has_slopes=long, **attrs)
            continue
        mask = np.linspace(0.1, 1.3, 16).reshape(1, 8, 1, 2).astype(dtype)
        yield computed(formula, *xs, mask, is_normwise=True, **attrs)


# --- regions ---

REGIONS = [[1.2, 0.2, -1.1, 4.3, 3.7], [0.2, 2.1, 1.1, 2.7, 3.2]]
"""An image, and the first and the last corner, column before row."""


def samples(start: Any, end: Any, cells: int, ratio: int, is_aligned: bool) -> list[list[Any]]:
    """Return the places of samples along an axis, for each cell."""
    shift = mp.mpf(int(is_aligned)) / 2
    length = end - start if is_aligned else max(end - start, mp.mpf(1))
    count = ratio if ratio > 0 else int(mp.ceil(length / cells))
    return [
        [start - shift + length / cells * (cell + (k + mp.mpf(1) / 2) / count) for k in range(count)]
        for cell in range(cells)
    ]


def shares(place: Any, size: int) -> list[tuple[int, Any]]:
    """Return the pixels next to a place, with their weights; none further out than one pixel."""
    if not -1 <= place <= size:
        return [(0, mp.mpf(0))]
    place = min(max(place, mp.mpf(0)), mp.mpf(size - 1))
    low = int(mp.floor(place))
    return [(min(k, size - 1), hat(place - k)) for k in (low, low + 1)]


def roi_aligned(x: Any, rois: Any, mode: str, scale: float, ratio: int, is_aligned: bool) -> Any:
    """Return regions on a grid of 2 by 2, after He and others, 2017."""
    result = np.empty((len(rois), x.shape[1], 2, 2), object)
    for r, roi in enumerate(rois):
        image = x[int(roi[0])]
        rows, columns = (
            [[shares(p, x.shape[axis]) for p in cell]
             for cell in samples(roi[4 - axis] * scale, roi[6 - axis] * scale, 2, ratio, is_aligned)]
            for axis in (2, 3)
        )  # fmt: skip
        for i, j in np.ndindex(2, 2):
            points = [
                [image[:, y, z] * p * q for (y, p), (z, q) in product(row, column)]
                for row, column in product(rows[i], columns[j])
            ]
            sums = np.stack([np.sum(parts, axis=0) for parts in points])
            if mode == "avg":
                result[r, :, i, j] = np.sum(sums, axis=0) / len(points)
            else:
                some = sums if mode == "max" else np.stack([part for parts in points for part in parts])
                result[r, :, i, j] = some.max(axis=0)
    return result


@truth("vision.roi_align")
def roi_align(long: bool) -> Iterator[Case]:
    for dtype, mode, scale, ratio, is_aligned in (
        ("float32", "avg", 1.0, 2, False),
        ("float64", "avg", 0.75, -1, True),
        ("float64", "max", 1.0, 2, False),
        ("float64", "max_part", 1.0, 1, False),
    ):
        how = (mode, scale, ratio, is_aligned)
        xs = (draw((2, 1, 3, 4), dtype), np.asarray(REGIONS, dtype))
        names = ("mode", "spatial_scale", "sample_ratio", "aligned")
        attrs = dict(zip(names, how, strict=True))
        yield computed(
            lambda x, rois, how=how: roi_aligned(x, rois, *how), *xs, is_normwise=True,
            has_slopes=long or (ratio > 0 and mode != "max"), pooled_size=(2, 2), **attrs,
        )  # fmt: skip


@truth("vision.roi_pool")
def roi_pool(long: bool) -> Iterator[Case]:
    def formula(x: Any, rois: Any) -> Any:
        result = np.empty((len(rois), x.shape[1], 2, 3), object)
        for r, roi in enumerate(rois):
            left, top, right, bottom = (int(mp.floor(v + 0.5)) for v in roi[1:])
            for i, j in np.ndindex(2, 3):
                ends = []
                for at, first, last, cells, size in (
                    (i, top, bottom, 2, x.shape[2]), (j, left, right, 3, x.shape[3])
                ):  # fmt: skip
                    step = mp.mpf(max(last - first + 1, 1)) / cells
                    ends.append(
                        (int(mp.floor(at * step)) + first, int(mp.ceil((at + 1) * step)) + first, size)
                    )
                (a, b, h), (c, d, w) = ends
                seen = x[int(roi[0]), :, min(max(a, 0), h) : min(max(b, 0), h),
                         min(max(c, 0), w) : min(max(d, 0), w)]  # fmt: skip
                flat = seen.reshape(len(seen), -1)
                result[r, :, i, j] = flat.max(axis=1) if flat.size else mp.mpf(0)
        return result

    for dtype in ("float32", "float64"):
        xs = (draw((2, 2, 3, 4), dtype), np.asarray(REGIONS, dtype))
        yield computed(formula, *xs, ulps=0, pooled_size=(2, 3), has_slopes=long or dtype == "float32")


@truth("vision.yolo_reorg")
def yolo_reorg(long: bool) -> Iterator[Case]:
    def formula(x: Any) -> Any:
        # Darknet's loop, with its indices into flat arrays.
        n, channels, h, w = x.shape
        flat, result = x.ravel(), []
        for image, k, j, i in np.ndindex(n, channels, h, w):
            part, channel = divmod(k, channels // 4)
            column, row = 2 * i + part % 2, 2 * j + part // 2
            result.append(flat[column + 2 * w * (row + 2 * h * (channel + channels // 4 * image))])
        return np.asarray(result, x.dtype).reshape(n, 4 * channels, h // 2, w // 2)

    yield computed(formula, draw((1, 4, 2, 4), "float32"), stride=2, ulps=0)
    whole = np.arange(128, dtype="int32").reshape(2, 8, 2, 4)
    yield Case((whole,), formula(whole), attrs={"stride": 2})
