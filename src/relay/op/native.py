"""What the native rules of operators speak to.

An operator says in one of these ways how machine code computes it, the first that fits:

- `native(b, *numbers)`: one element of the result from one element of each operand (elementwise,
broadcasting);
- `element(b, index, *views)`: an element of the result from any elements of the operands (reshape, gather,
pad);
- `start(b, dtype)`, `combine(b, totals, x)` and `finish(b, totals, dtype)`: a reduction, of one element at a
  time in the order of memory, from and to a dtype;
  One with several totals may say how those of every so many elements are joined: `of_lane(b, totals, lane,
  lanes)` are the totals of a lane in terms of all elements, None if that cannot be said, and
  `merge(b, totals, others)` those of two parts;
- `compute(b, out, *views)`: the whole result, written with `out.put(index, number)`; a tuple of results is a
  tuple of outputs.

An operator may also say with `product()` that it is a `Product` to the kernels of the backend, or with
`window_product()` that it is a `WindowProduct`, or with `weight_product()` a `WeightProduct`; they compute it
where they know its dtypes and layouts, and one of the ways above does elsewhere.

Where the type of the result leaves sizes open, `extent(b, *views)` says what they are.  A composite
operator has its decomposition, and needs none of this.

A `Number` is one number of a dtype in the code that is made, an `Index` a whole number of 64 bits that
counts elements (a Python integer where it is known), a `View` a tensor whose elements can be asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from relay.ir.type import Dim

Index: TypeAlias = Any
"""A Python integer, or a value of the code that is made."""


@dataclass(frozen=True)
class Product:
    """Products of two matrices, or of the matrices in two stacks that broadcast, and which are turned first.

    A second operand of rank 2 serves all leading axes of the first one, a first one of rank 1 is a row.
    """

    transpose_a: bool
    transpose_b: bool


@dataclass(frozen=True)
class WindowProduct:
    """A convolution, of which each place along an axis sees the data at `place * stride - before + tap *
    dilation`; or its transpose, of which it sees the data at `(place + before - tap * dilation) / stride`,
    where that is a whole number.
    """

    data_layout: str
    kernel_layout: str
    out_layout: str
    channels: str
    """The letters of the weight's axes for the data's channels and for the result's."""
    strides: tuple[int, ...]
    before: tuple[int, ...]
    """The padding before the data, on each spatial axis."""
    dilation: tuple[int, ...]
    groups: int
    is_transposed: bool


@dataclass(frozen=True)
class WeightProduct:
    """The cotangent of a convolution's weight, from that of its result, which comes first, and its data."""

    convolution: WindowProduct


class Number(Protocol):
    """One number in the code that is made."""

    @property
    def dtype(self) -> str:
        """Its dtype."""
        ...


class View(Protocol):
    """A tensor whose elements are computed or read as they are asked for."""

    @property
    def dtype(self) -> str:
        """The dtype of its elements."""
        ...

    @property
    def sizes(self) -> Sequence[Index]:
        """Its shape."""
        ...

    def at(self, index: Sequence[Index]) -> Any:
        """The element at an index, as a number."""
        ...


class Output(Protocol):
    """A tensor that is being written."""

    @property
    def dtype(self) -> str:
        """The dtype of its elements."""
        ...

    @property
    def sizes(self) -> Sequence[Index]:
        """Its shape."""
        ...

    def at(self, index: Sequence[Index]) -> Any:
        """An element that has been written."""
        ...

    def put(self, index: Sequence[Index], x: Any) -> None:
        """Write an element."""
        ...


class Scalars(Protocol):
    """Arithmetic on numbers.  Integers wrap; short floats are rounded after each operation."""

    def const(self, value: Any, like: Any) -> Any:
        """A constant in the dtype of another number, or of the dtype that is named."""
        ...

    def select(self, c: Any, x: Any, y: Any) -> Any:
        """`x` where `c`, else `y`; both have been computed."""
        ...

    def add(self, x: Any, y: Any) -> Any:
        """`x + y`."""
        ...

    def subtract(self, x: Any, y: Any) -> Any:
        """`x - y`."""
        ...

    def multiply(self, x: Any, y: Any) -> Any:
        """`x * y`."""
        ...

    def negative(self, x: Any) -> Any:
        """`-x`."""
        ...

    def divide(self, x: Any, y: Any) -> Any:
        """`x / y`; integers are rounded towards 0 (`divide-by-zero`)."""
        ...

    def remainder(self, x: Any, y: Any) -> Any:
        """What `x / y`, rounded towards 0, leaves (`divide-by-zero` for integers)."""
        ...

    def compare(self, kind: str, x: Any, y: Any) -> Any:
        """`eq`, `ne`, `lt`, `le`, `gt` or `ge`; all but `ne` are False where one is NaN."""
        ...

    def bits(self, name: str, x: Any, y: Any) -> Any:
        """`and`, `or`, `xor`, `shl`, `ashr` or `lshr` of integers; the first three of truth values too."""
        ...

    def function(self, name: str, *xs: Any) -> Any:
        """A function of floats by its name: `exp`, `sqrt`, `floor`."""
        ...

    def cast(self, x: Any, dtype: str) -> Any:
        """`x` in another dtype, by the rules of the operator `cast`."""
        ...

    def reinterpret(self, x: Any, dtype: str) -> Any:
        """The bits of `x` as a number of another dtype, as wide."""
        ...

    def of_strings(self, name: str, dtype: str, *xs: Any) -> Any:
        """A function of strings by its name (`concat`, `length`), and the dtype of its result."""
        ...


class Indices(Scalars, Protocol):
    """Arithmetic on indices."""

    @property
    def sizes(self) -> Sequence[Index]:
        """The shape of the result, of the first if there are several."""
        ...

    def plus(self, i: Index, j: Index) -> Index:
        """`i + j`."""
        ...

    def minus(self, i: Index, j: Index) -> Index:
        """`i - j`."""
        ...

    def times(self, i: Index, j: Index) -> Index:
        """`i * j`."""
        ...

    def quotient(self, i: Index, j: Index) -> Index:
        """`i / j` rounded towards 0; `j` is not 0."""
        ...

    def rest(self, i: Index, j: Index) -> Index:
        """The remainder."""
        ...

    def is_less(self, i: Index, j: Index) -> Any:
        """Whether `i < j`, as a number of dtype bool."""
        ...

    def choose(self, c: Any, i: Index, j: Index) -> Index:
        """`i` where `c`, else `j`."""
        ...

    def as_index(self, x: Any) -> Index:
        """An integer as an index: one of uint64 beyond int64 is the greatest, which no axis has."""
        ...

    def as_number(self, i: Index, dtype: str) -> Any:
        """An index as a number."""
        ...

    def position(self, index: Sequence[Index], sizes: Sequence[Index]) -> Index:
        """The number of an element in the order of memory."""
        ...

    def unravelled(self, position: Index, sizes: Sequence[Index]) -> Sequence[Index]:
        """The index of the element with that number."""
        ...

    def spread(self, index: Sequence[Index], x: View) -> Sequence[Index]:
        """The index in an operand that broadcasts."""
        ...

    def stretched(self, index: Sequence[Index], sizes: Sequence[Index]) -> Sequence[Index]:
        """The index in a shape that is stretched over the one of `index`."""
        ...

    def broadcast(self, shapes: Sequence[Sequence[Index]]) -> Sequence[Index]:
        """The shape that some shapes broadcast to (`shape-check`)."""
        ...

    def floor_quotient(self, i: Index, j: int) -> Index:
        """`i / j` rounded down, for `j > 0`."""
        ...

    def smaller(self, i: Index, j: Index) -> Index:
        """The smaller of two."""
        ...

    def larger(self, i: Index, j: Index) -> Index:
        """The larger of two."""
        ...

    def is_same(self, i: Index, j: Index) -> Any:
        """Whether `i == j`, as a number of dtype bool."""
        ...

    def is_within(self, i: Index, n: Index) -> Any:
        """Whether `0 <= i < n`."""
        ...

    def negation(self, c: Any) -> Any:
        """Whether a condition does not hold."""
        ...

    def both(self, *conditions: Any) -> Any:
        """Whether all hold."""
        ...

    def count(self, sizes: Sequence[Index]) -> Index:
        """How many elements a tensor of a shape has."""
        ...

    def reshaped(
        self, index: Sequence[Index], sizes: Sequence[Index], own: Sequence[Index]
    ) -> Sequence[Index]:
        """The index in the shape `own` of the element that has `index` in the shape `sizes`."""
        ...

    def dims(self, sizes: Sequence[Index]) -> tuple[Dim, ...]:
        """A shape as types have it: sizes that the code computes are variables."""
        ...

    def size(self, d: Dim) -> Index:
        """What a dimension, computed from those, is in the code."""
        ...

    def require(self, c: Any, code: str, message: str, hint: str = "") -> None:
        """Fail unless `c`."""
        ...


class Loops(Indices, Protocol):
    """Loops and choices."""

    def at_reshaped(self, x: View, index: Sequence[Index], sizes: Sequence[Index]) -> Any:
        """The element of a tensor that has `index` in the shape `sizes`."""
        ...

    def where(self, c: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """The number that one of two computes; the other does not run."""
        ...

    def among(self, ways: Sequence[tuple[Any, Callable[[], Any]]], otherwise: Callable[[], Any]) -> Any:
        """The number that the first way computes whose condition holds; the others do not run."""
        ...

    def when(self, c: Any, body: Callable[[], None]) -> None:
        """Run `body()` where `c`."""
        ...

    def loop(
        self, n: Index, totals: Sequence[Any], body: Callable[[Index, Sequence[Any]], Sequence[Any]]
    ) -> Any:
        """Run `body(i, totals)` for `i` from 0 to `n`, which returns the totals of the next round."""
        ...

    def long_loop(
        self, n: Index, totals: Sequence[Any], body: Callable[[Index, Sequence[Any]], Sequence[Any]]
    ) -> Any:
        """Like `loop`, for a loop that may take a second: it can be interrupted by Ctrl-C."""
        ...

    def fold(
        self,
        sizes: Sequence[Index],
        totals: Sequence[Any],
        body: Callable[[tuple[Index, ...], Sequence[Any]], Sequence[Any]],
    ) -> Any:
        """Run `body(index, totals)` for every index of a shape, which returns the next totals."""
        ...

    def add_up(self, sizes: Sequence[Index], zero: Any, term: Callable[[tuple[Index, ...]], Any]) -> Any:
        """The sum of `term(index)` for all indices of a shape; of many terms in blocks, as `sum`."""
        ...

    def nest(self, sizes: Sequence[Index], body: Callable[[tuple[Index, ...]], None]) -> None:
        """Run `body(index)` for every index of a shape."""
        ...

    def fill(self, out: Output, element: Callable[[tuple[Index, ...]], Any]) -> None:
        """Write `element(index)` to each index of a tensor, in any order, several at a time where that can be
        said; for `compute`, outside of loops.
        """
        ...

    def begin_as(self, out: Output, x: View, element: Callable[[Any], Any] | None = None) -> None:
        """Write the elements of `x`, or what `element` makes of them, to a tensor of its shape, in any order;
        without `element`, nothing if that has taken the place of `x`; for `compute`, outside of loops.
        """
        ...

    def each(self, sizes: Sequence[Index], body: Callable[[tuple[Index, ...]], None], lanes: int = 0) -> None:
        """Run `body(index)` for every index of a shape, in any order, several at a time where that can be
        said, or `lanes` of them; for `compute`, outside of loops.
        """
        ...

    def table(self, values: Any) -> View:
        """An array that is known, in memory."""
        ...

    def routine(self, name: str, *args: Any) -> Any:
        """Call one of an operator's `routines` of LAPACK, without the letter for its precision.

        Arguments are letters, indices and rooms, whose elements LAPACK takes column by column; the result is
        what it says in `info`: 0 where all is well.
        """
        ...

    def room(self, dtype: str, sizes: Sequence[Index]) -> Output:
        """A tensor to work in, which ends with the operator; for `compute`, outside of loops."""
        ...
