"""Loop nests: operators on tensors, one element of the result at a time."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from relay.backend.native.code import Code, Value, integer
from relay.backend.native.representation import POINTER, scalar
from relay.backend.native.scalars import Number, Scalars
from relay.backend.native.tensors import DATA, DIMS, element, loop, new_tensor, set_element
from relay.ir.expr import Call, Expr
from relay.ir.type import TensorType

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

    def __init__(self, b: Loops, t: TensorType, found: Value) -> None:
        """`found` is the object, or the number if the rank is 0."""
        self.b = b
        self.dtype = str(t.dtype)
        self.found = found
        code = b.code
        self.sizes: list[Index] = [
            d if isinstance(d, int) else code.load("i64", code.at(found, DIMS + 8 * i))
            for i, d in enumerate(cast("tuple[Any, ...]", t.shape))
        ]
        self.data = code.load(POINTER, code.at(found, DATA)) if self.sizes else None

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


def computed(program: Any, code: Code, call: Call, operands: dict[Expr, Value]) -> Value:
    """The result of an operator: a number, or a new tensor (`no-native-code`)."""
    op, t = call.attrs, program.types(call)
    b = Loops(program, code, call)
    views = [View(b, program.types(a), operands[a]) for a in call.args]
    if not t.shape and is_per_element(op):
        return op.element(b, (), *views).value
    if not t.shape and is_reduction(op):
        return reduced(b, op, views[0], ()).value
    sizes: list[Index] = list(t.concrete_shape if t.is_closed else op.extent(b, *views))
    p = new_tensor(code, program.layouts, t, [value(d) for d in sizes])
    out = View(b, t, p)
    out.sizes = sizes
    if is_per_element(op):
        b.nest(sizes, lambda index: out.put(index, op.element(b, index, *views)))
    elif is_reduction(op):
        b.nest(sizes, lambda index: out.put(index, reduced(b, op, views[0], index)))
    elif hasattr(op, "compute"):
        op.compute(b, out, *views)
    else:
        b.missing(op.name)
    return p


def is_per_element(op: Any) -> bool:
    """Whether an operator says what one element of its result is."""
    return hasattr(op, "native") or "element" in vars_of(op)


def is_reduction(op: Any) -> bool:
    """Whether an operator says how it combines elements."""
    return hasattr(op, "combine")


def vars_of(op: Any) -> set[str]:
    """The rules that a class or a family above it has, but for those that call `native`."""
    from relay.op.base import Broadcast, Elementwise, Operator

    return {
        name
        for base in type(op).__mro__
        if base not in (Elementwise, Broadcast, Operator, object)
        for name in vars(base)
    }


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
