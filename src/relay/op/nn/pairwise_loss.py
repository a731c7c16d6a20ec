"""Losses of predictions and targets of one shape, element by element."""

from typing import Any, Literal

import numpy as _np

from relay.ir.expr import Expr
from relay.ir.type import DType, TensorType, Type
from relay.op.axes import attribute_fault
from relay.op.base import FLOATING, sample
from relay.op.composite import Composite
from relay.op.kind import Wide
from relay.op.numeric import apply, computing_dtype, narrowed, scalar, widened
from relay.op.registry import operator
from relay.op.relation import Typing

_CHANCES = _np.asarray([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], "float32")
_INSIDE = _np.asarray([[0.125, 0.25, 0.625], [0.75, 0.0625, 0.1875]], "float32")
_APART = _np.asarray([[-2.0, 0.3, 0.5], [1.5, -0.2, 3.0]], "float32")
_NOTHING = _np.zeros((2, 3), "float32")


class PairwiseLoss(Composite):
    """`element` says what an element costs; `reduction` "mean" and "sum" make one number of all."""

    wide = Wide.LOSS
    dtypes = FLOATING
    reduction: Any

    def infer(self, t: Typing, predictions: Type, targets: Type) -> Type:
        t.tensor(predictions)
        t.equal(targets, predictions, why="predictions and targets have one type")
        return predictions if self.reduction == "none" else TensorType((), t.dtype(predictions))

    def element(self, predictions: Expr, targets: Expr, dtype: DType) -> Expr:
        """The loss of each element."""
        raise AssertionError(f"{self.name} has no loss")

    def decompose(self, types: Any, predictions: Expr, targets: Expr) -> Expr:
        dtype = types[0].dtype
        each = self.element(widened(predictions, dtype), widened(targets, dtype), computing_dtype(dtype))
        return narrowed(each if self.reduction == "none" else apply(self.reduction, each), dtype)


@operator("nn.mse_loss")
class MSELoss(PairwiseLoss):
    """The squared distance `(predictions - targets)**2`.

    `reduction` "mean" divides the sum by the number of elements, "sum" adds up, "none" keeps the shape.

    relay> nn.mse_loss([1.0, 4.0], [1.0, 2.0])
    2.0
    """

    reduction: Literal["mean", "sum", "none"] = "mean"
    samples = (sample("3x4 float32", "3x4 float32"), sample("4 float64", "4 float64", reduction="none"))

    def element(self, predictions: Expr, targets: Expr, dtype: DType) -> Expr:
        gap = apply("subtract", predictions, targets)
        return apply("multiply", gap, gap)


@operator("nn.l1_loss")
class L1Loss(PairwiseLoss):
    """The distance `abs(predictions - targets)`.

    `reduction` "mean" divides the sum by the number of elements, "sum" adds up, "none" keeps the shape.

    relay> nn.l1_loss([1.0, 4.0], [1.0, 2.0])
    1.0
    """

    reduction: Literal["mean", "sum", "none"] = "mean"
    samples = (sample(_APART, _NOTHING), sample(_APART, _NOTHING, reduction="sum"))

    def element(self, predictions: Expr, targets: Expr, dtype: DType) -> Expr:
        return apply("abs", apply("subtract", predictions, targets))


@operator("nn.huber_loss")
class HuberLoss(PairwiseLoss):
    """Half the squared distance up to a distance of `delta`, and from there on a straight line of slope
    `delta`.

    `reduction` "mean" divides the sum by the number of elements, "sum" adds up, "none" keeps the shape.
    Source: Huber, 1964.

    relay> nn.huber_loss([1.0, 4.0], [0.0, 0.0], reduction="none")
    [0.5, 3.5]
    """

    reduction: Literal["mean", "sum", "none"] = "mean"
    delta: float = 1.0
    samples = (sample(_APART, _NOTHING), sample(_APART, _NOTHING, reduction="none", delta=0.4))

    def infer(self, t: Typing, predictions: Type, targets: Type) -> Type:
        if not self.delta > 0:
            attribute_fault(t, "delta", self.delta, "it is a distance above 0")
        return super().infer(t, predictions, targets)

    def element(self, predictions: Expr, targets: Expr, dtype: DType) -> Expr:
        gap, delta = apply("abs", apply("subtract", predictions, targets)), scalar(self.delta, dtype)
        near = apply("minimum", gap, delta)
        square = apply("multiply", scalar(0.5, dtype), apply("multiply", near, near))
        return apply("add", square, apply("multiply", delta, apply("subtract", gap, near)))


@operator("nn.binary_cross_entropy_with_logits")
class BinaryCrossEntropyWithLogits(PairwiseLoss):
    """The cross-entropy of `sigmoid(predictions)` and `targets`, which are chances from 0 to 1.

    `targets * softplus(-predictions) + (1 - targets) * softplus(predictions)`, exact for large logits of
    either sign.  `reduction` "mean" divides the sum by the number of elements, "sum" adds up, "none" keeps
    the shape.

    relay> nn.binary_cross_entropy_with_logits([0.0, 100.0], [1.0, 0.0], reduction="none")
    [0.6931472, 100.0]
    """

    reduction: Literal["mean", "sum", "none"] = "mean"
    samples = (sample("2x3 float32", _CHANCES), sample("2x3 float32", _CHANCES, reduction="none"))

    def element(self, predictions: Expr, targets: Expr, dtype: DType) -> Expr:
        no = apply("subtract", scalar(1, dtype), targets)
        of_yes = apply("multiply", targets, apply("nn.softplus", apply("negative", predictions)))
        return apply("add", of_yes, apply("multiply", no, apply("nn.softplus", predictions)))


@operator("nn.kl_div")
class KLDiv(PairwiseLoss):
    """The divergence `targets * (log(targets) - predictions)` of chances `targets` from those of which
    `predictions` are the logarithms.

    A target of 0 costs nothing.  With `log_target` the targets are logarithms too.  `reduction` "batchmean",
    the divergence of the mathematicians, divides the sum by the first size, "mean" by the number of elements;
    "sum" adds up, "none" keeps the shape.  Source: Kullback and Leibler, 1951.

    relay> nn.kl_div(log([[0.5, 0.5]]), [[1.0, 0.0]], reduction="batchmean")
    0.6931472
    """

    reduction: Literal["mean", "batchmean", "sum", "none"] = "mean"
    log_target: bool = False
    samples = (
        sample("2x3 float32", _INSIDE),
        sample("2x3 float32", _INSIDE, reduction="batchmean"),
        sample("2x3 float32", "2x3 float32", reduction="none", log_target=True),
    )

    def infer(self, t: Typing, predictions: Type, targets: Type) -> Type:
        if self.reduction == "batchmean" and not t.shape(predictions):
            t.fail(
                "rank-mismatch",
                '`nn.kl_div` of a number has no batch for `reduction="batchmean"`',
                hint='"sum" adds up',
            )
        return super().infer(t, predictions, targets)

    def element(self, predictions: Expr, targets: Expr, dtype: DType) -> Expr:
        if self.log_target:
            return apply("multiply", apply("exp", targets), apply("subtract", targets, predictions))
        zero, one = scalar(0, dtype), scalar(1, dtype)
        counted = apply("greater", targets, zero)
        logs = apply("log", apply("where", counted, targets, one))
        return apply("where", counted, apply("multiply", targets, apply("subtract", logs, predictions)), zero)

    def decompose(self, types: Any, predictions: Expr, targets: Expr) -> Expr:
        if self.reduction != "batchmean":
            return super().decompose(types, predictions, targets)
        dtype = types[0].dtype
        each = self.element(widened(predictions, dtype), widened(targets, dtype), computing_dtype(dtype))
        rows = apply("sum", each, axis=(0,), exclude=True)
        return narrowed(apply("mean", rows), dtype)
