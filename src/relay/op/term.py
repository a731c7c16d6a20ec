"""Arithmetic on expressions whose dtype is known, for decompositions: `(x - zero) * 2`."""

from typing import Any

import numpy

from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, constant
from relay.ir.type import DType
from relay.ir.walk import post_order
from relay.op.composite import evaluate_dataflow
from relay.op.numeric import apply, dims, index_numbers, scalar


class Term:
    """An expression and its dtype; a number beside it is a scalar of that type."""

    __slots__ = ("dtype", "expr")

    def __init__(self, expr: Expr, dtype: DType) -> None:
        """`dtype` is the dtype of `expr`."""
        self.expr = expr
        self.dtype = dtype

    def of(self, name: str, *others: Any, to: DType | None = None, **attrs: Any) -> "Term":
        """An operator on this and others; `to` is the dtype of its result if it is another one."""
        operands = [lifted(o, self.dtype) for o in others]
        return Term(apply(name, self.expr, *operands, **attrs), self.dtype if to is None else to)

    def cast(self, dtype: str) -> "Term":
        """The term, cast to another dtype."""
        return self if self.dtype == dtype else self.of("cast", to=dtype, dtype=dtype)

    def as_index(self) -> "Term":
        """The term, as int64, by the rule of `relay.op.axes.as_index`."""
        return Term(index_numbers(self.expr, self.dtype), "int64")

    def where(self, yes: Any, no: "Term") -> "Term":
        """`yes` where this holds, else `no`."""
        return Term(apply("where", self.expr, lifted(yes, no.dtype), no.expr), no.dtype)

    def equals(self, other: Any) -> "Term":
        """Whether both are the same."""
        return self.of("equal", other, to="bool")

    def __add__(self, other: Any) -> "Term":
        return self.of("add", other)

    def __sub__(self, other: Any) -> "Term":
        return self.of("subtract", other)

    def __rsub__(self, other: Any) -> "Term":
        return Term(lifted(other, self.dtype), self.dtype).of("subtract", self)

    def __mul__(self, other: Any) -> "Term":
        return self.of("multiply", other)

    def __truediv__(self, other: Any) -> "Term":
        return self.of("divide", other)

    def __neg__(self) -> "Term":
        return self.of("negative")

    def __lt__(self, other: Any) -> "Term":
        return self.of("less", other, to="bool")

    def __le__(self, other: Any) -> "Term":
        return self.of("less_equal", other, to="bool")

    def __gt__(self, other: Any) -> "Term":
        return self.of("greater", other, to="bool")

    def __ge__(self, other: Any) -> "Term":
        return self.of("greater_equal", other, to="bool")

    def __and__(self, other: "Term | int") -> "Term":
        return self.of("logical_and" if self.dtype == "bool" else "bitwise_and", other)

    def __or__(self, other: "Term | int") -> "Term":
        return self.of("logical_or" if self.dtype == "bool" else "bitwise_or", other)

    def __lshift__(self, other: Any) -> "Term":
        return self.of("left_shift", other)

    def __rshift__(self, other: Any) -> "Term":
        return self.of("right_shift", other)


def lifted(x: Any, dtype: DType) -> Expr:
    """An expression; a number as a scalar of a dtype."""
    if isinstance(x, Term):
        return x.expr
    return scalar(x, dtype) if isinstance(x, int | float) else x


def term(x: Any, dtype: str) -> Term:
    """A number or an array as a constant of a dtype; an integer tensor cast to it."""
    return (
        x.cast(dtype)
        if isinstance(x, Term)
        else Term(constant(numpy.asarray(x).astype(to_numpy(dtype))), dtype)
    )


def size_of(x: Expr, t: Any, axis: int) -> "int | Term":
    """The size of an axis: a number where it is known, else a scalar of int64."""
    d = dims(t)[axis]
    if isinstance(d, int):
        return d
    return Term(
        apply("take", apply("shape_of", x, dtype="int64"), constant(numpy.int64(axis)), axis=0), "int64"
    )


def iota(n: "int | Term") -> Term:
    """0, 1, 2, … up to but not including a number, as int64."""
    if isinstance(n, int):
        return term(numpy.arange(n), "int64")
    zero, one = (constant(numpy.int64(k)) for k in (0, 1))
    return Term(apply("arange", zero, n.as_index().expr, one, dtype="int64"), "int64")


def counted_along(x: Expr, t: Any, axis: int) -> Term:
    """0, 1, 2, … for the places of an axis, as int64; the type has the size of the axis."""
    d = dims(t)[axis]
    if isinstance(d, int):
        return iota(d)
    others = tuple([k for k in range(len(dims(t))) if k != axis])
    ones = apply("ones_like", apply("cast", x, dtype="int64"))
    line = Term(apply("sum", ones, axis=others) if others else ones, "int64")
    return line.of("ones_like").of("cumsum", axis=0, exclusive=True)


def value_of(x: Term) -> Any:
    """The value of a term that depends on constants alone."""
    with numpy.errstate(all="ignore"):
        return numpy.asarray(evaluate_dataflow(x.expr, {}, numpy))


def is_constant(x: Term) -> bool:
    """Whether a term depends on constants alone."""
    return all(isinstance(e, Constant | Op | Call | Tuple | TupleGetItem) for e in post_order(x.expr))


def settled(x: Term) -> Term:
    """A term that depends on constants alone as a constant."""
    return term(value_of(x), str(x.dtype)) if is_constant(x) else x
