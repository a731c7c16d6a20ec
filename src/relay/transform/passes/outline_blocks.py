"""Blocks of operators as definitions of their own, with definitions that compute many of their calls: what is
batched as a program runs (`batch="dynamic"`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from relay.analysis.annotated_regions import compiler_of
from relay.analysis.blocks import Chain, Statement, Uses, operands
from relay.analysis.shared_values import SharedValues
from relay.ir.equal import structural_equal
from relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
    replace,
)
from relay.ir.hashing import structural_hash
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import Kind, TensorType, TupleType, Type, TypeVar
from relay.ir.walk import run
from relay.op.arithmetic import Add
from relay.op.numeric import apply
from relay.transform.rewriting.chains import Task
from relay.transform.rewriting.definitions import with_definitions
from relay.typecheck.types import Types

BATCH, DYNAMIC = "batch", "dynamic"
"""The attribute of a definition whose calls are batched as they run, and its value."""
ROWS, SUM, SHARED = "Rows", "Sum", "Shared"
"""The attributes of a block: the definitions of many of its calls, and of the sum that many of them are; and
how many of its first parameters all of these have in common.
"""


def outline_blocks(mod: IRModule, entries: Collection[GlobalVar]) -> tuple[IRModule, IRModule]:
    """A monomorphic module in A-normal form whose blocks are calls, and the definitions of many calls of each
    block, in which `vmap` is still to be expanded.
    """
    this = Outliner(mod, entries)
    new: dict[GlobalVar, Expr] = {
        v: e if compiler_of(e) else run(this.inner(e)) for v, e in mod.functions.items()
    }
    return with_definitions(mod, {**new, **this.blocks}), IRModule(this.rows, mod.type_definitions)


class Outliner:
    """Outlines the blocks of a module."""

    def __init__(self, mod: IRModule, entries: Collection[GlobalVar]) -> None:
        self.types = Types(mod)
        self.shared = SharedValues(mod, entries)
        self.supply = GlobalVarSupply(mod)
        self.uses = Uses()
        self.blocks: dict[GlobalVar, Expr] = {}
        self.rows: dict[GlobalVar, Expr] = {}
        self.known: dict[int, list[tuple[Function, int, GlobalVar]]] = {}
        """The blocks by their hashes, with how many parameters are shared."""

    def inner(self, e: Expr) -> Task:
        """A statement, or a definition, with the blocks inside of it outlined."""
        parts: tuple[bool, ...] = ()
        match e:
            case Function():
                parts = (True,)
            case If() | Match():
                self.uses.note(e.children[0])
                parts = (False, *[True for _ in e.children[1:]])
            case LetRec():
                parts = tuple([True for _ in e.children])
            case _:
                self.uses.note(e)
                return e
        children: list[Expr] = []
        for x, is_block in zip((e.body,) if isinstance(e, Function) else e.children, parts, strict=True):
            task = self.inner(x) if isinstance(x, Function) else self.body(x)
            new: Expr = (yield task) if is_block else x
            children.append(new)
        if isinstance(e, Function):
            return e if children[0] is e.body else replace(e, body=children[0])
        return e if tuple(children) == e.children else e.rebuild(tuple(children))

    def body(self, e: Expr) -> Task:
        """A chain with its blocks outlined."""
        chain = Chain(e, self.types)
        is_changed = False
        for i, s in enumerate(chain.statements):
            chain.here = i
            value: Expr = yield self.inner(s.value)
            is_changed = is_changed or value is not s.value
            s.value = value
            if s.var is not None:
                self.uses.bind(chain, s.var)
        blocks = chain.blocks(lambda block: self.is_wanted(chain, block))
        if not blocks and not is_changed:
            return e
        bindings: list[tuple[Var, Expr]] = []
        for i, s in enumerate(chain.statements):
            if i in blocks:
                bindings += self.called(chain, [chain.statements[k] for k in blocks[i]])
            if s.var is not None and not s.is_operator:
                bindings.append((s.var, s.value))
        return let_chain(bindings, chain.end)

    def is_wanted(self, chain: Chain, block: Sequence[Statement]) -> bool:
        """Whether a block may compute something else in each call, which is used."""
        own = {s.var for s in block}
        used = [x for s in block for x in operands(s.value) if isinstance(x, Var) and x not in own]
        return any(map(chain.leaves_block, block)) and any(self.shared.key(x) is None for x in used)

    def called(self, chain: Chain, block: Sequence[Statement]) -> list[tuple[Var, Expr]]:
        """The bindings that call a block."""
        own = {s.var for s in block}
        used = [chain.same.get(x, x) for s in block for x in operands(s.value)]
        keys = {x: self.shared.key(x) for x in used if isinstance(x, Var) and x not in own}
        constants = {v: key for v, key in keys.items() if isinstance(key, Constant)}
        shared = [v for v, key in keys.items() if key is not None and v not in constants]
        varying = [v for v, key in keys.items() if key is None]
        results = [s.var for s in block if s.var is not None and chain.leaves_block(s)]
        if len(results) == 1:
            varying.sort(key=lambda v: v is not first_term(block[-1].value))
        params = {v: Var(v.name_hint, self.types(v), span=v.span) for v in (*shared, *varying)}
        new: dict[Expr, Expr] = {**params, **constants}
        bindings: list[tuple[Var, Expr]] = []
        for s in block:
            assert s.var is not None
            value = with_variables(s.value, new, chain.same)
            var = new[s.var] = Var(s.var.name_hint, self.types(s.var), span=s.var.span)
            bindings.append((var, value))
        one = results[0] if len(results) == 1 else None
        end = new[one] if one is not None else Tuple(tuple([new[v] for v in results]), span=None)
        t = self.types(one) if one is not None else TupleType([self.types(v) for v in results])
        span = block[0].value.span
        f = Function(tuple(params.values()), let_chain(bindings, end), t, span=span)
        call = Call(self.definition(f, len(shared)), tuple(params), span=span)
        if one is not None:
            return [(one, call)]
        whole = Var("block", t, span=span)
        return [(whole, call), *[(v, TupleGetItem(whole, i, span=v.span)) for i, v in enumerate(results)]]

    # --- definitions ---

    def definition(self, f: Function, shared: int) -> GlobalVar:
        """The definition of a block, which is that of an equal one; its first parameters are shared."""
        rows = self.known.setdefault(structural_hash(f), [])
        for known, count, v in rows:
            if count == shared and structural_equal(known, f):
                return v
        attrs: dict[str, Any] = {ROWS: self.many(f, shared), SHARED: shared}
        total = self.sum(f, shared)
        if total is not None:
            attrs[SUM] = total
        name = self.supply.fresh_global("block")
        self.blocks[name] = replace(f, attrs=attrs)
        rows.append((f, shared, name))
        return name

    def many(self, f: Function, shared: int) -> str:
        """The name of the definition of many calls of a block."""
        name, b = self.supply.fresh_global("block_rows"), TypeVar("b", Kind.Dim)
        params, body = self.batched_call(f, shared, b)
        assert f.ret_type is not None
        self.rows[name] = Function(tuple(params), body, batched(f.ret_type, b), (b,), span=f.span)
        return name.name_hint

    def batched_call(self, f: Function, shared: int, b: TypeVar) -> tuple[list[Var], Expr]:
        """Parameters, and a call of `vmap` of a function with these."""
        types = [self.types(p) for p in f.params]
        kinds = [t if i < shared else batched(t, b) for i, t in enumerate(types)]
        params = [Var(p.name_hint, t, span=p.span) for p, t in zip(f.params, kinds, strict=True)]
        axes = tuple([None if i < shared else 0 for i in range(len(params))])
        return params, Call(VMap(f, axes, 0, span=f.span), tuple(params), span=f.span)

    def sum(self, f: Function, shared: int) -> str | None:
        """The name of the definition of the sum that a chain of calls is, of a block that adds something to
        its first parameter that is not shared: `fn(xs, sum, ys) { sum + sum(vmap(g)(xs, ys)) }`.
        """
        chain = Chain(f.body, self.types)
        acc, *rest = f.params[shared:]
        last = chain.statements[chain.places[chain.end]] if chain.end in chain.places else None
        if last is None or not rest or first_term(last.value) is not acc:
            return None
        assert isinstance(last.value, Call)
        term = last.value.args[1]
        others = [s for s in chain.statements if s is not last and s.var is not None]
        uses = [x for s in others for x in operands(s.value)]
        if acc in (term, *uses) or self.types(acc) != f.ret_type or self.types(term) != f.ret_type:
            return None
        name, b = self.supply.fresh_global("block_sum"), TypeVar("b", Kind.Dim)
        body = let_chain([(s.var, s.value) for s in others if s.var is not None], term)
        g = Function((*f.params[:shared], *rest), body, f.ret_type, span=f.span)
        params, each = self.batched_call(g, shared, b)
        each = params[shared] if term is rest[0] else each
        first = Var(acc.name_hint, self.types(acc), span=acc.span)
        total = apply("add", first, apply("sum", each, axis=0))
        whole = (*params[:shared], first, *params[shared:])
        self.rows[name] = Function(whole, total, f.ret_type, (b,), span=f.span)
        return name.name_hint


def first_term(e: Expr) -> Expr | None:
    """What a sum adds to."""
    return e.args[0] if isinstance(e, Call) and isinstance(e.attrs, Add) else None


def let_chain(bindings: Sequence[tuple[Var, Expr]], end: Expr) -> Expr:
    """A `let` chain that ends in `end`."""
    for v, x in reversed(bindings):
        end = Let(v, x, end, span=x.span)
    return end


def batched(t: Type, rows: TypeVar) -> Type:
    """The type of many rows."""
    if isinstance(t, TupleType):
        return TupleType([batched(f, rows) for f in t.fields])
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    return TensorType((rows, *t.shape), t.dtype)


def with_variables(e: Expr, new: Mapping[Expr, Expr], same: Mapping[Expr, Expr]) -> Expr:
    """A statement with other variables, once those that are the same as others are these."""

    def of(x: Expr) -> Expr:
        if isinstance(x, Tuple):
            return Tuple(tuple([of(f) for f in x.fields]), span=x.span)
        return new[x] if x in new else new.get(same.get(x, x), x)

    children = tuple([of(x) for x in e.children])
    return e if children == e.children else e.rebuild(children)
