"""Whole numbers that count elements: arithmetic on places and sizes, folded where they are known."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from relay.backend.native.llvm.builder import Code, Value, integer
from relay.backend.native.llvm.vectors import OneByOne, Run, lanes_of
from relay.backend.native.loops.scalars import Number, Scalars
from relay.ir.expr import Call
from relay.ir.type import Dim, DimCall, Dimension, DimExpr, Kind, TypeVar
from relay.ir.walk import post_order

Index = int | Value | Run
"""A known number, or one that the code computes; along lanes, one for each."""


def value(i: Index) -> Value:
    """An index as the code has it."""
    if isinstance(i, Value):
        return i
    return integer(i) if isinstance(i, int) else i.vector()


class Indices(Scalars):
    """Arithmetic on indices, at one call."""

    sizes: Sequence[Index] = ()
    """The shape of the result."""
    named: Mapping[Dim, Index] = MappingProxyType({})
    """What sizes are that types name."""

    def __init__(self, program: Any, code: Code, call: Call) -> None:
        """As `Scalars`."""
        super().__init__(program, code, call)
        self.variables: dict[Value, TypeVar] = {}
        self.values: dict[TypeVar, Value] = {}

    def _both(self, name: str, i: Index, j: Index) -> Value:
        return self.code.op(name, value(i), value(j))

    def plus(self, i: Index, j: Index) -> Index:
        """`i + j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i + j
        if isinstance(i, Run) or isinstance(j, Run):
            return self._of_runs("add", i, j)
        return j if i == 0 else i if j == 0 else self._both("add", i, j)

    def _of_runs(self, name: str, i: Index, j: Index) -> Index:
        """`i + j` or `i - j` where one is a run."""
        (first, step), (other, away) = begin(i), begin(j)
        if any(lanes_of(value(x).type) for x in (first, other)):
            return self._both(name, i, j)
        if name == "add":
            return run(self.code, self.plus(first, other), step + away)
        return run(self.code, self.minus(first, other), step - away)

    def minus(self, i: Index, j: Index) -> Index:
        """`i - j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i - j
        if isinstance(i, Run) or isinstance(j, Run):
            return self._of_runs("sub", i, j)
        return i if j == 0 else self._both("sub", i, j)

    def times(self, i: Index, j: Index) -> Index:
        """`i * j`."""
        if isinstance(i, int) and isinstance(j, int):
            return i * j
        if i == 0 or j == 0:
            return 0
        for run_, by in ((i, j), (j, i)):
            if isinstance(run_, Run) and isinstance(by, int):
                return run(self.code, self.times(run_.first, by), run_.step * by)
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
        if c.value.type == "i1" and (isinstance(i, Run) or isinstance(j, Run)):
            raise OneByOne
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
            found = self.plus(self.times(found, d), 0 if d == 1 else i)
        return found

    def unravelled(self, position: Index, sizes: Sequence[Index]) -> list[Index]:
        """The index of the element with that number."""
        found: list[Index] = []
        for d in reversed(sizes[1:]):
            found.append(self.rest(position, d))
            position = self.quotient(position, d)
        return [position, *reversed(found)] if sizes else []

    def spread(self, index: Sequence[Index], x: Any) -> list[Index]:
        """The index in an operand that broadcasts to the result."""
        whole = self.sizes[len(index) - len(x.sizes) :] if len(index) == len(self.sizes) else ()
        return self.stretched(index, x.sizes, whole)

    def stretched(
        self, index: Sequence[Index], sizes: Sequence[Index], whole: Sequence[Index] = ()
    ) -> list[Index]:
        """The index in a shape that is stretched over the one of `index`: `whole`, if that is known."""
        own = list(index[len(index) - len(sizes) :])
        for i, d in enumerate(sizes):
            if d == 1:
                own[i] = 0
            elif not isinstance(d, int) and not (whole and whole[i] == d):
                own[i] = self.choose(self.is_same(d, 1), 0, own[i])
        return own

    def broadcast(self, shapes: Sequence[Sequence[Index]]) -> list[Index]:
        """The shape that some shapes broadcast to (`shape-check`)."""
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
        self.require_shape(fits, "the sizes of two operands do not broadcast")
        return code.select(ones[0], value(b), value(a))

    def floor_quotient(self, i: Index, j: int) -> Index:
        """`i / j` rounded down, for `j > 0`."""
        if isinstance(i, int):
            return i // j
        if j == 1:
            return i
        down = self.minus(i, self.choose(self.is_less(i, 0), j - 1, 0))
        return self.quotient(down, j)

    def require(self, c: Number, code: str, message: str, hint: str = "") -> None:
        """Fail unless `c`."""
        self.refuse(self.code.op("xor", c.value, Value("i1", "true")), code, message, hint)

    def require_shape(self, c: Number, why: str) -> None:
        """Fail unless sizes are as the operator demands (`shape-check`)."""
        self.require(c, "shape-check", f"`{self.at.attrs.name}`: {why}")

    def smaller(self, i: Index, j: Index) -> Index:
        """The smaller of two."""
        return (
            min(i, j) if isinstance(i, int) and isinstance(j, int) else self.choose(self.is_less(i, j), i, j)
        )

    def larger(self, i: Index, j: Index) -> Index:
        """The larger of two."""
        return (
            max(i, j) if isinstance(i, int) and isinstance(j, int) else self.choose(self.is_less(i, j), j, i)
        )

    def is_same(self, i: Index, j: Index) -> Number:
        """Whether `i == j`."""
        return Number("bool", self.code.compare("icmp eq", value(i), value(j)))

    def is_within(self, i: Index, n: Index) -> Number:
        """Whether `0 <= i < n`."""
        return Number("bool", self.code.compare("icmp ult", value(i), value(n)))

    def negation(self, c: Number) -> Number:
        """Whether a condition does not hold."""
        return self.bits("xor", c, self.const(True, "bool"))

    def both(self, *conditions: Number) -> Number:
        """Whether all hold."""
        found = self.const(True, "bool")
        for i, c in enumerate(conditions):
            found = self.bits("and", found, c) if i else c
        return found

    def count(self, sizes: Sequence[Index]) -> Index:
        """How many elements a tensor of a shape has."""
        found: Index = 1
        for d in sizes:
            found = self.times(found, d)
        return found

    def reshaped(self, index: Sequence[Index], sizes: Sequence[Index], own: Sequence[Index]) -> list[Index]:
        """The index in a shape of the element that has `index` in another, in the same order of memory."""
        found: list[Index] = []
        for i, j, k, n in blocks(sizes, own):
            place = self.position(index[i:j], sizes[i:j])
            found += self.unravelled(place, own[k:n])
        return found

    # --- dimensions of types ---

    def dims(self, sizes: Sequence[Index]) -> tuple[Dim, ...]:
        """A shape as types have it: sizes that the code computes are variables."""
        return tuple([d if isinstance(d, int) else self._variable(value(d)) for d in sizes])

    def _variable(self, d: Value) -> TypeVar:
        found = self.variables.get(d)
        if found is None:
            found = self.variables[d] = TypeVar(f"d{len(self.values)}", Kind.Dim)
            self.values[found] = d
        return found

    def size(self, d: Dim) -> Index:
        """What a dimension is in the code."""
        if isinstance(d, int):
            return d
        found: dict[Any, Index] = {}
        for e in post_order(d):  # pyright: ignore[reportArgumentType]
            found[e] = self._size(e, found)  # pyright: ignore[reportArgumentType]
        return found[d]

    def _size(self, d: Dimension, below: dict[Any, Index]) -> Index:
        if isinstance(d, DimExpr):
            total: Index = d.constant
            for monomial, c in d.terms:
                total = self.plus(total, self.times(c, self.count([below[a] for a in monomial])))
            return total
        if isinstance(d, DimCall):
            args = [a if isinstance(a, int) else below[a] for a in d.args]
            result = args[0]
            for a in args[1:]:
                result = self._called(d.op, result, a)
            return result
        assert isinstance(d, TypeVar)
        return self.values[d]

    def _called(self, op: str, i: Index, j: Index) -> Index:
        match op:
            case "/":
                return self.floor_quotient(i, j) if isinstance(j, int) and j > 0 else self.quotient(i, j)
            case "min":
                return self.smaller(i, j)
            case "max":
                return self.larger(i, j)
            case _:
                return self.common(i, j)


def begin(i: Index) -> tuple[Index, int]:
    """The index of the first lane, and how far it is from lane to lane."""
    return (i.first, i.step) if isinstance(i, Run) else (i, 0)


def run(code: Code, first: Index, step: int) -> Index:
    """An index along the lanes."""
    return Run(code, first, step) if step else first


def blocks(a: Sequence[Index], b: Sequence[Index]) -> list[tuple[int, int, int, int]]:
    """Two shapes of as many elements, cut where the sizes before the cut have equal products, or those after
    it.
    """
    ends = len(a), len(b)
    places = [(0, 0)]
    if 0 not in (*a, *b):
        after = [(ends[0] - i, ends[1] - k) for i, k in equal_products(a[::-1], b[::-1])]
        for i, k in (*equal_products(a, b), *reversed(after)):
            if places[-1][0] < i < ends[0] and places[-1][1] < k < ends[1]:
                places.append((i, k))
    return [(i, j, k, n) for (i, k), (j, n) in pairwise([*places, ends])]


def equal_products(a: Sequence[Index], b: Sequence[Index]) -> list[tuple[int, int]]:
    """How many of the first sizes of two shapes have the same product, the fewest of the second."""
    places = {product: k for k, product in reversed(list(enumerate(products(b), 1)))}
    return [(i, places[product]) for i, product in enumerate(products(a), 1) if product in places]


def products(sizes: Sequence[Index]) -> Iterator[tuple[int, Sequence[str]]]:
    """The product of the first size, the first two, and so on: a number, and what is multiplied with it."""
    number, others = 1, list[str]()
    for d in sizes:
        if isinstance(d, int):
            number *= d
        else:
            others = sorted([*others, value(d).ref])
        yield number, tuple(others)
