"""Calls whose sizes are dimensions, in terms of operators that take sizes as operands.

A size that stands in an attribute may be a dimension, whose value is known when the program runs.  Inference
types such a call by the rule of its operator and then puts what is said here in its place.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy

from relay.ir.expr import Call, Expr, Op, Tuple, constant
from relay.ir.type import Dim, DimCall, Dimension, DimExpr, Kind, TypeVar
from relay.ir.walk import type_post_order
from relay.op.attribute import is_dimension
from relay.op.axes import UNCHECKED
from relay.op.base import Operator
from relay.op.broadcast import BroadcastTo, CollapseSumTo
from relay.op.column import Column
from relay.op.coordinates import SparseToDense
from relay.op.create import Arange, Fill, Full
from relay.op.dimension import DimValue
from relay.op.image.resize import Resize1D, Resize2D, Resize3D, resized, way_of
from relay.op.join import Repeat, Split, Tile
from relay.op.nn.dense import Dense, MatMul
from relay.op.nn.layout import SPATIAL, ntuple, positions
from relay.op.numeric import apply, dims, scalar
from relay.op.one_hot import OneHot
from relay.op.pad import MIRROR, MirrorPad, Pad, with_border
from relay.op.registry import instance
from relay.op.reshape import Reshape, ReverseReshape
from relay.op.reshape_codes import SPLIT, code_groups, flipped_codes, reshaped
from relay.op.slice import BY_SIZE, StridedSlice
from relay.op.slice_range import BEYOND
from relay.op.sort import TopK
from relay.op.term import Term, iota

Values = Callable[[Dim], Expr]
"""The value of a dimension: a scalar of int64."""
Rule = Callable[[Any, Values, Sequence[Any], Sequence[Expr]], Expr]
"""`(operator, values, types of the operands, operands)`: what the call is."""


def _none(op: Operator, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    raise AssertionError(f"{op.name} has no rule for sizes that are dimensions")


computed = Column[Rule](default=_none)


def rule(*owners: type[Operator]) -> Callable[[Rule], Rule]:
    """Register the rule of some operators."""

    def register(made: Rule) -> Rule:
        for owner in owners:
            computed[owner] = made
        return made

    return register


def number(n: int) -> Expr:
    """A number as a scalar of int64."""
    return constant(numpy.int64(n))


def dimension_value(d: Dim, known: Mapping[TypeVar, Expr]) -> Expr:
    """The value of a dimension, a scalar of int64, by the values of its variables."""
    if isinstance(d, int):
        return number(d)
    done: dict[Dim, Expr] = {}

    def of(part: Dim) -> Expr:
        return number(part) if isinstance(part, int) else done[part]

    for part in type_post_order(d):
        match part:
            case TypeVar():
                done[part] = known[part]
            case DimExpr():
                done[part] = _sum(part, of)
            case DimCall():
                done[part] = _called(part.op, [of(a) for a in part.args])
            case _:
                raise AssertionError(f"{part} has no value")
    return done[d]


def _sum(d: DimExpr, of: Values) -> Expr:
    """`2 * n * m + k - 1`, what is added before what is subtracted."""
    found: Expr | None = None
    terms = [*d.terms, ((), d.constant)] if d.constant else [*d.terms]
    for atoms, factor in sorted(terms, key=lambda term: term[1] < 0):
        parts = [of(a) for a in atoms]
        if abs(factor) != 1 or not parts or (found is None and factor < 0):
            parts.insert(0, number(factor if found is None else abs(factor)))
        product = parts[0]
        for p in parts[1:]:
            product = apply("multiply", product, p)
        found = product if found is None else apply("add" if factor > 0 else "subtract", found, product)
    assert found is not None
    return found


def _called(op: str, args: Sequence[Expr]) -> Expr:
    found = args[0]
    for a in args[1:]:
        if op == "broadcast":
            found = apply("where", apply("equal", found, number(1)), a, found)
        else:
            name = {"/": "floor_divide", "min": "minimum", "max": "maximum"}[op]
            found = apply(name, found, a)
    return found


def vector(sizes: Sequence[Dim], values: Values) -> Expr:
    """Sizes as a tensor of rank 1 of int64."""
    if not sizes:
        return constant(numpy.zeros(0, "int64"))
    return apply("stack", tuple([values(d) for d in sizes]), axis=0)


def axis_size(x: Expr, axis: int) -> Expr:
    """The size of an axis, a scalar of int64."""
    return apply("take", apply("shape_of", x, dtype="int64"), number(axis), axis=0)


# --- the rules --------------------------------------------------------------------------------------------


@rule(DimValue)
def _value(op: DimValue, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return values(op.dim)


@rule(Fill)
def _of_one_value(op: Any, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return apply(f"dyn.{op.name}", vector(op.shape, values), dtype=op.dtype)


@rule(Full)
def _full(op: Full, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return apply("dyn.full", args[0], vector(op.shape, values), dtype=op.dtype)


@rule(Arange)
def _counted(op: Arange, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    limits: list[Any] = [op.start or 0, op.stop, 1 if op.step is None else op.step]
    whole = all(isinstance(x, int | Dimension) for x in limits)
    if whole:
        return apply("cast", apply("arange", *map(values, limits), dtype="int64"), dtype=op.dtype)
    wide = [
        constant(x, "float64") if isinstance(x, float) else apply("cast", values(x), dtype="float64")
        for x in limits
    ]
    return apply("cast", apply("arange", *wide, dtype="float64"), dtype=op.dtype)


@rule(BroadcastTo)
def _stretched(op: BroadcastTo, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return apply("dyn.broadcast_to", args[0], vector(op.shape, values))


@rule(CollapseSumTo)
def _collapsed(op: CollapseSumTo, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    like = apply("dyn.zeros", vector(op.shape, values), dtype="bool")
    return apply("collapse_sum_like", args[0], like)


@rule(Reshape)
def _reshaped(op: Reshape, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    if all(is_dimension(code) or code > 0 or code == -1 for code in op.newshape):
        return apply("dyn.reshape", args[0], vector(op.newshape, values), allowzero=True)
    own = _axes(types)
    sizes = reshaped(UNCHECKED, own, _with_rest(op.newshape), allowzero=op.allowzero)
    return _to_sizes(args[0], own, sizes, values)


@rule(ReverseReshape)
def _reversed(op: ReverseReshape, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    own = _axes(types)
    codes = _with_rest(flipped_codes(UNCHECKED, op.newshape))
    return _to_sizes(args[0], own, reshaped(UNCHECKED, own[::-1], codes, allowzero=False)[::-1], values)


LEFT_OVER = TypeVar("rest", Kind.Dim)
"""Stands for the size -1 in a new shape, which may be 0 by 0."""


def _axes(types: Sequence[Any]) -> list[TypeVar]:
    """A variable for each axis of the operand."""
    return [TypeVar("axis", Kind.Dim) for _ in dims(types[0])]


def _with_rest(newshape: Sequence[Any]) -> list[Any]:
    """The codes of a new shape, with a variable for the size that is left over."""
    codes: list[Any] = []
    for code in code_groups(UNCHECKED, newshape):
        codes += (SPLIT, *code) if isinstance(code, tuple) else (LEFT_OVER if code == -1 else code,)
    return codes


def _to_sizes(x: Expr, own: Sequence[TypeVar], sizes: Sequence[Dim], values: Values) -> Expr:
    """A tensor in a shape of its own sizes and others."""
    known = {p: axis_size(x, i) for i, p in enumerate(own)}
    known[LEFT_OVER] = number(-1)
    return apply("dyn.reshape", x, vector(sizes, with_more(values, known)), allowzero=True)


def with_more(values: Values, known: Mapping[TypeVar, Expr]) -> Values:
    """`values` that know some more variables."""

    def of(d: Dim) -> Expr:
        if isinstance(d, int):
            return number(d)
        variables = [v for v in type_post_order(d) if isinstance(v, TypeVar)]
        given = {v: known[v] if v in known else values(v) for v in variables}
        return dimension_value(d, given)

    return of


@rule(Tile)
def _tiled(op: Tile, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return apply("dyn.tile", args[0], vector(op.reps, values))


@rule(Repeat)
def _repeated(op: Repeat, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    x, rank, axis = args[0], len(dims(types[0])), op.axis
    if axis is None:
        x, rank, axis = apply("reshape", x, newshape=(-1,)), 1, 0
    times = Term(values(op.repeats), "int64")
    places = iota(Term(axis_size(x, axis % rank), "int64") * times)
    return apply("take", x, places.of("floor_divide", times).expr, axis=axis)


@rule(Split)
def _cut(op: Split, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    assert isinstance(op.indices_or_sections, tuple)
    cuts = (0, *op.indices_or_sections, BEYOND)
    parts = [StridedSlice(begin=(a,), end=(b,), axes=(op.axis,)) for a, b in pairwise(cuts)]
    return Tuple(tuple([_sliced(part, values, types, args) for part in parts]))


@rule(OneHot)
def _one_hot(op: OneHot, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return apply("dyn.one_hot", *args, values(op.depth), axis=op.axis, dtype=op.dtype)


@rule(TopK)
def _greatest(op: TopK, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    others = {name: value for name, value in op.attributes().items() if name != "k"}
    return Call(Op.get("dyn.topk"), (args[0], values(op.k)), others)


@rule(StridedSlice)
def _sliced(op: StridedSlice, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    axes = op.cut_axes(len(dims(types[0])))
    whole: tuple[Dim, Dim, int] = (0, -1 if op.slice_mode in BY_SIZE else BEYOND, 1)
    places: list[tuple[Dim, Dim, int]] = [whole] * (max(axes, default=-1) + 1)
    for i, axis in enumerate(axes):
        stride = op.strides[i] if op.strides is not None and i < len(op.strides) else 1
        end = op.end[i] if i < len(op.end) else None
        if end is None:
            end = whole[1] if stride > 0 else -BEYOND
        places[axis] = (op.begin[i] if i < len(op.begin) else 0, end, stride)
    begin, end, strides = (vector(v, values) for v in zip(*places, strict=True))
    return apply("dyn.strided_slice", args[0], begin, end, strides, slice_mode=op.slice_mode)


@rule(Pad)
def _padded(op: Pad, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    if op.pad_mode != "constant":
        return _repeating(args[0], op.pad_width, op.pad_mode, values)
    widths = apply("stack", tuple([vector(pair, values) for pair in op.pad_width]), axis=0)
    border = apply("cast_like", args[1], args[0]) if len(args) > 1 else scalar(0, types[0].dtype)
    return apply("dyn.nn.pad", args[0], widths, border)


@rule(MirrorPad)
def _mirrored(op: MirrorPad, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    return _repeating(args[0], op.pad_width, op.mode.lower(), values)


def _repeating(x: Expr, widths: Sequence[tuple[Dim, Dim]], kind: str, values: Values) -> Expr:
    """A tensor with a border of itself."""
    for axis, pair in enumerate(widths):
        if pair != (0, 0):
            size, before, after = (Term(e, "int64") for e in (axis_size(x, axis), *map(values, pair)))
            x = with_border(x, axis, size, before, after, MIRROR[kind])
    return x


@rule(Resize1D, Resize2D, Resize3D)
def _resized(op: Any, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    x = Term(args[0], types[0].dtype)
    sizes = cast("tuple[Dim, ...]", ntuple(op.size, op.rank))
    outs = [d if isinstance(d, int) else Term(values(d), "int64") for d in sizes]
    axes = positions(op.layout, SPATIAL[op.rank])
    found = resized(x, types, axes, outs, way_of(op.attributes()), op.roi or ())
    return found.cast(op.out_dtype or str(x.dtype)).expr


@rule(SparseToDense)
def _dense(op: SparseToDense, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    operands = (args[0], vector(op.output_shape, values), *args[1:])
    return Call(Op.get("dyn.sparse_to_dense"), operands, {})


@rule(Dense, MatMul)
def _product(op: Any, values: Values, types: Sequence[Any], args: Sequence[Expr]) -> Expr:
    """The units are those of the weight: the type of the result says that they are these."""
    return Call(Op.get(op.name), tuple(args), instance(op.name, op.attributes() | {"units": None}))
