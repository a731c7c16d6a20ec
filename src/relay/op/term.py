"""Arithmetic on expressions whose base type is known, for decompositions: `(x - zero) * 2`."""

from typing import Any

from relay.ir.expr import Expr
from relay.ir.type import DType
from relay.op.numeric import apply, scalar


class Term:
    """An expression and its base type; a number beside it is a scalar of that type."""

    __slots__ = ("dtype", "expr")

    def __init__(self, expr: Expr, dtype: DType) -> None:
        """`dtype` is the base type of `expr`."""
        self.expr = expr
        self.dtype = dtype

    def of(self, name: str, *others: Any, to: DType | None = None, **attrs: Any) -> "Term":
        """An operator on this and others; `to` is the base type of its result if it is another one."""
        operands = [lifted(o, self.dtype) for o in others]
        return Term(apply(name, self.expr, *operands, **attrs), self.dtype if to is None else to)

    def cast(self, dtype: str) -> "Term":
        """The same in another base type."""
        return self if self.dtype == dtype else self.of("cast", to=dtype, dtype=dtype)

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

    def __and__(self, other: "Term") -> "Term":
        return self.of("logical_and" if self.dtype == "bool" else "bitwise_and", other)

    def __or__(self, other: "Term") -> "Term":
        return self.of("logical_or" if self.dtype == "bool" else "bitwise_or", other)

    def __lshift__(self, other: Any) -> "Term":
        return self.of("left_shift", other)

    def __rshift__(self, other: Any) -> "Term":
        return self.of("right_shift", other)


def lifted(x: Any, dtype: DType) -> Expr:
    """An expression; a number as a scalar of a base type."""
    if isinstance(x, Term):
        return x.expr
    return scalar(x, dtype) if isinstance(x, int | float) else x
