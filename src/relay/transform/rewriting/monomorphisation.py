"""Monomorphisation: a copy of each polymorphic function for each of its uses."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from relay.analysis.call_graph import CallGraph
from relay.analysis.normal_form import ATOMS
from relay.analysis.polymorphic_recursion import growing_definitions, growing_functions
from relay.diagnostic import RelayError
from relay.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    LetRec,
    Match,
    Op,
    Tuple,
    Var,
    replace,
)
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import HAS_VAR, Dim, FuncType, TensorType, Type, TypeVar
from relay.ir.walk import post_order, run
from relay.transform.rewriting.anf_conversion import anf_module
from relay.transform.rewriting.chains import Chain, Task, in_turn, link
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions, without_definitions
from relay.transform.rewriting.expected_types import wanted_of_children
from relay.transform.rewriting.forms import ANF, TYPED
from relay.transform.rewriting.instance_keys import KEEP, Key, is_closed_type, with_sizes, without_sizes
from relay.transform.rewriting.instantiation import instance_args
from relay.typecheck.query import Types
from relay.typecheck.schemes import declared_type


def monomorphic(mod: IRModule, max_instances: int = 64, entries: Sequence[str] = ("main",)) -> IRModule:
    """An annotated module with a copy of each polymorphic function for each of its uses, in A-normal form.

    What stays polymorphic is said where the pass `monomorphize` is defined.
    """
    out = _Monomorphiser(anf_module(mod), max_instances, entries).module()
    TYPED.note(out)
    ANF.note(out)
    return out


def is_monomorphic(mod: IRModule) -> bool:
    """Whether nothing polymorphic is defined, called or handed on, but constructors."""
    return not any(_is_polymorphic(e) for f in mod.functions.values() for e in post_order(f))


def _is_polymorphic(e: Expr) -> bool:
    if type(e) is Call:
        return any(type(a) in _GENERIC for a in e.args) or (
            bool(e.written_type_args) and type(e.op) is not Constructor
        )
    if type(e) is Function:
        return bool(e.type_params) or type(e.body) in _GENERIC
    return type(e) not in ATOMS and any(type(c) in _GENERIC for c in e.children)


_GENERIC = (Op, Constructor)
"""What may be polymorphic where it is not a callee."""


class _Monomorphiser:
    """One run over a module."""

    def __init__(self, mod: IRModule, max_instances: int, entries: Sequence[str]) -> None:
        self.mod = mod
        self.entries = entries
        self.max_instances = max_instances
        self.types = Types(mod)
        self.supply = GlobalVarSupply(mod)
        self.functions: dict[Expr, Function] = {}
        """Every polymorphic function that has a name."""
        self.instances: dict[Expr, dict[Key, Any]] = {}
        """The copies of each, by type arguments."""
        self.pending: deque[tuple[GlobalVar, GlobalVar, Key]] = deque()
        """Copies of definitions that are still to be made."""
        self.growing: set[Expr] = set()
        """The functions that call themselves at ever larger types."""
        self.mentioned: set[Expr] = set()
        """Polymorphic functions that are used as they are."""
        self.atoms: dict[Expr, Expr] = {}
        """What other names of polymorphic functions stand for."""
        self.scope: tuple[TypeVar, ...] = ()
        """The type parameters of the functions around the present block."""
        self.scope_of: dict[Expr, frozenset[TypeVar]] = {}
        """The type parameters that the local polymorphic functions may mention."""
        self.derivatives: dict[Expr, Grad] = {}
        """The polymorphic derivatives that have a name."""

    # --- the module ---

    def module(self) -> IRModule:
        """Every definition that is left, with the copies."""
        old = self.mod.functions
        for v, e in old.items():
            if isinstance(e, Function) and e.type_params:
                self.functions[v] = e
        self.growing.update(growing_definitions(self.mod), *map(growing_functions, old.values()))
        waiting = self.replaceable()
        new: dict[GlobalVar, Expr] = {}
        pending = [v for v in old if v not in waiting]
        while pending:
            v = pending.pop()
            new[v] = run(self.definition(old[v]))
            self.copies(new)
            pending += [g for g in waiting if g in self.mentioned]
            waiting = {g for g in waiting if g not in self.mentioned}
        return without_definitions(with_definitions(self.mod, new), waiting)

    def replaceable(self) -> set[GlobalVar]:
        """The polymorphic definitions that are not needed when their uses have copies."""
        if not any(name in self.mod for name in self.entries):
            return set()
        mentions = {v for several in CallGraph(self.mod).mentions.values() for v in several}
        return {v for v in mentions if v in self.functions and v.name_hint not in self.entries}

    def copies(self, new: dict[GlobalVar, Expr]) -> None:
        """Make the copies of definitions that have been asked for."""
        while self.pending:
            name, copy, key = self.pending.popleft()
            new[copy] = run(self.function(self.copy(name, self.functions[name], key)))

    # --- copies ---

    def copy(self, name: Expr, fn: Function, key: Key) -> Function:
        """Return the function `fn` of a name with the types of `key` put in."""
        sizes: dict[TypeVar, TypeVar] = {}
        scope = self.scope_of.get(name, frozenset())
        args = zip(fn.type_params, key, strict=True)
        copy = Copy({p: with_sizes(a, sizes, scope) for p, a in args if a is not KEEP})
        kept = [p for p, a in zip(fn.type_params, key, strict=True) if a is KEEP]
        copy.types.update({p: TypeVar(p.name_hint, p.kind) for p in kept})
        params, body, result = copy.function(fn)
        constraints = [copy.type(c) for c in fn.constraints] if kept else []
        return replace(
            fn,
            params=params,
            body=body,
            ret_type=result,
            type_params=(*[copy.types[p] for p in kept], *sizes.values()),
            constraints=tuple([c for c in constraints if c.args is None or c.flags & HAS_VAR]),
        )

    def instance(self, name: Expr, args: Sequence[Any]) -> tuple[Expr, tuple[Any, ...]]:
        """The copy of a function for some type arguments, and those that it still takes."""
        if name in self.derivatives:
            return self.derivative(name, args)
        fn = self.functions.get(name)
        sizes: dict[Dim, TypeVar] = {}
        scope = self.scope_of.get(name, frozenset())
        key = tuple([a if is_closed_type(a, scope) else without_sizes(a, sizes) for a in args])
        if fn is None or name in self.growing or all(a is KEEP for a in key):
            return self.itself(name, args)
        known = self.instances.setdefault(name, {})
        if key not in known:
            if len(known) >= self.max_instances:
                return self.itself(name, args)
            known[key] = self.new_name(name, fn, key)
        return known[key], (*[a for a, k in zip(args, key, strict=True) if k is KEEP], *sizes)

    def derivative(self, name: Expr, args: Sequence[Any]) -> tuple[Expr, tuple[Any, ...]]:
        """The derivative of the copy of a function."""
        if not all(map(is_closed_type, args)):
            return self.itself(name, args)
        known = self.instances.setdefault(name, {})
        key = tuple(args)
        if key not in known:
            assert isinstance(name, Var)
            t = name.type_annotation
            assert isinstance(t, FuncType)
            copy = Copy(dict(zip(t.type_params, key, strict=True)))
            made = FuncType([copy.type(a) for a in t.arg_types], copy.type(t.ret_type))
            known[key] = Var(name.name_hint, made, span=name.span)
        return known[key], ()

    def itself(self, name: Expr, args: Sequence[Any]) -> tuple[Expr, tuple[Any, ...]]:
        """The polymorphic function."""
        self.mentioned.add(name)
        return name, tuple(args)

    def new_name(self, name: Expr, fn: Function, key: Key) -> Expr:
        """A name for a copy, which is yet to be made."""
        header = self.copy(name, replace(fn, body=Tuple(())), key)
        t = declared_type(header)
        assert t is not None
        if type(name) is GlobalVar:
            copy = self.supply.fresh_global(name.name_hint)
            self.types.globals[copy] = t
            self.pending.append((name, copy, key))
            return copy
        assert type(name) is Var
        return Var(name.name_hint, t, span=name.span)

    # --- blocks ---

    def definition(self, e: Expr) -> Task:
        """A definition with copies in the place of polymorphic functions."""
        if isinstance(e, Function):
            return (yield self.function(e))
        return (yield self.block(e, self.types(e)))

    def function(self, fn: Expr) -> Task:
        """A function that stays."""
        assert isinstance(fn, Function)
        if fn.attrs.get("Primitive"):
            return fn
        outer, self.scope = self.scope, (*self.scope, *fn.type_params)
        body = yield self.block(fn.body, fn.ret_type)
        self.scope = outer
        return fn if body is fn.body else replace(fn, body=body)

    def block(self, e: Expr, wanted: Type | None) -> Task:
        """A block whose result is to be of a type."""
        chain = Chain()
        while isinstance(e, Let | LetRec):
            if isinstance(e, LetRec):
                yield self.group(e.vars, e.values, e, chain)
            elif isinstance(e.value, Function):
                yield self.group((e.var,), (e.value,), e, chain)
            elif type(e.value) in ATOMS and is_polymorphic(e.var.type_annotation):
                self.atoms[e.var] = self.atoms.get(e.value, e.value)
            elif isinstance(e.value, Grad) and is_polymorphic(e.var.type_annotation):
                self.derivatives[e.var] = e.value
                chain.let(e.var, e.value, e)
            else:
                chain.let(e.var, (yield self.statement(e.value, e.var.type_annotation, chain)), e)
            e = e.body
        tail = yield self.statement(e, wanted, chain)
        return (yield self.finish(chain, tail))

    def group(
        self, names: tuple[Var, ...], values: Sequence[Expr], source: Let | LetRec, chain: Chain
    ) -> Task:
        """Bind functions; those that are polymorphic are looked at again when their uses are known."""
        functions = [f for f in values if isinstance(f, Function)]
        if any(f.type_params for f in functions):
            self.functions.update(zip(names, functions, strict=True))
            self.scope_of.update(dict.fromkeys(names, frozenset(self.scope)))
        else:
            values = yield in_turn(map(self.function, values))
        chain.bindings.append((names, tuple(values), source))

    def finish(self, chain: Chain, body: Expr) -> Task:
        """Close a chain from its end, with copies in the place of polymorphic functions."""
        for names, values, source in reversed(chain.bindings):
            if names[0] in self.derivatives:
                body = self.derivatives_around(names[0], body, source)
                continue
            if names[0] not in self.functions:
                body = link(names, values, body, source)
                continue
            made: dict[Var, Function] = {}
            yield self.local_copies(names, made)
            for v in names:
                if v in self.mentioned or not self.functions[v].type_params:
                    made[v] = yield self.function(self.functions[v])
                    yield self.local_copies(names, made)
            body = bind_instances(made, body, source)
        return body

    def derivatives_around(self, name: Var, body: Expr, source: Let | LetRec | None) -> Expr:
        """The derivatives of copies that have been asked for, bound around a body."""
        e = self.derivatives[name]
        if name in self.mentioned:
            body = link((name,), (Grad(e.kind, self.itself(e.function, ())[0], span=e.span),), body, source)
        function = self.atoms.get(e.function, e.function)
        for key, copy in self.instances.get(name, {}).items():
            body = Let(copy, Grad(e.kind, self.instance(function, key)[0], span=e.span), body, span=e.span)
        return body

    def local_copies(self, names: Iterable[Var], made: dict[Var, Function]) -> Task:
        """Make the copies of local functions that have been asked for."""
        waiting = True
        while waiting:
            waiting = [
                (v, copy, key)
                for v in names
                for key, copy in self.instances.get(v, {}).items()
                if copy not in made
            ]
            for v, copy, key in waiting:
                made[copy] = yield self.function(self.copy(v, self.functions[v], key))

    # --- statements ---

    def statement(self, e: Expr, wanted: Type | None, chain: Chain) -> Task:
        """Return the value of a type that stands at the end of `chain`."""
        match e:
            case If(cond, yes, no):
                parts = (cond, *(yield in_turn(self.block(b, wanted) for b in (yes, no))))
            case Match(data):
                e = self.possible(e, wanted)
                parts = (data, *(yield in_turn(self.block(c.rhs, wanted) for c in e.clauses)))
            case Function():
                return (yield self.function(e))
            case Call():
                return self.call(e, chain)
            case _ if not e.children:
                return self.atom(e, wanted, chain)
            case _:
                wanted_parts = zip(e.children, wanted_of_children(e, wanted, self.types), strict=True)
                parts = tuple([self.atom(c, t, chain) for c, t in wanted_parts])
        return e if parts == e.children else e.rebuild(parts)

    def possible(self, e: Match, wanted: Type | None) -> Match:
        """A match without clauses that no value of these sizes reaches, as their operators cannot take it.

        Where one is made, the match fails when it runs, as the operator would have.
        """
        kept = tuple([c for c in e.clauses if self.fits(c.rhs, wanted)])
        return replace(e, clauses=kept, complete=False) if 0 < len(kept) < len(e.clauses) else e

    def fits(self, body: Expr, wanted: Type | None) -> bool:
        """Whether the operators of a clause take their operands, and its result is of the type."""
        e = body
        try:
            while isinstance(e, Let | LetRec):
                if isinstance(e, Let) and type(e.value) is Call and type(e.value.op) is Op:
                    self.types(e.value)
                e = e.body
            return type(e) is not Call or type(e.op) is not Op or not differ(self.types(e), wanted)
        except RelayError:
            return False

    def atom(self, e: Expr, wanted: Type | None, chain: Chain) -> Expr:
        """Return the atom for `e` where a value of some type is wanted."""
        e = self.atoms.get(e, e)
        if type(e) is not Var and type(e) is not GlobalVar:
            return e
        t = self.types(e)
        if not isinstance(t, FuncType) or not t.type_params:
            return e
        args = instance_args(t, wanted) if wanted is not None else None
        if args is None:
            return self.itself(e, ())[0]
        copy, kept = self.instance(e, args)
        return self.closure(copy, kept, wanted, chain) if kept and copy is not e else copy

    def closure(self, copy: Expr, type_args: tuple[Any, ...], wanted: Type | None, chain: Chain) -> Expr:
        """Bind in `chain` a function of type `wanted` that calls a copy with the sizes that it takes."""
        assert isinstance(wanted, FuncType)
        params = tuple([Var(f"x{i}", t) for i, t in enumerate(wanted.arg_types)])
        function = Function(params, Call(copy, params, None, type_args), wanted.ret_type)
        name = Var("f", wanted)
        chain.bindings.append(((name,), (function,), None))
        return name

    def call(self, e: Call, chain: Chain) -> Expr:
        """Return a call: of a copy if the callee is polymorphic."""
        callee, type_args = self.atoms.get(e.op, e.op), e.written_type_args
        params = wanted_of_children(e, None, self.types)[1:]
        if type_args and (type(callee) is Var or type(callee) is GlobalVar):
            callee, type_args = self.instance(callee, type_args)
        if type(callee) is Op:
            type_args = ()
        args = tuple([self.atom(a, p, chain) for a, p in zip(e.args, params, strict=True)])
        if callee is e.op and args == e.args and type_args == e.written_type_args:
            return e
        return Call(callee, args, e.attrs, type_args, span=e.span)


def bind_instances(made: dict[Var, Function], body: Expr, source: Let | LetRec | None) -> Expr:
    """Functions bound around a body: by a `let rec` if they know each other."""
    if isinstance(source, LetRec) and len(made) > 1:
        return link(tuple(made), tuple(made.values()), body, source)
    if len(made) > 1 and any(
        c in made and c is not v for v, f in made.items() for n in post_order(f) for c in n.children
    ):
        return LetRec(tuple(made), tuple(made.values()), body)
    for v, f in reversed(made.items()):
        body = link((v,), (f,), body, source if isinstance(source, Let) and source.var is v else None)
    return body


def differ(t: Type, other: Type | None) -> bool:
    """Whether two types are tensors with different numbers for a size."""
    if not isinstance(t, TensorType) or not isinstance(other, TensorType):
        return False
    if not isinstance(t.shape, tuple) or not isinstance(other.shape, tuple):
        return False
    pairs = zip(t.shape, other.shape, strict=False)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def is_polymorphic(t: Type | None) -> bool:
    """Whether a type is that of a polymorphic function."""
    return isinstance(t, FuncType) and bool(t.type_params)
