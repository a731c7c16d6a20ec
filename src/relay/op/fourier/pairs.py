"""Fourier transforms of complex numbers as pairs: the last axis holds real and imaginary part."""

from typing import Any

from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op.base import NUMERIC, sample
from relay.op.composite import Composite
from relay.op.kind import Derivative
from relay.op.numeric import apply, dims
from relay.op.registry import operator
from relay.op.relation import Typing
from relay.op.reshape import with_type_of


def pair_shape(t: Typing, data: Type) -> tuple[Dim, ...]:
    """The shape of a tensor of pairs, without the axis of the pairs."""
    shape = t.shape(data)
    if not shape:
        t.fail("rank-mismatch", "a scalar is not a tensor of pairs", hint="the last axis is of size 2")
    t.equal(shape[-1], 2, why="the last axis holds real and imaginary part")
    return shape[:-1]


@operator("view_as_complex")
class ViewAsComplex(Composite):
    """The real and the imaginary parts of pairs, which are the last axis.

    relay> view_as_complex([[1.0, 2.0], [3.0, 4.0]])
    ([1.0, 3.0], [2.0, 4.0])
    """

    results = 2
    dtypes = NUMERIC
    derivative = Derivative.TRANSPOSE
    samples = (sample("3x2 float32"), sample("2 float64"), sample("0x4x2 int32"))

    def infer(self, t: Typing, data: Type) -> Type:
        part = TensorType(pair_shape(t, data), t.dtype(data))
        return TupleType([part, part])

    def decompose(self, types: Any, data: Expr) -> Expr:
        at = len(dims(types[0])) - 1
        halves = [apply("strided_slice", data, begin=(k,), end=(k + 1,), axes=(at,)) for k in (0, 1)]
        return Tuple(tuple([apply("squeeze", x, axis=(at,)) for x in halves]))

    def transpose(self, g: Any, data: Expr) -> tuple[Expr, ...]:
        return (with_type_of(apply("view_as_real", *g), data),)


@operator("view_as_real")
class ViewAsReal(Composite):
    """Real and imaginary parts as pairs, a last axis of size 2.

    relay> view_as_real([1.0, 3.0], [2.0, 4.0])
    [[1.0, 2.0], [3.0, 4.0]]
    """

    dtypes = NUMERIC
    derivative = Derivative.TRANSPOSE
    samples = (
        sample("3 float32", "3 float32"),
        sample("float64", "float64"),
        sample("0x4 int32", "0x4 int32"),
    )

    def infer(self, t: Typing, re_data: Type, im_data: Type) -> Type:
        t.equal(im_data, re_data, why="real and imaginary parts have one type")
        return TensorType((*t.shape(re_data), 2), t.dtype(re_data))

    def decompose(self, types: Any, re_data: Expr, im_data: Expr) -> Expr:
        return apply("stack", (re_data, im_data), axis=-1)

    def transpose(self, g: Expr, re_data: Expr, im_data: Expr) -> tuple[Expr, ...]:
        found = apply("view_as_complex", g)
        return TupleGetItem(found, 0), TupleGetItem(found, 1)
