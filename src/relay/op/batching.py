"""Batches of operator calls: one call for many rows, in the words that rules are written with.

`batch(n, which, *xs)` is the rule of an operator.  It gets atoms, as the rules of derivatives do
(`relay.op.derivative`), and a tuple operand as a Python tuple.  `which` says of each operand, of a tuple of
each field, whether it is batched: then it has the `n` rows along a new first axis.  `n` is a number or a
dimension in scope.  What is not batched is the same for every row.  The rule returns an expression for the
results of all rows, along a new first axis of every tensor, written in Relay operators; None where it has
none for these operands, and the rows are computed one by one.

A rule is not asked where nothing is batched.  Pointwise operators (`is_pointwise`) need none, and composite
operators follow from their parts.  It never computes what a row's own call would not, beyond what
cannot fail.  Operands that are `carried` are never batched when a rule is asked.

A rule that is written more than once has a name here: `batch = shifted`.  `by` says of what kind one is;
without it it is `Batching.RULE`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from relay.ir.expr import Expr, constant
from relay.ir.type import HAS_ANY, Dim, TensorType, TupleType, Type
from relay.op.base import Operator
from relay.op.derivative import fields_of, rank_of, tensor_type
from relay.op.kind import Batching
from relay.op.numeric import apply, index_numbers

F = TypeVar("F", bound=Callable[..., Any])


def by(kind: Batching) -> Callable[[F], F]:
    """Say of what kind a rule is."""

    def mark(rule: F) -> F:
        rule.batching = kind  # pyright: ignore[reportFunctionMemberAccess]
        return rule

    return mark


def batching_of(rule: Any) -> Batching:
    """Of what kind a rule is."""
    return getattr(rule, "batching", Batching.RULE)


@by(Batching.SAME)
def same(self: Operator, n: Dim, which: Sequence[Any], *xs: Any) -> Any:
    """The rule of an operator on the last axes that takes any others in front, the same in all operands."""
    return self(*all_stretched(n, which, xs))


@by(Batching.SHIFTED)
def shifted(self: Operator, n: Dim, which: Sequence[Any], *xs: Any) -> Any:
    """The rule of an operator along the axis, or the axes, that `axis` names in the first operand."""
    axis = behind_rows(self["axis"], row_rank(xs[0], which[0]))
    return replace(self, axis=axis)(*all_stretched(n, which, xs))


@by(Batching.FOLDED)
def folded(self: Operator, n: Dim, which: Sequence[Any], *xs: Any) -> Any:
    """The rule of an operator that treats the places of the first axis of the first operand alone; None where
    another operand is batched, or there is a tuple.
    """
    if any(which[1:]) or self.results is not None:
        return None
    return split(self(merged(xs[0]), *xs[1:]), n, row_shape(xs[0], True)[0])


def folded_along(
    self: Operator, n: Dim, which: Sequence[Any], xs: Sequence[Any], axes: Sequence[int | None], out: int
) -> Expr:
    """The rule of an operator that treats the places of an axis alone: the axis of each operand, None for one
    that is the same for all rows, and that of the result, which is as long as that of the first operand.
    """
    rank, size = row_rank(xs[0], which[0]), row_shape(xs[0], which[0])[axes[0] or 0]
    whole = [
        x if a is None else merged_along(stretched(n, x, w), row_rank(x, w), a)
        for x, w, a in zip(xs, which, axes, strict=True)
    ]
    return split_along(self(*whole), n, size, rank, out)


def row_rank(x: Expr, is_batched: bool) -> int:
    """The rank of an operand of one row."""
    return rank_of(x) - is_batched


def row_shape(x: Expr, is_batched: bool) -> tuple[Dim, ...]:
    """The shape of an operand of one row."""
    shape = tensor_type(x).shape
    assert isinstance(shape, tuple)
    return shape[1:] if is_batched else shape


def row_type(x: Any, is_batched: Any) -> Any:
    """The type of an operand of one row."""
    if isinstance(x, tuple):
        return TupleType([row_type(f, w) for f, w in zip(fields_of(x), fields_of(is_batched), strict=True)])
    t = tensor_type(x)
    return TensorType(row_shape(x, True), t.dtype) if is_batched else t


def aligned(which: Sequence[bool], xs: Sequence[Expr]) -> list[Expr]:
    """Operands that broadcast row by row: batched ones get axes of size 1 behind the first, so that the rows
    of all have one rank; the others broadcast as they are.
    """
    rank = max([row_rank(x, w) for x, w in zip(xs, which, strict=True)])
    return [with_row_rank(x, rank) if w else x for x, w in zip(xs, which, strict=True)]


def with_row_rank(x: Expr, rank: int, own: int | None = None) -> Expr:
    """A batched operand whose rows, of a rank of their own, get axes of size 1 in front, up to `rank`."""
    missing = rank - (row_rank(x, True) if own is None else own)
    return apply("expand_dims", x, axis=1, num_newaxis=missing) if missing else x


def all_stretched(n: Dim, which: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """Operands with a row for each of the `n`, each copied where it was one for all."""
    return [stretched(n, x, w) for x, w in zip(xs, which, strict=True)]


def stretched(n: Dim, x: Any, is_batched: Any) -> Any:
    """An operand with a row for each of the `n`, copied where it was one for all; a tuple field by field."""
    if isinstance(x, tuple):
        fields = zip(fields_of(x), fields_of(is_batched), strict=True)
        return tuple([stretched(n, f, w) for f, w in fields])
    if is_batched:
        return x
    shape, row = row_shape(x, False), apply("expand_dims", x, axis=0)
    if any(map(is_unknown, shape)):
        return apply("repeat", row, repeats=n, axis=0)
    return apply("broadcast_to", row, shape=(n, *shape))


def is_unknown(d: Dim) -> bool:
    """Whether a dimension has a `?` in it, so that no attribute can name it."""
    return isinstance(d, Type) and bool(d.flags & HAS_ANY)


def some_row(x: Expr) -> Expr:
    """A tensor of the type of a row of a batched operand, of which there need not be one."""
    t = tensor_type(x)
    shape = row_shape(x, True)
    if isinstance(t.dtype, str) and t.dtype != "string" and not any(map(is_unknown, shape)):
        return apply("zeros", shape=shape, dtype=t.dtype)
    return apply("any" if t.dtype == "bool" else "sum", x, axis=0)


def behind_rows(axis: Any, rank: int) -> Any:
    """An axis of a row of that rank, or several, as axes of the batched operand; None names them all."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, int):
        return axis % rank + 1
    return tuple([a % rank + 1 for a in axis])


def along_channels_of_rows(x: Expr, axis: int, rank: int) -> Expr:
    """A vector for each row so that it broadcasts along an axis of rows of that rank."""
    before, after = axis % rank, rank - 1 - axis % rank
    x = apply("expand_dims", x, axis=2, num_newaxis=after) if after else x
    return apply("expand_dims", x, axis=1, num_newaxis=before) if before else x


def merged(x: Expr) -> Expr:
    """A batched operand with its rows one behind the other along their first axis."""
    return merged_along(x, 1, 0)


def split(y: Expr, n: Dim, size: Dim) -> Expr:
    """The inverse of `merged`: `n` rows of a size along the first axis."""
    return split_along(y, n, size, 1, 0)


def merged_along(x: Expr, rank: int, axis: int) -> Expr:
    """A batched operand with its rows, of that rank, one behind the other along an axis of theirs."""
    moved = axis_moved(x, rank + 1, 0, axis)
    return apply("reshape", moved, newshape=(*(0,) * axis, -3, -2))


def split_along(y: Expr, n: Dim, size: Dim, rank: int, axis: int) -> Expr:
    """The inverse of `merged_along`: `n` rows of that rank, of a size along their axis."""
    found = apply("reshape", y, newshape=(*(0,) * axis, *split_sizes(n, size), -2))
    return axis_moved(found, rank + 1, axis, 0)


def split_sizes(n: Dim, size: Dim) -> tuple[Dim, ...]:
    """The codes of `reshape` that split an axis into `n` parts of a size; there may be none at run time."""
    if isinstance(size, int) and size > 0:
        return -4, -1, size
    return -4, n, -1 if is_unknown(size) else size


def axis_moved(x: Expr, rank: int, begin: int, end: int) -> Expr:
    """A tensor of that rank with the axis at `begin` moved to `end`."""
    order = [a for a in range(rank) if a != begin]
    order.insert(end, begin)
    return x if begin == end else apply("transpose", x, axes=order)


def row_numbers(n: Dim, rank: int) -> Expr:
    """The number of each row, as int64, in a tensor whose rows have size 1 along `rank` axes."""
    numbers = apply("arange", 0, n, dtype="int64")
    return apply("expand_dims", numbers, axis=1, num_newaxis=rank) if rank else numbers


def in_front(first: Dim, rest: Expr) -> Expr:
    """A vector of integers, as int64, with one more before them: a number, or the value of a dimension."""
    if isinstance(first, int):
        head = constant([first], "int64")
    else:
        head = apply("expand_dims", apply("dim_value", dim=first), axis=0)
    return apply("concatenate", (head, index_numbers(rest, tensor_type(rest).dtype)))


def any_batched(which: Any) -> bool:
    """Whether an operand, or a field of it, is batched."""
    return any(map(any_batched, fields_of(which))) if isinstance(which, tuple) else which
