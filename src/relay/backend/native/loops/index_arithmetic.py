"""What follows from the arithmetic of indices: places and sizes, whoever adds and multiplies."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from relay.ir.type import Dim, DimCall, Dimension, DimExpr, Kind, TypeVar
from relay.ir.walk import post_order

Index = Any
"""A known number, or a value of whoever computes."""


class IndexArithmetic(ABC):
    """Places and sizes, from a few operations on indices."""

    sizes: Sequence[Index] = ()
    """The shape of the result."""

    def __init__(self) -> None:
        """No dimension is known."""
        self.variables: dict[Any, TypeVar] = {}
        self.values: dict[TypeVar, Index] = {}

    # --- what the others are made of ---

    @abstractmethod
    def plus(self, i: Index, j: Index) -> Index:
        """`i + j`."""

    @abstractmethod
    def minus(self, i: Index, j: Index) -> Index:
        """`i - j`."""

    @abstractmethod
    def times(self, i: Index, j: Index) -> Index:
        """`i * j`."""

    @abstractmethod
    def quotient(self, i: Index, j: Index) -> Index:
        """`i / j` rounded towards 0; `j` is not 0."""

    @abstractmethod
    def rest(self, i: Index, j: Index) -> Index:
        """The remainder of `i / j`."""

    @abstractmethod
    def is_less(self, i: Index, j: Index) -> Any:
        """Whether `i < j`, as a number of dtype bool."""

    @abstractmethod
    def is_same(self, i: Index, j: Index) -> Any:
        """Whether `i == j`, as a number of dtype bool."""

    @abstractmethod
    def choose(self, c: Any, i: Index, j: Index) -> Index:
        """`i` where `c`, else `j`."""

    @abstractmethod
    def bits(self, name: str, x: Any, y: Any) -> Any:
        """`and`, `or` or `xor` of conditions."""

    @abstractmethod
    def require_shape(self, c: Any, why: str) -> None:
        """Fail unless sizes are as the operator demands (`shape-check`)."""

    # --- places ---

    def position(self, index: Sequence[Index], sizes: Sequence[Index]) -> Index:
        """The number of an element in the order of memory."""
        found: Index = 0
        for i, d in zip(index, sizes, strict=True):
            found = self.plus(self.times(found, d), 0 if d == 1 else i)
        return found

    def unravelled(self, position: Index, sizes: Sequence[Index]) -> list[Index]:
        """The index of the element with that number; any number where no element has one."""
        found: list[Index] = []
        for d in [d if d != 0 else 1 for d in reversed(sizes[1:])]:
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

    def reshaped(self, index: Sequence[Index], sizes: Sequence[Index], own: Sequence[Index]) -> list[Index]:
        """The index in a shape of the element that has `index` in another, in the same order of memory."""
        found: list[Index] = []
        for i, j, k, n in aligned_axes(sizes, own):
            place = self.position(index[i:j], sizes[i:j])
            found += self.unravelled(place, own[k:n])
        return found

    # --- sizes ---

    def count(self, sizes: Sequence[Index]) -> Index:
        """How many elements a tensor of a shape has."""
        found: Index = 1
        for d in sizes:
            found = self.times(found, d)
        return found

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
        ones = [self.is_same(x, 1) for x in (a, b)]
        fits = self.bits("or", self.is_same(a, b), self.bits("or", *ones))
        self.require_shape(fits, "the sizes of two operands do not broadcast")
        return self.choose(ones[0], b, a)

    def floor_quotient(self, i: Index, j: int) -> Index:
        """`i / j` rounded down, for `j > 0`."""
        if isinstance(i, int):
            return i // j
        if j == 1:
            return i
        down = self.minus(i, self.choose(self.is_less(i, 0), j - 1, 0))
        return self.quotient(down, j)

    def smaller(self, i: Index, j: Index) -> Index:
        """The smaller of two."""
        known = isinstance(i, int) and isinstance(j, int)
        return min(i, j) if known else self.choose(self.is_less(i, j), i, j)

    def larger(self, i: Index, j: Index) -> Index:
        """The larger of two."""
        known = isinstance(i, int) and isinstance(j, int)
        return max(i, j) if known else self.choose(self.is_less(i, j), j, i)

    # --- dimensions of types ---

    def dims(self, sizes: Sequence[Index]) -> tuple[Dim, ...]:
        """A shape as types have it: sizes that the code computes are variables."""
        return tuple([d if isinstance(d, int) else self._variable(d) for d in sizes])

    def _variable(self, d: Index) -> TypeVar:
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


def aligned_axes(a: Sequence[Index], b: Sequence[Index]) -> list[tuple[int, int, int, int]]:
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


def products(sizes: Sequence[Index]) -> Iterator[tuple[int, Sequence[Any]]]:
    """The product of the first size, the first two, and so on: a number, and what is multiplied with it."""
    number, others = 1, list[Any]()
    for d in sizes:
        if isinstance(d, int):
            number *= d
        else:
            others = sorted([*others, d], key=hash)
        yield number, tuple(others)
