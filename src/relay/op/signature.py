"""The mini-language of `Operator.signature`: `"(..., n, k) t, (m, k) t -> (..., n, m) t"`.

Before the arrow stands an item per operand, after it the result.  An item is a tensor, its dimensions in
parentheses and its dtype after them (`() float32` is a scalar), or a tuple of items: `((n) t, (n)
int32)`.

- A **dimension** is a number, a name, a sum or product of these (`2 * n + 1`, `n / 2`), or `...` first: any
  number of dimensions, the same wherever it stands.  A name that is an attribute of the operator is its
  value; any other is one dimension wherever it stands.
- A **dtype** is the name of one, of an attribute that holds one, or a variable; the operator's `dtypes`
  bound the variables.

It is solved by unification, so it runs from operands to result and back.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

from relay.diagnostic import fail
from relay.ir.dim import arithmetic
from relay.ir.dtype import DTYPES, canonical
from relay.ir.type import Dim, TensorType, TupleType, Type
from relay.op.relation import Typing

_TOKEN = re.compile(r"\s*(\.\.\.|->|[A-Za-z_]\w*|\d+|[(),+\-*/]|\S)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_END = "the end"

DimRule = tuple[Any, ...]
"""A dimension in postfix order: numbers, names, and the signs that combine the two before them."""


@dataclass(frozen=True)
class TensorItem:
    """`(..., n, k) t`."""

    ellipsis: bool
    dims: tuple[DimRule, ...]
    dtype: str


@dataclass(frozen=True)
class TupleItem:
    """`(item, item)`."""

    items: tuple["Item", ...]


Item = TensorItem | TupleItem


@dataclass(frozen=True)
class Signature:
    """A parsed signature."""

    text: str
    operands: tuple[Item, ...]
    result: Item

    @staticmethod
    @cache
    def of(text: str) -> "Signature":
        """The signature of that text, parsed once (`signature-syntax`)."""
        return _Parser(text).signature()

    def check(self, operator: str, operands: int, optional: int, variadic: bool) -> None:
        """Demand an item per operand (`signature-syntax`)."""
        if variadic or len(self.operands) != operands:
            has = "any number of" if variadic else str(operands)
            fail(
                "signature-syntax",
                f"the signature of `{operator}` describes {len(self.operands)} operands, "
                f"`reference` takes {has}",
                label=self.text,
            )

    def relate(self, op: Any, t: Typing, args: Sequence[Type], out: Type) -> None:
        """Unify operand types and result type with the signature; trailing optional operands may be
        missing.
        """
        tensors: list[tuple[TensorItem, Type]] = []
        for item, a in zip((*self.operands[: len(args)], self.result), (*args, out), strict=True):
            tensors += _leaves(t, item, a)
        _Unifier(self.text, op, t).run(tensors)


def _leaves(t: Typing, item: Item, found: Type) -> list[tuple[TensorItem, Type]]:
    """The tensors of an item with their types; an unknown tuple becomes one of unknown fields."""
    if isinstance(item, TensorItem):
        return [(item, found)]
    known = t.resolve(found)
    if not isinstance(known, TupleType) or len(known.fields) != len(item.items):
        known = TupleType([t.fresh("type") for _ in item.items])
        t.equal(found, known, why="the signature has a tuple here")
    leaves: list[tuple[TensorItem, Type]] = []
    for inner, field in zip(item.items, known.fields, strict=True):
        leaves += _leaves(t, inner, field)
    return leaves


class _Unifier:
    """One use of a signature: what its names stand for so far."""

    def __init__(self, text: str, op: Any, t: Typing) -> None:
        self.text, self.op, self.t = text, op, t
        self.dims: dict[str, Dim] = {}
        self.dtypes: dict[str, Any] = {}
        self.prefix: tuple[Dim, ...] | None = None

    def run(self, tensors: list[tuple[TensorItem, Type]]) -> None:
        for item, found in tensors:
            self._dtype(item.dtype, found)
        rank = self._prefix_rank(tensors)
        later: list[tuple[DimRule, Dim]] = []
        for item, found in tensors:
            for rule, d in zip(item.dims, self._own_dims(item, found, rank), strict=True):
                if len(rule) == 1:
                    self._dim(rule[0], d)
                else:
                    later.append((rule, d))
        for rule, d in later:
            self.t.equal(d, self._value(rule), why=f"the signature is {self.text}")

    def _prefix_rank(self, tensors: list[tuple[TensorItem, Type]]) -> int | None:
        """How many dimensions `...` stands for; waits while nothing says."""
        with_prefix = [(item, found) for item, found in tensors if item.ellipsis]
        for item, found in with_prefix:
            known = self.t.resolve(found)
            if isinstance(known, TensorType) and isinstance(known.shape, tuple):
                return self._outer_rank(item, found)
        return self._outer_rank(*with_prefix[0]) if with_prefix else None

    def _outer_rank(self, item: TensorItem, found: Type) -> int:
        inner = len(item.dims)
        outer = len(self.t.shape(found)) - inner
        if outer < 0:
            self.t.fail(
                "rank-mismatch",
                f"rank {outer + inner} is too small: at least {inner} is needed",
                hint=f"the signature is {self.text}",
            )
        return outer

    def _own_dims(self, item: TensorItem, found: Type, rank: int | None) -> tuple[Dim, ...]:
        """The dimensions after `...`, which is unified with the others."""
        outer = rank if item.ellipsis and rank is not None else 0
        shape = self.t.shape(found, rank=outer + len(item.dims))
        if item.ellipsis:
            if self.prefix is None:
                self.prefix = shape[:outer]
            self.t.equal(shape[:outer], self.prefix, why="`...` stands for the same dimensions everywhere")
        return shape[outer:]

    def _dim(self, name: int | str, found: Dim) -> None:
        value = self._attribute(name) if isinstance(name, str) else name
        value = self.dims.setdefault(name, found) if isinstance(name, str) and value is None else value
        if value is not found:
            self.t.equal(found, value, why=f"`{name}` in {self.text}")

    def _value(self, rule: DimRule) -> Dim:
        stack: list[Dim] = []
        for step in rule:
            if isinstance(step, str) and not _NAME.match(step):
                right, left = stack.pop(), stack.pop()
                stack.append(arithmetic(step, left, right))
            elif isinstance(step, str):
                known = self._attribute(step)
                if known is None and step not in self.dims:
                    self.dims[step] = self.t.fresh("dim")
                stack.append(self.dims[step] if known is None else known)
            else:
                stack.append(step)
        return stack[0]

    def _dtype(self, name: str, found: Type) -> None:
        known = canonical(name) or self._attribute(name)
        if known is None:
            self.t.tensor(found)
            if len(self.op.dtypes) < len(DTYPES):
                self.t.dtype_in(found, self.op.dtypes)
            known = self.dtypes.setdefault(name, self.t.dtype(found))
        self.t.equal(self.t.dtype(found), known, why=f"the signature is {self.text}")

    def _attribute(self, name: str) -> Any:
        """The value of an attribute of that name; None where there is none, or where it is None."""
        return getattr(self.op, name) if name in getattr(self.op, "__dataclass_fields__", ()) else None


class _Parser:
    """Recursive descent; signatures are a line that an operator's author writes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [*_TOKEN.findall(text), _END]
        self.at = 0

    def signature(self) -> Signature:
        operands = () if self.peek() == "->" else self.separated(self.item, "->")
        self.take("->")
        result = self.item()
        if self.peek() != _END:
            self.fault("the end")
        return Signature(self.text, tuple(operands), result)

    def peek(self, ahead: int = 0) -> str:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if wanted and token != wanted:
            self.fault(f"`{wanted}`")
        self.at += 1
        return token

    def fault(self, wanted: str) -> NoReturn:
        fail(
            "signature-syntax",
            f"expected {wanted} but found `{self.peek()}` in the signature {self.text!r}",
            hint='an example: "(..., n, k) t, (m, k) t -> (..., n, m) t"',
        )

    def separated(self, part: Callable[[], Any], end: str) -> list[Any]:
        parts: list[Any] = []
        while self.peek() != end:
            parts.append(part())
            if self.peek() != end:
                self.take(",")
        return parts

    def item(self) -> Item:
        is_tuple = self.tuple_at(self.at)
        self.take("(")
        if is_tuple:
            items = self.separated(self.item, ")")
            self.take(")")
            return TupleItem(tuple(items))
        ellipsis = self.peek() == "..."
        if ellipsis:
            self.take()
            if self.peek() != ")":
                self.take(",")
        dims = self.separated(self.sum, ")")
        self.take(")")
        if not _NAME.fullmatch(self.peek()) or self.peek() == _END:
            self.fault("a dtype")
        return TensorItem(ellipsis, tuple(dims), self.take())

    def tuple_at(self, at: int) -> bool:
        """Whether a tuple begins at a token: inside stands an item, which has a dtype after its
        parenthesis.
        """
        while self.tokens[at : at + 2] == ["(", "("]:
            at += 1
            depth, end = 0, at
            while end < len(self.tokens) - 1:
                depth += {"(": 1, ")": -1}.get(self.tokens[end], 0)
                end += 1
                if depth == 0:
                    break
            if self.tokens[end] != _END and _NAME.fullmatch(self.tokens[end]):
                return True
        return False

    def sum(self) -> DimRule:
        rule = self.product()
        while self.peek() in ("+", "-"):
            sign = self.take()
            rule = (*rule, *self.product(), sign)
        return rule

    def product(self) -> DimRule:
        rule = self.atom()
        while self.peek() in ("*", "/"):
            sign = self.take()
            rule = (*rule, *self.atom(), sign)
        return rule

    def atom(self) -> DimRule:
        token = self.peek()
        if token == "(":
            self.take()
            inner = self.sum()
            self.take(")")
            return inner
        if token.isdigit():
            return (int(self.take()),)
        if not _NAME.fullmatch(token) or token == _END:
            self.fault("a dimension")
        return (self.take(),)
