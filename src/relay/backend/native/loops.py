"""Loop nests: operators on tensors, one element of the result at a time."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from relay.backend.native.code import Code, Value, integer
from relay.backend.native.memory import release
from relay.backend.native.representation import POINTER, is_scalar, scalar
from relay.backend.native.scalars import Number, Scalars
from relay.backend.native.tensors import DATA, DIMS, element, loop, new_tensor, set_element
from relay.ir.expr import Call
from relay.ir.type import TensorType, TupleType, Type
from relay.op.base import Broadcast, Elementwise, Operator

Index = int | Value
"""A known number, or one that the code computes."""


def value(i: Index) -> Value:
    """An index as the code has it."""
    return integer(i) if isinstance(i, int) else i


class Loops(Scalars):
    """Indices, loops and choices, at one call."""

    def _both(self, name: str, i: Index, j: Index) -> Value:
        return self.code.op(name, value(i), value(j))

    def plus(self, i: Index, j: Index) -> Index:
        """`i + j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i + j
        return j if i == 0 else i if j == 0 else self._both("add", i, j)

    def minus(self, i: Index, j: Index) -> Index:
        """`i - j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j
        return i if j == 0 else self._both("sub", i, j)

    def times(self, i: Index, j: Index) -> Index:
        """`i * j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i * j
        if i == 0 or j == 0:
            return 0
        return j if i == 1 else i if j == 1 else self._both("mul", i, j)

    def quotient(self, i: Index, j: Index) -> Index:
        """`i / j` rounded towards 0; `j` is not 0."""
        if isinstance(i, int) and isinstance(j, int):
            return abs(i) // abs(j) * (1 if (i < 0) == (j < 0) else -1)
        return i if j == 1 else self._both("sdiv", i, j)

    def rest(self, i: Index, j: Index) -> Index:
        """What that leaves."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j * int(self.quotient(i, j))  # pyright: ignore[reportArgumentType]
        return 0 if j == 1 else self._both("srem", i, j)

    def is_less(self, i: Index, j: Index) -> Number:
        """Whether `i < j`."""
        return Number("bool", self.code.compare("icmp slt", value(i), value(j)))

    def choose(self, c: Number, i: Index, j: Index) -> Index:
        """`i` where `c`, else `j`."""
        return self.code.select(c.value, value(i), value(j))

    def as_index(self, x: Number) -> Index:
        """An integer as an index."""
        return self.cast(x, "int64").value

    def as_number(self, i: Index, dtype: str) -> Number:
        """An index as a number."""
        return self.cast(Number("int64", value(i)), dtype)

    def position(self, index: Sequence[Index], sizes: Sequence[Index]) -> Index:
        """The number of an element in the order of memory."""
        found: Index = 0
        for i, d in zip(index, sizes, strict=True):
            found = self.plus(self.times(found, d), i)
        return found

    def unravelled(self, position: Index, sizes: Sequence[Index]) -> list[Index]:
        """The index of the element with that number."""
        found: list[Index] = []
        for d in reversed(sizes[1:]):
            found.append(self.rest(position, d))
            position = self.quotient(position, d)
        return [position, *reversed(found)] if sizes else []

    def spread(self, index: Sequence[Index], x: "View") -> list[Index]:
        """The index in an operand that broadcasts."""
        rank = len(x.sizes)
        own = list(index[len(index) - rank :]) if rank else []
        for i, d in enumerate(x.sizes):
            if d == 1:
                own[i] = 0
            elif not isinstance(d, int):
                own[i] = self.choose(Number("bool", self.code.compare("icmp eq", d, integer(1))), 0, own[i])
        return own

    def broadcast(self, shapes: Sequence[Sequence[Index]]) -> list[Index]:
        """The shape that some shapes broadcast to (`broadcast-mismatch`)."""
        rank = max(map(len, shapes))
        found: list[Index] = [1] * rank
        for shape in shapes:
            for i, d in enumerate(shape, rank - len(shape)):
                found[i] = self.common(found[i], d)
        return found

    def common(self, a: Index, b: Index) -> Index:
        """The size that two sizes broadcast to."""
        if a == 1 or a == b:
            return b
        if b == 1:
            return a
        code = self.code
        same = code.compare("icmp eq", value(a), value(b))
        ones = [code.compare("icmp eq", value(x), integer(1)) for x in (a, b)]
        fits = Number("bool", code.op("or", same, code.op("or", *ones)))
        self.require(fits, "broadcast-mismatch", "the sizes of two operands do not broadcast")
        return code.select(ones[0], value(b), value(a))

    def where(self, c: Number, yes: Callable[[], Number], no: Callable[[], Number]) -> Number:
        """The number that one of two computes; the other does not run."""
        code = self.code
        first, second, end = code.label(), code.label(), code.label()
        code.branch(c.value, first, second)
        arrivals: list[tuple[list[Value], str]] = []
        found = None
        for label, make in ((first, yes), (second, no)):
            code.block(label)
            found = make()
            arrivals.append(([found.value], code.here))
            code.jump(end)
        code.block(end)
        assert found is not None
        return Number(found.dtype, code.join(arrivals)[0])

    def loop(
        self,
        n: Index,
        totals: Sequence[Number],
        body: Callable[[Index, list[Number]], Sequence[Number] | None],
    ) -> list[Number]:
        """Run `body(i, totals)` for `i` from 0 to `n`, which returns the totals of the next round."""
        dtypes = [x.dtype for x in totals]

        def step(i: Value, values: list[Value]) -> list[Value]:
            new = body(i, [Number(t, v) for t, v in zip(dtypes, values, strict=True)])
            return [x.value for x in new or ()]

        return [
            Number(t, v)
            for t, v in zip(dtypes, loop(self.code, value(n), [x.value for x in totals], step), strict=True)
        ]

    def nest(self, sizes: Sequence[Index], body: Callable[[tuple[Index, ...]], None]) -> None:
        """Run `body(index)` for every index of a shape, in the order of memory."""

        def along(axis: int, index: tuple[Index, ...]) -> None:
            if axis == len(sizes):
                body(index)
            else:
                self.loop(sizes[axis], (), lambda i, _: along(axis + 1, (*index, i)))

        along(0, ())

    def require(self, c: Number, code: str, message: str, hint: str = "") -> None:
        """Fail unless `c`."""
        self.refuse(self.code.op("xor", c.value, Value("i1", "true")), code, message, hint)


class View:
    """A tensor in memory, or a number."""

    def __init__(self, b: Loops, t: TensorType, found: Value, is_in_memory: bool = False) -> None:
        """`found` is the object; or the number, if the rank is 0 and it is not in memory."""
        self.b = b
        self.dtype = str(t.dtype)
        self.found = found
        code = b.code
        self.sizes: list[Index] = [
            d if isinstance(d, int) else code.load("i64", code.at(found, DIMS + 8 * i))
            for i, d in enumerate(cast("tuple[Any, ...]", t.shape))
        ]
        has_data = is_in_memory or bool(self.sizes)
        self.data = code.load(POINTER, code.at(found, DATA)) if has_data else None

    def at(self, index: Sequence[Index]) -> Number:
        """The element at an index."""
        if self.data is None:
            return Number(self.dtype, self.found)
        at = value(self.b.position(index, self.sizes))
        return Number(self.dtype, element(self.b.code, self.data, scalar(self.dtype), at))

    def put(self, index: Sequence[Index], x: Number) -> None:
        """Write an element."""
        assert self.data is not None
        set_element(self.b.code, self.data, value(self.b.position(index, self.sizes)), x.value)

    def leaf(self) -> Value:
        """What the program goes on with: the object, or the number that was written."""
        if self.sizes:
            return self.found
        made = self.at(())
        release(self.b.code, [self.found])
        return made.value


def computed(program: Any, code: Code, call: Call, operands: Sequence[Sequence[Value]]) -> list[Value]:
    """The leaves of an operator's result: numbers, and new tensors (`no-native-code`)."""
    b = Loops(program, code, call)
    op: Any = call.attrs
    views = [operand(b, program.types(a), row) for a, row in zip(call.args, operands, strict=True)]
    t = program.types(call)
    kind = cast("type[Operator]", type(op))
    if not has_rule(kind):
        b.missing(op.name)
    if is_scalar(t) and not hasattr(op, "compute"):
        return [one(b, op, views, ()).value]
    fields = cast("tuple[TensorType, ...]", t.fields if isinstance(t, TupleType) else (t,))
    shapes = extents(b, op, fields, views)
    outs = [new_output(b, f, sizes) for f, sizes in zip(fields, shapes, strict=True)]
    if hasattr(op, "compute"):
        op.compute(b, tuple(outs) if isinstance(t, TupleType) else outs[0], *views)
    else:
        b.nest(shapes[0], lambda index: outs[0].put(index, one(b, op, views, index)))
    return [out.leaf() for out in outs]


def operand(b: Loops, t: Type, row: Sequence[Value]) -> "View | tuple[View, ...]":
    """What an operator sees of an operand."""
    if isinstance(t, TupleType):
        return tuple([View(b, cast("TensorType", f), v) for f, v in zip(t.fields, row, strict=True)])
    return View(b, cast("TensorType", t), row[0])


def extents(b: Loops, op: Any, fields: Sequence[TensorType], views: Sequence[Any]) -> list[list[Index]]:
    """The shapes of the results: as their types say, or as the operator finds out."""
    if all(f.is_closed for f in fields):
        return [list(f.concrete_shape) for f in fields]
    if not hasattr(op, "extent"):
        b.missing(op.name)
    found = op.extent(b, *views)
    return [list(found)] if len(fields) == 1 else [list(sizes) for sizes in found]


def new_output(b: Loops, t: TensorType, sizes: Sequence[Index]) -> "View":
    """A new tensor to write to; one number is kept in memory until it is complete."""
    p = new_tensor(b.code, b.program.layouts, t, [value(d) for d in sizes])
    out = View(b, t, p, is_in_memory=True)
    out.sizes = list(sizes)
    return out


def one(b: Loops, op: Any, views: Sequence[Any], index: Sequence[Index]) -> Number:
    """One element of the result."""
    return (
        op.element(b, index, *views)
        if is_per_element(cast("type[Operator]", type(op)))
        else reduced(b, op, views[0], index)
    )


def has_rule(cls: type[Operator]) -> bool:
    """Whether an operator says how machine code computes it."""
    return is_per_element(cls) or is_reduction(cls) or hasattr(cls, "compute")


def is_per_element(cls: type[Operator]) -> bool:
    """Whether an operator says what one element of its result is."""
    given = getattr(cls, "element", None)
    by_family = given in (Elementwise.element, Broadcast.element)
    return hasattr(cls, "native") if by_family else given is not None


def is_reduction(cls: type[Operator]) -> bool:
    """Whether an operator says how it combines elements."""
    return hasattr(cls, "combine")


def reduced(b: Loops, op: Any, x: View, index: Sequence[Index]) -> Number:
    """One element of a reduction."""
    rank = len(x.sizes)
    axes: Sequence[int] = op.axes(rank)
    kept = [i for i in range(rank) if i not in axes]
    place: list[Index] = [0] * rank
    for i, a in enumerate(kept):
        place[a] = index[a if op.keepdims else i]

    def along(k: int, totals: Sequence[Any]) -> Sequence[Any]:
        if k == len(axes):
            return op.combine(b, totals, x.at(tuple(place)))

        def step(i: Index, inner: Sequence[Any]) -> Sequence[Any]:
            place[axes[k]] = i
            return along(k + 1, inner)

        return b.loop(x.sizes[axes[k]], totals, step)

    return op.finish(b, along(0, op.start(b, x.dtype)), x.dtype)
