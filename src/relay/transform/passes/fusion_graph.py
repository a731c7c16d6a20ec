"""What fusion sees of a definition: operator calls, tuples and projections, and who uses them where.

A variable that `let` binds to one of these stands for it, if nothing notices when it is computed later in its
scope; a use by anything else, or in another scope than the one that computes it, is a use outside.
"""

from enum import IntEnum
from functools import cache
from typing import Any

from relay.ir.expr import Call, Constant, Expr, Function, Let, Op, Tuple, TupleGetItem, Var
from relay.ir.scope import Scope, places
from relay.ir.type import TupleType, Type
from relay.op.kind import NativeRule
from relay.transform.rewriting.purity import Purity
from relay.typecheck.types import Types


class Kind(IntEnum):
    """How a node combines with others; up to `FIELD`, each element of it is made of a few of its operands."""

    ELEMENTWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    TUPLE = 3
    FIELD = 4
    REDUCTION = 5
    KERNEL = 6
    OPAQUE = 7


PRODUCERS = frozenset({Call, Tuple, TupleGetItem})
"""What may make something that can be fused."""


@cache
def operator_kind(op: Any) -> Kind | None:
    """The kind of calls of an operator, given its class; None if it stays alone: it has an effect, or machine
    code calls its reference, or routines of LAPACK.
    """
    alone = op.impure or op.native_rule in (NativeRule.REFERENCE, NativeRule.LIBRARY)
    return None if alone else Kind[op.fusion.name]


def fusion_kind(e: Expr, types: Types) -> Kind | None:
    """The kind of a node; None if it has no part in fusion."""
    if type(e) is Call:
        return operator_kind(e.attrs.__class__) if type(e.op) is Op else None
    if type(e) is Tuple:
        return Kind.TUPLE if is_tuple_of_tensors(types(e)) else None
    return Kind.FIELD if type(e) is TupleGetItem and is_tuple_of_tensors(types(e.tuple_value)) else None


def is_tuple_of_tensors(t: Type) -> bool:
    """Whether values of a type are tuples that loops can have: of tensors alone, and of such tuples."""
    return isinstance(t, TupleType) and bool(t.fields) and t.is_of_tensors


def is_register_constant(e: Expr) -> bool:
    """Whether `e` is a constant that a loop holds in a register: of one element at most."""
    return type(e) is Constant and e.value.size <= 1


class Dataflow:
    """The nodes of a definition that may be fused, and how values go from one to the next."""

    def __init__(self, root: Expr, types: Types, purity: Purity) -> None:
        """Goes through `root` once, users first."""
        found = places(root)
        self.where = found.where
        self.inner = found.inner
        self.all = found.order
        """Every node of the definition, users before what they use."""
        self.types = types
        self.purity = purity
        self.values: dict[Expr, Expr] = {}
        """The values of variables that stand for them."""
        self.kinds: dict[Expr, Kind] = {}
        """The nodes that may be fused, users before what they use."""
        self.users: dict[Expr, list[Expr | None]] = {}
        """Where values go, once for each place; None is a use outside."""
        frozen = self.frozen()
        for e in self.all:
            if type(e) is Let:
                self.let(e, bool(frozen) and self.where[e] in frozen)
                continue
            kind = fusion_kind(e, types)
            if kind is None or (frozen and self.where[e] in frozen):
                self.uses(e, None)
            else:
                self.kinds[e] = kind
                self.uses(e, None if kind is Kind.OPAQUE else e)

    def frozen(self) -> set[Scope]:
        """The scopes inside of functions that are fused already, or compiled by somebody else."""
        found: set[Scope] = set()
        for e, scopes in self.inner.items():
            if self.where[e] in found or (type(e) is Function and is_opaque_function(e)):
                found.update(scopes)
        return found

    def uses(self, e: Expr, user: Expr | None) -> None:
        """Note what `e` uses, as `user`."""
        users, values, where = self.users, self.values, self.where
        here = where[e]
        for c in e.children:
            kind = type(c)
            if kind is Var:
                if c not in values:
                    continue
                c = values[c]
            elif kind not in PRODUCERS:
                continue
            users.setdefault(c, []).append(user if where[c] is here else None)

    def let(self, e: Let, is_frozen: bool) -> None:
        """Note what a `let` uses; a value that its variable stands for is used where the variable is."""
        value = self.values.get(e.value)
        if value is not None and self.types(value) == e.var.type_annotation:
            self.values[e.var] = value
        elif type(e.value) in PRODUCERS and not is_frozen and self.may_wait(e):
            self.values[e.var] = e.value
        else:
            self.leave(e.value)
        self.leave(e.body)

    def leave(self, e: Expr) -> None:
        """Note a use outside."""
        self.users.setdefault(self.values.get(e, e), []).append(None)

    def may_wait(self, e: Let) -> bool:
        """Whether nothing notices if the value is computed later, and nothing checks it on the way."""
        kind = fusion_kind(e.value, self.types)
        if kind is None or kind is Kind.OPAQUE or not self.purity.is_pure(e.value):
            return False
        return self.types(e.value) == e.var.type_annotation


def is_opaque_function(fn: Function) -> bool:
    """Whether a function is left as it is: a fused one, or one that another compiler takes."""
    return bool(fn.attrs.get("Primitive") or fn.attrs.get("Compiler"))
