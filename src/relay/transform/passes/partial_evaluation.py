"""Partial evaluation: the program run as far as it is known."""

from collections.abc import Sequence
from typing import Any

from relay.analysis.effects import Effect
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    LetRec,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    replace,
)
from relay.ir.module import IRModule
from relay.ir.type import HAS_ANY, TypeVar
from relay.ir.walk import run
from relay.op.base import Operator
from relay.op.registry import instance
from relay.transform.passes.constant_evaluation import evaluated, shape_alone
from relay.transform.passes.inlining import is_open
from relay.transform.passes.partial_result import Result
from relay.transform.passes.partial_unfolding import Policy
from relay.transform.passes.partial_values import (
    Cell,
    Closure,
    Frame,
    Reference,
    Store,
    Value,
    assigned,
    concrete_value,
    known_value,
    matches,
)
from relay.transform.rewriting.chains import Chain, Task
from relay.transform.rewriting.copying import Copy
from relay.transform.rewriting.definitions import with_definitions, without_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


@module_pass("partial_evaluate", needs=(ANF,), gives=(ANF,), opt_level=2, public="PartialEvaluate")
def partial_evaluate(
    mod: IRModule,
    *,
    max_size: int = 20,
    max_local_size: int = 200,
    max_unroll: int = 200,
    max_growth: int = 2_000,
    max_nodes: int = 200_000,
) -> IRModule:
    """Evaluate the program as far as its values are known at compile time, and leave the rest.

    Functions, tuples, instances of data types and references that are created in the program are known
    where they are used: calls become the bodies of their callees, fields, cells and contents are forwarded,
    and known conditions and matches are resolved.  Nothing is evaluated twice, because every computed value
    is bound before it is used, and effects stay in their order.  A write to a reference that is made here
    goes where the next one comes before anybody could read it; `dead_code` removes the last with its
    reference if nobody reads that.

    A call of a non-recursive function is unfolded where the body has at most `max_size` nodes
    (`max_local_size` for inner functions), has one call, or takes functions or references that are known.  A
    loop over known data is unrolled if it ends within `max_unroll` iterations.  One call adds at most about
    `max_growth` statements, unless it is the only one of its function, and all together at most about
    `max_nodes`.  Definitions that `@main` no longer reaches are removed, unless other definitions use them.

    Source: Jones, Gomard and Sestoft, "Partial Evaluation and Automatic Program Generation", 1993.

    >>> power = "def @power(%x, %n) -> float32 { if (%n == 0) { 1f } else { %x * @power(%x, %n - 1) } }"
    >>> main = "def @main(%x: float32) { let %f = fn (%y) { @power(%y, 3) }; %f(%x) }"
    >>> show(partial_evaluate, power + main)
    def @main(%x: float32) -> float32 {
      let %x3: float32 = %x * 1f;
      let %x3: float32 = %x * %x3;
      %x * %x3
    }
    """
    return _Evaluator(mod, Policy(mod, max_size, max_local_size, max_unroll, max_growth, max_nodes)).module()


class _Evaluator:
    """One run over a module."""

    def __init__(self, mod: IRModule, policy: Policy) -> None:
        self.mod = mod
        self.policy = policy
        self.types = Types(mod)
        self.purity = Purity(mod)
        self.store = Store()
        self.result = Result(self.types, self.function)

    # --- the module ---

    def module(self) -> IRModule:
        """Every definition that is left."""
        mod = self.mod
        pending = list(mod.functions)
        if "main" in mod:
            main = mod.get_global_var("main")
            below = self.policy.reached(main)
            pending = [v for v in pending if v == main or v not in below]
        new: dict[GlobalVar, Expr] = {}
        while pending:
            for v in pending:
                new[v] = run(self.definition(mod.functions[v]))
            pending = [v for v in mod.functions if v in self.result.mentioned and v not in new]
        return without_definitions(with_definitions(mod, new), [v for v in mod.functions if v not in new])

    def definition(self, e: Expr) -> Task:
        """A definition of the result."""
        frame = Frame(None, None, own=True)
        if isinstance(e, Function):
            return (yield self.function(Closure(e, frame)))
        self.store = Store()
        return (yield self.block(e, frame))

    # --- blocks ---

    def block(self, e: Expr, frame: Frame) -> Task:
        """A block of its own, with what is known now."""
        chain = Chain()
        value = yield self.statements(e, frame, chain)
        tail = value.atom
        if type(tail) is Function:
            assert isinstance(value.static, Closure)
            tail = yield self.function(value.static)
        return (yield self.result.finish(chain, tail))

    def statements(self, e: Expr, frame: Frame, chain: Chain) -> Task:
        """Add the bindings of a block to a chain; returns the value that it ends in."""
        policy = self.policy
        while True:
            if not frame.own:
                policy.left -= 1
            if type(e) is LetRec:
                self.result.bind_group(e.vars, e.values, frame, chain, e)
            elif type(e) is not Let:
                return self.simple(e, frame) or (yield self.statement(e, frame, chain))
            elif type(e.value) is Function and e.value in policy.recursive:
                self.result.bind_group((e.var,), (e.value,), frame, chain, e)
            else:
                value = self.simple(e.value, frame) or (yield self.statement(e.value, frame, chain))
                bound = self.result.bind(e.var, value, frame, chain, e)
                if type(e.value) is RefRead:
                    self.learn(self.value(e.value.ref, frame), bound)
            e = e.body

    # --- functions that stay ---

    def function(self, closure: Closure) -> Task:
        """A function of the result; it runs at another time, so that nothing is known of references."""
        fn, frame = closure.function, closure.frame
        if fn.attrs.get("Primitive"):
            return self.result.opaque(fn, frame)
        fresh = {p: TypeVar(p.name_hint, p.kind) for p in fn.type_params if not frame.own}
        copy = Copy({**(frame.copy.types if frame.copy else {}), **fresh}) if fresh else None
        inner = Frame(frame, copy, frame.own)
        params = tuple([self.result.name(p, inner.type(p.type_annotation), inner) for p in fn.params])
        for p, q in zip(fn.params, params, strict=True):
            inner.vars[p] = Value(q)
        store, self.store = self.store, Store()
        self.policy.branches += 1
        body = yield self.block(fn.body, inner)
        self.policy.branches -= 1
        self.store = store
        if body is fn.body and params == fn.params:
            return fn
        return replace(
            fn,
            params=params,
            body=body,
            ret_type=inner.type(fn.ret_type),
            type_params=tuple([fresh.get(p, p) for p in fn.type_params]),
            constraints=inner.types(fn.constraints),
        )

    # --- statements ---

    def simple(self, e: Expr, frame: Frame) -> Value | None:
        """The value of a statement that goes into nothing; None for the others."""
        match e:
            case Call(op=Op() as op):
                return self.operator(e, op, e.attrs, [self.value(a, frame) for a in e.args], frame)
            case Tuple():
                fields = tuple([self.value(f, frame) for f in e.fields])
                return Value(self.around(e, tuple([f.atom for f in fields]), frame), fields)
            case TupleGetItem():
                whole = self.value(e.tuple_value, frame)
                if isinstance(whole.static, tuple):
                    return whole.static[e.index]
                return Value(self.around(e, (whole.atom,), frame))
            case Function():
                return Value(e, Closure(e, frame))
            case RefCreate():
                made = Reference()
                value = self.value(e.value, frame)
                self.store.set(made, value)
                return Value(self.around(e, (value.atom,), frame), made)
            case RefRead():
                ref = self.value(e.ref, frame)
                return self.store.get(ref.static) or Value(self.around(e, (ref.atom,), frame))
            case RefWrite():
                return self.write(e, self.value(e.ref, frame), self.value(e.value, frame), frame)
            case If() | Match() | Call():
                return None
            case _ if not e.children:
                return self.value(e, frame)
            case _:
                return Value(self.around(e, tuple([self.value(c, frame).atom for c in e.children]), frame))

    def statement(self, e: Expr, frame: Frame, chain: Chain) -> Task:
        """The value of a branch, a match or a call."""
        match e:
            case If():
                return (yield self.conditional(e, frame, chain))
            case Match():
                return (yield self.match(e, frame, chain))
            case _:
                assert isinstance(e, Call)
                return (yield self.call(e, frame, chain))

    def value(self, e: Expr, frame: Frame) -> Value:
        """What an atom of the source is."""
        if type(e) is Var:
            return frame.find(e)
        return Value(frame.copy.constant(e) if frame.copy is not None and type(e) is Constant else e)

    def around(self, e: Expr, parts: tuple[Expr, ...], frame: Frame) -> Expr:
        """A statement of the source around other atoms; a copy of it where it may stand again."""
        return e if frame.own and parts == e.children else e.rebuild(parts)

    def write(self, e: RefWrite, ref: Value, value: Value, frame: Frame) -> Value:
        """A write stays, and what was written is known."""
        if isinstance(ref.static, Reference):
            self.store.set(ref.static, value)
        else:
            self.store.forget()
        return Value(self.around(e, (ref.atom, value.atom), frame))

    def learn(self, ref: Value, value: Value) -> None:
        """What was read from a reference is what it holds."""
        if isinstance(ref.static, Reference) and self.store.get(ref.static) is None:
            self.store.set(ref.static, value)

    # --- conditions ---

    def conditional(self, e: If, frame: Frame, chain: Chain) -> Task:
        """The branch that is taken, or both."""
        cond = self.value(e.cond, frame)
        if type(cond.atom) is Constant:
            taken = e.true_branch if cond.atom.value else e.false_branch
            return (yield self.statements(taken, frame, chain))
        parts = yield self.branches((e.true_branch, e.false_branch), frame)
        return Value(self.around(e, (cond.atom, *parts), frame))

    def branches(self, several: Sequence[Expr], frame: Frame) -> Task:
        """Blocks of which one is taken."""
        made: list[Expr] = []
        changed: list[Reference | None] = []
        self.policy.branches += 1
        for e in several:
            mark = len(self.store.log)
            made.append((yield self.block(e, frame)))
            changed += self.store.undo(mark)
        self.policy.branches -= 1
        self.store.join(changed)
        return made

    def match(self, e: Match, frame: Frame, chain: Chain) -> Task:
        """The clause that is taken, or all."""
        data = self.value(e.data, frame)
        for c in e.clauses:
            found = matches(c.lhs, data)
            if found is None:
                break
            if found:
                for v, value in assigned(c.lhs, data, lambda whole, i: self.result.field(whole, i, chain)):
                    self.result.bind(v, value, frame, chain)
                return (yield self.statements(c.rhs, frame, chain))
        patterns = [self.result.pattern(c, data, frame) for c in e.clauses]
        parts = yield self.branches([c.rhs for c in e.clauses], frame)
        whole = self.around(e, (data.atom, *parts), frame)
        if frame.own:
            return Value(whole)
        assert isinstance(whole, Match)
        clauses = [Clause(p, c.rhs, span=c.span) for p, c in zip(patterns, whole.clauses, strict=True)]
        return Value(replace(whole, clauses=tuple(clauses)))

    # --- calls ---

    def call(self, e: Call, frame: Frame, chain: Chain) -> Task:
        """The body of what is called, or the call."""
        callee = self.value(e.op, frame)
        args = [self.value(a, frame) for a in e.args]
        name = callee.atom
        if type(name) is Op:
            return self.operator(e, name, instance(name.name, {}), args, frame)
        if type(name) is Constructor:
            return Value(self.rebuilt(e, callee, args, frame), Cell(name, tuple(args)))
        if type(name) is GlobalVar and isinstance(self.mod.functions[name], Function):
            callee = Value(name, Closure(self.mod.functions[name], Frame(None, None, own=False)))  # pyright: ignore[reportArgumentType]
        if isinstance(callee.static, Closure):
            found = yield self.unfolded(e, callee, args, frame, chain)
            if found is not None:
                return found
        if self.purity.of_call(e.op) is not Effect.NONE:
            self.store.forget()
        return Value(self.rebuilt(e, callee, args, frame))

    def rebuilt(self, e: Call, callee: Value, args: Sequence[Value], frame: Frame) -> Call:
        """A call around other atoms."""
        parts = (callee.atom, *[a.atom for a in args])
        if frame.own and parts == e.children:
            return e
        attrs = e.attrs if parts[0] is e.op else None
        return Call(parts[0], parts[1:], attrs, self.result.type_args(e, callee, frame), span=e.span)

    def unfolded(self, e: Call, callee: Value, args: Sequence[Value], frame: Frame, chain: Chain) -> Task:
        """The value of a function body in the place of a call; None if the call is to stay."""
        target = callee.static
        assert isinstance(target, Closure)
        fn = target.function
        type_args = self.result.type_args(e, callee, frame)
        if len(type_args) != len(fn.type_params) or any(map(is_open, type_args)):
            self.policy.refuse(fn)
            return None
        activation = self.policy.enter(fn, args)
        if activation is None:
            return None
        around = target.frame.copy.types if target.frame.copy else {}
        types = {**around, **dict(zip(fn.type_params, type_args, strict=True))}
        inner = Frame(target.frame, Copy(types) if fn.type_params else None, own=False)
        length, mark = len(chain.bindings), len(self.store.log)
        for p, a in zip(fn.params, args, strict=True):
            self.result.bind(p, a, inner, chain)
        found: Value = yield self.statements(fn.body, inner, chain)
        if not self.policy.leave(fn, activation):
            del chain.bindings[length:]
            self.store.undo(mark)
            return None
        declared = inner.type(fn.ret_type)
        if declared is not None and declared.flags & HAS_ANY:
            found = self.result.bind(
                Var("x", declared, span=e.span), found, Frame(None, None, own=True), chain
            )
        return found

    def operator(self, e: Call, op: Op, attrs: Operator, args: Sequence[Value], frame: Frame) -> Value:
        """An operator on values that are all known, or its call."""
        if attrs.impure:
            self.store.forget()
        elif args:
            operands = [self.operand(attrs, i, a) for i, a in enumerate(args)]
            if None not in [type(o) if o is not None else None for o in operands]:
                made = evaluated(attrs, operands, frame.type(self.types(e)), e)
                if made is not None:
                    return known_value(made)
        if op is e.op:
            parts = (op, *[a.atom for a in args])
            if frame.own and parts == e.children:
                return Value(e)
            return Value(Call(op, parts[1:], e.attrs, frame.types(e.written_type_args), span=e.span))
        return Value(self.rebuilt(e, Value(op), args, frame))

    def operand(self, op: Operator, index: int, a: Value) -> Any:
        """The array, or the tuple of arrays, that an operand is; None if it is not known."""
        found = concrete_value(a)
        if found is None and op.carried and op.operands[min(index, len(op.operands) - 1)] in op.carried:
            return shape_alone(self.types(a.atom))
        return found
