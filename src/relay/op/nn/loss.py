"""Losses of classifiers."""

from typing import Any, Literal

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import TensorType, Type
from relay.op.axes import check_indices
from relay.op.base import FLOATING, INTEGRAL, Array, Numpy, sample
from relay.op.composite import Composite
from relay.op.conversion import accumulator
from relay.op.kind import Wide
from relay.op.nn.class_loss import counted_labels
from relay.op.numeric import apply, computing_dtype, count, narrow, narrowed, scalar, widened
from relay.op.registry import operator
from relay.op.relation import Typing


def _chances(n: int, classes: int, dtype: str = "float32") -> Array:
    """Rows of positive numbers whose sum is 1."""
    x = _np.arange(1, n * classes + 1).reshape(n, classes)
    return (x / x.sum(axis=1, keepdims=True)).astype(dtype)


class _CrossEntropy(Composite):
    wide = Wide.LOSS
    dtypes = FLOATING

    def infer(self, t: Typing, predictions: Type, targets: Type) -> Type:
        t.shape(predictions, 2, "the predictions")
        t.equal(targets, predictions, why="predictions and targets have one type")
        return TensorType((), t.dtype(predictions))

    def loss(self, types: Any, logs: Expr, targets: Expr, predictions: Expr) -> Expr:
        """The mean over the batch of `-sum(targets * logs)`."""
        total = apply("sum", apply("multiply", targets, logs))
        return apply("negative", apply("divide", total, count(predictions, types[0], (0,), types[0].dtype)))


@operator("nn.cross_entropy")
class CrossEntropy(_CrossEntropy):
    """`-sum(targets * log(predictions)) / n` for predictions and targets `(n, classes)`: a scalar.

    relay> nn.cross_entropy([[1.0, 0.5]], [[1.0, 0.0]])
    -0.0
    """

    samples = (
        sample(_chances(3, 4), _chances(3, 4)),
        sample(_chances(2, 5, "float64"), _chances(2, 5, "float64")),
    )

    def decompose(self, types: Any, predictions: Expr, targets: Expr) -> Expr:
        return self.loss(types, apply("log", predictions), targets, predictions)


@operator("nn.cross_entropy_with_logits")
class CrossEntropyWithLogits(_CrossEntropy):
    """`-sum(targets * predictions) / n` for predictions `(n, classes)` that are logarithms already: a scalar.

    The predictions are those of `nn.log_softmax`; the targets are chances.

    relay> nn.cross_entropy_with_logits([[-1.0, -2.0]], [[0.0, 1.0]])
    2.0
    """

    samples = (sample("3x4 float32", _chances(3, 4)),)

    def decompose(self, types: Any, predictions: Expr, targets: Expr) -> Expr:
        return self.loss(types, predictions, targets, predictions)


@operator("nn.nll_loss")
class NLLLoss(Composite):
    """The negative log-likelihood `-weights[target] * predictions[target]` of each item of a batch.

    Predictions are `(n, classes, ...)`, targets `(n, ...)` of class numbers, weights `(classes,)`.
    `reduction`
    "mean" divides the sum by the sum of the weights, "sum" adds up, "none" keeps the shape of the
    targets.  Items
    whose target is `ignore_index` count nothing.

    relay> nn.nll_loss([[-1.0, -2.0]], [1], [1.0, 1.0])
    2.0
    """

    wide = Wide.LOSS
    reduction: Literal["mean", "sum", "none"] = "mean"
    ignore_index: int = -100
    samples = (
        sample("3x4 float32", _np.asarray([0, 3, 1]), _np.ones(4, "float32")),
        sample("2x4x3 float32", _np.asarray([[0, 3, 1], [2, -100, 1]]), "4 float32", reduction="none"),
        sample("3x4 float32", _np.asarray([0, 3, 1]), "4 float32", reduction="sum"),
    )

    def infer(self, t: Typing, predictions: Type, targets: Type, weights: Type) -> Type:
        t.dtype_in(predictions, FLOATING, "the predictions")
        t.dtype_in(targets, INTEGRAL, "the targets")
        shape = t.shape(predictions)
        if len(shape) < 2:
            t.fail(
                "rank-mismatch",
                "`nn.nll_loss` needs predictions of rank 2 or more",
                hint="axis 0 is the batch, axis 1 the classes",
            )
        rest = (shape[0], *shape[2:])
        t.equal(
            t.tensor(targets).shape, rest, why="the targets have the shape of the predictions without axis 1"
        )
        t.equal(weights, TensorType((shape[1],), t.dtype(predictions)), why="each class has a weight")
        return TensorType(rest if self.reduction == "none" else (), t.dtype(predictions))

    def decompose(self, types: Any, predictions: Expr, targets: Expr, weights: Expr) -> Expr:
        dtype = types[0].dtype
        zero, first = scalar(0, computing_dtype(dtype)), scalar(0, types[1].dtype)
        counted = counted_labels(targets, types[1].dtype, self.ignore_index)
        at = apply("where", counted, targets, first)
        weight = widened(apply("take", weights, at, axis=0, mode="fast"), dtype)
        picked = apply("gather", predictions, axis=1, indices=apply("expand_dims", at, axis=1))
        chance = widened(apply("squeeze", picked, axis=(1,)), dtype)
        weight, chance = (apply("where", counted, x, zero) for x in (weight, chance))
        loss = apply("negative", apply("multiply", weight, chance))
        if self.reduction != "none":
            loss = apply("sum", loss)
        if self.reduction == "mean":
            loss = apply("divide", loss, apply("sum", weight))
        return narrowed(loss, dtype)

    def reference(self, np: Numpy, predictions: Array, targets: Array, weights: Array) -> Array:
        x, w = accumulator(predictions), accumulator(weights)
        counted = targets != self.ignore_index
        at = check_indices(np, np.where(counted, targets, 0), x.shape[1], negative=False)
        chance = np.take_along_axis(x, np.expand_dims(at, 1), axis=1).squeeze(1)
        weight, chance = (np.where(counted, a, a.dtype.type(0)) for a in (w[at], chance))
        loss = -weight * chance
        if self.reduction == "mean":
            loss = np.sum(loss) / np.sum(weight)
        elif self.reduction == "sum":
            loss = np.sum(loss)
        return narrow(loss, predictions.dtype)
