"""Lifting: functions inside of a definition as definitions, which take what they captured as arguments."""

from collections.abc import Sequence
from dataclasses import dataclass

from relay.ir.expr import Call, Expr, Function, GlobalVar, If, Let, LetRec, Match, Var, replace
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import TypeVar
from relay.ir.walk import post_order, run
from relay.transform.rewriting.captures import Captures, may_be_lifted
from relay.transform.rewriting.chains import Chain, Task, in_turn
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions


def lifted(mod: IRModule, supply: GlobalVarSupply) -> IRModule:
    """The module in A-normal form with the functions inside of its definitions lifted."""
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        if not any(type(f) is Function and f is not e for f in post_order(e)):
            continue
        lifter = _Lifter(v.name_hint, Captures(e), supply)
        new[v] = run(lifter.definition(e))
        new.update(lifter.made)
    return with_definitions(mod, new)


@dataclass(frozen=True, slots=True)
class Lifted:
    """A function that becomes a definition: its name, what it takes, the type parameters around it."""

    name: GlobalVar
    captured: tuple[Var, ...]
    type_params: tuple[TypeVar, ...]

    @property
    def is_closed(self) -> bool:
        """Whether the definition is the function itself."""
        return not self.captured and not self.type_params


class _Lifter:
    """One pass over a definition."""

    def __init__(self, prefix: str, captures: Captures, supply: GlobalVarSupply) -> None:
        """`prefix` begins the names of new definitions."""
        self.prefix = prefix
        self.captures = captures
        self.supply = supply
        self.made: dict[GlobalVar, Expr] = {}
        self.lifted: dict[Expr, Lifted] = {}
        """What becomes of functions, by the variables that are bound to them."""
        self.atoms: dict[Expr, Expr] = {}
        """Definitions in the place of variables."""

    def definition(self, e: Expr) -> Task:
        """The definition without its inner functions."""
        if not isinstance(e, Function):
            return (yield self.block(e))
        body = yield self.block(e.body)
        return e if body is e.body else replace(e, body=body)

    def block(self, e: Expr, chain: Chain | None = None) -> Task:
        """A block with its functions lifted."""
        chain = Chain() if chain is None else chain
        while isinstance(e, Let | LetRec):
            if isinstance(e, LetRec):
                yield self.group(e.vars, e.values, chain)
            elif may_be_lifted(e.value):
                yield self.group((e.var,), (e.value,), chain)
            else:
                chain.let(e.var, (yield self.statement(e.value)), e)
            e = e.body
        return chain.finish((yield self.statement(e)))

    def statement(self, e: Expr) -> Task:
        """A value."""
        match e:
            case If(cond, yes, no):
                parts: tuple[Expr, ...] = (cond, *(yield in_turn(map(self.block, (yes, no)))))
            case Match(data, clauses):
                parts = (data, *(yield in_turn(self.block(c.rhs) for c in clauses)))
            case Function() if may_be_lifted(e):
                lifted = self.name("fn", e)
                yield self.define(lifted, e)
                return lifted.name if lifted.is_closed else self.partial(lifted, e)
            case Function():
                return e
            case Call(op=Var() as v) if v in self.lifted:
                lifted = self.lifted[v]
                args = [self.atom(a) for a in (*lifted.captured, *e.args)]
                return Call(
                    lifted.name, tuple(args), None, (*lifted.type_params, *e.written_type_args), span=e.span
                )
            case _:
                parts = tuple([self.atom(c) for c in e.children])
                return self.atom(e) if not parts else e if parts == e.children else e.rebuild(parts)
        return e if parts == e.children else e.rebuild(parts)

    def atom(self, e: Expr) -> Expr:
        """A variable, or the definition in its place."""
        return self.atoms.get(e, e)

    # --- functions ---

    def group(self, names: Sequence[Var], functions: Sequence[Expr], chain: Chain) -> Task:
        """Lift functions that are bound together."""
        for v, fn in zip(names, functions, strict=True):
            assert isinstance(fn, Function)
            self.lifted[v] = lifted = self.name(v.name_hint, fn)
            if lifted.is_closed:
                self.atoms[v] = lifted.name
        for v, fn in zip(names, functions, strict=True):
            assert isinstance(fn, Function)
            yield self.define(self.lifted[v], fn)
            if v in self.captures.outside and not self.lifted[v].is_closed:
                chain.let(v, self.partial(self.lifted[v], fn))

    def name(self, hint: str, fn: Function) -> Lifted:
        """A name for a definition, and what it takes."""
        params, _ = self.captures.polymorphism[fn]
        captured = [v for v in self.captures.of[fn] if v not in self.atoms]
        return Lifted(self.supply.fresh_global(f"{self.prefix}_{hint}"), tuple(captured), params)

    def define(self, lifted: Lifted, fn: Function) -> Task:
        """Make the definition."""
        chain = Chain()
        for v in self.captures.inside.get(fn, ()):
            if v not in self.atoms:
                chain.let(v, self.partial(self.lifted[v], self.captures.names[v]))
        body = yield self.block(fn.body, chain)
        own = (*lifted.type_params, *fn.type_params)
        copy = Copy({p: TypeVar(p.name_hint, p.kind) for p in own})
        for v in lifted.captured:
            copy.vars[v] = Var(v.name_hint, copy.type(v.type_annotation), span=v.span)
        params, body, result = copy.function(replace(fn, body=body))
        _, constraints = self.captures.polymorphism[fn]
        self.made[lifted.name] = replace(
            fn,
            params=(*[copy.vars[v] for v in lifted.captured], *params),
            body=body,
            ret_type=result,
            type_params=tuple([copy.types[p] for p in own]),
            constraints=tuple([copy.type(c) for c in (*constraints, *fn.constraints)]),
        )

    def partial(self, lifted: Lifted, fn: Function) -> Function:
        """A function that calls the definition with what it takes from around it."""
        copy = Copy({p: TypeVar(p.name_hint, p.kind) for p in fn.type_params})
        params = tuple([Var(p.name_hint, copy.type(p.type_annotation), span=p.span) for p in fn.params])
        type_params = tuple([copy.types[p] for p in fn.type_params])
        args = (*[self.atom(v) for v in lifted.captured], *params)
        call = Call(lifted.name, args, None, (*lifted.type_params, *type_params), span=fn.span)
        return replace(
            fn,
            params=params,
            body=call,
            ret_type=copy.type(fn.ret_type),
            type_params=type_params,
            constraints=tuple([copy.type(c) for c in fn.constraints]),
        )
