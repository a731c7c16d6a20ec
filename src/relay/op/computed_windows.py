"""Windows and grids whose sizes are dimensions, in terms of elements taken from computed places."""

from collections.abc import Sequence
from typing import Any, cast

import numpy

from relay.ir.dtype import is_integer, to_numpy
from relay.ir.expr import Expr
from relay.op.attribute import is_dimension
from relay.op.computed_sizes import Values, rule
from relay.op.conversion import accumulator_name
from relay.op.fourier.named import Transform, real_line
from relay.op.fourier.transform import IRDFT
from relay.op.frequencies import Histc
from relay.op.image.resize import Resize
from relay.op.image.sample import AffineGrid, CropAndResize
from relay.op.nn.adaptive_pool import AdaptiveAvgPool, AdaptiveMaxPool
from relay.op.nn.layout import SPATIAL, ntuple, pads, positions
from relay.op.nn.pool import Average, AvgPool, MaxPool
from relay.op.numeric import apply, dims, least_value
from relay.op.slice import SlidingWindow
from relay.op.term import Term, iota, size_of, term
from relay.op.vision.regions import RoiAlign, RoiPool


def in_terms(value: Any, values: Values) -> Any:
    """An attribute with terms where it has dimensions."""
    if isinstance(value, tuple):
        return tuple([in_terms(v, values) for v in cast("tuple[Any, ...]", value)])
    return Term(values(value), "int64") if is_dimension(value) else value


@rule(AffineGrid, CropAndResize, Histc, Resize, RoiAlign, RoiPool, Transform)
def _composed(op: Any, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    """By decompositions that take a number or a term for a size."""
    attributes = {name: in_terms(value, values) for name, value in op.attributes().items()}
    return type(op)(**attributes).decompose(types, *args)


@rule(IRDFT)
def _line(op: IRDFT, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    attributes = {name: in_terms(value, values) for name, value in op.attributes().items()}
    return real_line(args, **attributes)


@rule(SlidingWindow)
def _windows(op: SlidingWindow, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    rank = len(dims(types[0]))
    at = op.axis % rank
    x = Term(args[0], types[0].dtype)
    for k, (width, stride) in enumerate(zip(in_terms(op.window_shape, values), op.strides, strict=True)):
        size, taps = (term(n, "int64") for n in (size_of(args[0], types[0], at + k), width))
        places = along(size - taps, stride).of("expand_dims", axis=1) + iota(taps)
        x = x.of("take", places, axis=at + 2 * k)
    further = range(at, 2 * rank - at)
    return x.of("transpose", axes=(*range(at), *further[::2], *further[1::2])).expr


def along(room: Term, stride: int) -> Term:
    """Where windows begin that have so much room to slide; the first is there in any case."""
    return iota(room.of("maximum", 0).of("floor_divide", stride) + 1) * stride


Taps = tuple[Term, Term, Term]
"""The places `(windows, taps)` that windows see along an axis, which of them are there, and of how many
elements each mean is, `(windows)`.
"""


@rule(AdaptiveMaxPool, AdaptiveAvgPool)
def _adaptive(op: Any, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    counts = [term(n, "int64") for n in ntuple(in_terms(op.output_size, values), op.rank)]

    def taps(k: int, size: Term) -> Taps:
        place, n = iota(counts[k]), counts[k]
        begin, end = (
            (place * size).of("floor_divide", n),
            ((place + 1) * size + n - 1).of("floor_divide", n),
        )
        most = (size + n - 1).of("floor_divide", n) + 1
        at = begin.of("expand_dims", axis=1) + iota(most)
        return at, at < end.of("expand_dims", axis=1), end - begin

    return _pooled(op, types, args, taps)


@rule(MaxPool, AvgPool)
def _sliding(op: Any, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    a, n = op.attributes(), op.rank
    windows = [term(k, "int64") for k in ntuple(in_terms(op.pool_size, values), n)]
    strides, dilation, padding = ntuple(op.strides, n), ntuple(op.dilation, n), pads(op.padding, n)

    def taps(k: int, size: Term) -> Taps:
        before, after = padding[k]
        room = size + (before + after - 1) - (windows[k] - 1) * dilation[k]
        if op.ceil_mode:
            room = (room + (strides[k] - 1)).of("minimum", size + (before - 1))
        first = along(room, strides[k]) - before
        at = first.of("expand_dims", axis=1) + iota(windows[k]) * dilation[k]
        there = (at >= 0) & (at < size)
        counted = (at >= -before) & (at < size + after) if a.get("count_include_pad") else there
        return at, there, counted.cast("int64").of("sum", axis=(1,)).of("maximum", 1)

    return _pooled(op, types, args, taps)


def _pooled(op: Any, types: Sequence[Any], args: Sequence[Expr], taps: Any) -> Expr:
    """The greatest or the mean element of what windows see, spatial axis by spatial axis.

    The last axis comes first, so that of equal elements the first in the order of memory is the greatest.
    """
    dtype, rank, is_mean = types[0].dtype, op.rank, isinstance(op, Average)
    wide = "int64" if is_mean and is_integer(dtype) else accumulator_name(dtype)
    outside = term(0 if is_mean else least_value(numpy, to_numpy(wide)), wide)
    x, layout, counts = Term(args[0], dtype).cast(wide), op.layout, list[Term]()
    for k, axis in reversed([*enumerate(positions(layout, SPATIAL[rank]))]):
        size = term(size_of(args[0], types[0], axis), "int64")
        at, there, count = taps(k, size)
        seen = x.of("take", at.of("maximum", 0).of("minimum", size - 1), axis=axis)
        after = rank + 1 - axis
        x = _spread(there, after).where(seen, outside)
        x = x.of("sum", axis=(axis + 1,)) if is_mean else first_greatest(x, axis + 1)
        counts.append(_spread(count, after).cast(wide))
    for count in counts if is_mean else ():
        x = x / count
    if op.out_layout not in ("", layout):
        x = x.of("transpose", axes=positions(layout, op.out_layout))
    return x.cast(dtype).expr


def first_greatest(x: Term, axis: int) -> Term:
    """The greatest elements along an axis; derivatives are those of the first of equal ones."""
    place = x.of("argmax", axis=axis, keepdims=True)
    found = Term(apply("gather", x.expr, axis, place.expr), x.dtype)
    return found.of("squeeze", axis=(axis,))


def _spread(x: Term, after: int) -> Term:
    """With so many axes behind it."""
    return x.of("expand_dims", axis=-1, num_newaxis=after) if after else x
