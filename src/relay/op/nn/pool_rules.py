"""The operators that pooling is differentiated with: to the elements of windows, and back."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.ir.expr import Expr
from relay.ir.type import Type
from relay.op.base import FLOATING, Array, Numpy
from relay.op.conversion import accumulator, accumulator_name
from relay.op.derivative import tensor_type
from relay.op.family import family
from relay.op.kind import Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.nn.cotangent import reshaped_like
from relay.op.nn.layout import to_layout
from relay.op.nn.loops import Line, put_in, seen
from relay.op.nn.window import Pooling
from relay.op.numeric import apply, dims, narrow
from relay.op.relation import Typing
from relay.op.traced import accumulated, may_hold, placed


@family
class PoolingRule(Pooling):
    """An operator that exists for the derivative of a pooling operator, whose attributes it has."""

    dtypes = FLOATING

    def sibling(self, suffix: str, *operands: Expr) -> Expr:
        """Pooling itself, or another operator for its derivative."""
        return apply(self.name.rpartition("_")[0] + suffix, *operands, **self.attributes())

    def pooled_axes(self, np: Numpy, x: Array) -> Array:
        """A result of pooling with its axes in the order of `data_axes`."""
        a = self.attributes()
        return to_layout(np, accumulator(x), a["out_layout"] or a["layout"], self.data_axes)

    def restored(self, np: Numpy, x: Array, dtype: Any) -> Array:
        """A tensor of the data's shape, in the data's layout."""
        return narrow(to_layout(np, x, self.data_axes, self.attributes()["layout"]), dtype)

    def winner(self, b: Loops, front: Sequence[Index], lines: Sequence[Line], data: View) -> Any:
        """Where the first greatest element that a window sees is, as an integer; see `winners`."""
        acc = accumulator_name(data.dtype)
        sizes = [line.size for line in lines]
        none = b.const(-1, number_type(b.count(sizes)))

        def step(taps: Sequence[Index], totals: Sequence[Any]) -> Sequence[Any]:
            best, place = totals
            at, is_there = seen(b, lines, taps)
            x = b.where(
                is_there, lambda: b.cast(data.at(self.place_in([*front, *at])), acc), lambda: b.const(0, acc)
            )
            is_first = b.compare("lt", place, b.const(0, place))
            is_nan = b.both(b.compare("ne", x, x), b.compare("eq", best, best))
            better = b.bits("or", is_first, b.bits("or", b.compare("gt", x, best), is_nan))
            wins = b.both(is_there, better)
            here = b.as_number(b.position(at, sizes), none.dtype)
            return [b.select(wins, x, best), b.select(wins, here, place)]

        return b.fold([line.count for line in lines], [b.const(0, acc), none], step)[1]

    def place_of(self, b: Loops, front: Sequence[Index], lines: Sequence[Line], winner: Any) -> list[Index]:
        """The index of a winner in the data."""
        at = b.unravelled(b.as_index(winner), [line.size for line in lines])
        return self.place_in([*front, *at])


@family
class PoolingGradient(PoolingRule):
    """The cotangent of the data from that of the result."""

    def infer(self, t: Typing, out_grad: Type, data: Type) -> Type:
        t.equal(out_grad, self.pooled(t, data), why="`out_grad` is like the data pooled")
        return data

    def layouts(self, count: int) -> tuple[list[str], str]:
        (_, own), pooled = super().layouts(count)
        return [pooled, own], own

    def most_seeing(self, b: Loops, data: View, out_grad: View) -> list[Index]:
        """How many windows see a place at most, along each spatial axis."""
        space, counts = self.spaces(data, out_grad)
        return [n for _, n in self.seeing(b, space, space, counts)]

    def spaces(self, data: View, out_grad: View) -> tuple[list[Index], list[Index]]:
        """The spatial sizes of the data, and how many windows there are along each of these axes."""
        a = self.attributes()
        return (
            put_in(data.sizes, a["layout"], self.data_axes)[2:],
            put_in(out_grad.sizes, a["out_layout"] or a["layout"], self.data_axes)[2:],
        )

    def window_at(
        self, b: Loops, index: Sequence[Index], number: Sequence[Index], data: View, out_grad: View
    ) -> tuple[list[Index], list[Line], Any]:
        """The one of the windows around a place with those numbers: its index, what it sees along each axis,
        and whether it is there and sees the place.
        """
        a = self.attributes()
        space, counts = self.spaces(data, out_grad)
        batch, channel, *place = put_in(index, a["layout"], self.data_axes)
        first = [i for i, _ in self.seeing(b, place, space, counts)]
        window = [b.plus(i, k) for i, k in zip(first, number, strict=True)]
        lines = self.lines(b, window, space)
        conditions: list[Any] = []
        for i, n, p, line in zip(window, counts, place, lines, strict=True):
            away = b.minus(p, line.begin)
            conditions += [b.is_within(i, n), b.is_within(away, b.times(line.count, line.step))]
            if line.step > 1:
                conditions.append(b.is_same(b.rest(away, line.step), 0))
        at = put_in([batch, channel, *window], self.data_axes, a["out_layout"] or a["layout"])
        return at, lines, b.both(*conditions)


@family
class AverageGradient(PoolingGradient):
    """To each element its part of the means; of the data the sizes alone count."""

    derivative = Derivative.TRANSPOSE
    carried = ("data",)

    def reference(self, np: Numpy, out_grad: Array, data: Array) -> Array:
        x, y = self.opened(np, data), self.pooled_axes(np, out_grad)
        for i, parts in enumerate(self.averaging(x.shape[2:])):
            y = np.moveaxis(np.tensordot(y, parts.astype(y.dtype), axes=(i + 2, 0)), -1, i + 2)
        return self.restored(np, y, data.dtype)

    def transpose(self, g: Expr, out_grad: Expr, data: Expr) -> tuple[Expr, None]:
        """The means."""
        return reshaped_like(self.sibling("", g), self.pooled_shape(data), out_grad), None

    def element(self, b: Loops, index: Sequence[Index], out_grad: View, data: View) -> Any:
        """From each window that sees the place its part."""
        acc = accumulator_name(data.dtype)

        def term(window: Sequence[Index]) -> Any:
            at, lines, is_seeing = self.window_at(b, index, window, data, out_grad)

            def part() -> Any:
                return b.divide(b.cast(out_grad.at(at), acc), b.cast(self.counted(b, lines), acc))

            return b.where(is_seeing, part, lambda: b.const(0, acc))

        counts = self.most_seeing(b, data, out_grad)
        return b.cast(b.add_up(counts, b.const(0, acc), term), data.dtype)


@family
class MaxGradient(PoolingGradient):
    """To each greatest element, as often as it is one; nothing to the others."""

    derivative = Derivative.RULES

    def reference(self, np: Numpy, out_grad: Array, data: Array) -> Array:
        x, y = self.opened(np, accumulator(data)), self.pooled_axes(np, out_grad)
        lines = x.shape[0] * x.shape[1]
        size = x.size // max(1, lines)
        at = winners(np, x, self.taps(x.shape[2:]))
        begins = numpy.arange(int(lines)) * int(size)
        places = at + begins.reshape(*x.shape[:2], *[1] * self.rank)
        taken = np.where(at >= 0, y, 0).astype("float64").reshape(-1)
        found = accumulated(np, np.zeros(x.size), np.where(at >= 0, places, 0).reshape(-1), taken, "add")
        return self.restored(np, found.reshape(x.shape), data.dtype)

    def vjp(self, g: Expr, y: Expr, out_grad: Expr, data: Expr) -> tuple[Expr, None]:
        """The elements at the positions of the maxima."""
        return reshaped_like(self.sibling("_tangent", g, data), self.pooled_shape(data), out_grad), None

    def jvp(self, dxs: Sequence[Expr | None], y: Expr, out_grad: Expr, data: Expr) -> Expr | None:
        """The derivative rule applied to the tangent of `out_grad`."""
        return None if dxs[0] is None else self(dxs[0], data)

    def compute(self, b: Loops, out: Output, out_grad: View, data: View) -> None:
        """First the winner of each window; then each place takes from those that it has won."""
        space = put_in(data.sizes, self.attributes()["layout"], self.data_axes)[2:]
        won = b.room(number_type(b.count(space)), out_grad.sizes)
        acc, counts = accumulator_name(data.dtype), self.most_seeing(b, data, out_grad)

        def element(index: Sequence[Index]) -> Any:
            place = put_in(index, self.attributes()["layout"], self.data_axes)[2:]
            here = b.as_number(b.position(place, space), won.dtype)

            def term(window: Sequence[Index]) -> Any:
                at, _, is_seeing = self.window_at(b, index, window, data, out_grad)

                def taken() -> Any:
                    g = b.cast(out_grad.at(at), acc)
                    return b.select(b.compare("eq", won.at(at), here), g, b.const(0, acc))

                return b.where(is_seeing, taken, lambda: b.const(0, acc))

            return b.cast(b.add_up(counts, b.const(0, acc), term), data.dtype)

        b.fill(won, lambda index: self.winner(b, *self.seen_by(b, index, data), data))
        b.fill(out, element)


@family
class MaxTangent(PoolingRule):
    """What one tensor has where another has the greatest element of each window."""

    derivative = Derivative.RULES

    def infer(self, t: Typing, tangent: Type, data: Type) -> Type:
        t.equal(tangent, data, why="`tangent` is like the data")
        return self.pooled(t, data)

    def reference(self, np: Numpy, tangent: Array, data: Array) -> Array:
        x, dx = self.opened(np, accumulator(data)), self.opened(np, tangent)
        at = winners(np, x, self.taps(x.shape[2:]))
        if not x.size:
            return self.closed(np, np.zeros(at.shape, dx.dtype), tangent.dtype)
        lines, places = dx.reshape(*x.shape[:2], -1), at.reshape(*x.shape[:2], -1)
        found = np.take_along_axis(lines, places, axis=2).reshape(at.shape)
        return self.closed(np, np.where(at >= 0, found, dx.dtype.type(0)), tangent.dtype)

    def vjp(self, g: Expr, y: Expr, tangent: Expr, data: Expr) -> tuple[Expr, None]:
        """To the greatest elements."""
        return reshaped_like(self.sibling("_grad", g, data), dims(tensor_type(data)), tangent), None

    def jvp(self, dxs: Sequence[Expr | None], y: Expr, tangent: Expr, data: Expr) -> Expr | None:
        """The derivative rule applied to the tangent of `tangent`."""
        return None if dxs[0] is None else self(dxs[0], data)

    def element(self, b: Loops, index: Sequence[Index], tangent: View, data: View) -> Any:
        """The tangent of the window's winner."""
        front, lines = self.seen_by(b, index, data)
        winner = self.winner(b, front, lines, data)
        place = self.place_of(b, front, lines, winner)
        is_there = b.compare("ge", winner, b.const(0, winner))
        return b.where(is_there, lambda: tangent.at(place), lambda: b.const(0, tangent.dtype))


def winners(np: Numpy, x: Array, tables: Sequence[Array]) -> Array:
    """Where the first greatest element that each window sees is: `(n, c, windows...)` for `x: (n, c, ...)`.

    Places count through all spatial axes of `x`, the last fastest; -1 is for a window that sees nothing.
    `tables` has the places that windows see along each axis.  NaN is greater than any number.
    """
    if not x.size:
        return np.full((*x.shape[:2], *[len(t) for t in tables]), -1)
    at: Array = 0
    stride = 1
    for axis in range(x.ndim - 1, 1, -1):
        size = x.shape[axis]
        x, place = _winners_along(np, x, axis, tables[axis - 2])
        below = np.take_along_axis(at, np.maximum(place, 0), axis) if stride > 1 else 0
        at = np.where((place >= 0) & (below >= 0), place * stride + below, -1)
        stride *= size
    return at


def _winners_along(np: Numpy, x: Array, axis: int, table: Array) -> tuple[Array, Array]:
    """The greatest element that each window sees along one axis, and its place on it."""
    before, after = (slice(None),) * axis, (1,) * (x.ndim - 1 - axis)
    rows, first = numpy.arange(len(table)), (table >= 0).argmax(axis=1)
    best = np.take(x, numpy.maximum(table[rows, first], 0), axis)
    number_of = numpy.min_scalar_type(table.shape[1])
    tap_of = np.array(np.broadcast_to(first.astype(number_of).reshape(-1, *after), best.shape))
    may_be_nan = may_hold(np, np.isnan(x))
    for number, places in enumerate(table.T):
        seeing = numpy.flatnonzero(places >= 0)
        windows = (*before, _regular(seeing))
        value, so_far = x[(*before, _regular(places[seeing]))], best[windows]
        better = value > so_far
        if may_be_nan:
            better = better | (np.isnan(value) & ~np.isnan(so_far))
        later = better * number_of.type(number)
        best = placed(np, best, windows, np.maximum(so_far, value))
        tap_of = placed(np, tap_of, windows, np.maximum(tap_of[windows], later))
    return best, np.asarray(table)[rows.reshape(-1, *after), tap_of]


def _regular(places: Array) -> Any:
    """Places as a slice, which takes a view, if they are equally far apart."""
    steps = numpy.diff(places)
    if not len(steps) or steps[0] < 1 or (steps != steps[0]).any():
        return places
    return slice(places[0], places[-1] + 1, steps[0])


def number_type(count: Index) -> str:
    """A dtype for the numbers of so many places."""
    return "int32" if isinstance(count, int) and count < 1 << 31 else "int64"
