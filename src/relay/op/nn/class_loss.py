"""Losses of what belongs to classes, and of what points in a direction."""

from typing import Any, Literal

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import DType, TensorType, Type
from relay.op.axes import attribute_fault, axis_of
from relay.op.base import FLOATING, INTEGRAL, sample
from relay.op.composite import Composite
from relay.op.kind import Wide
from relay.op.numeric import apply, computing_dtype, dims, in_dtype, narrowed, scalar, squaring_dtype, widened
from relay.op.registry import operator
from relay.op.relation import Typing


@operator("nn.softmax_cross_entropy")
class SoftmaxCrossEntropy(Composite):
    """The cross-entropy of `softmax(predictions)` and integer `labels`: `-log_softmax(predictions)[label]`.

    Predictions have a score for each class along `axis`, labels their shape without it: `(n, classes, ...)`
    and `(n, ...)`, or `(classes,)` and one label.  `label_smoothing` gives that share of the target to all
    classes alike.  `reduction` "mean" divides the sum by the number of labels that count, "sum" adds up,
    "none" keeps the shape of the labels.  Labels that are `ignore_index` count nothing.
    Source: Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, 2016.

    relay> nn.softmax_cross_entropy([[0.0, 0.0], [0.0, 1000.0]], [1, 0], reduction="none")
    [0.6931472, 1000.0]
    """

    wide = Wide.LOSS
    reduction: Literal["mean", "sum", "none"] = "mean"
    ignore_index: int = -100
    label_smoothing: float = 0.0
    axis: int = 1
    samples = (
        sample("3x4 float32", _np.asarray([0, 3, 1])),
        sample("3x4 float32", _np.asarray([0, 3, 1], "int32"), label_smoothing=0.1),
        sample("2x4x3 float32", _np.asarray([[0, 3, 1], [2, -100, 1]]), reduction="none"),
        sample("4 float32", _np.asarray(2)),
        sample("2x3x4 float32", _np.asarray([[0, 3, 1], [2, 0, 1]]), axis=-1, reduction="sum"),
    )

    def infer(self, t: Typing, predictions: Type, labels: Type) -> Type:
        t.dtype_in(predictions, FLOATING, "the predictions")
        t.dtype_in(labels, INTEGRAL, "the labels")
        if not 0 <= self.label_smoothing <= 1:
            attribute_fault(t, "label_smoothing", self.label_smoothing, "it is a share, from 0 to 1")
        shape = t.shape(predictions)
        axis = axis_of(t, self.class_axis(len(shape)), len(shape), of="`predictions`")
        rest = (*shape[:axis], *shape[axis + 1 :])
        t.equal(
            t.tensor(labels).shape,
            rest,
            why="labels have the shape of the predictions without the classes",
        )
        return TensorType(rest if self.reduction == "none" else (), t.dtype(predictions))

    def class_axis(self, rank: int) -> int:
        """The axis of the classes, which is the only one of a vector of scores."""
        return 0 if rank == 1 and self.axis == 1 else self.axis

    def decompose(self, types: Any, predictions: Expr, labels: Expr) -> Expr:
        dtype, rank = types[0].dtype, len(dims(types[0]))
        axis = self.class_axis(rank) % rank
        computing = computing_dtype(dtype)
        logs = apply("nn.log_softmax", widened(predictions, dtype), axis=axis)
        counted = counted_labels(labels, types[1].dtype, self.ignore_index)
        at = apply("where", counted, labels, scalar(0, types[1].dtype))
        picked = apply("gather", logs, axis=axis, indices=apply("expand_dims", at, axis=axis))
        loss = apply("negative", apply("squeeze", picked, axis=(axis,)))
        if self.label_smoothing:
            even = apply("negative", apply("mean", logs, axis=(axis,)))
            own = apply("multiply", scalar(1 - self.label_smoothing, computing), loss)
            loss = apply("add", own, apply("multiply", scalar(self.label_smoothing, computing), even))
        loss = apply("where", counted, loss, scalar(0, computing))
        if self.reduction != "none":
            loss = apply("sum", loss)
        if self.reduction == "mean":
            loss = apply("divide", loss, apply("sum", apply("cast", counted, dtype=computing)))
        return narrowed(loss, dtype)


def counted_labels(labels: Expr, dtype: DType, ignore_index: int) -> Expr:
    """Which labels are not `ignore_index`, which a narrow dtype cannot hold."""
    fits = dtype == "int64" or (dtype == "int32" and -(2**31) <= ignore_index < 2**31)
    wide = labels if fits else apply("cast", labels, dtype="int64")
    return apply("not_equal", wide, scalar(ignore_index, dtype if fits else "int64"))


@operator("nn.cosine_similarity")
class CosineSimilarity(Composite):
    """The cosine of the angle between the vectors along `axis` of two tensors of one shape, from -1 to 1.

    A length below `eps` counts as `eps`.  A loss is `1 - nn.cosine_similarity(x, y)`.

    relay> nn.cosine_similarity([[3.0, 4.0]], [[4.0, 3.0]])
    [0.96]
    """

    axis: int = 1
    eps: float = 1e-8
    dtypes = FLOATING
    samples = (sample("3x4 float32", "3x4 float32"), sample("2x3x4 float64", "2x3x4 float64", axis=-1))

    def infer(self, t: Typing, data1: Type, data2: Type) -> Type:
        t.equal(data2, data1, why="both have one type")
        shape = t.shape(data1)
        axis = axis_of(t, self.axis, len(shape))
        return TensorType((*shape[:axis], *shape[axis + 1 :]), t.dtype(data1))

    def decompose(self, types: Any, data1: Expr, data2: Expr) -> Expr:
        dtype = types[0].dtype
        wide = squaring_dtype(dtype)
        x, y = (in_dtype(e, dtype, wide) for e in (data1, data2))

        def product(a: Expr, b: Expr) -> Expr:
            return apply("sum", apply("multiply", a, b), axis=(self.axis,))

        def length(a: Expr) -> Expr:
            return apply("sqrt", apply("maximum", product(a, a), scalar(self.eps * self.eps, wide)))

        lengths = apply("multiply", length(x), length(y))
        return in_dtype(apply("divide", product(x, y), lengths), wide, dtype)
