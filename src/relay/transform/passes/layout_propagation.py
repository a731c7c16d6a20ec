"""Tensors with their axes in another order: what a pass knows of a definition in which some are turned.

A node may be there as it was, turned, or both; the one is made of the other where it is asked for.  Constants
are turned at once, and axes of size 1 change places without anything being moved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.type import TensorType, TupleType, Type
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.op.reshape import Reshape, Transpose
from relay.transform.rewriting.rewriter import call, call_of
from relay.typecheck.query import Types

Order = tuple[int, ...]
"""Axis `k` of what is turned is axis `order[k]` of the tensor."""


@dataclass(frozen=True, eq=False)
class Turned:
    """An expression for a tensor in another order; for a tuple, with an order for each field."""

    value: Expr
    order: Order | None
    fields: tuple[Order | None, ...] = ()

    def type_of(self, t: Type) -> Type:
        """The type of `value`, if `t` is that of what it stands for."""
        if isinstance(t, TupleType):
            return TupleType([turned_type(f, o) for f, o in zip(t.fields, self.fields, strict=True)])
        return turned_type(t, self.order)


def turned_type(t: Type, order: Order | None) -> Type:
    """The type of a tensor that is turned."""
    if order is None or not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
        return t
    return TensorType([t.shape[i] for i in order], t.dtype)


def is_kept(order: Sequence[int]) -> bool:
    """Whether an order leaves all axes where they are."""
    return list(order) == list(range(len(order)))


def inverse(order: Order) -> Order:
    """The order that undoes another."""
    return tuple([order.index(i) for i in range(len(order))])


class Turning:
    """A definition whose nodes are gone through once, operands first."""

    def __init__(self, root: Expr, types: Types, rule: Callable[["Turning", Call], Turned | None]) -> None:
        """`rule` says which calls of operators have a result that is turned, and what it is."""
        self.root = root
        self.types = types
        self.rule = rule
        self.plain: dict[Expr, Expr] = {}
        """Nodes as they were, their parts done."""
        self.turned: dict[Expr, Turned] = {}
        self.values: dict[Expr, Expr] = {}
        """What `let` binds to variables."""
        self.moved: dict[tuple[Expr, Order], Expr] = {}
        self.params: frozenset[Expr] = frozenset(root.params if isinstance(root, Function) else ())
        self.fields: dict[tuple[Expr, int], Expr] = {}
        """What fields of parameters were first taken by."""

    def run(self) -> Expr:
        """The definition; its result is as it was."""
        for e in post_order(self.root):
            if type(e) is Let:
                self.values[e.var] = e.value
        for e in post_order(self.root):
            found = self.step(e)
            if found is not None:
                self.turned[e] = found
            else:
                self.plain[e] = self.rebuilt(e)
        return self.as_was(self.root)

    def step(self, e: Expr) -> Turned | None:
        """What a node is turned, if it is."""
        if type(e) is Call and type(e.op) is Op:
            return self.accepted(e, self.rule(self, e))
        if type(e) is Var:
            return self.variable(e)
        if type(e) is TupleGetItem and (whole := self.turned.get(e.tuple_value)) is not None:
            order = whole.fields[e.index]
            return None if order is None else Turned(TupleGetItem(whole.value, e.index, span=e.span), order)
        return None

    def accepted(self, e: Call, made: Turned | None) -> Turned | None:
        """What a rule has made, unless the order is the same or the tensor another."""
        if made is None:
            return None
        if self.types(made.value) != made.type_of(self.types(e)):
            return None
        if not made.fields and (made.order is None or is_kept(made.order)):
            self.plain[e] = made.value
            return None
        return made

    def variable(self, e: Var) -> Turned | None:
        """A variable that is bound to what is turned."""
        value = self.turned.get(self.values[e]) if e in self.values else None
        if value is None:
            return None
        return Turned(Var(e.name, value.type_of(self.types(e)), span=e.span), value.order, value.fields)

    def rebuilt(self, e: Expr) -> Expr:
        """A node that stays, around its parts."""
        if e in self.plain:
            return self.plain[e]
        children = e.children
        if type(e) is Let and (var := self.turned.get(e.var)) is not None:
            assert isinstance(var.value, Var)
            return Let(var.value, self.turned[e.value].value, self.as_was(e.body), span=e.span)
        if type(e) is Let:
            children = (e.value, e.body)
        now = tuple([self.as_was(c) for c in children])
        return e if now == e.children else e.rebuild(now)

    # --- what rules ask for ---

    def as_was(self, e: Expr) -> Expr:
        """A node in the order that it had."""
        if e not in self.plain:
            found = self.turned[e]
            if found.order is not None:
                self.plain[e] = self.reordered(found.value, inverse(found.order), e)
            else:
                parts = [TupleGetItem(found.value, i, span=e.span) for i in range(len(found.fields))]
                whole = [self.back(x, o, e) for x, o in zip(parts, found.fields, strict=True)]
                self.plain[e] = Tuple(tuple(whole), span=e.span)
        return self.plain[e]

    def back(self, x: Expr, order: Order | None, e: Expr) -> Expr:
        """A field of a tuple in the order that it had."""
        return x if order is None else self.reordered(x, inverse(order), e)

    def order_of(self, e: Expr) -> Order | None:
        """The order that a node is known in, if it is turned."""
        found = self.turned.get(e)
        return None if found is None else found.order

    def shape(self, e: Expr) -> tuple[object, ...] | None:
        """The sizes of a tensor, as far as its type says them."""
        t = self.types(e)
        return t.shape if isinstance(t, TensorType) and isinstance(t.shape, tuple) else None

    def in_order(self, e: Expr, order: Order) -> Expr:
        """A node with its axes in an order; one of fewer axes, as it broadcasts with those that have it."""
        e = self.first(e)
        found, shape = self.turned.get(e), self.shape(e)
        assert shape is not None
        if found is not None and found.order == order:
            return found.value
        if not shape:
            return self.as_was(e)
        if (e, order) not in self.moved:
            x, missing = self.as_was(e), len(order) - len(shape)
            if missing:
                x = self.stretched(x, missing, e)
            self.moved[e, order] = self.reordered(x, order, e)
        return self.moved[e, order]

    def first(self, e: Expr) -> Expr:
        """The first of those nodes that are the same field of a parameter: one is turned for all."""
        value = self.values.get(e)
        if type(value) is TupleGetItem and value.tuple_value in self.params:
            return self.fields.setdefault((value.tuple_value, value.index), value)
        return e

    def stretched(self, x: Expr, missing: int, e: Expr) -> Expr:
        """A tensor with so many axes of size 1 in front."""
        if isinstance(x, Constant) and x.type is not None:
            return held(np.reshape(x.value, (1,) * missing + x.value.shape), x)
        return call_of("expand_dims", (x,), e, axis=0, num_newaxis=missing)

    def reordered(self, x: Expr, order: Order, e: Expr) -> Expr:
        """A tensor that is there, in another order."""
        if is_kept(order):
            return x
        if isinstance(x, Constant) and x.type is not None:
            return held(np.transpose(x.value, order), x)
        t = self.types(x)
        if isinstance(t, TensorType) and t.is_closed:
            sizes = [t.concrete_shape[i] for i in order]
            if is_ascending([i for i in order if t.concrete_shape[i] != 1]):
                return call(Reshape(newshape=tuple(sizes)), (x,), e)
        return call(Transpose(axes=order), (x,), e)

    def applied(self, e: Call, op: Operator, args: Sequence[Expr], order: Order | None) -> Turned:
        """A call of an operator that makes the result of `e` in an order."""
        return Turned(call(op, args, e), order)

    def common_order(self, several: Sequence[Expr], rank: int) -> Order | None:
        """The order that most of some tensors of a rank have already; None if most are as they were."""
        held_by: dict[Order | None, int] = {}
        for e in several:
            shape = self.shape(e)
            if shape is not None and len(shape) == rank and type(e) is not Constant:
                order = self.order_of(e)
                size = prod([d for d in shape if isinstance(d, int)])
                held_by[order] = held_by.get(order, 0) + size
        turned = {o: n for o, n in held_by.items() if o is not None}
        if not turned or max(turned.values()) < held_by.get(None, 0):
            return None
        return max(turned, key=lambda o: turned[o])


def held(array: NDArray[Any], like: Constant) -> Constant:
    """A constant of the same dtype."""
    assert like.type is not None
    return Constant(array, TensorType(array.shape, like.type.dtype), span=like.span)


def is_ascending(numbers: Sequence[int]) -> bool:
    """Whether each number is greater than the one before it."""
    return list(numbers) == sorted(numbers)
