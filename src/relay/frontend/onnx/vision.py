"""Images: sampling at places, regions, boxes."""

from math import ceil
from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import cast
from relay.frontend.value import Value, call, constant
from relay.frontend.window import corners


def places_in(grid: Value, size: int, aligned: bool) -> Value:
    """Coordinates from -1 to 1 as places on an axis."""
    if aligned:
        return (grid + 1) * ((size - 1) / 2)
    return ((grid + 1) * float(size) - 1) * 0.5


def reflected(x: Value, size: int, aligned: bool) -> Value:
    """Places mirrored at the borders until they lie inside."""
    low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
    span = high - low
    if span <= 0:
        return x * 0.0
    away = call("abs", x - low)
    times = call("floor", away / span)
    rest = away - times * span
    odd = call("not_equal", call("floor_mod", cast(times, "int64"), 2), 0)
    return call("where", odd, high - rest, rest + low)


@converts("GridSample")
def grid_sample(node: Node, x: Value, grid: Value) -> Value:
    """Data `(n, c, ...)` at places between -1 and 1, whose coordinates are given last axis first."""
    said: str = node.text("mode", "linear")
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(said, said)
    padding, aligned = node.text("padding_mode", "zeros"), bool(node.int("align_corners", 0))
    n, c, *sizes = x.sizes()
    outs = grid.sizes()[1:-1]
    count = int(np.prod(outs))
    flat = call("reshape", x, newshape=(n, c, int(np.prod(sizes))))
    spots: list[Value] = []
    for k, size in enumerate(reversed(sizes)):
        part = call("take", grid, constant(k, "int64"), axis=grid.rank - 1)
        place = places_in(call("reshape", part, newshape=(n, count)), size, aligned)
        if padding == "border" and mode != "cubic":
            place = call("clip", place, a_min=0.0, a_max=float(size - 1))
        elif padding == "reflection" and mode != "cubic":
            place = reflected(place, size, aligned)
        spots.insert(0, place)
    if mode == "nearest":
        spots = [call("round", p) for p in spots]
    rows = [axis_taps(p, mode) for p in spots]
    total: Value | None = None
    for taps in _combinations(rows):
        weight: Value | None = None
        inside: Value | None = None
        index: Value | None = None
        for (place, part), size in zip(taps, sizes, strict=True):
            place, good = bordered(place, size, padding, aligned)
            weight = part if weight is None else weight if part is None else weight * part
            if good is not None:
                inside = good if inside is None else call("logical_and", inside, good)
            index = place if index is None else index * size + place
        assert index is not None
        at = call("broadcast_to", call("expand_dims", index, axis=1), shape=(n, c, count))
        term = call("gather", flat, at, axis=2)
        if inside is not None:
            term = call("where", call("expand_dims", inside, axis=1), term, constant(0, x.dtype))
        if weight is not None:
            term = term * cast(call("expand_dims", weight, axis=1), x.dtype)
        total = term if total is None else total + term
    assert total is not None
    return call("reshape", total, newshape=(n, c, *outs))


def _combinations(rows: list[list[Any]]) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for row in rows:
        found = [[*f, tap] for f in found for tap in row]
    return found


def axis_taps(place: Value, mode: str) -> list[tuple[Value, Value | None]]:
    """The places of the data that make up the value at a place, with their weights."""
    first = call("floor", place)
    if mode == "nearest":
        return [(cast(place, "int64"), None)]
    part = place - first
    whole = cast(first, "int64")
    if mode == "linear":
        return [(whole, 1 - part), (whole + 1, part)]
    a = -0.75
    found: list[tuple[Value, Value | None]] = []
    for k in (-1, 0, 1, 2):
        d = call("abs", part - float(k))
        if k in (0, 1):
            weight = ((a + 2) * d - (a + 3)) * d * d + 1
        else:
            weight = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        found.append((whole + k, weight))
    return found


def bordered(place: Value, size: int, padding: str, aligned: bool) -> tuple[Value, Value | None]:
    """A place moved inside, and whether it was there, where that matters."""
    good = None
    if padding == "reflection":
        place = cast(reflected(cast(place, "float32"), size, aligned), "int64")
    elif padding == "zeros":
        good = call("logical_and", call("greater_equal", place, 0), call("less", place, size))
    return call("clip", place, a_min=0, a_max=size - 1), good


@converts("RoiAlign")
def roi_align(node: Node, x: Value, rois: Value, batch: Value) -> Value:
    """Regions of images on a grid, each cell the mean (or the maximum) of values between pixels."""
    mode, scale = node.text("mode", "avg"), node.float("spatial_scale", 1.0)
    oh, ow, ratio = node.int("output_height", 1), node.int("output_width", 1), node.int("sampling_ratio", 0)
    half = node.version >= 16 and node.text("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    n, c, h, w = x.sizes()
    count = rois.size(0)
    ends = [
        call("take", rois, constant(k, "int64"), axis=1) * scale - (0.5 if half else 0.0) for k in range(4)
    ]
    width, height = ends[2] - ends[0], ends[3] - ends[1]
    if not half:
        width, height = call("maximum", width, 1.0), call("maximum", height, 1.0)
    if ratio > 0:
        rows, columns = ratio, ratio
    else:
        known = rois.known("the regions") * scale
        rows, columns = (
            max([1, *[ceil(float(v) / cells) for v in (known[:, k + 2] - known[:, k]).tolist()]])
            for k, cells in ((1, oh), (0, ow))
        )
    ys = _samples(ends[1], height, oh, rows)
    xs = _samples(ends[0], width, ow, columns)
    images = call("take", call("reshape", x, newshape=(n, c, h * w)), cast(batch, "int64"), axis=0)
    taken = _between(images, ys, xs, (count, c, h, w), mode)
    cells = call("reshape", taken, newshape=(count, c, oh, rows, ow, columns))
    return call("max" if mode == "max" else "mean", cells, axis=(3, 5))


def _samples(start: Value, length: Value, cells: int, each: int) -> Value:
    """The places `(regions, cells * each)` of samples along an axis."""
    steps = (np.arange(cells)[:, None] + (np.arange(each) + 0.5)[None] / each).reshape(-1)
    return call("expand_dims", start, axis=1) + call("expand_dims", length / cells, axis=1) * constant(
        steps, start.dtype
    )


def _between(images: Value, ys: Value, xs: Value, shape: tuple[int, int, int, int], mode: str) -> Value:
    """Values between pixels, of the four around them the weighted sum, or with `max` the greatest part."""
    count, c, h, w = shape
    total: Value | None = None
    parts = [_edge(ys, h), _edge(xs, w)]
    for corner in corners(2):
        (py, wy), (px, wx) = parts[0][corner[0]], parts[1][corner[1]]
        index = call("expand_dims", py, axis=2) * w + call("expand_dims", px, axis=1)
        weight = call("expand_dims", wy, axis=2) * call("expand_dims", wx, axis=1)
        size = index.size(1) * index.size(2)
        at = call("broadcast_to", call("reshape", index, newshape=(count, 1, size)), shape=(count, c, size))
        term = call("gather", images, at, axis=2) * call("reshape", weight, newshape=(count, 1, size))
        how = "maximum" if mode == "max" else "add"
        total = term if total is None else call(how, total, term)
    assert total is not None
    return total


def _edge(at: Value, size: int) -> list[tuple[Value, Value]]:
    """The pixels on both sides of places along an axis, with weights; 0 further out than one pixel."""
    outside = call("logical_or", call("less", at, -1.0), call("greater", at, float(size)))
    at = call("maximum", at, 0.0)
    low = call("minimum", cast(call("floor", at), "int64"), size - 1)
    high = call("minimum", low + 1, size - 1)
    part = call(
        "where", call("greater_equal", low, size - 1), constant(0, at.dtype), at - cast(low, at.dtype)
    )
    keep = call("where", outside, constant(0, at.dtype), constant(1, at.dtype))
    return [(low, (1 - part) * keep), (high, part * keep)]


@converts("NonMaxSuppression")
def non_max_suppression(
    node: Node, boxes: Value, scores: Value, most: Value | None = None, overlap: Value | None = None,
    least: Value | None = None,
) -> Value:  # fmt: skip
    """The best boxes of each class, without those that overlap a better one: rows of image, class and box."""
    limit = 0 if most is None else int(most.number("the number of boxes"))
    n, k, count = scores.sizes()
    if limit <= 0 or count == 0:
        return constant(np.zeros((0, 3), "int64"))
    limit = min(limit, count)
    area = _overlaps(boxes, bool(node.int("center_point_box", 0)))  # (n, count, count)
    edge = constant(0.0, scores.dtype) if overlap is None else call("reshape", overlap, newshape=())
    clash = call("greater", area, edge)
    clash = call("broadcast_to", call("expand_dims", clash, axis=1), shape=(n, k, count, count))
    alive = call("greater_equal", scores, constant(-np.inf, scores.dtype))
    if least is not None:
        alive = call("greater", scores, call("reshape", least, newshape=()))
    chosen: list[Value] = []
    kept: list[Value] = []
    numbers = constant(np.arange(count), "int32")
    for _ in range(limit):
        now = call("where", alive, scores, constant(-np.inf, scores.dtype))
        best = call("argmax", now, axis=2, keepdims=True)  # (n, k, 1)
        there = call("any", alive, axis=(2,), keepdims=True)
        row = call("expand_dims", best, axis=3)
        row = call("broadcast_to", row, shape=(n, k, 1, count))
        beaten = call("squeeze", call("gather", clash, row, axis=2), axis=(2,))
        gone = call("logical_or", beaten, call("equal", numbers, best))
        alive = call("logical_and", alive, call("logical_not", gone))
        chosen.append(cast(best, "int64"))
        kept.append(there)
    picks, flags = call("concatenate", tuple(chosen), axis=2), call("concatenate", tuple(kept), axis=2)
    labels = np.stack(np.meshgrid(np.arange(n), np.arange(k), indexing="ij"), -1)[:, :, None, :]
    rows = constant(np.broadcast_to(labels, (n, k, limit, 2)), "int64")
    table = call("concatenate", (rows, call("expand_dims", picks, axis=3)), axis=3)
    where = call("squeeze", call("argwhere", call("reshape", flags, newshape=(-1,))), axis=(1,))
    return call("take", call("reshape", table, newshape=(-1, 3)), where, axis=0)


def _overlaps(boxes: Value, centred: bool) -> Value:
    """The area that two boxes share, as a part of the area that they cover together."""
    a, b, c, d = (call("take", boxes, constant(i, "int64"), axis=2) for i in range(4))
    if centred:
        x0, x1, y0, y1 = a - c * 0.5, a + c * 0.5, b - d * 0.5, b + d * 0.5
    else:
        y0, y1 = call("minimum", a, c), call("maximum", a, c)
        x0, x1 = call("minimum", b, d), call("maximum", b, d)

    def shared(low: Value, high: Value) -> Value:
        left = [call("expand_dims", v, axis=2) for v in (low, high)]
        right = [call("expand_dims", v, axis=1) for v in (low, high)]
        return call("maximum", call("minimum", left[1], right[1]) - call("maximum", left[0], right[0]), 0.0)

    both = shared(y0, y1) * shared(x0, x1)
    size = (y1 - y0) * (x1 - x0)
    together = call("expand_dims", size, axis=2) + call("expand_dims", size, axis=1) - both
    nothing = call("less_equal", together, 0.0)
    ratio = both / call("where", nothing, constant(1, both.dtype), together)
    return call("where", nothing, constant(0, both.dtype), ratio)
