"""What contractions have in common as loops: dtypes, layouts, windows of places."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from relay.ir.dtype import dtype_name, to_numpy
from relay.op.conversion import accumulator_name
from relay.op.native import Index, Loops, View
from relay.op.nn.layout import positions


def sum_type(*dtypes: str) -> str:
    """The dtype that products of these are added up in: `common_type` by names."""
    return dtype_name(numpy.result_type(*[to_numpy(accumulator_name(d)) for d in dtypes]))


def put_in(x: Sequence[Any], layout: str, wanted: str) -> list[Any]:
    """Elements in the order of one layout, put in the order of another."""
    return [x[i] for i in positions(layout, wanted)]


def times_added(b: Loops, total: Any, x: Any, y: Any) -> Any:
    """`total + x * y` in the dtype of the total."""
    return b.add(total, b.multiply(b.cast(x, total.dtype), b.cast(y, total.dtype)))


@dataclass(frozen=True)
class Line:
    """The places on an axis of `size` elements that one window sees: `count` from `begin` on, `step` apart.

    Those outside of the axis are padding; `inside` says that there are none.
    """

    size: Index
    count: Index
    begin: Index
    step: int = 1
    inside: bool = False

    def place(self, b: Loops, k: Index) -> Index:
        """The place of a tap."""
        return b.plus(self.begin, b.times(k, self.step))


def seen(b: Loops, lines: Sequence[Line], taps: Sequence[Index]) -> tuple[list[Index], Any]:
    """The places of a tap on each axis, and whether all are on the data."""
    places = [line.place(b, k) for line, k in zip(lines, taps, strict=True)]
    pairs = zip(places, lines, strict=True)
    return places, b.both(*[b.is_within(i, line.size) for i, line in pairs if not line.inside])


def reading(b: Loops, is_there: Any, x: View, index: Sequence[Index], dtype: str) -> Any:
    """The element at an index that is there, else 0, in a dtype."""
    return b.where(is_there, lambda: b.cast(x.at(index), dtype), lambda: b.const(0, dtype))
