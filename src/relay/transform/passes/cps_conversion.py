"""From A-normal form to continuation-passing style, definition by definition."""

from collections.abc import Mapping, Sequence
from typing import Any

from relay.analysis.normal_form import ATOMS
from relay.diagnostic import fail
from relay.ir.expr import (
    Call,
    Clause,
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
    Pattern,
    Var,
    VMap,
    replace,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor, PatternVar
from relay.ir.type import FuncType, GlobalTypeVar, Type, TypeCall, TypeRelation, TypeVar
from relay.ir.walk import post_order, rewrite_pattern, run, type_post_order
from relay.transform.rewriting.chains import Chain, Task, in_turn
from relay.transform.rewriting.type_rewriting import TypeRewriter

MARK = "cps"
"""The attribute of functions in continuation-passing style."""


class Converter:
    """Converts the functions of a module; data types that hold functions are converted once."""

    def __init__(self, mod: IRModule, names: Mapping[GlobalVar, GlobalVar]) -> None:
        """`names` says what the converted definitions are called."""
        self.mod = mod
        self.names = names
        self.functional = functional_types(mod)
        self.constructors: dict[Constructor, Constructor] = {}
        self.data = {h: self.data_type(d) for h, d in mod.type_definitions.items() if h in self.functional}

    def module(self) -> IRModule:
        """The module with all definitions converted."""
        out = self.mod.copy()
        out.type_definitions.update(self.data)
        for v, e in self.mod.functions.items():
            out.functions[self.names[v]] = self.definition(v, e)
        return out

    def definition(self, v: GlobalVar, e: Expr) -> Expr:
        """One definition converted."""
        if isinstance(e, Function):
            return e if is_direct(e) else _Definition(self).function(e)
        t = self.mod.constant_types[v]
        if any(isinstance(u, FuncType) or u in self.functional for u in type_post_order(t)):
            fail(
                "constant-function",
                f"the constant `@{v.name_hint}` holds a function",
                e.span,
                hint="make it a function that returns it: `def @f() { … }`",
            )
        made = _Definition(self)
        made.look(e)
        return run(made.plain(e))

    def data_type(self, data: TypeData) -> TypeData:
        """A data type with one more parameter: what continuations return."""
        answer = TypeVar("answer")
        types = self.rewriter(answer)
        for c in data.constructors:
            inputs = tuple([types(t) for t in c.inputs])
            self.constructors[c] = replace(c, inputs=inputs, written=())
        made = tuple([self.constructors[c] for c in data.constructors])
        return TypeData(data.header, (*data.type_vars, answer), made, data.is_extern, span=data.span)

    def rewriter(self, answer: TypeVar) -> TypeRewriter:
        """Types of values in continuation-passing style, where continuations return `answer`."""

        def rule(t: Any) -> Any:
            if isinstance(t, FuncType):
                return FuncType(
                    (*t.arg_types, FuncType((t.ret_type,), answer)),
                    answer,
                    t.type_params,
                    [explicit(c, t.arg_types, t.ret_type) for c in t.type_constraints],
                )
            if isinstance(t, TypeCall) and t.func in self.functional:
                return TypeCall(t.func, (*t.args, answer))
            return t

        return TypeRewriter(rule)


def is_direct(e: Expr | None) -> bool:
    """Whether a function is called without a continuation, as an operator is: a fused one."""
    return isinstance(e, Function) and bool(e.attrs.get("Primitive"))


def explicit(c: Any, args: Sequence[Type], result: Type) -> TypeRelation:
    """A constraint that names what it relates, as parameters are added to the function."""
    return TypeRelation(c.name, (*args, result), c.attrs) if c.args is None else c


def functional_types(mod: IRModule) -> set[Type]:
    """The data types whose constructors have functions in their fields, or data types that have."""
    found: set[Type] = set()
    parts = {
        h: {u for c in d.constructors for t in c.inputs for u in type_post_order(t)}
        for h, d in mod.type_definitions.items()
    }
    users: dict[Type, list[GlobalTypeVar]] = {}
    pending: list[Type] = []
    for h, several in parts.items():
        for u in several:
            users.setdefault(u, []).append(h)
        if any(isinstance(u, FuncType) for u in several):
            pending.append(h)
    while pending:
        h = pending.pop()
        if h not in found:
            found.add(h)
            pending += users.get(h, ())
    return found


class _Definition:
    """The conversion of one definition."""

    def __init__(self, to: Converter) -> None:
        self.to = to
        self.answer = TypeVar("answer")
        self.types = to.rewriter(self.answer)
        self.vars: dict[Var, Var] = {}
        self.fused: set[Expr] = set()
        """Variables that are bound to fused functions."""
        self.waits: dict[Expr, bool] = {}
        """Whether evaluating a node calls a function that gets a continuation."""

    # --- functions ---

    def function(self, fn: Function) -> Function:
        """A definition; its type parameters are one more."""
        self.look(fn)
        made: Function = run(self.literal(fn))
        return replace(made, type_params=(*fn.type_params, self.answer), attrs={**fn.attrs, MARK: 1})

    def literal(self, fn: Expr) -> Task:
        """A function with a continuation."""
        assert isinstance(fn, Function)
        if is_direct(fn):
            return fn
        assert fn.ret_type is not None
        result = self.types(fn.ret_type)
        k = Var("k", FuncType((result,), self.answer), span=fn.span)
        params = tuple([self.bound(p) for p in fn.params])
        types = [self.types(p.type_annotation) for p in fn.params]
        return replace(
            fn,
            params=(*params, k),
            body=(yield self.block(fn.body, k)),
            ret_type=self.answer,
            constraints=tuple([explicit(self.types(c), types, result) for c in fn.constraints]),
        )

    def look(self, root: Expr) -> None:
        """Find out what waits for the results of functions."""
        self.fused = {e.var for e in post_order(root) if isinstance(e, Let) and is_direct(e.value)}
        for e in post_order(root):
            if isinstance(e, Function):
                self.waits[e] = False
                continue
            here = False
            if isinstance(e, Call) and not isinstance(e.op, Op | Constructor):
                callee = self.to.mod.functions.get(e.op) if isinstance(e.op, GlobalVar) else None
                here = e.op not in self.fused and not is_direct(callee)
            self.waits[e] = here or any(self.waits[c] for c in e.children)

    # --- blocks ---

    def block(self, e: Expr, k: Var) -> Task:
        """A block that hands its result to `k`."""
        frames: list[tuple[Chain, Var, Expr]] = []
        chain = Chain()
        while isinstance(e, Let | LetRec):
            if isinstance(e, Let) and self.waits[e.value]:
                x = self.bound(e.var)
                frames.append((chain, x, e.value))
                chain = Chain()
            else:
                yield self.bindings(e, chain)
            e = e.body
        body = chain.finish((yield self.tail(e, k, chain)))
        for chain, x, value in reversed(frames):
            assert x.type_annotation is not None
            rest = Var("k", FuncType((x.type_annotation,), self.answer), span=value.span)
            chain.let(rest, Function((x,), body, self.answer, span=value.span))
            body = chain.finish((yield self.tail(value, rest, chain)))
        return body

    def bindings(self, e: Let | LetRec, chain: Chain) -> Task:
        """Bind what does not wait for a function."""
        if isinstance(e, LetRec):
            names = tuple([self.bound(v) for v in e.vars])
            chain.let_rec(names, tuple((yield in_turn(map(self.literal, e.values)))), e)
        else:
            chain.let(self.bound(e.var), (yield self.value(e.value)), e)

    def tail(self, e: Expr, k: Var, chain: Chain) -> Task:
        """What a block ends in: its result goes to `k`."""
        if not self.waits[e]:
            value = yield self.value(e)
            if type(value) not in ATOMS:
                assert isinstance(k.type_annotation, FuncType)
                name = Var("x", k.type_annotation.arg_types[0], span=e.span)
                chain.let(name, value)
                value = name
            return Call(k, (value,), span=e.span)
        match e:
            case If(cond, yes, no):
                branches = yield in_turn(self.block(b, k) for b in (yes, no))
                return If(self.atom(cond), *branches, span=e.span)
            case Match(data, clauses):
                bodies = yield in_turn(self.block(c.rhs, k) for c in clauses)
                return self.matched(e, self.atom(data), bodies)
            case _:
                assert isinstance(e, Call)
                args = [self.atom(a) for a in e.args]
                more = (self.answer,) if type(e.op) is GlobalVar else ()
                type_args = (*[self.types(a) for a in e.written_type_args], *more)
                return Call(self.atom(e.op), (*args, k), None, type_args, span=e.span)

    # --- what does not wait ---

    def plain(self, e: Expr) -> Task:
        """A block that is evaluated as before."""
        chain = Chain()
        while isinstance(e, Let | LetRec):
            yield self.bindings(e, chain)
            e = e.body
        return chain.finish((yield self.value(e)))

    def value(self, e: Expr) -> Task:
        """A value that waits for no function."""
        match e:
            case Function():
                return (yield self.literal(e))
            case If(cond, yes, no):
                return If(self.atom(cond), *(yield in_turn(map(self.plain, (yes, no)))), span=e.span)
            case Match(data, clauses):
                bodies = yield in_turn(self.plain(c.rhs) for c in clauses)
                return self.matched(e, self.atom(data), bodies)
            case Call():
                args = tuple([self.atom(a) for a in e.args])
                type_args = [self.types(a) for a in e.written_type_args]
                if isinstance(e.op, Constructor) and e.op.belong_to in self.to.functional:
                    type_args.append(self.answer)
                return Call(self.atom(e.op), args, e.attrs, tuple(type_args), span=e.span)
            case Grad() | VMap():
                fail("grad-not-expanded", f"`{e.kind}` has no continuation-passing form", e.span)
            case _:
                parts = tuple([self.atom(c) for c in e.children])
                return e.rebuild(parts) if parts else self.atom(e)

    def matched(self, e: Match, data: Expr, bodies: Sequence[Expr]) -> Match:
        """A match with its clauses converted."""
        pairs = zip(e.clauses, bodies, strict=True)
        clauses = [Clause(rewrite_pattern(c.lhs, self.pattern), b, span=c.span) for c, b in pairs]
        return Match(data, tuple(clauses), e.complete, span=e.span)

    def pattern(self, p: Pattern) -> Pattern | None:
        """A pattern of converted values."""
        match p:
            case PatternVar(var=var):
                return PatternVar(self.bound(var), span=p.span)
            case PatternConstructor(constructor=c) if c in self.to.constructors:
                return PatternConstructor(self.to.constructors[c], p.patterns, span=p.span)
            case _:
                return None

    def bound(self, v: Var) -> Var:
        """A variable where it is bound."""
        found = v if v in self.fused else self.vars.get(v)
        if found is None:
            t = self.types(v.type_annotation)
            found = self.vars[v] = v if t is v.type_annotation else Var(v.name_hint, t, span=v.span)
        return found

    def atom(self, e: Expr) -> Expr:
        """An atom of a converted program."""
        match e:
            case Var():
                return self.bound(e)
            case GlobalVar():
                return self.to.names.get(e, e)
            case Constructor():
                return self.to.constructors.get(e, e)
            case _:
                return e
