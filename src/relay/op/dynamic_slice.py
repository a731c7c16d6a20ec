"""Regular parts of a tensor between places that are known at run time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy

from relay.ir.expr import Call, Constant, Expr, Op, RelayExpr, as_expr, constant
from relay.ir.type import ANY, Dim, TensorType, Type
from relay.op.arrays import array_type
from relay.op.axes import SIZES, attribute_fault, axes_of
from relay.op.base import INTEGRAL, Array, Numpy, Operator, sample
from relay.op.batching import behind_rows, by, in_front, row_rank, stretched, with_row_rank
from relay.op.derivative import const_like, rank_of, tensor_type, zeros_like
from relay.op.kind import Batching, Derivative
from relay.op.native import Index, Loops, Output, View
from relay.op.numeric import apply, index_numbers
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement
from relay.op.slice import BY_SIZE, SliceMode
from relay.op.slice_range import BEYOND, clipped, range_of, sized
from relay.op.take import permute
from relay.op.traced import DECIDES, placed, values_of


@operator("strided_set")
class StridedSet(Operator):
    """`data` with `v` in place of the part that `strided_slice` would take; the places are tensors of rank 1.

    With `slice_mode="clip"` places may lie beyond the axis, as in NumPy.

    relay> strided_set([1, 2, 3, 4], [8, 9], [1], [3], [1])
    [1, 8, 9, 4]
    """

    derivative = Derivative.TRANSPOSE
    samples = (
        sample("5x4 float32", "2x4 float32", numpy.array([1]), numpy.array([3]), numpy.array([1])),
        sample("5 int4", "int4", numpy.array([0]), numpy.array([5]), numpy.array([2])),
        sample(
            "5 float32",
            "3 float32",
            numpy.array([9]),
            numpy.array([-9]),
            numpy.array([-2]),
            slice_mode="clip",
        ),
    )

    slice_mode: Literal["end", "clip"] = "end"

    @staticmethod
    def builder(
        data: Any, v: Any, begin: Any, end: Any, strides: Any = None, slice_mode: str = "end"
    ) -> Expr:
        """`begin`, `end` and `strides` may be lists of numbers; without strides every element is set."""
        if strides is None:
            strides = numpy.ones(_slice_length(begin), "int64")
        places = [_as_place(p) for p in (begin, end, strides)]
        return Call(Op.get("strided_set"), (as_expr(data), as_expr(v), *places), {"slice_mode": slice_mode})

    def infer(self, t: Typing, x: Type, v: Type, *places: Type) -> Type:
        t.equal(t.dtype(v), t.dtype(x), why="what is set has the dtype of the tensor")
        for p in places:
            t.dtype_in(p, INTEGRAL, "the places")
            t.shape(p, rank=1, what="the places")
        return t.tensor(x)

    def reference(self, np: Numpy, data: Array, v: Array, begin: Array, end: Array, strides: Array) -> Array:
        out = np.array(data)
        numbers = [values_of(x, "values decide which part is set") for x in (begin, end, strides)]
        places = zip(out.shape, *numbers, strict=False)
        rule = clipped if self.slice_mode == "clip" else range_of
        at = tuple([rule(SIZES, d, b, e, s).slice for d, b, e, s in places])
        target = out[at].shape
        pairs = zip(reversed(target), reversed(v.shape), strict=False)
        if v.ndim > len(target) or any(n not in (1, d) for d, n in pairs):
            SIZES.fail(
                "shape-constraint", f"cannot set a part of shape {target} to a tensor of shape {v.shape}"
            )
        return placed(np, out, at, v)

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, v: Expr, *places: Expr) -> Expr | None:
        if any(which[2:]):
            return None  # each row would have places of its own
        rows = stretched(n, data, which[0])
        part = with_row_rank(v, row_rank(data, which[0])) if which[1] else v
        ends = [in_front(first, p) for first, p in zip((0, BEYOND, 1), places, strict=True)]
        return self(rows, part, *ends)

    def transpose(
        self, g: Expr, data: Expr, v: Expr, begin: Expr, end: Expr, strides: Expr
    ) -> tuple[Expr | None, ...]:
        rest = self(g, const_like(0, g), begin, end, strides)
        cut = part(g, begin, end, strides, self.slice_mode)
        return rest, apply("collapse_sum_like", cut, v), None, None, None

    def compute(
        self, b: Loops, out: Output, data: View, v: View, begin: View, end: View, strides: View
    ) -> None:
        """A copy, and then the part."""
        ranges = ranges_at(b, data, begin, end, strides, self.slice_mode)
        sizes = [length for _, length, _ in ranges]
        extra = len(sizes) - len(v.sizes)
        pairs = [(d, n) for d, n in zip(v.sizes, sizes[extra:], strict=True) if d != 1]
        fits = [b.bits("or", b.is_same(d, 1), b.is_same(d, n)) for d, n in pairs]
        message = "a part is set to a tensor of its shape"
        b.require(b.both(*fits), "shape-constraint", message)

        def one(index: Sequence[Any]) -> None:
            out.put(source_index(b, index, ranges), v.at(b.spread(index, v)))

        b.begin_as(out, data)
        b.nest(sizes, one)


def part(x: Expr, begin: Expr, end: Expr, strides: Expr, mode: SliceMode) -> Expr:
    """What `strided_set` replaces: a `strided_slice` where the places are known."""
    places = [begin, end, strides]
    known = [tuple(e.value.tolist()) for e in places if isinstance(e, Constant)]
    if len(known) < len(places):
        return apply("dyn.strided_slice", x, *places, slice_mode=mode)
    return apply("strided_slice", x, *known, slice_mode=mode)


def _slice_length(places: Any) -> int:
    """How many places there are."""
    t = places.checked_type if isinstance(places, RelayExpr) else array_type(numpy.asarray(places))
    assert isinstance(t, TensorType)
    return t.concrete_shape[0]


def _as_place(p: Any) -> Expr:
    """An expression as it is, a list of numbers as a constant."""
    return as_expr(p if isinstance(p, RelayExpr) else numpy.asarray(p, "int64"))


@operator("dyn.strided_slice")
class DynStridedSlice(Rearrangement):
    """`strided_slice` of the first axes, or of `axes`, between places that are tensors of rank 1.

    relay> dyn.strided_slice([1, 2, 3, 4, 5], [1], [5], [2])
    [2, 4]
    """

    samples = (
        sample("5x4 float32", numpy.array([1, 0]), numpy.array([4, -1]), numpy.array([1, 1])),
        sample("5x4 int4", numpy.array([4]), numpy.array([-6]), numpy.array([-2])),
        sample("5x4 float64", numpy.array([-3]), numpy.array([2]), numpy.array([1]), slice_mode="size"),
        sample("5x4 float64", numpy.array([-3]), numpy.array([7]), numpy.array([1]), slice_mode="size"),
        sample("5x4 float64", numpy.array([1]), numpy.array([4]), numpy.array([1]), slice_mode="exact"),
        sample("5x4 float64", numpy.array([-9]), numpy.array([9]), numpy.array([2]), slice_mode="clip"),
        sample("2x5x4 float32", numpy.array([1]), numpy.array([-1]), numpy.array([1]), axes=(-2,)),
    )

    slice_mode: SliceMode = "end"
    axes: tuple[int, ...] | None = None

    @staticmethod
    def builder(
        data: Any, begin: Any, end: Any, strides: Any = None, slice_mode: str = "end", axes: Any = None
    ) -> Expr:
        """As `strided_slice`; places may be lists of numbers, and without strides every element is taken."""
        strides = numpy.ones(_slice_length(begin), "int64") if strides is None else strides
        places = [_as_place(p) for p in (begin, end, strides)]
        attrs = {"slice_mode": slice_mode, "axes": axes}
        return Call(Op.get("dyn.strided_slice"), (as_expr(data), *places), attrs)

    def infer(self, t: Typing, x: Type, *places: Type) -> Type:
        dims = t.shape(x)
        counts: list[Dim] = []
        for p in places:
            t.dtype_in(p, INTEGRAL, "the places")
            counts += t.shape(p, rank=1, what="the places")
        cut = t.static(counts[0])
        if cut is not None and cut > len(dims):
            attribute_fault(t, "begin", cut, f"the tensor has {len(dims)} axes")
        known: Sequence[int] = range(len(dims) if cut is None else cut)
        if self.axes is not None:
            known = axes_of(t, self.axes, len(dims), of="`data`")
            for n in counts:
                t.equal(n, len(known), why="each axis has its places")
        return TensorType([ANY if i in known else d for i, d in enumerate(dims)], t.dtype(x))

    def reference(self, np: Numpy, data: Array, begin: Array, end: Array, strides: Array) -> Array:
        taken: list[Any] = [slice(None)] * data.ndim
        axes = range(data.ndim) if self.axes is None else axes_of(SIZES, self.axes, data.ndim)
        numbers = [values_of(x, DECIDES) for x in (begin, end, strides)]
        for axis, b, e, s in zip(axes, *numbers, strict=False):
            if self.slice_mode in BY_SIZE:
                taken[axis] = sized(SIZES, data.shape[axis], b, e, exact=self.slice_mode == "exact").slice
            else:
                rule = clipped if self.slice_mode == "clip" else range_of
                taken[axis] = rule(SIZES, data.shape[axis], b, e, s).slice
        return data[tuple(taken)]

    @by(Batching.SHIFTED)
    def batch(self, n: Dim, which: Sequence[Any], data: Expr, *places: Expr) -> Expr | None:
        if any(which[1:]):
            return None  # each row would have a shape of its own
        if self.axes is not None:
            return replace(self, axes=behind_rows(self.axes, row_rank(data, True)))(data, *places)
        whole = (0, -1 if self.slice_mode in BY_SIZE else BEYOND, 1)
        return self(data, *[in_front(first, p) for first, p in zip(whole, places, strict=True)])

    def transpose(
        self, g: Expr, data: Expr, begin: Expr, end: Expr, strides: Expr
    ) -> tuple[Expr | None, ...]:
        rank = rank_of(data)
        first = () if self.axes is None else axes_of(SIZES, self.axes, rank)
        order = [*first, *[axis for axis in range(rank) if axis not in first]]
        turned = permute(data, order)
        last = self.last(turned, begin, end) if self.slice_mode in BY_SIZE else end
        how = {"slice_mode": "clip"} if self.slice_mode == "clip" else {}
        whole = apply("strided_set", zeros_like(turned), permute(g, order), begin, last, strides, **how)
        return permute(whole, [order.index(axis) for axis in range(rank)]), None, None, None

    def last(self, data: Expr, begin: Expr, sizes: Expr) -> Expr:
        """The places where parts of the given sizes end."""
        zero = constant(0, "int64")
        counts = apply("slice_like", apply("shape_of", data, "int64"), begin)
        first, size = (index_numbers(x, tensor_type(x).dtype) for x in (begin, sizes))
        front = apply("where", apply("less", first, zero), apply("add", first, counts), first)
        return apply(
            "where", apply("less", size, zero), counts, apply("minimum", apply("add", front, size), counts)
        )

    def extent(self, b: Loops, data: View, begin: View, end: View, strides: View) -> Sequence[Index]:
        """The lengths between the places."""
        return [length for _, length, _ in self.ranges(b, data, begin, end, strides)]

    def compute(self, b: Loops, out: Output, data: View, begin: View, end: View, strides: View) -> None:
        """The elements from place to place."""
        ranges = self.ranges(b, data, begin, end, strides)
        b.each(out.sizes, lambda index: out.put(index, data.at(source_index(b, index, ranges))))

    def ranges(self, b: Loops, data: View, *places: View) -> list[tuple[Index, Index, Index]]:
        """The beginning, the length and the stride of what is taken of each axis."""
        begin, end, strides = places
        axes = None if self.axes is None else axes_of(SIZES, self.axes, len(data.sizes))
        return ranges_at(b, data, begin, end, strides, self.slice_mode, axes)


OUTSIDE = "the slice lies within the axis"
NO_STRIDE = "`strides` cannot be 0: a stride is not 0"


def ranges_at(
    b: Loops,
    data: View,
    begin: View,
    end: View,
    strides: View,
    mode: SliceMode,
    axes: Sequence[int] | None = None,
) -> list[tuple[Index, Index, Index]]:
    """What `range_of`, `sized` or `clipped` gives for each axis, as the code computes it: begin, length,
    stride.  Places are for `axes`, or the first ones.
    """
    rule = clipped_at if mode == "clip" else range_at
    found: list[tuple[Index, Index, Index]] = []
    for axis, d in enumerate(data.sizes):
        if axes is not None and axis not in axes:
            found.append((0, d, 1))
            continue
        k = axis if axes is None else axes.index(axis)
        first = bound_at(b, begin, k, 0)
        if mode in BY_SIZE:
            found.append(sized_at(b, d, first, bound_at(b, end, k, -1), exact=mode == "exact"))
        else:
            found.append(rule(b, d, first, bound_at(b, end, k, BEYOND), bound_at(b, strides, k, 1)))
    return found


def bound_at(b: Loops, places: View, axis: int, otherwise: int) -> Index:
    """The bound given for an axis, or the default."""
    count = places.sizes[0]
    if isinstance(count, int):
        return b.as_index(places.at([axis])) if axis < count else otherwise
    found = b.where(
        b.is_less(axis, count),
        lambda: b.as_number(b.as_index(places.at([axis])), "int64"),
        lambda: b.const(otherwise, "int64"),
    )
    return b.as_index(found)


def from_front(b: Loops, d: Index, place: Index) -> Index:
    """A place that counts from the end if it is negative."""
    return b.choose(b.is_less(place, 0), b.plus(d, place), place)


def sized_at(b: Loops, d: Index, begin: Index, size: Index, *, exact: bool) -> tuple[Index, Index, Index]:
    """So many elements, or all that are left; see `sized`."""
    first = from_front(b, d, begin)
    left = b.minus(d, first)
    outside = [b.is_less(first, 0), b.is_less(left, size if exact else 0)]
    b.require(b.both(*map(b.negation, outside)), "slice-out-of-range", OUTSIDE)
    return first, b.choose(b.is_less(size, 0), left, b.smaller(size, left)), 1


def range_at(b: Loops, d: Index, begin: Index, end: Index, stride: Index) -> tuple[Index, Index, Index]:
    """The elements from one place to another; see `range_of`."""
    b.require(b.negation(b.is_same(stride, 0)), "attribute-value", NO_STRIDE)
    back = b.is_less(stride, 0)
    most = b.choose(back, b.minus(d, 1), d)
    least = b.choose(back, -1, 0)
    first = from_front(b, d, begin)
    first = b.choose(back, b.choose(b.is_less(begin, 0), first, b.smaller(first, most)), first)
    last = b.smaller(from_front(b, d, end), most)
    last = b.choose(back, b.larger(last, -1), last)
    last = b.choose(b.both(back, b.is_less(end, 1 - BEYOND)), -1, last)
    way = b.choose(back, b.minus(first, last), b.minus(last, first))
    step = b.choose(back, b.minus(0, stride), stride)
    outside = (b.is_less(first, least), b.is_less(most, first), b.is_less(way, 0))
    b.require(b.both(*map(b.negation, outside)), "slice-out-of-range", OUTSIDE)
    return first, steps_within(b, way, step), stride


def clipped_at(b: Loops, d: Index, begin: Index, end: Index, stride: Index) -> tuple[Index, Index, Index]:
    """The elements from one place to another that are there; see `clipped`."""
    b.require(b.negation(b.is_same(stride, 0)), "attribute-value", NO_STRIDE)
    back = b.is_less(stride, 0)
    least, most = b.choose(back, -1, 0), b.choose(back, b.minus(d, 1), d)
    first, last = (b.smaller(b.larger(from_front(b, d, x), least), most) for x in (begin, end))
    way = b.larger(b.choose(back, b.minus(first, last), b.minus(last, first)), 0)
    step = b.choose(back, b.minus(0, stride), stride)
    return first, steps_within(b, way, step), stride


def steps_within(b: Loops, way: Index, step: Index) -> Index:
    """Return how many steps begin within a way that is not negative."""
    step = b.smaller(step, b.larger(way, 1))
    return b.quotient(b.minus(b.plus(way, step), 1), step)


def source_index(b: Loops, index: Sequence[Any], ranges: Sequence[tuple[Index, Index, Index]]) -> list[Index]:
    """The place in the tensor of an element of the part."""
    return [b.plus(first, b.times(i, stride)) for i, (first, _, stride) in zip(index, ranges, strict=True)]
