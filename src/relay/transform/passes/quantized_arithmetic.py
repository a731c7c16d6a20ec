"""Integers that stand for numbers, `(whole - zero) * scale`: where a definition computes on them."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from relay.ir.expr import Call, Constant, Expr, Op, TupleGetItem, Var
from relay.ir.type import Dim, TensorType, Type
from relay.op.column import Column
from relay.op.join import Split
from relay.op.qnn.convert import Dequantize
from relay.op.reshape import Reshaping
from relay.op.sort import TopK
from relay.transform.rewriting.rewriter import Rewriter, call_of
from relay.transform.rewriting.splat import is_value, scalar, uniform


@dataclass(frozen=True)
class Affine:
    """A tensor of integers, and what they stand for; scale and zero point may be vectors along `axis`."""

    whole: Expr
    scale: Expr
    zero: Expr
    axis: int = -1


Task: TypeAlias = Generator[Any, Any, Affine | None]
Rule: TypeAlias = Callable[["Integers", Call, Affine | None], Task]
"""A call in integers: with the scale and zero point that are wanted, where it has to choose some."""
in_integers = Column[Rule | None](default=None)
"""The rules by operator; None if an operator has no form in integers."""


class Integers:
    """What a definition computes on, from quantised data on."""

    def __init__(self, w: Rewriter, optional: frozenset[str]) -> None:
        """`optional` names operators that are taken beyond those that always are."""
        self.w = w
        self.optional = optional
        self.known: dict[Expr, Affine | None] = {}
        self.several: dict[Expr, Call] = {}
        """Calls with tuple results on integers, by those on numbers."""
        self.refused: Call | None = None
        """The first that had no form in integers of the calls that were asked for last."""

    def visit(self, e: Expr, wanted: Affine | None = None) -> Task:
        """The integers that an expression is computed of, with the scale that is wanted if that makes a
        difference.
        """
        if e in self.known:
            return self.known[e]
        made = self.w.seen(e) if is_known(self.w.types(e)) else None
        found: Affine | None = None
        if isinstance(made, Call) and type(made.op) is Op:
            if isinstance(made.attrs, Dequantize):
                found = Affine(*made.args, axis=made.attrs.axis)
            else:
                rule = in_integers[made.attrs]
                found = None if rule is None else (yield rule(self, made, wanted))
                if found is None and self.refused is None:
                    self.refused = made
        elif isinstance(made, TupleGetItem):
            found = yield self.field(made)
        if wanted is None or found is None:
            self.known[e] = found
        return found

    def field(self, e: TupleGetItem) -> Task:
        """A part of what is split, or the elements that `topk` finds."""
        whole = self.w.seen(e.tuple_value)
        if not isinstance(whole, Call) or not isinstance(whole.target, Split | TopK):
            return None
        if isinstance(whole.target, TopK) and e.index:
            return None
        a = yield self.visit(whole.args[0])
        if a is None or not self.is_one(a.scale, a.zero):
            return None
        parts = self.several.setdefault(whole, Call(whole.op, (a.whole,), whole.attrs, span=whole.span))
        return replace(a, whole=TupleGetItem(parts, e.index, span=e.span))

    # --- what rules ask, and make ---

    def type(self, e: Expr) -> TensorType:
        """The type of a tensor."""
        t = self.w.types(e)
        assert isinstance(t, TensorType)
        return t

    def shape(self, e: Expr) -> tuple[Dim, ...]:
        """The shape of a tensor."""
        shape = self.type(e).shape
        assert isinstance(shape, tuple)
        return shape

    def rank(self, e: Expr) -> int:
        """How many axes a tensor has."""
        return len(self.shape(e))

    def dtype(self, e: Expr) -> str:
        """The dtype of a tensor."""
        dtype = self.type(e).dtype
        assert isinstance(dtype, str)
        return dtype

    def is_one(self, *several: Expr) -> bool:
        """Whether scales or zero points are one number each."""
        return all(self.shape(v) in ((), (1,)) for v in several)

    def is_sum(self, a: Affine) -> bool:
        """Whether these are sums of products: int32 around 0, fine enough for a bias."""
        return self.dtype(a.whole) == "int32" and is_value(uniform(self.w, a.zero), 0)

    def is_given(self, e: Expr) -> bool:
        """Whether an operand is a constant, also a quantised or reshaped one, or a parameter."""
        made = self.w.seen(e)
        while isinstance(made, Call) and isinstance(made.target, Dequantize | Reshaping):
            made = self.w.seen(made.args[0])
        return isinstance(made, Constant) or (isinstance(made, Var) and made not in self.w.values)

    def cast(self, e: Expr, dtype: str) -> Expr:
        """A tensor in a dtype."""
        return e if self.dtype(e) == dtype else call_of("cast", (e,), e, dtype=dtype)

    def centred(self, a: Affine, source: Expr) -> Expr:
        """`whole - zero` in int32, where there is one zero point."""
        whole = self.cast(a.whole, "int32")
        if is_value(uniform(self.w, a.zero), 0):
            return whole
        return call_of("subtract", (whole, self.cast(a.zero, "int32")), source)

    def rescaled(self, a: Affine, wanted: Affine, dtype: str, source: Expr) -> Affine:
        """The numbers, rescaled to the wanted scale."""
        if a.scale is wanted.scale and a.zero is wanted.zero and self.dtype(a.whole) == dtype:
            return a
        args = (a.whole, a.scale, a.zero, wanted.scale, wanted.zero)
        axis = wanted.axis if self.is_one(a.scale, a.zero) else a.axis
        return Affine(
            call_of("qnn.requantize", args, source, axis=axis, out_dtype=dtype),
            wanted.scale,
            wanted.zero,
            axis,
        )


def is_known(t: Type) -> bool:
    """Whether a type is that of a tensor of known rank and dtype."""
    return isinstance(t, TensorType) and isinstance(t.shape, tuple) and isinstance(t.dtype, str)


def zero_point(source: Expr) -> Expr:
    """0, as the zero point of sums."""
    return scalar(0, "int32", source)
