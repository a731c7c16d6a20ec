"""Parts of a tensor by subscripts, `%x[1:3, ..., %i]`: what NumPy takes."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy

from relay.diagnostic import Span
from relay.ir.expr import Call, Expr, TupleGetItem, constant
from relay.ir.module import IRModule
from relay.ir.type import ANY, Dim, FuncType, RefType, TensorType, TupleType, Type, TypeCall
from relay.op.axes import SIZES, Checker, attribute_fault
from relay.op.base import INTEGRAL, Array, Numpy, sample
from relay.op.composite import Composite
from relay.op.dimension import DimValue
from relay.op.numeric import apply, dims, index_numbers
from relay.op.records import field_name, field_of_record, opened
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.slice_range import BEYOND, clipped
from relay.op.term import Term

Bound = int | Literal["%"] | None
Slice = tuple[Bound, Bound, int | None]
Item = int | Slice | str | None
WHOLE: Slice = (None, None, None)


class Index(NamedTuple):
    """What an operand says of an axis: its number among the indices, and of a mask the axis of it."""

    operand: int
    axis: int


Entry = int | Slice | Index


class Plan(NamedTuple):
    """What subscripts take of data, axis by axis."""

    entries: tuple[Entry, ...]
    """For each axis, new ones included."""
    new: tuple[int, ...]
    """The new axes, among all."""
    front: int
    """How many axes of the result stand before those that indices make."""

    def widened(self, shape: Sequence[Dim]) -> list[Dim]:
        """The shape of the data with the new axes."""
        rest = iter(shape)
        return [1 if i in self.new else next(rest) for i in range(len(self.entries))]


@operator("index")
class Subscript(Composite):
    """The part of `data` that `items` select, as in NumPy; `index(%x, %i, items=…)` is written `%x[1:3, %i]`.

    An item is an integer, a slice `(begin, end, stride)`, `"..."` for the axes that no other item is for,
    `None` for a new axis, or `"%"` for the next operand: integers, or a mask of as many axes as it has.  An
    operand may also be the begin or the end of a slice.  A slice leaves out what lies beyond the axis; any
    other index beyond it is `index-out-of-range`.  The one item of a tuple is the number of a field, that of
    a record its name: `%l.w` is `index(%l, items=(".w",))`.

    relay> [[1, 2, 3], [4, 5, 6]][1, ::-1]
    [6, 5, 4]
    relay> index([[1, 2, 3], [4, 5, 6]], items=(1, (None, None, -1)))
    [6, 5, 4]
    """

    items: tuple[Item, ...]
    operands = ("data", "indices")
    optional = 1
    variadic = True
    is_resolved = True
    samples = (
        sample("5x4 float32", items=(1,)),
        sample("5x4 float32", items=((1, 9, 2), -1)),
        sample("5x4 int4", items=((None, None, -1), None, "...", (-9, 3, None))),
        sample("5x4x3 float32", numpy.array([[0, -1]]), items=("...", "%", 0)),
        sample(
            "5x4x3 float32", numpy.array([0, 4, -1]), numpy.array([[1], [2]]), items=("%", (1, 3, None), "%")
        ),
        sample("3x2 float64", numpy.array([True, False, True]), items=("%", None)),
        sample("3x2 float32", numpy.int8(-1), items=("%",)),
        sample("float32", items=(None, "...")),
        sample("5x4 float32", numpy.int32(-9), numpy.int64(3), items=((None, None, 2), ("%", "%", None))),
    )

    def infer(self, t: Typing, data: Type, *operands: Type) -> Type:
        name = field_name(self.items)
        if name:
            return t.field(data, name)
        indices, limits = self.divided(t, operands)
        found = t.resolve(data)
        if isinstance(found, TensorType) and found.shape == () and found.dtype == "string":
            hint = '`@string_slice(%s, 0, 1)` of "std/string" is a part of a string'
            t.fail("rank-mismatch", "a string has no axes to take parts of", hint=hint)
        if isinstance(found, TypeCall | FuncType | RefType):
            is_list = isinstance(found, TypeCall) and str(found.func) == "List"
            hint = '`@nth(%l, i)` of "std/list" is an element of a list' if is_list else ""
            t.fail("expected-tensor", f"`[…]` takes parts of tensors and tuples, found {found}", hint=hint)
        if not isinstance(found, TensorType):
            fields = t.fields(data)
            return fields[self.field(t, len(fields))]
        shape = t.shape(data)
        for i in indices:
            if isinstance(t.resolve(i), TupleType):
                hint = "indices of several axes have commas between: `%x[%i, %j]`"
                t.fail("expected-tensor", "an index is a tensor, not a tuple", hint=hint)
        for limit in limits:
            t.dtype_in(limit, INTEGRAL, "a bound")
            t.shape(limit, 0, "a bound of a slice")
        masks = [t.known_dtype(i) == "bool" for i in indices]
        plan = self.plan(t, len(shape), [t.shape(i) for i in indices], masks)
        kept: list[Dim] = []
        for entry, d in zip(plan.entries, plan.widened(shape), strict=True):
            if isinstance(entry, Index):
                if masks[entry.operand]:
                    size = t.shape(indices[entry.operand])[entry.axis]
                    t.equal(size, d, why="a mask has the sizes of its axes")
            elif isinstance(entry, int):
                check_index(t, entry, d)
            elif "%" in entry:
                clipped(t, ANY, 0, 0, 1 if entry[2] is None else entry[2])
                kept.append(ANY)
            else:
                kept.append(clipped(t, d, *bounds(entry)).length)
        chosen: list[Sequence[Dim]] = []
        for i, is_mask in zip(indices, masks, strict=True):
            if not is_mask:
                t.dtype_in(i, INTEGRAL, "an index")
            chosen.append((ANY,) if is_mask else t.shape(i))
        both = t.broadcast(*map(tuple, chosen)) if chosen else ()
        return TensorType((*kept[: plan.front], *both, *kept[plan.front :]), t.dtype(data))

    def divided(self, t: Checker, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The operands that are indices, and those that are bounds of slices."""
        is_bound = [
            item != "%"
            for item in self.items
            for part in (item if isinstance(item, tuple) else (item,))
            if part == "%"
        ]
        if len(is_bound) != len(operands):
            attribute_fault(t, "items", self.items, f"the operands behind the data are {len(operands)}")
        pairs = list(zip(operands, is_bound, strict=True))
        return [x for x, bound in pairs if not bound], [x for x, bound in pairs if bound]

    def with_sizes(self, operands: Sequence[Expr]) -> tuple["Subscript", list[int]]:
        """With dimensions for bounds of slices that are the values of these, and the numbers of the operands
        that are left: so the type of the part knows the dimensions.
        """
        left: list[int] = []
        given = iter(enumerate(operands))

        def part(item: Any, is_bound: bool) -> Any:
            if isinstance(item, tuple):
                return tuple([part(n, True) for n in cast("tuple[Any, ...]", item)])
            if item != "%":
                return item
            k, operand = next(given)
            if is_bound and type(operand) is Call and isinstance(operand.attrs, DimValue):
                return operand.attrs.dim
            left.append(k)
            return item

        return Subscript(tuple([part(item, False) for item in self.items])), left

    def field(self, t: Checker, count: int) -> int:
        """The number of the field that it takes of a tuple."""
        if len(self.items) != 1 or not isinstance(self.items[0], int):
            hint = "fields may have types of their own: write `%t[0]` or `%t.0`"
            t.fail(
                "attribute-value", "a field of a tuple is taken by a number that is written out", hint=hint
            )
        i = self.items[0]
        if not -count <= i < count:
            hint = f"fields are numbered from 0; the last is {count - 1}" if count else "it has no fields"
            t.fail("projection-out-of-range", f"a tuple of {count} has no field {i}", hint=hint)
        return i % count

    def plan(self, t: Checker, rank: int, shapes: Sequence[Sequence[Dim]], masks: Sequence[bool]) -> "Plan":
        """What is taken of each axis of data of that rank; `rank-mismatch` where there are too many items."""
        for item in self.items:
            if isinstance(item, str) and item not in ("...", "%"):
                attribute_fault(t, "items", self.items, f"`{item}` stands for no part of a tensor")
        if self.items.count("...") > 1:
            t.fail("attribute-value", "`...` stands for all axes that are left: it cannot occur twice")
        sizes = [len(s) if is_mask else 1 for s, is_mask in zip(shapes, masks, strict=True)]
        if 0 in sizes:
            hint = "a mask has the shape of the first axes of the tensor"
            t.fail("rank-mismatch", "a single truth value is not a mask", hint=hint)
        several = iter(sizes)
        counts = [next(several) if i == "%" else int(i is not None and i != "...") for i in self.items]
        left = rank - sum(counts)
        if left < 0:
            plural = "s" * (sum(counts) != 1)
            hint = "there is at most one for each axis; `None` makes a new axis"
            t.fail("rank-mismatch", f"{sum(counts)} subscript{plural} for a tensor of rank {rank}", hint=hint)
        return laid_out(self.items, counts, left)

    def decompose(self, types: Any, data: Any, *operands: Expr) -> Expr:
        if isinstance(types[0], TupleType):
            return data[self.field(SIZES, len(types[0].fields))]
        (indices, limits), (given, bounds) = (self.divided(SIZES, xs) for xs in (operands, types[1:]))
        limits = [index_numbers(x, t.dtype) for x, t in zip(limits, bounds, strict=True)]
        plan = self.plan(
            SIZES, len(dims(types[0])), [dims(i) for i in given], [i.dtype == "bool" for i in given]
        )
        x = Term(data, types[0].dtype)
        for axis in plan.new:
            x = x.of("expand_dims", axis=axis)
        x = spanned(x, plan.entries, limits)
        entries = [WHOLE if isinstance(e, tuple) and "%" in e else e for e in plan.entries]
        x = cut(x, entries, plan.widened(dims(types[0])))
        if not indices:
            return x.expr
        return gathered(x, [e for e in entries if not isinstance(e, int)], plan.front, indices, given)

    @property
    def spelled(self) -> str:
        return f".{name}" if (name := field_name(self.items)) else self.name

    def resolved(
        self, types: Sequence[Type], args: Sequence[Expr], mod: IRModule, span: Span | None
    ) -> Expr | None:
        name = field_name(self.items)
        if name:
            return field_of_record(args[0], opened(types[0], mod), name, span)
        if not isinstance(types[0], TupleType):
            return None
        return TupleGetItem(args[0], self.field(SIZES, len(types[0].fields)), span=span)

    def reference(self, np: Numpy, data: Any, *indices: Array) -> Any:
        if isinstance(data, tuple):
            fields = cast("tuple[Any, ...]", data)
            return fields[self.field(SIZES, len(fields))]
        return super().reference(np, data, *indices)


def check_index(t: Checker, i: int, d: Dim) -> None:
    """Demand that an index lies within an axis (`index-out-of-range`)."""
    size, place = t.static(d), i if i >= 0 else -i - 1
    if size is not None and place >= size:
        t.fail("index-out-of-range", f"index {i} is out of range for an axis of size {size}")
    t.require(place, "<", d, f"index {i} lies within the axis", "index-out-of-range")


def laid_out(items: Sequence[Item], counts: Sequence[int], left: int) -> Plan:
    """The plan of items that are for `counts` axes each, `...` for all `left`."""
    entries: list[Entry] = []
    new: list[int] = []
    chosen: list[int] = []
    """Where among the items there are indices."""
    kept = front = operands = 0
    if "..." not in items:
        items, counts = (*items, "..."), (*counts, 0)
    for at, (item, count) in enumerate(zip(items, counts, strict=True)):
        if item == "...":
            entries += [WHOLE] * left
            kept += left
        elif item == "%" or isinstance(item, int):
            front = front if chosen else kept
            chosen.append(at)
            entries += [item] if isinstance(item, int) else [Index(operands, k) for k in range(count)]
            operands += item == "%"
        else:
            if item is None:
                new.append(len(entries))
            entries.append(item if isinstance(item, tuple) else WHOLE)
            kept += 1
    neighbours = not chosen or chosen[-1] - chosen[0] < len(chosen)
    return Plan(tuple(entries), tuple(new), front if neighbours else 0)


def bounds(item: Slice) -> tuple[Any, Any, int]:
    """Begin, end and stride of a slice, as `clipped` takes them."""
    begin, end, stride = item
    stride = 1 if stride is None else stride
    if begin is None:
        begin = 0 if stride > 0 else BEYOND
    if end is None:
        end = BEYOND if stride > 0 else -BEYOND
    return begin, end, stride


def spanned(x: Term, entries: Sequence[Entry], limits: Sequence[Expr]) -> Term:
    """Return what slices take whose bounds are computed: `limits`, in order, as int64."""
    chosen = [axis for axis, e in enumerate(entries) if isinstance(e, tuple) and "%" in e]
    if not chosen:
        return x
    several = iter(limits)
    places: list[Expr] = []
    for axis in chosen:
        span = bounds(cast(Slice, entries[axis]))
        places += [next(several) if n == "%" else constant(numpy.int64(n)) for n in span]
    begin, end, strides = (apply("stack", tuple(places[k::3]), axis=0) for k in range(3))
    axes = tuple(chosen)
    found = apply("dyn.strided_slice", x.expr, begin, end, strides, slice_mode="clip", axes=axes)
    return Term(found, x.dtype)


def cut(x: Term, entries: Sequence[Entry], sizes: Sequence[Dim]) -> Term:
    """What slices and integers take; integers leave no axis."""
    places: dict[int, tuple[int, int, int]] = {}
    opens: list[int] = []
    """Axes of unknown size of which one place is taken."""
    mode = "end"
    for axis, (entry, d) in enumerate(zip(entries, sizes, strict=True)):
        match entry:
            case int() if isinstance(d, int):
                check_index(SIZES, entry, d)
                places[axis] = (entry % d, entry % d + 1, 1)
            case int():
                opens.append(axis)
            case (_, _, _) if entry != WHOLE:
                places[axis] = bounds(entry)
                if not isinstance(d, int):
                    mode = "clip"
            case _:
                pass
    if opens:
        begin = [cast(int, entries[axis]) for axis in opens]
        ones = (1,) * len(opens)
        x = x.of("strided_slice", begin=begin, end=ones, axes=tuple(opens), slice_mode="exact")
    if places:
        if mode == "end":
            places = {axis: clipped_place(cast(int, sizes[axis]), place) for axis, place in places.items()}
        begin, end, strides = zip(*places.values(), strict=True)
        x = x.of("strided_slice", begin=begin, end=end, strides=strides, axes=tuple(places), slice_mode=mode)
    single = tuple([axis for axis, entry in enumerate(entries) if isinstance(entry, int)])
    return x.of("squeeze", axis=single) if single else x


def clipped_place(size: int, place: tuple[int, int, int]) -> tuple[int, int, int]:
    """Begin, end and stride with all that lies beyond an axis of that size left out."""
    r = clipped(SIZES, size, *place)
    assert isinstance(r.begin, int)
    assert isinstance(r.length, int)
    if not r.length:
        return 0, 0, 1
    end = r.begin + r.length * r.stride
    return r.begin, end if end >= 0 else -BEYOND, r.stride


def gathered(
    x: Term, entries: Sequence[Entry], front: int, indices: Sequence[Expr], types: Sequence[Any]
) -> Expr:
    """What indices take of the axes that they are for; other axes stay, `front` of them before the rest."""
    first = [axis for axis, entry in enumerate(entries) if isinstance(entry, Index)]
    others = [axis for axis, entry in enumerate(entries) if not isinstance(entry, Index)]
    points, rank = coordinates(indices, types)
    found = x.of("transpose", axes=(*first, *others)) if first != list(range(len(first))) else x
    found = found.of("gather_nd", points, index_rank=len(first))
    order = [*range(rank, rank + front), *range(rank), *range(rank + front, rank + len(others))]
    return (found.of("transpose", axes=tuple(order)) if front else found).expr


def coordinates(indices: Sequence[Expr], types: Sequence[Any]) -> tuple[Expr, int]:
    """A row of coordinates for each axis that indices are for, `(axes, …)`, and the rank of a row."""
    if len(indices) == 1 and types[0].dtype == "bool":
        return apply("transpose", apply("argwhere", indices[0]), axes=(1, 0)), 1
    rows: list[Term] = []
    shapes: list[tuple[Dim, ...]] = []
    for i, t in zip(indices, types, strict=True):
        if t.dtype == "bool":
            places = Term(apply("argwhere", i), "int32").cast("int64")
            rows += [places.of("take", constant(numpy.int64(k)), axis=1) for k in range(len(dims(t)))]
            shapes += [(ANY,)] * len(dims(t))
        else:
            rows.append(Term(i, t.dtype).as_index())
            shapes.append(dims(t))
    if len(set(shapes)) > 1 or (len(shapes) > 1 and ANY in shapes[0]):
        zero = sum((row * 0 for row in rows[1:]), rows[0] * 0)
        rows = [row + zero for row in rows]
    return apply("stack", tuple([row.expr for row in rows]), axis=0), max(map(len, shapes))
