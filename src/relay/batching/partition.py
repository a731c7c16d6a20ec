"""Conditions that differ from row to row: each branch runs on its rows alone.

`if (c) { f(x) } else { g(x) }` becomes `f` of all rows where `c` holds for all, `g` of all rows where it
holds for none, else `f` of the rows where it holds and `g` of the others, put together again.  No branch is
run for a row that would not run it, and none for no rows at all, which ends a recursion.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from relay.analysis.effects import is_pure
from relay.autodiff.values import Block
from relay.batching.batcher import Batcher, Task
from relay.batching.branches import calling_result, is_total
from relay.batching.maps import INDEX, may_differ, refuse
from relay.batching.values import Pattern, Rows, Value
from relay.diagnostic import Span
from relay.ir.deep import with_room
from relay.ir.expr import Expr, Function, GlobalVar, If, Tuple, TupleGetItem, Var
from relay.ir.type import ANY, BOOL, Dim, FuncType, RefType, TensorType, TupleType, Type
from relay.ir.vars import free_vars
from relay.op.derivative import fields_of
from relay.op.numeric import apply, scalar


class Partitioner(Batcher):
    """A batcher that takes rows apart where a condition differs."""

    def partition(self, cond: Rows, e: If, name: str, b: Block) -> Task:
        if isinstance(self.type_of(e), FuncType) and is_pure(e, self.source):
            return self.closure(self.chosen_function(e), b)
        branches = [self._definition(x) for x in (e.true_branch, e.false_branch)]
        t = self.type_of(e)
        whole: list[tuple[Block, Value]] = []
        for branch in branches:
            inside = Block()
            whole.append((inside, self._called(branch, None, t, name, inside)))
        mixed = Block()
        mask = mixed.bind(apply("cast", cond.expr, dtype=INDEX), TensorType((self.rows,), INDEX), "mask")
        others = mixed.bind(apply("logical_not", cond.expr), TensorType((self.rows,), "bool"), "others")
        parts: list[tuple[Expr, Value]] = []
        for branch, where in zip(branches, (cond.expr, others), strict=True):
            index = mixed.bind(_positions(where), TensorType((ANY,), INDEX), "index")
            with self.at(ANY, index) as outer:
                parts.append((index, self._called(branch, outer, t, name, mixed)))
        pattern = self.full(t)
        packed: list[Expr] = []
        for index, v in parts:
            with self.at(ANY, index):
                packed.append(self.atom(self.coerced(v, pattern, mixed), pattern, mixed))
        place = _places(mask, others, self.rows, mixed)
        merged = self._merged(packed, pattern, t, place, e.span, mixed)
        yes, no = [x.finish(self.pack(self.coerced(v, pattern, x), x)) for x, v in whole]
        made = _three_ways(cond.expr, yes, no, mixed.finish(merged), is_total(e.true_branch), b)
        return self.open(b.bind(made, self.type_at(pattern, t, self.rows), name), pattern, t, b)
        yield

    def chosen_function(self, e: If) -> Function:
        """`if (c) { f } else { g }` as a function that is called for the rows it is called for: `fn (%x) { if
        (c) { f(%x) } else { g(%x) } }`.
        """
        known = self.functions.get(e)
        if known is None:
            t = self.type_of(e)
            assert isinstance(t, FuncType)
            params = tuple([Var("x", a, span=e.span) for a in t.arg_types])
            branches = [calling_result(x, t, params) for x in (e.true_branch, e.false_branch)]
            known = Function(params, If(e.cond, *branches, span=e.span), t.ret_type, span=e.span)
            self.functions[e] = known
        return known

    def _definition(self, branch: Expr) -> tuple[GlobalVar, list[Var]]:
        """A branch as a definition of what it uses."""
        known = self.branches.get(branch)
        if known is None:
            free = free_vars(branch)
            name = self.supply.fresh_global("rows")
            self.sources[name] = Function(tuple(free), branch, self.type_of(branch), self.type_params)
            known = self.branches[branch] = name, free
        return known

    def _called(
        self, branch: tuple[GlobalVar, list[Var]], outer: Dim | None, t: Type, hint: str, b: Block
    ) -> Value:
        """The value of a branch for the rows of here, which are some of `outer` ones if those are given."""
        name, free = branch
        values = [self.env[v] for v in free]
        if outer is not None:
            assert self.witness is not None
            here = self.rows
            self.rows = outer
            values = [self.taken(v, self.witness, here, b) for v in values]
            self.rows = here
        return self.call_copy(name, values, self.type_params, t, hint, b)

    @contextmanager
    def at(self, rows: Dim, witness: Expr) -> Generator[Dim]:
        """At another number of rows; gives the one of before."""
        before = self.rows, self.witness
        self.rows, self.witness = rows, witness
        try:
            yield before[0]
        finally:
            self.rows, self.witness = before

    @with_room
    def _merged(
        self, parts: Sequence[Expr], pattern: Pattern, t: Type, place: Expr, span: Span | None, b: Block
    ) -> Expr:
        """The rows of both branches in their order."""
        if isinstance(t, TupleType):
            fields: list[Expr] = []
            for i, (p, f) in enumerate(zip(fields_of(pattern), t.fields, strict=True)):
                of = self.type_at(p, f, ANY)
                inner = [b.bind(TupleGetItem(x, i), of, "x") for x in parts]
                fields.append(self._merged(inner, p, f, place, span, b))
            return b.bind(Tuple(tuple(fields)), self.type_at(pattern, t, self.rows), "y")
        if isinstance(t, RefType) or may_differ(t, self.types):
            refuse(t, span)
        return self.maps.merge(parts, t, (ANY, ANY), place, self.rows, b)


def _three_ways(cond: Expr, yes: Expr, no: Expr, mixed: Expr, yes_first: bool, b: Block) -> Expr:
    """The branch for all rows, or both; no rows at all take the branch that is asked for first."""
    first = b.bind(apply("all" if yes_first else "any", cond), BOOL, "first")
    second = Block()
    other = second.bind(apply("any" if yes_first else "all", cond), BOOL, "second")
    if yes_first:
        return If(first, yes, second.finish(If(other, mixed, no)))
    return If(first, second.finish(If(other, yes, mixed)), no)


def _positions(mask: Expr) -> Expr:
    """The numbers of the rows that a mask names."""
    return apply("cast", apply("reshape", apply("argwhere", mask), newshape=(-1,)), dtype=INDEX)


def _places(mask: Expr, others: Expr, rows: Dim, b: Block) -> Expr:
    """Where each row is found once those of the second branch follow those of the first."""
    t = TensorType((rows,), INDEX)
    one = scalar(1, INDEX)
    yes = b.bind(apply("subtract", apply("cumsum", mask, axis=0), one), t, "place")
    rest = apply("cumsum", apply("cast", others, dtype=INDEX), axis=0)
    behind = apply("subtract", apply("add", apply("sum", mask), rest), one)
    return b.bind(apply("where", apply("logical_not", others), yes, behind), t, "place")
