"""Suppression of boxes and what detectors make of anchors, against loops that follow the definitions."""

from typing import Any

import numpy as np
import pytest

from op.concrete import run

RNG = np.random.default_rng(7)
DATA = np.array(
    [[[0, 0.8, 1, 20, 25, 45], [1, 0.7, 30, 60, 50, 80], [0, 0.4, 4, 21, 19, 40], [2, 0.9, 35, 61, 52, 79],
      [1, 0.5, 100, 60, 70, 110]]], "float32",
)  # fmt: skip


def iou(a: Any, b: Any) -> float:
    """The area shared, as a part of the area covered."""
    (ay0, ay1), (ax0, ax1) = sorted((a[0], a[2])), sorted((a[1], a[3]))
    (by0, by1), (bx0, bx1) = sorted((b[0], b[2])), sorted((b[1], b[3]))
    shared = max(min(ay1, by1) - max(ay0, by0), 0) * max(min(ax1, bx1) - max(ax0, bx0), 0)
    both = (ay1 - ay0) * (ax1 - ax0) + (by1 - by0) * (bx1 - bx0) - shared
    return shared / both if both > 0 else 0.0


def greedy(boxes: Any, scores: Any, most: int, edge: float, least: float) -> list[int]:
    """The best boxes, none of which overlaps a better one by more than `edge`."""
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if scores[i] > least and len(kept) < most and all(iou(boxes[i], boxes[j]) <= edge for j in kept):
            kept.append(int(i))
    return kept


def test_all_class_suppression_is_greedy() -> None:
    corners = RNG.uniform(0, 10, (2, 30, 2))
    boxes = np.concatenate([corners, corners + RNG.uniform(1, 5, (2, 30, 2))], -1)
    scores = RNG.uniform(0, 1, (2, 3, 30))
    found, (count,) = run(
        "vision.all_class_non_max_suppression", boxes, scores, np.int64(6), np.float64(0.3), np.float64(0.2)
    )
    wanted = [
        [b, c, i] for b in range(2) for c in range(3) for i in greedy(boxes[b], scores[b, c], 6, 0.3, 0.2)
    ]
    assert found[:count].tolist() == wanted
    rows, chosen, counts = run(
        "vision.all_class_non_max_suppression", boxes, scores, np.int64(6), np.float64(0.3), np.float64(0.2),
        output_format="tensorflow",
    )  # fmt: skip
    for b in range(2):
        own = [(c, i) for image, c, i in wanted if image == b]
        assert rows[b, : counts[b]].tolist() == [list(pair) for pair in own]
        np.testing.assert_array_equal(chosen[b, : counts[b]], [scores[b, c, i] for c, i in own])
        assert not rows[b, counts[b] :].any()  # TVM fills up with zeros
        assert not chosen[b, counts[b] :].any()


def test_suppression_of_rows_with_classes_and_scores() -> None:
    valid, places = np.array([4], "int32"), np.arange(5, dtype="int32")[None]
    attrs = {"force_suppress": True, "top_k": 2, "return_indices": False}
    args = (DATA, valid, places, np.int32(-1), np.float32(0.7))
    found = run("vision.non_max_suppression", *args, **attrs)
    assert found[0, :2].tolist() == DATA[0, [3, 0]].tolist()
    assert (found[0, 2:] == -1).all()
    (kept, count) = run("vision.non_max_suppression", *args, force_suppress=True, top_k=2)
    assert kept.tolist() == [[3, 0, -1, -1, -1]]
    assert count.tolist() == [[2]]
    # Boxes 1 and 3 overlap by 0.66: of different classes, of which only suppression by force makes one.
    loose = (DATA, valid, places, np.int32(-1), np.float32(0.5))
    assert run("vision.non_max_suppression", *loose)[0].tolist() == [[3, 0, 1, 2, -1]]
    assert run("vision.non_max_suppression", *loose, force_suppress=True)[0].tolist() == [[3, 0, 2, -1, -1]]


def test_valid_boxes_come_first() -> None:
    count, rows, places = run("vision.get_valid_counts", DATA, np.float32(0.6))
    assert count.tolist() == [3]
    assert places.tolist() == [[0, 1, 3, -1, -1]]
    assert rows[0, :3].tolist() == DATA[0, [0, 1, 3]].tolist()
    assert (rows[0, 3:] == -1).all()


def test_detections_over_all_classes() -> None:
    corners = RNG.uniform(0, 10, (1, 12, 2))
    boxes = np.concatenate([corners, corners + RNG.uniform(1, 5, (1, 12, 2))], -1)
    scores = RNG.uniform(0, 1, (1, 12, 3))
    found, names, levels, (count,) = run(
        "vision.regular_non_max_suppression", boxes, scores, max_detections_per_class=4, max_detections=5,
        num_classes=2, iou_threshold=0.2, score_threshold=0.3,
    )  # fmt: skip
    every = [
        (scores[0, i, c + 1], c, i)
        for c in range(2)
        for i in greedy(boxes[0], scores[0, :, c + 1], 4, 0.2, 0.3)
    ]
    best = sorted(every, key=lambda e: -e[0])[:5]
    assert count == len(best)
    assert names[0, :count].tolist() == [c for _, c, _ in best]
    np.testing.assert_array_equal(levels[0, :count], [s for s, _, _ in best])
    np.testing.assert_array_equal(found[0, :count], [boxes[0, i] for _, _, i in best])


def test_anchors_of_single_shot_detectors() -> None:
    found = run("vision.multibox_prior", np.zeros((1, 1, 2, 3)), sizes=(0.5, 0.25), ratios=(1.0, 2.0))
    row: list[list[float]] = []
    for i in range(2):
        for j in range(3):
            y, x = (i + 0.5) / 2, (j + 0.5) / 3
            for size, ratio in ((0.5, 1.0), (0.25, 1.0), (0.5, 2.0)):
                w, h = size * 2 / 3 * ratio**0.5 / 2, size / ratio**0.5 / 2
                row.append([x - w, y - h, x + w, y + h])
    np.testing.assert_allclose(found, [row], rtol=1e-9)


def test_boxes_decoded_from_anchors() -> None:
    prob = np.array([[[0.1, 0.8, 0.3], [0.7, 0.1, 0.3], [0.2, 0.1, 0.4]]])
    moves, anchors = RNG.normal(0, 0.5, (1, 12)), RNG.uniform(0.1, 0.5, (1, 3, 4))
    anchors[..., 2:] = anchors[..., :2] + 0.3
    rows, count = run("vision.multibox_transform_loc", prob, moves, anchors, clip=False, threshold=0.35)
    wanted: list[list[float]] = []
    for j, (label, score) in ((0, (0, 0.7)), (2, (1, 0.4))):
        left, top, right, bottom = anchors[0, j]
        px, py, pw, ph = moves[0, 4 * j : 4 * j + 4]
        x, y = px * 0.1 * (right - left) + (left + right) / 2, py * 0.1 * (bottom - top) + (top + bottom) / 2
        w, h = np.exp(pw * 0.2) * (right - left) / 2, np.exp(ph * 0.2) * (bottom - top) / 2
        wanted.append([label, score, x - w, y - h, x + w, y + h])
    assert count.tolist() == [2]
    np.testing.assert_allclose(rows[0, :2], wanted, rtol=1e-9)
    assert (rows[0, 2:] == -1).all()


@pytest.mark.parametrize("least", [4, 20])
def test_proposals_of_a_region_network(least: int) -> None:
    """Boxes below the least size are widened by half of it on each side, with the score -1."""
    h, w, stride = 2, 3, 16
    prob, moves = RNG.uniform(0, 1, (1, 2, h, w)), RNG.normal(0, 0.2, (1, 4, h, w))
    info = np.array([[30.0, 45.0, 1.0]])
    found = run("vision.proposal", prob, moves, info, feature_stride=stride, rpn_post_nms_top_n=8,
                threshold=0.3, rpn_min_size=least)  # fmt: skip
    boxes: list[list[float]] = []
    scores: list[float] = []
    for i in range(h):
        for j in range(w):
            dx, dy, dw, dh = moves[0, :, i, j]
            x, y = dx * 16 + j * 16 + 7.5, dy * 16 + i * 16 + 7.5
            bw, bh = np.exp(dw) * 16, np.exp(dh) * 16
            box = [x - (bw - 1) / 2, y - (bh - 1) / 2, x + (bw - 1) / 2, y + (bh - 1) / 2]
            box = [float(np.clip(v, 0, lim)) for v, lim in zip(box, (44, 29, 44, 29), strict=True)]
            outside = i >= 30 // stride or j >= 45 // stride
            small = box[2] - box[0] + 1 < least or box[3] - box[1] + 1 < least
            if small:
                box = [
                    v + d for v, d in zip(box, (-least / 2, -least / 2, least / 2, least / 2), strict=True)
                ]
            boxes.append(box)
            scores.append(-1.0 if outside or small else prob[0, 1, i, j])
    wide = np.add(boxes, [0, 0, 1, 1])
    kept = greedy(wide, np.array(scores), 8, 0.3, -2.0)
    wanted = [[0.0, *boxes[kept[k % len(kept)]]] for k in range(8)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
