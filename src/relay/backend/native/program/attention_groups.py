"""Groups that are attention together become one.

`fuse_ops` keeps products apart; here a product of stacks takes in the groups that make rows of another one,
along with those before and after that only move what the products read and write.
"""

from collections import Counter
from functools import cached_property
from typing import cast

from relay.backend.native.kernels.attention_recognition import attention_in, stacked
from relay.backend.native.loops.strides import is_first_part, is_moved, sizes_of
from relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, TupleGetItem, Var, replace
from relay.ir.module import IRModule
from relay.ir.scope import places
from relay.ir.walk import post_order, rewrite
from relay.op.base import Operator
from relay.op.join import Split
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types


@module_pass("join_attention", opt_level=0)
def join_attention(mod: IRModule) -> IRModule:
    """Join the groups of `fuse_ops` that compute attention together into one.

    `fuse_ops` keeps products apart.  In the joined group both products of attention are computed block by
    block, and the matrix of scores between them is never stored.

    >>> show(join_attention, "def @main(%x: float32) { tanh(%x) }")
    def @main(%x: float32) -> float32 {
      tanh(%x)
    }
    """
    types = Types(mod)
    new: dict[GlobalVar, Expr] = {v: Joining(e, types).joined() for v, e in mod.functions.items()}
    return with_definitions(mod, new) if any(new[v] is not e for v, e in mod.functions.items()) else mod


class Joining:
    """A definition whose groups are being joined."""

    def __init__(self, root: Expr, types: Types) -> None:
        """Looks at all of it."""
        self.root = root
        self.types = types
        found = places(root)
        self.order, self.where = found.order, found.where
        self.bound = {e.var: e.value for e in self.order if isinstance(e, Let)}
        self.uses = Counter([c for e in self.order for c in e.children if isinstance(c, Var)])
        self.gone: set[Var] = set()
        """Variables whose values are inside of other groups."""
        self.new: dict[Expr, Expr] = {}

    def joined(self) -> Expr:
        """The definition with its groups joined; those that move results first, as they take others in."""
        ops = [e.attrs for e in self.order if isinstance(e, Call) and isinstance(e.attrs, Operator)]
        if sum(op.product() is not None for op in ops) < 2:
            return self.root
        for e in self.order:
            if self.group(e) is not None and self.names.get(e) not in self.gone:
                found = Joined(self, cast("Call", e))
                if found.is_attention():
                    found.settle()
                    self.new[e] = found.call()
        return rewrite(self.root, self.rule) if self.new else self.root

    def rule(self, e: Expr) -> Expr | None:
        """Joined groups in their places, and no bindings of what is inside of them."""
        return e.body if isinstance(e, Let) and e.var in self.gone else self.new.get(e)

    @cached_property
    def names(self) -> dict[Expr, Var]:
        """The variables of values."""
        return {e: v for v, e in self.bound.items()}

    def group(self, e: Expr | None) -> Function | None:
        """The function of a call of a group, on names and constants."""
        if not isinstance(e, Call) or not isinstance(e.op, Function) or not e.op.attrs.get("Primitive"):
            return None
        return e.op if all(isinstance(a, Var | Constant) for a in e.args) else None


class Joined:
    """A group that takes in those that make its operands."""

    def __init__(self, inside: Joining, e: Call) -> None:
        """`e` is its call so far."""
        self.inside = inside
        self.root = e
        fn = cast("Function", e.op)
        self.fn, self.body = fn, fn.body
        self.operands: dict[Var, Expr] = dict(zip(fn.params, e.args, strict=True))
        self.taken: list[tuple[Var, list[Expr]]] = []
        """The variables whose values it has taken in, and what these read."""

    def is_attention(self) -> bool:
        """Whether it is attention, once it has taken in what belongs to it."""
        types = self.inside.types
        if is_moving(self.body) and len(self.operands) == 1:
            self.take(next(iter(self.operands)), is_alone=True)
        mixed = self.product()
        if mixed is None or not isinstance(mixed.args[0], Var):
            return False
        scores = sizes_of(mixed.args[0], types)
        if scores is None or not self.take(mixed.args[0], is_alone=True):
            return False
        for p in list(self.operands):
            group = self.inside.group(self.value(p))
            if group is None or sizes_of(p, types) != scores:
                continue
            if any(map(self.is_stacked, nodes_of(group))):
                self.take(p, is_alone=True)
        pending = list(self.operands)
        while pending:
            before = set(self.operands)
            if self.take(pending.pop(), is_alone=False):
                pending += [p for p in self.operands if p not in before]
        return attention_in(self.body, types) is not None

    def product(self) -> Call | None:
        """The product of stacks that it only moves."""
        e = self.body
        while is_moved(e):
            e = cast("Call", e).args[0]
        return cast("Call", e) if self.is_stacked(e) else None

    def is_stacked(self, e: Expr) -> bool:
        """Whether a node is a product of stacks."""
        return stacked(e, self.inside.types) is not None

    def value(self, p: Var) -> Expr | None:
        """What an operand is bound to in the scope of the group."""
        a = self.operands[p]
        value = self.inside.bound.get(a) if isinstance(a, Var) else None
        where = self.inside.where
        return value if value is not None and where[value] is where[self.root] else None

    def take(self, p: Var, *, is_alone: bool) -> bool:
        """Take in what makes an operand: a group that nobody else reads; or one that only moves things."""
        value, a = self.value(p), cast("Var", self.operands[p])
        if value is None or (is_alone and self.inside.uses[a] != 1):
            return False
        if isinstance(value, TupleGetItem) and isinstance(value.tuple_value, Var):
            whole = Var(p.name_hint, self.inside.types(value.tuple_value))
            self.put(p, TupleGetItem(whole, value.index), {whole: value.tuple_value})
            return True
        fn = self.inside.group(value)
        if fn is None or not (is_alone or is_moving(fn.body)):
            return False
        fresh: dict[Expr, Expr] = {q: Var(q.name_hint, q.type_annotation) for q in fn.params}
        args = zip(fresh.values(), cast("Call", value).args, strict=True)
        self.put(p, rewrite(fn.body, fresh.get), {cast("Var", q): x for q, x in args})
        return True

    def put(self, p: Var, e: Expr, operands: dict[Var, Expr]) -> None:
        """`e`, of some operands, in the place of an operand."""
        self.body = rewrite(self.body, lambda x: e if x is p else None)
        self.taken.append((cast("Var", self.operands.pop(p)), list(operands.values())))
        self.operands.update(operands)

    def settle(self) -> None:
        """Note who reads what from now on."""
        uses, gone = self.inside.uses, self.inside.gone
        for v, read in self.taken:
            uses[v] -= 1
            if not uses[v]:
                gone.add(v)
            else:
                uses.update([x for x in read if isinstance(x, Var)])

    def call(self) -> Call:
        """The call of what it has become."""
        fn = replace(self.fn, params=tuple(self.operands), body=self.body)
        return replace(self.root, op=fn, args=tuple(self.operands.values()))


def is_moving(body: Expr) -> bool:
    """Whether a group only moves its operand, or takes a part of it."""
    while is_moved(body) or is_first_part(body) or (isinstance(body, Call) and isinstance(body.attrs, Split)):
        body = cast("Call", body).args[0]
    return isinstance(body, Var)


def nodes_of(fn: Function) -> list[Expr]:
    """The nodes of a group."""
    return list(post_order(fn.body))
