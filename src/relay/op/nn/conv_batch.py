"""Batching rules of convolutions.

Where one operand is the same for all rows, the rows of the other are items of one batch, or channels: one
call of the operator.  Where both are batched, a convolution is a product of stacks of matrices, one of which
has what windows see; there is no rule where the sizes of windows are `?`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relay.ir.dim import floor_divide
from relay.ir.expr import Expr
from relay.ir.type import Dim
from relay.op.batching import (
    axis_moved,
    folded_along,
    is_unknown,
    merged_along,
    row_shape,
    split_along,
    split_sizes,
)
from relay.op.nn.conv_rules import largest_window
from relay.op.nn.layout import SPATIAL, ntuple, pads, positions
from relay.op.nn.product_batch import one_axis
from relay.op.numeric import apply

Widths = Sequence[tuple[Dim, Dim]]
"""How much is added or cut off before and after each spatial axis."""


def batch_of_convolution(self: Any, n: Dim, which: Sequence[Any], data: Expr, weight: Expr) -> Expr | None:
    """The rule of a convolution."""
    layout, groups, rank = self.kernel_layout, self.groups, self.rank + 2
    if not which[1]:
        return over_items(self, n, which, data, weight)
    filters, inputs, *taps = of_letters(row_shape(weight, True), layout, self.kernel_axes)
    (channels,) = of_letters(row_shape(data, which[0]), self.data_layout, "C")
    is_multiple = groups > 1 and channels == groups and inputs != 1
    if which[0]:
        if any(map(is_unknown, (channels, *taps))):
            return None
        w = reordered(weight, layout, self.kernel_axes)
        w = apply("expand_dims", w, axis=3) if is_multiple else with_groups(w, 1, groups)
        return convolved(self, data, channels, w, taps, pads(self.padding, self.rank), self.strides)
    op, to = replace(self, channels=None), (self.out_layout or self.data_layout).index("C")
    if is_multiple:
        found = op(data, merged_along(weight, rank, layout.index("I")))
        return rows_of_channels(found, n, inputs, rank, to, groups)
    found = op(data, channels_of_rows(weight, rank, layout.index("O"), groups))
    return rows_of_channels(found, n, floor_divide(filters, groups), rank, to, groups)


def batch_of_transposed(self: Any, n: Dim, which: Sequence[Any], data: Expr, weight: Expr) -> Expr | None:
    """The rule of a transposed convolution: with a weight for each row it is the convolution of data with
    zeros between its elements by the windows mirrored.
    """
    layout, rank, axes = self.kernel_layout, self.rank + 2, SPATIAL[self.rank]
    if not which[1]:
        return over_items(self, n, which, data, weight)
    _, filters, *taps = of_letters(row_shape(weight, True), layout, self.kernel_axes)
    if not which[0]:
        found = replace(self, channels=None)(data, merged_along(weight, rank, layout.index("O")))
        to = (self.out_layout or self.data_layout).index("C")
        return rows_of_channels(found, n, filters, rank, to, self.groups)
    (channels,) = of_letters(row_shape(data, True), self.data_layout, "C")
    if any(map(is_unknown, (channels, *taps))):
        return None
    w = with_groups(reordered(weight, layout, self.kernel_axes), 1, self.groups)
    w = axis_moved(w, rank + 2, 3, 2)
    for i in range(self.rank):
        w = apply("reverse", w, axis=4 + i)
    ways = zip(taps, ntuple(self.dilation, self.rank), ntuple(self.output_padding, self.rank), strict=True)
    border = [((k - 1) * r, (k - 1) * r + extra) for k, r, extra in ways]
    steps = dict(zip(axes, ntuple(self.strides, self.rank), strict=True))
    apart = apply("nn.dilate", data, strides=(1, *[steps.get(letter, 1) for letter in self.data_layout]))
    return convolved(self, apart, channels, w, taps, border, 1, pads(self.padding, self.rank))


def batch_of_backward_weight(self: Any, n: Dim, which: Sequence[Any], grad: Expr, data: Expr) -> Expr | None:
    """The rule of the cotangent of the weight."""
    groups, rank, spatial = self.groups, self.rank + 2, SPATIAL[self.rank]
    op = replace(self, channels=None)
    (filters, *steps), (channels, *sizes) = (
        of_letters(row_shape(x, w), layout, "C" + spatial)
        for x, w, layout in ((grad, which[0], self.grad_layout), (data, which[1], self.data_layout))
    )
    if not which[1]:
        found = op(channels_of_rows(grad, rank, self.grad_layout.index("C"), groups), data)
        at, size = self.kernel_layout.index("O"), floor_divide(filters, groups)
        return rows_of_channels(found, n, size, rank, at, groups)
    if not which[0]:
        found = op(grad, channels_of_rows(data, rank, self.data_layout.index("C"), groups))
        return split_along(found, n, floor_divide(channels, groups), rank, self.kernel_layout.index("I"))
    strides, dilation = ntuple(self.strides, self.rank), ntuple(self.dilation, self.rank)
    padded = [d + sum(p) for d, p in zip(sizes, pads(self.padding, self.rank), strict=True)]
    taps = (
        largest_window(padded, steps, strides, dilation)
        if self.kernel_size is None
        else ntuple(self.kernel_size, self.rank)
    )
    if any(map(is_unknown, (channels, *taps))):
        return None
    seen = windows(self, data, channels, taps, pads(self.padding, self.rank), strides)
    given = with_groups(reordered(grad, self.grad_layout, f"N{spatial}C"), 2 + self.rank, groups)
    given = axis_moved(given, 4 + self.rank, 2 + self.rank, 1)
    found = apply(
        "nn.matmul", one_axis(given, 2, 1 + self.rank), rows_of_places(seen, self.rank), transpose_a=True,
        out_dtype=self.out_dtype,
    )  # fmt: skip
    found = apply("reshape_like", found, seen, lhs_begin=3, rhs_begin=3 + self.rank)
    return reordered(one_axis(found, 1, 2), f"O{spatial}I", self.kernel_layout)


def over_items(self: Any, n: Dim, which: Sequence[Any], data: Expr, weight: Expr) -> Expr:
    """The rows as items of one batch."""
    out = self.out_layout or self.data_layout
    axes = self.data_layout.index("N"), None
    return folded_along(self, n, which, (data, weight), axes, out.index("N"))


def convolved(
    self: Any, data: Expr, channels: Dim, w: Expr, taps: Sequence[Dim], padding: Widths, strides: Any,
    cut: Widths = (),
) -> Expr:  # fmt: skip
    """Convolutions by filters `(rows, groups, filters, channels, taps...)` of what `windows` sees."""
    rank = self.rank
    seen = windows(self, data, channels, taps, padding, ntuple(strides, rank), cut)
    filters = one_axis(axis_moved(w, rank + 4, 3, rank + 3), 3, 1 + rank)
    found = apply(
        "nn.matmul", rows_of_places(seen, rank), filters, transpose_b=True, out_dtype=self.out_dtype
    )  # (rows, groups, items * places, filters)
    found = apply("reshape_like", found, seen, lhs_begin=2, lhs_end=3, rhs_begin=2, rhs_end=3 + rank)
    found = one_axis(axis_moved(found, rank + 4, 1, rank + 2), rank + 2, 2)
    return reordered(found, f"N{SPATIAL[rank]}C", self.out_layout or self.data_layout)


def windows(
    self: Any, data: Expr, channels: Dim, taps: Sequence[Dim], padding: Widths, strides: Sequence[int],
    cut: Widths = (),
) -> Expr:  # fmt: skip
    """What windows see: `(rows, groups, items, places..., taps..., channels)`; the channels of neighbouring
    taps lie beside each other, as they do in data with the channels last.  The data is padded, and then as
    much of it is cut off as `cut` says.
    """
    rank = self.rank
    axes = range(2, 2 + rank)
    x = reordered(data, self.data_layout, f"N{SPATIAL[rank]}C")
    ends = zip(padding, cut or [(0, 0)] * rank, strict=True)
    more, less = zip(*[zip(*map(net, p, c), strict=True) for p, c in ends], strict=True)
    if any(w != 0 for pair in more for w in pair):
        x = apply("nn.pad", x, pad_width=((0, 0), (0, 0), *more, (0, 0)))
    if any(w != 0 for pair in less for w in pair):
        begin, end = zip(*[(lo, -hi or None) for lo, hi in less], strict=True)
        x = apply("strided_slice", x, begin=begin, end=end, axes=tuple(axes))
    dilation = ntuple(self.dilation, rank)
    extents = tuple([(k - 1) * r + 1 for k, r in zip(taps, dilation, strict=True)])
    x = apply("sliding_window", x, axis=2, window_shape=(*extents, channels), strides=(*strides, 1))
    x = apply("squeeze", x, axis=(2 + rank,))
    if any(r > 1 for r in dilation):
        every = {"begin": (0,) * rank, "end": (None,) * rank, "strides": dilation}
        x = apply("strided_slice", x, **every, axes=tuple([a + rank for a in axes]))
    last = 2 + 2 * rank
    return axis_moved(with_groups(x, last, self.groups), last + 2, last, 1)


def net(padding: Dim, cut: Dim) -> tuple[Dim, Dim]:
    """What to pad and what to cut off where both are to be done at one end: one of them, where the widths are
    numbers.
    """
    if not isinstance(padding, int) or not isinstance(cut, int):
        return padding, cut
    return max(padding - cut, 0), max(cut - padding, 0)


def rows_of_places(seen: Expr, rank: int) -> Expr:
    """What windows see as matrices, a row for each place: `(..., items * places, taps * channels)`."""
    return one_axis(one_axis(seen, 2, 1 + rank), 3, 1 + rank)


def channels_of_rows(x: Expr, rank: int, at: int, groups: int) -> Expr:
    """A batched operand with its rows as more channels in each group, along an axis of a row."""
    if groups == 1:
        return merged_along(x, rank, at)
    return one_axis(axis_moved(with_groups(x, at + 1, groups), rank + 2, 0, at + 1), at, 3)


def rows_of_channels(y: Expr, n: Dim, size: Dim, rank: int, at: int, groups: int) -> Expr:
    """The inverse; each row has `size` channels in a group."""
    if groups == 1:
        return split_along(y, n, size, rank, at)
    sizes = (*(0,) * (at + 1), *split_sizes(n, size), -2)
    apart = apply("reshape", with_groups(y, at, groups), newshape=sizes)
    return one_axis(axis_moved(apart, rank + 2, at + 1, 0), at + 1, 2)


def with_groups(x: Expr, axis: int, groups: int) -> Expr:
    """A tensor with an axis as two: groups, and what is in each."""
    return apply("reshape", x, newshape=(*(0,) * axis, -4, groups, -1, -2))


def of_letters(shape: Sequence[Dim], layout: str, letters: str) -> list[Dim]:
    """The sizes of the axes that letters of a layout name."""
    return [shape[i] for i in positions(layout, letters)]


def reordered(x: Expr, layout: str, wanted: str) -> Expr:
    """A batched operand with the axes of its rows in another order."""
    if layout == wanted:
        return x
    return apply("transpose", x, axes=(0, *[i + 1 for i in positions(layout, wanted)]))
