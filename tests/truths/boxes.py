"""Truths of detectors' boxes, box by box, from the papers and from TVM's definitions."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from mpmath import mp

from truths.base import Case, truth
from truths.computed import computed

MINUS = mp.mpf(-1)


def corners(box: Sequence[Any]) -> list[Any]:
    """Return a box with the lower numbers first."""
    return [min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])]


def overlap(one: Sequence[Any], other: Sequence[Any]) -> Any:
    """Return the area that two boxes share, as a part of the area that they cover."""
    a, b = corners(one), corners(other)
    sides = [min(a[k + 2], b[k + 2]) - max(a[k], b[k]) for k in (0, 1)]
    shared = sides[0] * sides[1] if min(sides) > 0 else 0
    covered = sum((x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)) - shared
    return shared / covered if shared else 0


def suppressed(
    boxes: Sequence[Any],
    groups: Sequence[int],
    is_alive: Sequence[bool],
    iou: Any,
    limit: int,
    inclusive: bool,
) -> list[int]:
    """Return the places of the boxes that are kept, in their order."""
    kept: list[int] = []
    for i, box in enumerate(boxes):
        rivals = [overlap(boxes[k], box) for k in kept if groups[k] == groups[i]]
        is_covered = any(part >= iou if inclusive else part > iou for part in rivals)
        if is_alive[i] and not is_covered and (limit < 0 or len(kept) < limit):
            kept.append(i)
    return kept


def best_first(scores: Sequence[Any]) -> list[int]:
    return sorted(range(len(scores)), key=lambda k: -scores[k])


BOXES = [[0, 0, 1, 1], [0, 1.125, 1, 0.125], [0, -0.125, 1, 0.875], [0, 10, 1, 11], [0, 10.5, 1, 11.5],
         [1, 100, 0, 101]]  # fmt: skip
"""Boxes of which the first three overlap by 7/9 and 3/5, and the next two by 1/3."""
SCORES = [[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.2, 0.8, 0.7, -0.5, 0.4, 0.1]]
DETECTIONS = [
    [
        [0.25, 0.8, 1, 20, 25, 45],
        [1.25, 0.7, 30, 60, 50, 80],
        [0.25, 0.4, 4, 21, 19, 40],
        [2.25, 0.9, 35, 61, 52, 79],
        [1.25, 0.5, 100, 60, 70, 110],
        [-1.25, 0.95, 0, 0, 9, 9],
    ],
    [
        [1.25, -0.1, 1, 20, 25, 45],
        [1.25, 0.7, 30, 60, 50, 80],
        [1.25, 0.75, 31, 61, 49, 79],
        [2.25, 0.6, 35, 61, 52, 79],
        [0.25, 0.65, 100, 60, 70, 110],
        [0.25, 0.3, 0, 0, 9, 9],
    ],
]
"""Class (as a whole number), score and corners of the boxes of two images."""


@truth("vision.greedy_suppression")
def greedy_suppression(long: bool) -> Iterator[Case]:
    groups, is_alive = [0, 0, 1, 0, 0, 1], [True, True, True, True, True, False]
    for dtype, iou, limit, inclusive in (
        ("float32", 0.5, 9, False), ("float32", 0.25, -1, True), ("float64", 1.0, 2, False),
        ("float16", 0.75, 3, True),
    ):  # fmt: skip
        boxes = np.asarray([BOXES, BOXES[::-1]], dtype)
        right = np.zeros((2, 6), bool)
        for image in range(2):
            right[image, suppressed(boxes[image].tolist(), groups, is_alive, iou, limit, inclusive)] = True
        numbers = (np.asarray(iou, dtype), np.asarray(limit, "int32"))
        rows = (np.asarray([groups] * 2, "int32"), np.asarray([is_alive] * 2))
        yield Case((boxes, *rows, *numbers), right, attrs={"inclusive": inclusive})


def rows_of(rows: Sequence[Any], count: int, filler: Any) -> Any:
    """Return some rows, and others of `filler` after them."""
    width = len(rows[0]) if rows else 0
    return np.asarray([*map(list, rows), *[[filler] * width] * (count - len(rows))], object)


@truth("vision.get_valid_counts")
def get_valid_counts(long: bool) -> Iterator[Case]:
    def formula(x: Any, least: Any, named: int) -> Any:
        counts, tables, places = [], [], []
        for image in x:
            good = [k for k, row in enumerate(image) if row[1] > least[()] and (named < 0 or row[named] >= 0)]
            counts.append(len(good))
            tables.append(rows_of([image[k] for k in good], 6, MINUS))
            places.append([*good, *[-1] * (6 - len(good))])
        return np.asarray(counts, "int32"), np.stack(tables), np.asarray(places, "int32")

    for dtype, named in (("float32", 0), ("float64", -1)):
        xs = (np.asarray(DETECTIONS, dtype), np.asarray(0.45, dtype))
        yield computed(lambda *xs, n=named: formula(*xs, n), *xs, ulps=0, id_index=named)


def detected(image: Any, count: int, limit: int, iou: Any, top: int, is_forced: bool) -> tuple[Any, Any]:
    """Return the places of boxes, best first, and of those that are kept of them."""
    order = best_first([row[1] if k < count else mp.ninf for k, row in enumerate(image)])
    rows = [image[k] for k in order]
    is_alive = [
        order[k] < count and row[1] > 0 and row[0] >= 0 and (top < 0 or k < top) for k, row in enumerate(rows)
    ]
    groups = [0 if is_forced else int(row[0]) for row in rows]
    return order, suppressed([row[2:6] for row in rows], groups, is_alive, iou, limit, True)


@truth("vision.non_max_suppression")
def non_max_suppression(long: bool) -> Iterator[Case]:
    counts, places = np.asarray([5, 6], "int32"), np.asarray([[5, 4, 3, 2, 1, 0], range(6)], "int32")
    for top, is_forced, limit, iou in ((-1, False, -1, 0.5), (3, True, 1, 0.75)):
        x = np.asarray(DETECTIONS, "float32")
        xs = (x, counts, places, np.asarray(limit, "int32"), np.asarray(iou, "float32"))
        attrs = {"top_k": top, "force_suppress": is_forced}
        found = [detected(i, n, limit, iou, top, is_forced) for i, n in zip(x.tolist(), counts, strict=True)]
        kept = [[int(row[order[k]]) for k in some] for row, (order, some) in zip(places, found, strict=True)]
        table = np.asarray([[*row, *[-1] * (6 - len(row))] for row in kept], "int32")
        yield Case(xs, (table, np.asarray([[len(row)] for row in kept], "int32")), attrs=attrs)

        def formula(x: Any, *_: Any, how: Any = (limit, iou, top, is_forced), is_bottom: bool = False) -> Any:
            tables = []
            for image, count in zip(x, counts, strict=True):
                order, some = detected(image, int(count), *how)
                if is_bottom:
                    tables.append(rows_of([image[order[k]] for k in some], 6, MINUS))
                else:
                    tables.append([image[k] if i in some else [MINUS] * 6 for i, k in enumerate(order)])
            return np.asarray([[[*row] for row in table] for table in tables], object)

        for is_bottom in (False, True):
            yield computed(
                lambda *xs, f=formula, b=is_bottom: f(*xs, is_bottom=b), *xs, ulps=0,
                has_slopes=long or is_bottom == is_forced, return_indices=False,
                invalid_to_bottom=is_bottom, **attrs,
            )  # fmt: skip


@truth("vision.all_class_non_max_suppression")
def all_class_non_max_suppression(long: bool) -> Iterator[Case]:
    boxes = np.asarray([BOXES, BOXES[::-1]], "float32")
    scores = np.asarray([SCORES, SCORES[::-1]], "float32")
    limits = (np.asarray(2, "int64"), np.asarray(0.5, "float32"))

    def kept(image: Any, levels: Any, least: Any) -> list[tuple[int, int]]:
        """Return the classes and places of boxes that are kept."""
        rows = []
        for label, row in enumerate(levels):
            order = best_first(row)
            is_alive = [row[k] > least for k in order]
            some = suppressed([image[k] for k in order], [0] * 6, is_alive, 0.5, 2, False)
            rows += [(label, order[k]) for k in some]
        return rows

    rows = [
        (n, *row)
        for n, (image, levels) in enumerate(zip(boxes.tolist(), scores.tolist(), strict=True))
        for row in kept(image, levels, np.float32(0.4))
    ]
    table = np.full((24, 3), None, object)
    table[: len(rows)] = rows
    yield Case(
        (boxes, scores, *limits, np.asarray(0.4, "float32")), (table, np.asarray([len(rows)], "int64"))
    )

    def formula(boxes: Any, scores: Any, *_: Any) -> Any:
        tables, levels, counts = [], [], []
        for image, own in zip(boxes, scores, strict=True):
            some = kept(image, own, 0.45)
            tables.append([*some, *[(0, 0)] * (12 - len(some))])
            levels.append([*[own[row] for row in some], *[mp.mpf(0)] * (12 - len(some))])
            counts.append(len(some))
        return np.asarray(tables, "int64"), np.asarray(levels, object), np.asarray(counts, "int64")

    yield computed(
        formula, boxes, scores, *limits, np.asarray(0.45, "float32"), ulps=0, output_format="tensorflow"
    )


@truth("vision.regular_non_max_suppression")
def regular_non_max_suppression(long: bool) -> Iterator[Case]:
    def formula(boxes: Any, scores: Any) -> Any:
        parts: list[list[Any]] = [[], [], [], []]
        for image, own in zip(boxes, scores, strict=True):
            found = []
            for label in (0, 1):
                levels = own[:, label + 1]  # the last two of three classes
                order = best_first(levels)
                is_alive = [levels[k] >= 0.35 for k in order]
                some = suppressed([image[k] for k in order], [0] * 6, is_alive, 0.5, 2, False)
                found += [(image[order[k]], label, levels[order[k]]) for k in some]
            found = sorted(found, key=lambda row: -row[2])[:5]
            rest = 5 - len(found)
            none = mp.mpf(0)
            parts[0].append([*[[*row[0]] for row in found], *[[none] * 4] * rest])
            parts[1].append([*[mp.mpf(row[1]) for row in found], *[none] * rest])
            parts[2].append([*[row[2] for row in found], *[none] * rest])
            parts[3].append(len(found))
        return (*[np.asarray(part, object) for part in parts[:3]], np.asarray(parts[3], "int64"))

    for dtype in ("float32", "float64"):
        boxes = np.asarray([BOXES, BOXES[::-1]], dtype)
        levels = [np.transpose([[0.99] * 6, *SCORES]), np.transpose([[0.0] * 6, *SCORES[::-1]])]
        yield computed(
            formula, boxes, np.asarray(levels, dtype), ulps=0, max_detections_per_class=2, max_detections=5,
            num_classes=2, iou_threshold=0.5, score_threshold=0.35, has_slopes=long or dtype == "float32",
        )  # fmt: skip


# --- anchors ---


@truth("vision.multibox_prior")
def multibox_prior(long: bool) -> Iterator[Case]:
    def formula(x: Any, steps: Any, offsets: Any, is_clipped: bool) -> Any:
        h, w = (mp.mpf(n) for n in x.shape[2:])
        rows = []
        for i, j in np.ndindex(x.shape[2:]):
            y, z = ((k + mp.mpf(o)) * (s if s > 0 else 1 / n)
                    for k, o, s, n in zip((i, j), offsets, steps, (h, w), strict=True))  # fmt: skip
            for size, ratio in ((0.5, 1.0), (0.25, 1.0), (0.5, 2.0), (0.5, 0.5)):
                wide, high = size * h / w * mp.sqrt(ratio) / 2, size / mp.sqrt(ratio) / 2
                row = [z - wide, y - high, z + wide, y + high]
                rows.append([min(max(v, mp.mpf(0)), mp.mpf(1)) for v in row] if is_clipped else row)
        return np.asarray([rows], object)

    for dtype, steps, offsets, is_clipped in (
        ("float32", (-1.0, -1.0), (0.5, 0.5), False),
        ("float64", (0.3, 0.2), (0.2, 0.7), True),
    ):
        yield computed(
            lambda x, how=(steps, offsets, is_clipped): formula(x, *how), np.ones((1, 1, 2, 3), dtype),
            sizes=(0.5, 0.25), ratios=(1.0, 2.0, 0.5), steps=steps, offsets=offsets, clip=is_clipped,
            has_slopes=long or not is_clipped, is_normwise=True,
        )  # fmt: skip


@truth("vision.multibox_transform_loc")
def multibox_transform_loc(long: bool) -> Iterator[Case]:
    variances = (0.1, 0.1, 0.2, 0.2)

    def formula(levels: Any, moves: Any, anchors: Any, is_clipped: bool) -> Any:
        tables, counts = [], []
        for image, own in zip(levels, moves, strict=True):
            rows = []
            for k, (left, top, right, bottom) in enumerate(anchors[0]):
                label = max(range(1, image.shape[0]), key=lambda c, k=k: image[c, k])
                if image[label, k] < 0.3:
                    continue
                dx, dy, dw, dh = (
                    v * mp.mpf(s) for v, s in zip(own[4 * k : 4 * k + 4], variances, strict=True)
                )
                w, h = right - left, bottom - top
                x, y = (left + right) / 2 + dx * w, (top + bottom) / 2 + dy * h
                half_w, half_h = mp.exp(dw) * w / 2, mp.exp(dh) * h / 2
                box = [x - half_w, y - half_h, x + half_w, y + half_h]
                box = [min(max(v, mp.mpf(0)), mp.mpf(1)) for v in box] if is_clipped else box
                rows.append([mp.mpf(label - 1), image[label, k], *box])
            tables.append(rows_of(rows, anchors.shape[1], MINUS))
            counts.append(len(rows))
        return np.stack(tables), np.asarray(counts, "int32")

    for dtype, is_clipped in (("float32", False), ("float64", True)):
        levels = np.asarray([[[0.1, 0.9, 0.2], [0.6, 0.05, 0.2], [0.3, 0.05, 0.6]],
                             [[0.5, 0.1, 0.8], [0.1, 0.45, 0.1], [0.4, 0.35, 0.1]]], dtype)  # fmt: skip
        moves = (np.arange(24) * 0.37 % 3 - 1.4).reshape(2, 12).astype(dtype)
        anchors = np.asarray([[[0.1, 0.2, 0.5, 0.4], [0.4, 0.3, 0.9, 0.95], [0.6, 0.1, 0.8, 0.7]]], dtype)
        yield computed(
            lambda *xs, c=is_clipped: formula(*xs, c), levels, moves, anchors, is_normwise=True,
            has_slopes=long or not is_clipped, clip=is_clipped, threshold=0.3,
        )  # fmt: skip


@truth("vision.proposal")
def proposal(long: bool) -> Iterator[Case]:
    stride, least, post = 4, 3, 3

    def anchors() -> list[list[Any]]:
        """Return the anchors at the first place: Ren and others, 2015, whose windows have whole sides."""
        bases = []
        for ratio in (1.0, 0.5):
            side = np.floor(np.sqrt(np.floor(stride**2 / ratio)) + 0.5)
            high = np.floor(side * ratio + 0.5)
            middle = (stride - 1) / 2
            wide, tall = (2 * side - 1) / 2, (2 * high - 1) / 2  # of scale 2
            bases.append([middle - wide, middle - tall, middle + wide, middle + tall])
        return bases

    def formula(levels: Any, moves: Any, sizes: Any, is_iou: bool) -> Any:
        rows = []
        for n, (height, width, scale) in enumerate(sizes):
            boxes, scores = [], []
            for (i, j), (a, base) in product(np.ndindex(levels.shape[2:]), enumerate(anchors())):
                x1, y1, x2, y2 = (mp.mpf(v + stride * s) for v, s in zip(base, (j, i, j, i), strict=True))
                dx, dy, dw, dh = moves[n, 4 * a : 4 * a + 4, i, j]
                if is_iou:
                    box = [x1 + dx, y1 + dy, x2 + dw, y2 + dh]
                else:
                    w, h = x2 - x1 + 1, y2 - y1 + 1
                    x, y = x1 + (w - 1) / 2 + dx * w, y1 + (h - 1) / 2 + dy * h
                    half_w, half_h = (mp.exp(dw) * w - 1) / 2, (mp.exp(dh) * h - 1) / 2
                    box = [x - half_w, y - half_h, x + half_w, y + half_h]
                box = [min(max(v, mp.mpf(0)), m - 1) for v, m in zip(box, [width, height] * 2, strict=True)]
                small = min(box[2] - box[0] + 1, box[3] - box[1] + 1) < least * scale
                if small:
                    box = [v + s * least * scale / 2 for v, s in zip(box, (-1, -1, 1, 1), strict=True)]
                is_outside = i >= mp.floor(height / stride) or j >= mp.floor(width / stride)
                boxes.append(box)
                scores.append(MINUS if small or is_outside else levels[n, 2 + a, i, j])
            best = [boxes[k] for k in best_first(scores)[:6]]
            pixels = [[b[0], b[1], b[2] + 1, b[3] + 1] for b in best]
            some = suppressed(pixels, [0] * 6, [True] * 6, 0.6, post, False)
            rows += [[mp.mpf(n), *best[some[k % len(some)]]] for k in range(post)]
        return np.asarray(rows, object)

    levels = (np.arange(32) * 0.37 % 1.0).reshape(2, 4, 2, 2)
    moves = (np.arange(64) * 0.23 % 0.9 - 0.43).reshape(2, 8, 2, 2)
    for dtype, is_iou in (("float32", False), ("float64", True)):
        sizes = np.asarray([[9.5, 11.3, 1.1], [8.2, 7.4, 0.9]], dtype)
        yield computed(
            lambda *xs, i=is_iou: formula(*xs, i), levels.astype(dtype), moves.astype(dtype), sizes,
            scales=(2.0,), ratios=(1.0, 0.5), feature_stride=stride, threshold=0.6, rpn_pre_nms_top_n=6,
            rpn_post_nms_top_n=post, rpn_min_size=least, iou_loss=is_iou, is_normwise=True,
            has_slopes=long or not is_iou,
        )  # fmt: skip
