"""Reductions to the index of an element: of the greatest and the least along axes."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy

from relay.ir.dtype import is_float, to_numpy
from relay.ir.type import Type
from relay.op.base import ORDERED, Array, Numpy, sample
from relay.op.conversion import accumulator, accumulator_name
from relay.op.family import family
from relay.op.kind import Derivative
from relay.op.native import Scalars
from relay.op.numeric import checked_axes, greatest_value, least_value
from relay.op.reduce import AxisReduction
from relay.op.registry import operator
from relay.op.relation import Typing


@family
class _ArgReduction(AxisReduction):
    """Where the extreme element is: the first, or the last with `select_last_index`; int32."""

    select_last_index: bool = False

    def infer(self, t: Typing, x: Type) -> Type:
        shape = t.shape(x)
        for a in checked_axes(t, self.axis, len(shape), self.exclude):
            t.require(0, "<", shape[a], f"`{self.name}` needs an element to choose")
        return self.result(t, x, "int32")

    def index(self, np: Numpy, data: Array, pick: Any) -> Array:
        """The index among the reduced axes, taken as one axis in row-major order."""
        axes = self.axes(data.ndim)
        kept = tuple(i for i in range(data.ndim) if i not in axes)
        sizes = [data.shape[i] for i in kept]  # said in full: NumPy finds no size that a 0 stands beside
        count = math.prod([data.shape[i] for i in axes])
        flat = np.transpose(accumulator(data), (*kept, *axes)).reshape(*sizes, count)
        last = self.select_last_index
        found = count - 1 - pick(flat[..., ::-1], axis=-1) if last else pick(flat, axis=-1)
        shape = [1 if i in axes else d for i, d in enumerate(data.shape)] if self.keepdims else found.shape
        return found.reshape(shape).astype("int32")[()]

    kind: ClassVar[str]
    """How a better element compares with one that is not."""

    def start(self, b: Scalars, dtype: str) -> list[Any]:
        wide = accumulator_name(dtype)
        worst = least_value if self.kind == "gt" else greatest_value
        best = b.const(worst(numpy, to_numpy(wide)), wide)
        return [best, b.const(0, "int32"), b.const(0, "int32")]

    def combine(self, b: Scalars, totals: Sequence[Any], x: Any) -> list[Any]:
        best, at, here = totals
        x = b.cast(x, best.dtype)
        better = b.compare(self.kind[0] + "e" if self.select_last_index else self.kind, x, best)
        if is_float(x.dtype):
            found = b.compare("eq", best, best)
            nan = b.compare("ne", x, x)
            better = b.bits("or", better, nan if self.select_last_index else b.bits("and", nan, found))
        following = b.add(here, b.const(1, here))
        return [b.select(better, x, best), b.select(better, here, at), following]

    def of_lane(self, b: Scalars, totals: Sequence[Any], lane: Any, lanes: int) -> list[Any] | None:
        best, at, here = totals
        if self.select_last_index:
            return None
        return [best, b.add(b.multiply(at, b.const(lanes, at)), lane), here]

    def merge(self, b: Scalars, totals: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        (x, i, here), (y, j, _) = totals, others
        better, equal = b.compare(self.kind, y, x), b.compare("eq", x, y)
        if is_float(x.dtype):
            nan_x, nan_y = b.compare("ne", x, x), b.compare("ne", y, y)
            better = b.bits("or", better, b.bits("and", nan_y, b.compare("eq", x, x)))
            equal = b.bits("or", equal, b.bits("and", nan_x, nan_y))
        other = b.bits("or", better, b.bits("and", equal, b.compare("lt", j, i)))
        return [b.select(other, y, x), b.select(other, j, i), here]

    def finish(self, b: Scalars, totals: Sequence[Any], dtype: str) -> Any:
        return totals[1]


@operator("argmax")
class ArgMax(_ArgReduction):
    """The index of the greatest element along `axis` (of the first NaN, if there is one), as int32.

    Over several axes it is the index into them in row-major order; of booleans that of the first True.

    relay> argmax([[1.0, 5.0, 5.0], [3.0, 2.0, 1.0]], axis=1)
    [1, 0]
    relay> argmax([False, True, True])
    1
    """

    dtypes = ORDERED
    derivative = Derivative.ZERO
    samples = (
        sample("3x4 float32", axis=1),
        sample("3x4 int32", axis=1, select_last_index=True),
        sample("2x3x4 float32"),
        sample("3x4 bool", axis=1),
    )

    kind = "gt"

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.index(np, data, np.argmax)


@operator("argmin")
class ArgMin(_ArgReduction):
    """The index of the least element along `axis` (of the first NaN, if there is one), as int32.

    Over several axes it is the index into them in row-major order; of booleans that of the first False.

    relay> argmin([[1.0, 5.0, 1.0], [3.0, 2.0, 1.0]], axis=1)
    [0, 2]
    """

    dtypes = ORDERED
    derivative = Derivative.ZERO
    samples = (sample("3x4 float32", axis=1), sample("3x4 bool", axis=(0, 1), keepdims=True))

    kind = "lt"

    def reference(self, np: Numpy, data: Array) -> Array:
        return self.index(np, data, np.argmin)
