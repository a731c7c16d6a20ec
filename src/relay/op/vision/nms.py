"""Non-maximum suppression in the forms that detectors ask for."""

from typing import Any, Literal

import numpy

from relay.ir.expr import Call, Expr, Op, Tuple, as_expr
from relay.ir.type import TensorType, TupleType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.term import Term, counted_along, iota, term
from relay.op.vision.suppression import BOXES

SCORES = numpy.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]], "float32").repeat(2, 1)
DETECTIONS = numpy.array(
    [[[0.3, 0.8, 1, 20, 25, 45], [1.3, 0.7, 30, 60, 50, 80], [0.3, 0.4, 4, 21, 19, 40],
      [2.3, 0.9, 35, 61, 52, 79], [1.3, 0.5, 100, 60, 70, 110]]], "float32",
)  # fmt: skip


def picked(x: Term, order: Term) -> Term:
    """`(n, k, …)` at places `(n, m)` of the second axis."""
    return x.of("take", order, axis=1, batch_dims=1)


def first_of(x: Term, count: int) -> Term:
    """The first places of the second axis, of which there are so many."""
    return x.of("strided_slice", begin=(0,), end=(count,), axes=(1,), slice_mode="exact")


def front_first(flags: Term) -> Term:
    """The places `(n, k)` of what holds, in order, and then of what does not."""
    return flags.cast("int32").of("argsort", to="int64", axis=1, is_ascend=False, dtype="int64")


def column(x: Term, k: int) -> Term:
    """A column of `(n, k, fields)`."""
    return x.of("take", term(k, "int64"), axis=2)


def kept_of(boxes: Term, groups: Term, alive: Term, iou: Term, limit: Term, inclusive: bool) -> Term:
    """Which boxes, best first, are kept."""
    return boxes.of("vision.greedy_suppression", groups, alive, iou, limit, to="bool", inclusive=inclusive)


@operator("vision.get_valid_counts")
class GetValidCounts(Composite):
    """The boxes `(n, boxes, fields)` first that have a class (unless `id_index` is -1) and score enough.

    The result is how many they are, the boxes with -1 after them, and their places, likewise.

    relay> vision.get_valid_counts([[[0.0, 0.2], [0.0, 0.9]]], 0.5)
    ([1], [[[0.0, 0.9], [-1.0, -1.0]]], [[1, -1]])
    """

    id_index: int = 0
    score_index: int = 1
    results = 3
    samples = (
        sample(DETECTIONS, numpy.float32(0.45)),
        sample("2x5x6 float32", numpy.float32(0), id_index=-1),
    )
    builder_order = ("data", "score_threshold", "id_index", "score_index")

    def infer(self, t: Typing, data: Type, score_threshold: Type) -> Type:
        t.dtype_in(data, FLOATING, "the boxes")
        n, count, _ = t.shape(data, 3, "the boxes")
        t.shape(score_threshold, rank=0, what="the threshold")
        t.equal(t.dtype(score_threshold), t.dtype(data), why="scores and threshold have one dtype")
        return TupleType([TensorType((n,), "int32"), data, TensorType((n, count), "int32")])

    def decompose(self, types: Any, data: Expr, score_threshold: Expr) -> Expr:
        x = Term(data, types[0].dtype)
        good = column(x, self.score_index) > Term(score_threshold, x.dtype)
        if self.id_index >= 0:
            good = good & (column(x, self.id_index) >= 0.0)
        order = front_first(good)
        there = picked(good, order)
        rows = there.of("expand_dims", axis=2).where(picked(x, order), term(-1, str(x.dtype)))
        places = there.where(order, term(-1, "int64")).cast("int32")
        total = good.cast("int32").of("sum", axis=(1,))
        return Tuple((total.expr, rows.expr, places.expr))


def scalars(*numbers: Any) -> list[Any]:
    """Thresholds and limits as operands: floats as float32, whole numbers as int32."""
    kinds = {int: "int32", float: "float32"}
    return [term(x, kinds[type(x)]).expr if type(x) in kinds else as_expr(x) for x in numbers]


@operator("vision.non_max_suppression")
class NonMaxSuppression(Composite):
    """The best boxes `(n, boxes, fields)` of each image, none of which overlaps a better one of its class.

    Of each image the first `valid_count` boxes count, of them the `top_k` best, and `max_output_size` are
    kept (-1 is all).  A box has its corners from `coord_start` on; boxes without a positive score are
    dropped, and with `force_suppress` classes do not matter.  The result is the `indices` of what is kept,
    best first, and how many they are, `(n, 1)`; or without `return_indices` the boxes, best first, where
    what is dropped is -1 and stays in its place unless it is `invalid_to_bottom`.

    relay> vision.non_max_suppression([[[0.0, 0.9, 0.0, 0.0, 1.0, 1.0]]], [1], [[0]], -1, 0.5)
    ([[0]], [[1]])
    """

    force_suppress: bool = False
    top_k: int = -1
    coord_start: int = 2
    score_index: int = 1
    id_index: int = 0
    return_indices: bool = True
    invalid_to_bottom: bool = False
    samples = tuple(
        [
            sample(DETECTIONS, numpy.array([4], "int32"), numpy.arange(5, dtype="int32")[None],
                   numpy.int32(-1), numpy.float32(0.7), **attrs)
            for attrs in ({"force_suppress": True, "top_k": 2}, {"return_indices": False},
                          {"return_indices": False, "invalid_to_bottom": True})
        ]
    )  # fmt: skip

    @staticmethod
    def builder(
        data: Any,
        valid_count: Any,
        indices: Any,
        max_output_size: Any = -1,
        iou_threshold: Any = 0.5,
        force_suppress: bool = False,
        top_k: int = -1,
        coord_start: int = 2,
        score_index: int = 1,
        id_index: int = 0,
        return_indices: bool = True,
        invalid_to_bottom: bool = False,
    ) -> Expr:
        """As the operator; limits and thresholds may be numbers."""
        xs = [as_expr(x) for x in (data, valid_count, indices)]
        attrs = {
            "force_suppress": force_suppress,
            "top_k": top_k,
            "coord_start": coord_start,
            "score_index": score_index,
            "id_index": id_index,
            "return_indices": return_indices,
            "invalid_to_bottom": invalid_to_bottom,
        }
        rest = scalars(max_output_size, float_of(iou_threshold))
        return Call(Op.get("vision.non_max_suppression"), (*xs, *rest), attrs)

    def infer(
        self,
        t: Typing,
        data: Type,
        valid_count: Type,
        indices: Type,
        max_output_size: Type,
        iou_threshold: Type,
    ) -> Type:
        t.dtype_in(data, FLOATING, "the boxes")
        n, count, _ = t.shape(data, 3, "the boxes")
        for x in (valid_count, indices, max_output_size):
            t.dtype_in(x, INTEGRAL, "counts and places")
        t.equal(t.shape(valid_count, 1, "the counts"), (n,), why="there is a count for each image")
        t.equal(t.shape(indices, 2, "the places"), (n, count), why="there is a place for each box")
        for x in (max_output_size, iou_threshold):
            t.shape(x, rank=0, what="a threshold or a limit")
        if not self.return_indices:
            return t.tensor(data)
        return TupleType([TensorType((n, count), "int32"), TensorType((n, 1), "int32")])

    def decompose(self, types: Any, data: Expr, *rest: Expr) -> Expr:
        valid, indices, limit, iou = (Term(e, t.dtype) for e, t in zip(rest, types[1:], strict=True))
        x, dtype = Term(data, types[0].dtype), str(types[0].dtype)
        place = counted_along(data, types[0], 1)
        exists = place < valid.as_index().of("expand_dims", axis=1)
        score = exists.where(column(x, self.score_index), term(-numpy.inf, dtype))
        order = score.of("argsort", to="int64", axis=1, is_ascend=False, dtype="int64")
        rows, best = picked(x, order), picked(score, order)
        alive = best > 0.0
        if self.top_k > 0:
            alive = alive & (place < self.top_k)
        groups = place * 0 + order * 0
        if self.id_index >= 0:
            label = column(rows, self.id_index)
            alive = alive & (label >= 0.0)
            groups = groups if self.force_suppress else label.cast("int64")
        corners = rows.of("strided_slice", begin=(self.coord_start,), end=(self.coord_start + 4,), axes=(2,))
        kept = kept_of(corners, groups, alive, iou, limit, True)
        if self.return_indices:
            front = front_first(kept)
            there = picked(kept, front)
            found = picked(picked(indices, order), front).cast("int32")
            total = kept.cast("int32").of("sum", axis=(1,), keepdims=True)
            return Tuple((there.where(found, term(-1, "int32")).expr, total.expr))
        if self.invalid_to_bottom:
            front = front_first(kept)
            rows, kept = picked(rows, front), picked(kept, front)
        return kept.of("expand_dims", axis=2).where(rows, term(-1, dtype)).expr


def float_of(x: Any) -> Any:
    """A whole number as a float, anything else as it is."""
    return float(x) if isinstance(x, int) else x


@operator("vision.all_class_non_max_suppression")
class AllClassNonMaxSuppression(Composite):
    """The best boxes of each image and class, without those that overlap a better one.

    For boxes `(n, boxes, 4)` and scores `(n, classes, boxes)` above `score_threshold`.  With
    `output_format="onnx"` the result is rows of image, class and box, those that count first, and how many
    they are, `(1,)`; with "tensorflow" for each image rows of class and box and their scores, with zeros
    after them, and how many they are.

    relay> vision.all_class_non_max_suppression([[[0.0, 0.0, 1.0, 1.0]]], [[[0.9]]], 2, 0.5, 0.0)
    ([[0, 0, 0]], [1])
    """

    output_format: Literal["onnx", "tensorflow"] = "onnx"
    samples = tuple(
        [
            sample(BOXES, SCORES, numpy.int64(2), numpy.float32(0.5), numpy.float32(0.4), output_format=form)
            for form in ("onnx", "tensorflow")
        ]
    )  # fmt: skip

    @staticmethod
    def builder(
        boxes: Any,
        scores: Any,
        max_output_boxes_per_class: Any = -1,
        iou_threshold: Any = -1.0,
        score_threshold: Any = -1.0,
        output_format: Any = "onnx",
    ) -> Expr:
        """As the operator; limits and thresholds may be numbers."""
        rest = scalars(max_output_boxes_per_class, float_of(iou_threshold), float_of(score_threshold))
        return AllClassNonMaxSuppression(output_format=output_format)(as_expr(boxes), as_expr(scores), *rest)

    def infer(self, t: Typing, boxes: Type, scores: Type, limit: Type, iou: Type, least: Type) -> Type:
        t.dtype_in(boxes, FLOATING, "the boxes")
        t.equal(t.dtype(scores), t.dtype(boxes), why="boxes and scores have one dtype")
        t.equal(t.dtype(least), t.dtype(scores), why="scores and threshold have one dtype")
        n, count, four = t.shape(boxes, 3, "the boxes")
        t.equal(four, 4, why="a box has two corners")
        images, classes, places = t.shape(scores, 3, "the scores")
        t.equal((images, places), (n, count), why="each box has a score for each class")
        t.dtype_in(limit, INTEGRAL, "the limit")
        t.dtype_in(iou, FLOATING, "a threshold")
        for x in (limit, iou, least):
            t.shape(x, rank=0, what="a threshold or a limit")
        rows = classes * count
        if self.output_format == "onnx":
            return TupleType([TensorType((n * rows, 3), "int64"), TensorType((1,), "int64")])
        both = TensorType((n, rows, 2), "int64")
        return TupleType([both, TensorType((n, rows), t.dtype(scores)), TensorType((n,), "int64")])

    operands = ("boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold")

    def decompose(self, types: Any, boxes: Expr, scores: Expr, *rest: Expr) -> Expr:
        limit, iou, least = (Term(e, t.dtype) for e, t in zip(rest, types[2:], strict=True))
        x, s = Term(boxes, types[0].dtype), Term(scores, types[1].dtype)
        n, classes = (counted_along(scores, types[1], k) for k in range(2))
        order = s.of("argsort", to="int64", axis=2, is_ascend=False, dtype="int64")  # (n, classes, boxes)
        best = s.of("sort", axis=2, is_ascend=False)
        flat = order.of("reshape", newshape=(0, -3))  # (n, classes * boxes)
        corners = picked(x, flat).of(
            "reshape_like", order.of("expand_dims", axis=3).of("repeat", repeats=4, axis=3)
        )
        rows = corners.of("reshape", newshape=(-3, 0, 0))
        alive = (best > least).of("reshape", newshape=(-3, 0))
        groups = order.of("reshape", newshape=(-3, 0)) * 0
        kept = kept_of(rows, groups, alive, iou, limit, False)
        label = order * 0 + classes.of("expand_dims", axis=1)
        image = order * 0 + n.of("expand_dims", axis=1, num_newaxis=2)
        if self.output_format == "onnx":
            table = Term(apply("stack", (image.expr, label.expr, order.expr), axis=3), "int64")
            flags = kept.of("reshape", newshape=(1, -1))
            table = table.of("reshape", newshape=(-3, 0, 0)).of("reshape", newshape=(-3, 0))
            found = table.of("take", front_first(flags).of("squeeze", axis=(0,)), axis=0)
            return Tuple((found.expr, flags.cast("int64").of("sum", axis=(1,)).expr))
        table = Term(apply("stack", (label.expr, order.expr), axis=3), "int64").of(
            "reshape", newshape=(0, -3, 0)
        )
        flags = kept.of("reshape_like", order).of("reshape", newshape=(0, -3))
        front = front_first(flags)
        there = picked(flags, front)
        rows = there.of("expand_dims", axis=2).where(picked(table, front), term(0, "int64"))
        chosen = there.where(picked(best.of("reshape", newshape=(0, -3)), front), term(0, str(s.dtype)))
        total = flags.cast("int64").of("sum", axis=(1,))
        return Tuple((rows.expr, chosen.expr, total.expr))


@operator("vision.regular_non_max_suppression")
class RegularNonMaxSuppression(Composite):
    """The `max_detections` best boxes of each image over all classes, after suppression class by class.

    For boxes `(n, boxes, 4)` and scores `(n, boxes, classes)`, of which the last `num_classes` count.  The
    result is the boxes, their classes and scores, with zeros after them, and how many they are.

    relay> vision.regular_non_max_suppression([[[0.0, 0.0, 1.0, 1.0]]], [[[0.9]]], num_classes=1)
    ([[[0.0, 0.0, 1.0, 1.0]]], [[0.0]], [[0.9]], [1])
    """

    max_detections_per_class: int = 1
    max_detections: int = 1
    num_classes: int = 1
    iou_threshold: float = 0.5
    score_threshold: float = 0.0
    results = 4
    dtypes = FLOATING
    samples = (
        sample("2x6x4 float32", "2x6x3 float32", max_detections_per_class=2, max_detections=4, num_classes=2,
               iou_threshold=0.3, score_threshold=-0.2),
    )  # fmt: skip

    def infer(self, t: Typing, boxes: Type, scores: Type) -> Type:
        t.equal(t.dtype(scores), t.dtype(boxes), why="boxes and scores have one dtype")
        n, count, four = t.shape(boxes, 3, "the boxes")
        t.equal(four, 4, why="a box has two corners")
        images, places, classes = t.shape(scores, 3, "the scores")
        t.equal((images, places), (n, count), why="each box has a score for each class")
        t.require(self.num_classes, "<=", classes, "each class has a score")
        t.require(
            self.max_detections, "<=", count * self.num_classes, "there are so many boxes to choose from"
        )
        if self.num_classes < 1 or self.max_detections < 1:
            attribute_fault(t, "num_classes", self.num_classes, "there is a class, and a box to keep")
        k, dtype = self.max_detections, t.dtype(boxes)
        both = TensorType((n, k), dtype)
        return TupleType([TensorType((n, k, 4), dtype), both, both, TensorType((n,), "int64")])

    def decompose(self, types: Any, boxes: Expr, scores: Expr) -> Expr:
        dtype = str(types[0].dtype)
        x, s = Term(boxes, dtype), Term(scores, dtype).of("transpose", axes=(0, 2, 1))
        s = first_of(s.of("reverse", axis=1), self.num_classes)
        s = s.of("reverse", axis=1)
        order = s.of("argsort", to="int64", axis=2, is_ascend=False, dtype="int64")
        best = s.of("sort", axis=2, is_ascend=False)
        flat = order.of("reshape", newshape=(0, -3))
        rows = picked(x, flat)  # (n, classes * boxes, 4)
        label = order * 0 + iota(self.num_classes).of("expand_dims", axis=1)
        level = best.of("reshape", newshape=(0, -3))
        parts = rows.of("reshape", newshape=(0, -4, self.num_classes, -1, 0)).of(
            "reshape", newshape=(-3, 0, 0)
        )
        alive = (best >= self.score_threshold).of("reshape", newshape=(-3, 0))
        groups = order.of("reshape", newshape=(-3, 0)) * 0
        iou, most = term(self.iou_threshold, dtype), term(self.max_detections_per_class, "int64")
        kept = kept_of(parts, groups, alive, iou, most, False)
        flags = kept.of("reshape", newshape=(-4, -1, self.num_classes, 0)).of("reshape", newshape=(0, -3))
        ranked = flags.where(level, term(-numpy.inf, dtype))
        front = ranked.of("argsort", to="int64", axis=1, is_ascend=False, dtype="int64")
        front = first_of(front, self.max_detections)
        there = picked(flags, front)
        found = there.of("expand_dims", axis=2).where(picked(rows, front), term(0, dtype))
        names = there.where(picked(label.of("reshape", newshape=(0, -3)), front).cast(dtype), term(0, dtype))
        level = there.where(picked(level, front), term(0, dtype))
        total = there.cast("int64").of("sum", axis=(1,))
        return Tuple((found.expr, names.expr, level.expr, total.expr))
