"""Boxes that detectors start from, and the boxes that they predict from them."""

from math import floor, sqrt
from typing import Any

import numpy

from relay.ir.expr import Expr, Tuple
from relay.ir.type import TensorType, TupleType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, counted_along, iota, size_of, term
from relay.op.vision.nms import column, front_first, kept_of, picked


@operator("vision.multibox_prior")
class MultiboxPrior(Composite):
    """Boxes `(1, h * w * boxes, 4)` around the places of a feature map `(n, c, h, w)`, as parts of the image.

    At each place there is a box for each of `sizes` and, of the first size, for each further one of `ratios`.
    Source: Liu and others (SSD), 2016.

    relay> vision.multibox_prior([[[[0.0]]]], sizes=(0.5,))
    [[[0.25, 0.25, 0.75, 0.75]]]
    """

    sizes: tuple[float, ...] = (1.0,)
    ratios: tuple[float, ...] = (1.0,)
    steps: tuple[float, ...] = (-1.0, -1.0)
    offsets: tuple[float, ...] = (0.5, 0.5)
    clip: bool = False
    dtypes = FLOATING
    samples = (
        sample("1x3x4x5 float32", sizes=(0.5, 0.25, 0.1), ratios=(1.0, 2.0)),
        sample("1x1x2x3 float32", sizes=(1.5, 0.75), steps=(0.3, 0.2), offsets=(0.2, 0.7), clip=True),
    )

    @property
    def count(self) -> int:
        """How many boxes there are at a place."""
        return len(self.sizes) + len(self.ratios) - 1

    def infer(self, t: Typing, data: Type) -> Type:
        _, _, h, w = t.shape(data, 4, "the data")
        if not self.sizes or not self.ratios:
            attribute_fault(t, "sizes", self.sizes, "there is a size and a ratio")
        if len(self.steps) != 2 or len(self.offsets) != 2:
            attribute_fault(t, "steps", self.steps, "there are two steps and two offsets")
        return TensorType((1, h * w * self.count, 4), t.dtype(data))

    def decompose(self, types: Any, data: Expr) -> Expr:
        dtype = str(types[0].dtype)
        h, w = (size_of(data, types[0], k) for k in (2, 3))
        high, wide = term(h, "float64"), term(w, "float64")
        scales = numpy.array([*self.sizes, *[self.sizes[0]] * (len(self.ratios) - 1)])
        roots = numpy.sqrt([*[1.0] * len(self.sizes), *self.ratios[1:]])
        half_w, half_h = (
            term(scales * roots / 2, "float64") * high / wide,
            term(scales / roots / 2, "float64"),
        )
        centres: list[Term] = []
        for k, size, step, offset in zip((2, 3), (high, wide), self.steps, self.offsets, strict=True):
            place = counted_along(data, types[0], k).cast("float64") + offset
            centres.append(place * step if step > 0 else place / size)
        y = centres[0].of("expand_dims", axis=1, num_newaxis=2)
        x = centres[1].of("expand_dims", axis=1)
        parts = [x - half_w, y - half_h, x + half_w, y + half_h]
        whole = x * 0.0 + y * 0.0 + half_w * 0.0
        boxes = Term(apply("stack", tuple([(p + whole).expr for p in parts]), axis=3), "float64")
        if self.clip:
            boxes = boxes.of("clip", a_min=0.0, a_max=1.0)
        return boxes.cast(dtype).of("reshape", newshape=(1, -1, 4)).expr


@operator("vision.multibox_transform_loc")
class MultiboxTransformLoc(Composite):
    """The boxes that predictions `(n, boxes * 4)` make of anchors `(1, boxes, 4)`, those with a class first.

    Of the probabilities `(n, classes, boxes)` the greatest but for the first, the background, is the score
    of a box (with `keep_background` of all); boxes of the background and those below `threshold` are
    dropped.  The result is rows of class, score and corners, with -1 after them, and how many they are.

    relay> vision.multibox_transform_loc([[[0.1], [0.9]]], [[0.0, 0.0, 0.0, 0.0]], [[[0.25, 0.25, 0.5, 0.5]]])
    ([[[0.0, 0.9, 0.25, 0.25, 0.5, 0.5]]], [1])
    """

    clip: bool = True
    threshold: float = 0.01
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2)
    keep_background: bool = False
    results = 2
    dtypes = FLOATING
    samples = (
        sample("2x3x4 float32", "2x16 float32", "1x4x4 float32", clip=False),
        sample("1x2x4 float32", "1x16 float32", "1x4x4 float32", keep_background=True, threshold=-9.0),
    )

    def infer(self, t: Typing, cls_prob: Type, loc_pred: Type, anchor: Type) -> Type:
        for x in (loc_pred, anchor):
            t.equal(t.dtype(x), t.dtype(cls_prob), why="all operands have one dtype")
        n, _, count = t.shape(cls_prob, 3, "the probabilities")
        t.equal(t.shape(loc_pred, 2, "the predictions"), (n, count * 4), why="each box has four predictions")
        t.equal(t.shape(anchor, 3, "the anchors"), (1, count, 4), why="each box has an anchor")
        if len(self.variances) != 4:
            attribute_fault(t, "variances", self.variances, "there are four")
        return TupleType([TensorType((n, count, 6), t.dtype(cls_prob)), TensorType((n,), "int32")])

    def decompose(self, types: Any, cls_prob: Expr, loc_pred: Expr, anchor: Expr) -> Expr:
        dtype = str(types[0].dtype)
        s = Term(cls_prob, dtype)
        if not self.keep_background:
            s = s.of("strided_slice", begin=(1,), end=(2**31 - 1,), axes=(1,))
        score = s.of("max", axis=(1,))
        label = s.of("argmax", to="int32", axis=1)
        good = score >= self.threshold
        fours = score.of("expand_dims", axis=2).of("repeat", repeats=4, axis=2)
        moves = Term(loc_pred, dtype).of("reshape_like", fours)
        corners = decoded(moves, Term(anchor, dtype), self.variances)
        if self.clip:
            corners = [c.of("clip", a_min=0.0, a_max=1.0) for c in corners]
        rows = Term(
            apply("stack", tuple([v.expr for v in (label.cast(dtype), score, *corners)]), axis=2), dtype
        )
        order = front_first(good)
        there = picked(good, order).of("expand_dims", axis=2)
        found = there.where(picked(rows, order), term(-1, dtype))
        return Tuple((found.expr, good.cast("int32").of("sum", axis=(1,)).expr))


def decoded(moves: Term, anchor: Term, variances: tuple[float, ...]) -> list[Term]:
    """Anchors that are moved by parts of their size, and grown by exponentials: their corners."""
    left, top, right, bottom = (column(anchor, k) for k in range(4))
    corners: list[tuple[Term, Term]] = []
    for k, (low, high) in enumerate(((left, right), (top, bottom))):
        size = high - low
        centre = column(moves, k) * variances[k] * size + (low + high) * 0.5
        half = (column(moves, k + 2) * variances[k + 2]).of("exp") * size * 0.5
        corners.append((centre - half, centre + half))
    return [corners[0][0], corners[1][0], corners[0][1], corners[1][1]]


@operator("vision.proposal")
class Proposal(Composite):
    """The boxes that a region proposal network finds: `(n * rpn_post_nms_top_n, 5)`, of image and corners.

    For probabilities `(n, 2 * anchors, h, w)` of background and object, moves `(n, 4 * anchors, h, w)` of
    anchors of some `scales` and `ratios`, and `(height, width, scale)` of each image.  Of the
    `rpn_pre_nms_top_n` best boxes those are kept that overlap no better one by more than `threshold`; where
    they are too few they are repeated.  A box smaller than `rpn_min_size` is widened by half of that on each
    side, and comes last.  With `iou_loss` moves are those of
    corners.  Source: Ren and others, 2015.

    relay> vision.proposal([[[[0.1]], [[0.9]]]], [[[[0.0]], [[0.0]], [[0.0]], [[0.0]]]], [[9.0, 8.0, 1.0]])
    [[0.0, 0.0, 0.0, 7.0, 8.0]]
    """

    scales: tuple[float, ...] = (1.0,)
    ratios: tuple[float, ...] = (1.0,)
    feature_stride: int = 16
    threshold: float = 0.7
    rpn_pre_nms_top_n: int = 6000
    rpn_post_nms_top_n: int = 1
    rpn_min_size: int = 0
    iou_loss: bool = False
    dtypes = FLOATING
    samples = (
        sample("2x4x3x4 float32", "2x8x3x4 float32", numpy.array([[52, 70, 1.1], [52, 55, 1.1]], "float32"),
               scales=(1.0,), ratios=(0.5, 1.0), rpn_pre_nms_top_n=12, rpn_post_nms_top_n=5, rpn_min_size=4),
        sample("1x2x2x3 float32", "1x4x2x3 float32", numpy.array([[37, 53, 1.1]], "float32"),
               scales=(2.0,), ratios=(1.0,), rpn_post_nms_top_n=4, rpn_min_size=0, iou_loss=True),
    )  # fmt: skip

    def infer(self, t: Typing, cls_prob: Type, bbox_pred: Type, im_info: Type) -> Type:
        for x in (bbox_pred, im_info):
            t.equal(t.dtype(x), t.dtype(cls_prob), why="all operands have one dtype")
        anchors = len(self.scales) * len(self.ratios)
        n, both, h, w = t.shape(cls_prob, 4, "the probabilities")
        t.equal(both, 2 * anchors, why="each anchor has two probabilities")
        moves = t.shape(bbox_pred, 4, "the moves")
        t.equal(moves, (n, 4 * anchors, h, w), why="each anchor has four moves")
        t.equal(t.shape(im_info, 2, "the images"), (n, 3), why="an image has a height, a width and a scale")
        return TensorType((n * self.rpn_post_nms_top_n, 5), t.dtype(cls_prob))

    def decompose(self, types: Any, cls_prob: Expr, bbox_pred: Expr, im_info: Expr) -> Expr:
        dtype, anchors = str(types[0].dtype), len(self.scales) * len(self.ratios)
        h, w = (counted_along(cls_prob, types[0], k).cast(dtype) for k in (2, 3))
        info = Term(im_info, dtype)
        score = Term(cls_prob, dtype).of("strided_slice", begin=(anchors,), end=(2 * anchors,), axes=(1,))
        score = score.of("transpose", axes=(0, 2, 3, 1))  # (n, h, w, anchors)
        moves = Term(bbox_pred, dtype).of("reshape", newshape=(0, -4, anchors, 4, 0, 0))
        moves = moves.of("transpose", axes=(0, 3, 4, 1, 2))  # (n, h, w, anchors, 4)
        boxes = self.predicted(moves, h, w, info)
        real = [(column2(info, k) / float(self.feature_stride)).of("floor") for k in (0, 1)]
        y, x = h.of("expand_dims", axis=1, num_newaxis=2), w.of("expand_dims", axis=1)
        outside = (y >= real[0]) | (x >= real[1])
        least = column2(info, 2) * float(self.rpn_min_size)
        small = ((boxes[2] - boxes[0] + 1.0) < least) | ((boxes[3] - boxes[1] + 1.0) < least)
        wider = small.where(least * 0.5, small.cast(dtype) * 0.0)
        boxes = [boxes[0] - wider, boxes[1] - wider, boxes[2] + wider, boxes[3] + wider]
        score = (small | outside).where(-1.0, score).of("reshape", newshape=(0, -1))
        rows = Term(apply("stack", tuple([b.expr for b in boxes]), axis=4), dtype)
        return self.chosen(rows.of("reshape", newshape=(0, -1, 4)), score, dtype)

    def anchors(self) -> Any:
        """The corners of the anchors at the first place."""
        found: list[tuple[float, ...]] = []
        middle = 0.5 * (self.feature_stride - 1)
        for ratio in self.ratios:
            for scale in self.scales:
                across = floor(sqrt(floor(self.feature_stride**2 / ratio)) + 0.5)
                width, height = across * scale, floor(across * ratio + 0.5) * scale
                half_w, half_h = 0.5 * (width - 1), 0.5 * (height - 1)
                found.append((middle - half_w, middle - half_h, middle + half_w, middle + half_h))
        return numpy.array(found)

    def predicted(self, moves: Term, h: Term, w: Term, info: Term) -> list[Term]:
        """The corners of boxes `(n, h, w, anchors)`, within the image."""
        dtype, base = str(moves.dtype), self.anchors()
        step = float(self.feature_stride)
        y, x = h.of("expand_dims", axis=1, num_newaxis=2) * step, w.of("expand_dims", axis=1) * step
        place = (x, y)
        move = [moves.of("take", term(k, "int64"), axis=4) for k in range(4)]
        corners: list[Term | None] = [None] * 4
        for k in (0, 1):
            low, high = (place[k] + term(base[:, c], dtype) for c in (k, k + 2))
            if self.iou_loss:
                first, last = low + move[k], high + move[k + 2]
            else:
                size = high - low + 1.0
                centre = move[k] * size + low + (size - 1.0) * 0.5
                half = (move[k + 2].of("exp") * size - 1.0) * 0.5
                first, last = centre - half, centre + half
            limit = column2(info, 1 - k) - 1.0
            corners[k], corners[k + 2] = (v.of("minimum", limit).of("maximum", 0.0) for v in (first, last))
        return [c for c in corners if c is not None]

    def chosen(self, rows: Term, score: Term, dtype: str) -> Expr:
        """The best boxes of each image after suppression, with the image's number."""
        order = score.of("argsort", to="int64", axis=1, is_ascend=False, dtype="int64")
        if self.rpn_pre_nms_top_n > 0:
            order = order.of("strided_slice", begin=(0,), end=(self.rpn_pre_nms_top_n,), axes=(1,))
        best = picked(rows, order)
        whole = best + term(numpy.array([0.0, 0.0, 1.0, 1.0]), dtype)  # both corners are pixels of the box
        groups = order * 0
        limit = term(self.rpn_post_nms_top_n, "int64")
        kept = kept_of(whole, groups, groups.equals(0), term(self.threshold, dtype), limit, False)
        total = kept.cast("int64").of("sum", axis=(1,), keepdims=True).of("maximum", 1)
        turns = iota(self.rpn_post_nms_top_n).of("floor_mod", total)
        found = picked(best, picked(front_first(kept), turns))  # (n, kept, 4)
        image = turns.of("ones_like").of("cumsum", axis=0, exclusive=True).cast(dtype)
        return apply(
            "reshape",
            apply("concatenate", (image.of("expand_dims", axis=2).expr, found.expr), axis=2),
            newshape=(-3, 0),
        )


def column2(x: Term, k: int) -> Term:
    """A number of each image, as `(n, 1, 1, 1)`."""
    return x.of("take", term(k, "int64"), axis=1).of("expand_dims", axis=1, num_newaxis=3)
