"""Copies of tensors with other values in a part, `%x with { [1:3]: %v }`: what NumPy's assignment leaves."""

from collections.abc import Sequence
from typing import Any

import numpy

from relay.diagnostic import Span
from relay.ir.expr import Expr, constant
from relay.ir.module import IRModule
from relay.ir.type import TensorType, Type
from relay.op.axes import SIZES
from relay.op.base import sample
from relay.op.composite import Composite
from relay.op.kind import Wide
from relay.op.numeric import SameType, apply, dims, index_numbers
from relay.op.records import copied_record, field_name, opened
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.scattering import flattened, product_of
from relay.op.slice_range import BEYOND
from relay.op.subscript import WHOLE, Index, Item, Plan, Subscript, bounds, coordinates


@operator("index_update")
class IndexUpdate(SameType, Composite):
    """`data` with `value`, stretched, in place of the part that `items` select: `%x with { [1:3]: %v }`.

    The items and operands are those of `index`; where indices name a place twice, the last value stays.  Of a
    record the item is the name of a field: `%l with { b: %c }` is `index_update(%l, %c, items=(".b",))`.

    relay> [1, 2, 3, 4] with { [1:3]: [8, 9], [-1]: 0 }
    [1, 8, 9, 0]
    relay> index_update([1, 2, 3, 4], 0, items=((None, None, 2),))
    [0, 2, 0, 4]
    """

    wide = Wide.STATE
    items: tuple[Item, ...]
    operands = ("data", "value", "indices")
    optional = 1
    variadic = True
    is_resolved = True
    samples = (
        sample("5x4 float32", "4 float32", items=(1,)),
        sample("5x4 float32", "float32", items=((1, 9, 2), -1)),
        sample("5x4 int4", "5x1x1 int4", items=((None, None, -1), None, "...", (-9, 3, None))),
        sample("5x4x3 float32", "float32", numpy.array([[0, -1]]), items=("...", "%", 0)),
        sample("3x2 float64", "2 float64", numpy.array([True, False, True]), items=("%",)),
        sample("5x4 float32", "float32", numpy.int32(-9), numpy.int64(3), items=(("%", "%", None),)),
    )

    def infer(self, t: Typing, data: Type, value: Type, *operands: Type) -> Type:
        name = field_name(self.items)
        if name:
            t.equal(value, t.field(data, name), why=f"this is the field `{name}`")
            return data
        t.equal(t.dtype(value), t.dtype(data), why="what is set has the dtype of the tensor")
        shape = t.shape(Subscript(self.items).infer(t, t.tensor(data), *operands))
        t.equal(t.broadcast(t.shape(value), shape), shape, why="what is set is stretched to the part")
        return t.tensor(data)

    def decompose(self, types: Any, data: Any, value: Any, *operands: Expr) -> Expr:
        part = Subscript(self.items)
        given = [types[0], *types[2:]]
        indices, limits = part.divided(SIZES, operands)
        index_types, limit_types = part.divided(SIZES, given[1:])
        limits = [index_numbers(x, t.dtype) for x, t in zip(limits, limit_types, strict=True)]
        masks = [i.dtype == "bool" for i in index_types]
        plan = part.plan(SIZES, len(dims(types[0])), [dims(i) for i in index_types], masks)
        sizes = plan.widened(dims(types[0]))
        is_open = any(
            type(e) in (int, Index) and type(d) is not int for e, d in zip(plan.entries, sizes, strict=True)
        )
        if not indices and not limits and not is_open:  # a place in an axis of unknown size is checked below
            return self.in_place(plan, data, value, is_scalar=not dims(types[1]))
        if not limits and not any(masks) and names_points(plan):
            points = points_of(plan, indices, index_types)
            new = apply("broadcast_to_like", value, part(data, *operands))
            return apply("scatter_nd", data, points, new)
        if not plan.new and not is_open and not any(map(dims, index_types)):
            places = computed_places(plan, sizes, indices, limits)
            new = with_axes(value, len(dims(types[1])), plan)
            return apply("strided_set", data, new, *places, slice_mode="clip")
        places = part(place_numbers(data, types[0]), *operands)
        new = flattened(apply("broadcast_to_like", value, places))
        found = apply("scatter_elements", flattened(data), flattened(places), new, axis=0)
        return apply("reshape_like", found, data)

    def in_place(self, plan: Plan, data: Expr, value: Expr, *, is_scalar: bool) -> Expr:
        """The copy where every place is written out."""
        kept = [_as_slice(e) for axis, e in enumerate(plan.entries) if axis not in plan.new]
        if not is_scalar:
            value = apply("broadcast_to_like", value, Subscript(self.items)(data))
            value = apply("reshape_like", value, Subscript(tuple(kept))(data)) if kept else value
        if not kept:
            return apply("reshape_like", value, data)
        places = [constant(numpy.array(p, "int64")) for p in zip(*map(bounds, kept), strict=True)]
        return apply("strided_set", data, value, *places, slice_mode="clip")

    @property
    def spelled(self) -> str:
        return f"with {{ {name}: … }}" if (name := field_name(self.items)) else self.name

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        name = field_name(self.items)
        return copied_record(args[0], opened(types[0], mod), {name: args[1]}, span) if name else None


def _as_slice(entry: Any) -> Any:
    """The slice that takes what an integer does, and leaves the axis."""
    assert not isinstance(entry, Index)
    return (entry, BEYOND if entry == -1 else entry + 1, None) if isinstance(entry, int) else entry


def names_points(plan: Plan) -> bool:
    """Whether there are indices for the first axes, and the others are taken whole."""
    kinds = [isinstance(e, Index | int) for e in plan.entries]
    count = kinds.index(False) if False in kinds else len(kinds)
    return not plan.new and count > 0 and all(e == WHOLE for e in plan.entries[count:])


def points_of(plan: Plan, indices: Sequence[Expr], types: Sequence[Any]) -> Expr:
    """The coordinates that indices and integers give, a row for each of the first axes."""
    given: list[Expr] = []
    kinds: list[Any] = []
    for entry in plan.entries:
        if isinstance(entry, Index):
            given.append(indices[entry.operand])
            kinds.append(types[entry.operand])
        elif isinstance(entry, int):
            given.append(constant(numpy.int64(entry)))
            kinds.append(TensorType((), "int64"))
    return coordinates(given, kinds)[0]


def computed_places(
    plan: Plan, sizes: Sequence[Any], indices: Sequence[Expr], limits: Sequence[Expr]
) -> list[Expr]:
    """Where slices begin and end, and their strides, each as a tensor with a place for each axis; an index,
    which is checked, is a slice of one place.
    """
    one, several = constant(numpy.int64(1)), iter(limits)
    columns: list[list[Expr]] = [[], [], []]
    for entry, d in zip(plan.entries, sizes, strict=True):
        if isinstance(entry, Index | int):
            i = indices[entry.operand] if isinstance(entry, Index) else constant(numpy.int64(entry))
            first = Subscript(("%",))(apply("arange", 0, d, dtype="int64"), i)
            places = [first, apply("add", first, one), one]
        else:
            places = [next(several) if n == "%" else constant(numpy.int64(n)) for n in bounds(entry)]
        for column, place in zip(columns, places, strict=True):
            column.append(place)
    return [apply("stack", tuple(column), axis=0) for column in columns]


def with_axes(value: Expr, rank: int, plan: Plan) -> Expr:
    """A value, which is stretched to the part, with an axis wherever an index leaves the part without one."""
    for entry in reversed(plan.entries):
        if rank == 0:
            break
        if isinstance(entry, Index | int):
            value = apply("expand_dims", value, axis=rank)
        else:
            rank -= 1
    return value


def place_numbers(x: Expr, t: TensorType) -> Expr:
    """The shape of a tensor of that type with the number of each element in row-major order, as int64."""
    sizes = dims(t)
    static = [d for d in sizes if isinstance(d, int)]
    if len(static) == len(sizes):
        numbers = apply("arange", 0, product_of(tuple(static)), dtype="int64")
        return apply("reshape", numbers, newshape=tuple(static), allowzero=True)
    ones = flattened(apply("ones_like", apply("cast", x, dtype="int64")))
    return apply("reshape_like", apply("cumsum", ones, axis=0, exclusive=True), x)
