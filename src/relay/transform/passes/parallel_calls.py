"""Calls side by side on the same data as one call on joined weights: what such passes share."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate

from relay.analysis.normal_form import ATOMS
from relay.ir.expr import Call, Expr, Let, Tuple, TupleGetItem, Var
from relay.ir.module import IRModule
from relay.ir.scope import places
from relay.ir.type import TensorType
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.transform.rewriting.anf_conversion import anf
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.rewriter import call, call_of, is_data
from relay.typecheck.query import Types


class Joining(ABC):
    """How calls of one operator are joined."""

    kind: type[Operator]

    @abstractmethod
    def key(self, e: Call, data: TensorType, weight: tuple[int, ...]) -> Hashable:
        """What calls have in common that can be joined; None for a call that cannot."""

    @abstractmethod
    def parts(self, several: Sequence[Call], weights: Sequence[Expr], types: Types) -> list[Expr]:
        """What the calls become: parts of one call."""


def combine(mod: IRModule, joining: Joining, least: int) -> IRModule:
    """`mod` with each group of at least so many calls joined."""
    types = Types(mod)
    new = {v: join_calls(e, joining, least, types, ANF.is_known_of(mod, v)) for v, e in mod.functions.items()}
    return with_definitions(mod, new)


def join_calls(root: Expr, joining: Joining, least: int, types: Types, is_normal: bool) -> Expr:
    """A definition with its groups joined."""
    order = list(post_order(root))
    if sum(isinstance(e, Call) and isinstance(e.target, joining.kind) for e in order) < least:
        return root
    survey = Survey(order, joining, types)
    groups = [found for found in survey.groups(root).values() if len(found) >= least]
    instead: dict[Expr, Expr] = {}
    for found in groups:
        made = joining.parts(found, [survey.weights[e] for e in found], types)
        if all(types(m) == types(e) for m, e in zip(made, found, strict=True)):
            instead.update(zip(found, made, strict=True))
    if not instead:
        return root
    made = substituted(root, instead)
    return anf(made, types) if is_normal else made


class Survey:
    """The calls of one operator in a definition, and what they depend on."""

    def __init__(self, order: Sequence[Expr], joining: Joining, types: Types) -> None:
        """Goes through the definition once."""
        self.order = order
        self.joining = joining
        self.types = types
        self.values: dict[Expr, Expr] = {e.var: e.value for e in order if isinstance(e, Let)}
        self.level: dict[Expr, int] = {}
        """How many such calls a node is behind: one that depends on another has a higher level."""
        self.steady: set[Expr] = set()
        """What depends on no `let`-bound variable, and so can stand at any place of its scope."""
        self.weights: dict[Expr, Expr] = {}

    def groups(self, root: Expr) -> dict[Hashable, list[Call]]:
        """The calls that have data, scope and form in common, none of which depends on another."""
        where = places(root).where
        found: dict[Hashable, list[Call]] = {}
        for e in self.order:
            self.note(e)
            if isinstance(e, Call) and isinstance(e.target, self.joining.kind):
                key = self.key(e)
                if key is not None:
                    found.setdefault((e.args[0], where[e], self.level[e], key), []).append(e)
        return found

    def note(self, e: Expr) -> None:
        """Note level and steadiness of a node, whose parts are noted."""
        value = self.values.get(e)
        is_kind = isinstance(e, Call) and isinstance(e.target, self.joining.kind)
        below = (value,) if value is not None else e.children
        self.level[e] = max((self.level.get(c, 0) for c in below), default=0) + is_kind
        if type(e) in ATOMS:
            is_steady = value is None
        else:
            is_steady = is_data(e) and all(c in self.steady for c in e.children)
        if is_steady:
            self.steady.add(e)

    def key(self, e: Call) -> Hashable:
        """What a call has in common with those that it can be joined with."""
        data, weight = e.args
        weight = self.values.get(weight, weight)
        t, w = self.types(data), self.types(weight)
        if weight not in self.steady or not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
            return None
        if not isinstance(w, TensorType) or not w.is_closed or (type(data) is not Var and not is_data(data)):
            return None
        form = self.joining.key(e, t, w.concrete_shape)
        self.weights[e] = weight
        return None if form is None else (form, w.dtype)


def substituted(root: Expr, instead: Mapping[Expr, Expr]) -> Expr:
    """`root` with nodes replaced; what stands for them is made of nodes of `root`, replaced likewise."""
    new: dict[Expr, Expr] = {}
    stack = [root]
    while stack:
        e = stack[-1]
        needed = (instead[e],) if e in instead else e.children
        missing = [c for c in needed if c not in new]
        if missing:
            stack += reversed(missing)
            continue
        stack.pop()
        if e in instead:
            new[e] = new[instead[e]]
        elif e not in new:
            children = tuple([new[c] for c in e.children])
            new[e] = e if children == e.children else e.rebuild(children)
    return new[root]


def joined(tensors: Sequence[Expr], axis: int, source: Expr) -> Expr:
    """Tensors one after another along an axis."""
    return call_of("concatenate", (Tuple(tuple(tensors), span=source.span),), source, axis=axis)


def split(e: Expr, sizes: Sequence[int], axis: int) -> list[Expr]:
    """The parts of a tensor that have these sizes along an axis."""
    cuts = tuple(accumulate(sizes[:-1]))
    parts = call_of("split", (e,), e, indices_or_sections=cuts, axis=axis)
    return [TupleGetItem(parts, i, span=e.span) for i in range(len(sizes))]


def joined_call(op: Operator, several: Sequence[Call], weights: Sequence[Expr], axis: int) -> Call:
    """One call on the data of all, with their weights joined along an axis."""
    return call(op, (several[0].args[0], joined(weights, axis, several[0])), several[0])
