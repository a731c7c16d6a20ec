"""Tensors that are others with axes in another order, split, joined or cut: read where these are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import cast

from relay.ir.dim import add, multiply, product
from relay.ir.expr import Call, Expr, TupleGetItem
from relay.ir.type import ANY, Dim, TensorType
from relay.op.axes import UNCHECKED
from relay.op.join import Split
from relay.op.reshape import Reshaping, Transpose
from relay.op.slice import SliceLike
from relay.typecheck.types import Types

Sizes = tuple[Dim, ...]


@dataclass(frozen=True)
class Strided:
    """A tensor in the memory of another: its sizes, how many elements there are from an index to the next one
    along each axis, and before the first.
    """

    source: Expr
    sizes: Sizes
    strides: Sizes
    start: Dim = 0

    def transposed(self, order: Sequence[int]) -> "Strided":
        """Axis `i` is what axis `order[i]` has been."""
        return replace(
            self, sizes=tuple([self.sizes[a] for a in order]), strides=tuple([self.strides[a] for a in order])
        )

    def reshaped(self, sizes: Sizes) -> "Strided | None":
        """A view of the elements under other sizes; None if no strides describe it."""
        old = [(d, s) for d, s in zip(self.sizes, self.strides, strict=True) if d != 1]
        strides: list[Dim] = []
        for d in reversed(sizes):
            if d == 1:
                strides.append(0)
                continue
            if not old:
                return None
            size, stride = old.pop()
            strides.append(stride)
            while isinstance(size, int) and isinstance(d, int) and size < d and old:
                above, further = old.pop()
                if further != multiply(size, stride):
                    return None
                size = multiply(size, above)
            if size == d:
                continue
            if not isinstance(size, int) or not isinstance(d, int) or not d or size % d:
                return None
            old.append((size // d, multiply(stride, d)))
        return None if old else replace(self, sizes=sizes, strides=tuple(reversed(strides)))

    def part(self, axis: int, begin: Dim, size: Dim) -> "Strided":
        """What lies between two places along an axis."""
        sizes = (*self.sizes[:axis], size, *self.sizes[axis + 1 :])
        return replace(self, sizes=sizes, start=add(self.start, multiply(begin, self.strides[axis])))


def in_order(source: Expr, sizes: Sizes) -> Strided:
    """A tensor as it is."""
    strides = [product(sizes[i + 1 :]) for i in range(len(sizes))]
    return Strided(source, sizes, tuple(strides))


def sizes_of(e: Expr, types: Types) -> Sizes | None:
    """The sizes of a tensor, None if some have no name."""
    t = types(e)
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple) or any(d is ANY for d in t.shape):
        return None
    return t.shape


def is_moved(e: Expr) -> bool:
    """Whether a node only says how another one's elements lie."""
    return isinstance(e, Call) and isinstance(e.attrs, Transpose | Reshaping) and len(e.args) == 1


def is_first_part(e: Expr) -> bool:
    """Whether a node is what lies first along axes of another one."""
    return isinstance(e, Call) and isinstance(e.attrs, SliceLike)


def strided(e: Expr, resolved: Callable[[Expr], Expr], types: Types) -> Strided | None:
    """A node, read where that lies which it moves or is a part of; None where no strides say that."""
    moves: list[Expr] = []
    e = resolved(e)
    while (source := moved(e, resolved)) is not None:
        moves.append(e)
        e = source
    sizes = sizes_of(e, types)
    found = None if sizes is None else in_order(e, sizes)
    for move in reversed(moves):
        sizes = sizes_of(move, types)
        if found is None or sizes is None:
            return None
        found = step(move, found, sizes, resolved)
    return found


def moved(e: Expr, resolved: Callable[[Expr], Expr]) -> Expr | None:
    """What a node moves, or is a part of."""
    if is_moved(e) or is_first_part(e):
        return resolved(cast("Call", e).args[0])
    whole = resolved(e.tuple_value) if isinstance(e, TupleGetItem) else None
    return resolved(whole.args[0]) if isinstance(whole, Call) and isinstance(whole.attrs, Split) else None


def step(e: Expr, x: Strided, sizes: Sizes, resolved: Callable[[Expr], Expr]) -> Strided | None:
    """A node of some sizes, given what it moves, or is a part of."""
    if isinstance(e, TupleGetItem):
        split = cast("Split", cast("Call", resolved(e.tuple_value)).attrs)
        axis = split.axis % len(sizes)
        begins = list(accumulate(split.sizes(UNCHECKED, x.sizes[axis]), add, initial=0))
        return x.part(axis, begins[e.index], sizes[axis])
    op = cast("Call", e).attrs
    if isinstance(op, Transpose):
        return x.transposed(op.order(UNCHECKED, len(sizes)))
    return replace(x, sizes=sizes) if is_first_part(e) else x.reshaped(sizes)


def written(e: Expr, resolved: Callable[[Expr], Expr], types: Types) -> tuple[Expr, Strided | None]:
    """What a node moves, and how that lies in the memory of the node."""
    sizes = sizes_of(e, types)
    found = None if sizes is None else in_order(e, sizes)
    while is_moved(e):
        op, e = cast("Call", e).attrs, resolved(cast("Call", e).args[0])
        sizes = sizes_of(e, types)
        if found is None or sizes is None:
            found = None
        elif isinstance(op, Transpose):
            order = op.order(UNCHECKED, len(sizes))
            found = found.transposed([order.index(i) for i in range(len(order))])
        else:
            found = found.reshaped(sizes)
    return e, found
