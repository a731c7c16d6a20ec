"""Shapes that are known at run time."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from relay.ir.expr import Expr
from relay.ir.type import ANY, Dim, TensorType, Type
from relay.op.axes import SIZES
from relay.op.base import INTEGRAL, Array, Numpy, sample
from relay.op.batching import in_front, row_shape, with_row_rank
from relay.op.kind import Fusion
from relay.op.native import Index, Loops, View
from relay.op.numeric import apply
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import Rearrangement, Reshaping
from relay.op.traced import DECIDES, values_of

UNEQUAL = "a tensor has as many elements before as after"
LARGER = "a tensor is stretched to a shape that it broadcasts to"


def result_rank(t: Typing, sizes: Type) -> int:
    """How many sizes an operand holds, which is the rank of the result (`rank-mismatch`)."""
    t.dtype_in(sizes, INTEGRAL, "the sizes")
    (count,) = t.shape(sizes, rank=1, what="the sizes")
    found = t.static(t.settled(count))
    if found is None:
        t.fail("rank-mismatch", "how many sizes there are must be known", hint="ranks are part of types")
    return found


def size_at(b: Loops, sizes: View, k: int) -> Index:
    """One of the sizes."""
    return b.as_index(sizes.at([k]))


@operator("dyn.reshape")
class DynReshape(Reshaping):
    """Reshape, in row-major order, to a shape that is a tensor of rank 1 (`reshape-size`).

    A size of -1 is whatever is left over, and 0 copies the operand's, unless `allowzero`.

    relay> dyn.reshape([1, 2, 3, 4], [2, -1])
    [[1, 2], [3, 4]]
    """

    samples = (
        sample("2x6 float32", numpy.array([3, 4])),
        sample("2x6 int4", numpy.array([0, -1, 3])),
        sample("0x3 float64", numpy.array([3, 0, 5], "int32"), allowzero=True),
    )

    allowzero: bool = False

    def infer(self, t: Typing, data: Type, newshape: Type) -> Type:
        return TensorType([ANY] * result_rank(t, newshape), t.dtype(data))

    def reference(self, np: Numpy, data: Array, newshape: Array) -> Array:
        wanted: list[int] = values_of(newshape, DECIDES)
        own = data.shape
        sizes = [
            own[k] if d == 0 and not self.allowzero and k < len(own) else d for k, d in enumerate(wanted)
        ]
        known = prod([d for d in sizes if d != -1])
        rest = data.size // known if known else 0
        full = [rest if d == -1 else d for d in sizes]
        if sizes.count(-1) > 1 or min(full, default=0) < 0 or prod(full) != data.size:
            SIZES.fail("reshape-size", f"cannot reshape a tensor of shape {own} to {tuple(wanted)}")
        return np.reshape(data, tuple(full))

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, newshape: Expr) -> Expr | None:
        if which[1]:
            return None  # each row would have a shape of its own
        return self(data, in_front(n if self.allowzero else 0, newshape))

    def extent(self, b: Loops, data: View, newshape: View) -> Sequence[Index]:
        """The sizes, the codes among them replaced."""
        (count,) = newshape.sizes
        own = data.sizes
        sizes: list[Index] = []
        for k in range(count):
            d = size_at(b, newshape, k)
            copied = not self.allowzero and k < len(own)
            sizes.append(b.choose(b.is_same(d, 0), own[k], d) if copied else d)
        known: Index = 1
        for d in sizes:
            known = b.times(known, b.choose(b.is_same(d, -1), 1, d))
        total = b.count(own)
        nothing = b.is_same(known, 0)
        rest = b.choose(nothing, 0, b.quotient(total, b.choose(nothing, 1, known)))
        full = [b.choose(b.is_same(d, -1), rest, d) for d in sizes]
        proper = [b.negation(b.is_less(d, 0)) for d in full]
        b.require(b.both(*proper, b.is_same(b.count(full), total)), "reshape-size", UNEQUAL)
        return full


@operator("dyn.broadcast_to")
class DynBroadcastTo(Rearrangement):
    """The tensor stretched as operands of arithmetic are, to a shape that is a tensor of rank 1.

    relay> dyn.broadcast_to([1, 2], [2, 2])
    [[1, 2], [1, 2]]
    """

    fusion = Fusion.OPAQUE
    samples = (
        sample("3 float32", numpy.array([2, 3])),
        sample("2x1 int4", numpy.array([5, 2, 4], "int32")),
        sample("bool", numpy.array([0, 2])),
    )

    def infer(self, t: Typing, data: Type, shape: Type) -> Type:
        rank, own = result_rank(t, shape), len(t.shape(data))
        if own > rank:
            t.fail("rank-mismatch", f"a tensor of rank {own} is not stretched to {rank} sizes")
        return TensorType([ANY] * rank, t.dtype(data))

    def reference(self, np: Numpy, data: Array, shape: Array) -> Array:
        wanted = tuple(values_of(shape, DECIDES))
        pairs = zip(reversed(data.shape), reversed(wanted), strict=False)
        if min(wanted, default=0) < 0 or any(d not in (1, w) for d, w in pairs):
            SIZES.fail("broadcast-mismatch", f"cannot stretch a tensor of shape {data.shape} to {wanted}")
        return np.broadcast_to(data, wanted)

    def batch(self, n: Dim, which: Sequence[Any], data: Expr, shape: Expr) -> Expr | None:
        if which[1]:
            return None  # each row would have a shape of its own
        (rank,) = row_shape(shape, False)
        assert isinstance(rank, int)
        return self(with_row_rank(data, rank), in_front(n, shape))

    def transpose(self, g: Expr, data: Expr, shape: Expr) -> tuple[Expr | None, ...]:
        return apply("collapse_sum_like", g, data), None

    def extent(self, b: Loops, data: View, shape: View) -> Sequence[Index]:
        """The sizes."""
        (count,) = shape.sizes
        sizes = [size_at(b, shape, k) for k in range(count)]
        front = len(sizes) - len(data.sizes)
        fits = [b.negation(b.is_less(d, 0)) for d in sizes]
        for d, w in zip(data.sizes, sizes[front:], strict=True):
            fits.append(b.negation(b.both(b.negation(b.is_same(d, 1)), b.negation(b.is_same(d, w)))))
        b.require(b.both(*fits), "broadcast-mismatch", LARGER)
        return sizes

    def element(self, b: Loops, index: Sequence[Any], data: View, shape: View) -> Any:
        """The element that is stretched over the place."""
        return data.at(b.spread(index, data))
