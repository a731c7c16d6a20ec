"""Adaptive steps whose mean squares of a matrix are kept as those of its rows and columns."""

from dataclasses import dataclass

from relay.ir.expr import Expr
from relay.ir.type import TensorType
from relay.op.numeric import apply, dims, scalar
from relay.optim.parameters import Number, check_numbers, is_zero
from relay.optim.tensor_rule import Mask, Rate, Step, TensorRule


@dataclass(frozen=True)
class Adafactor(TensorRule):
    """See `adafactor`."""

    learning_rate: Rate
    decay_exponent: Number
    clipping_threshold: Number | None
    scale_by_parameters: bool
    least_factored_size: int
    weight_decay: Number
    mask: Mask
    limited = (*TensorRule.limited, "decay_exponent")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clipping_threshold is not None:
            check_numbers(clipping_threshold=self.clipping_threshold)

    def factored_axes(self, t: TensorType) -> tuple[int, int] | None:
        """The axes of the second largest and of the largest size, if both are large and known."""
        sizes = dims(t)
        known = [d for d in sizes if isinstance(d, int)]
        if len(known) < max(len(sizes), 2):
            return None
        *_, second, first = sorted(range(len(known)), key=lambda a: known[a])
        return (second, first) if known[second] >= self.least_factored_size else None

    def slots(self, t: TensorType) -> tuple[TensorType, ...]:
        axes, none = self.factored_axes(t), TensorType((), t.dtype)
        if axes is None:
            return (t, none)
        without = [TensorType([d for i, d in enumerate(dims(t)) if i != a], t.dtype) for a in reversed(axes)]
        return (without[0], without[1])

    def begin(self, p: Expr, t: TensorType) -> tuple[Expr, ...]:
        axes, nothing = self.factored_axes(t), apply("zeros_like", p)
        if axes is None:
            return (nothing, scalar(0, t.dtype))
        return tuple([apply("sum", nothing, axis=(a,)) for a in reversed(axes)])

    def moved(self, at: Step, p: Expr, g: Expr, *slots: Expr) -> tuple[Expr, tuple[Expr, ...]]:
        one = at.const(1)
        fading = apply("power", apply("cast", at.number, dtype=at.type.dtype), at.const(-self.decay_exponent))
        keeping = one - fading
        square = g * g + at.const(1e-30)
        axes = self.factored_axes(at.type)
        if axes is None:
            kept = (keeping * slots[0] + fading * square, slots[1])
            d = g * apply("rsqrt", kept[0])
        else:
            second, first = axes
            rows = keeping * slots[0] + fading * apply("mean", square, axis=(first,))
            columns = keeping * slots[1] + fading * apply("mean", square, axis=(second,))
            kept = (rows, columns)
            row_mean = apply("mean", rows, axis=(second - (second > first),), keepdims=True)
            by_row = apply("expand_dims", apply("rsqrt", rows / row_mean), axis=first)
            by_column = apply("expand_dims", apply("rsqrt", columns), axis=second)
            d = g * by_row * by_column
        if self.clipping_threshold is not None:
            d = d / apply("maximum", one, _root_mean_square(d) / at.const(self.clipping_threshold))
        d = at.rate * d
        if self.scale_by_parameters:
            d = d * apply("maximum", _root_mean_square(p), at.const(1e-3))
        return p - d if is_zero(at.decay) else p - d - at.const(at.decay) * p, kept


def _root_mean_square(x: Expr) -> Expr:
    return apply("sqrt", apply("mean", x * x))


def adafactor(
    learning_rate: Rate,
    *,
    decay_exponent: Number = 0.8,
    clipping_threshold: Number | None = 1.0,
    scale_by_parameters: bool = True,
    least_factored_size: int = 128,
    weight_decay: Number = 0.0,
    mask: Mask = True,
) -> Adafactor:
    """Steps of the gradient over the root of its mean square, of which a matrix whose two largest axes have
    `least_factored_size` elements or more keeps the means along each of the two alone.

    The mean square of step `n` has the weight `n**-decay_exponent`; steps are shortened to the root mean
    square `clipping_threshold`, and multiplied by that of the parameters (1e-3 or more) if
    `scale_by_parameters`.  `weight_decay` shrinks the parameters that `mask` has by that share, whatever the
    rate.  Tensors with symbolic sizes keep their mean squares whole.
    Source: Shazeer and Stern, 2018.
    """
    return Adafactor(
        learning_rate, decay_exponent, clipping_threshold, scale_by_parameters, least_factored_size,
        weight_decay, mask,
    )  # fmt: skip
