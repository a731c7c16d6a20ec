"""The differentiated program, statement by statement: what both modes have in common.

The source is annotated and in A-normal form: blocks are `let` chains whose values have variables and
constants as operands.  A block of the source becomes a block of the result; operators are what the modes
treat differently.
"""

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from relay.autodiff.dual_pattern import dual_pattern, pattern_types
from relay.autodiff.dual_types import DualTypes, is_floating
from relay.autodiff.dual_values import Values, holds_more_than_tensors, varies
from relay.autodiff.normal import normal
from relay.autodiff.plan import passes_on
from relay.autodiff.values import Block, Fields, Inert, Number, Packed, Value
from relay.diagnostic import derive_from
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
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    replace,
)
from relay.ir.pattern import PatternVar, pattern_nodes
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import UNIT, Kind, TupleType, Type, TypeCall
from relay.ir.walk import post_order, run
from relay.op.base import Operator
from relay.op.composite import Composite
from relay.op.kind import Derivative
from relay.op.rounding import Copy

Task = Generator[Any, Any, Any]


class Dualizer(Values):
    """Differentiates the functions of a module in one mode."""

    def __init__(self, types: DualTypes, supply: GlobalVarSupply) -> None:
        super().__init__(types, supply)
        self.literals: dict[Var, Function] = {}
        """The function literals of the source, by the variables that they are bound to."""
        self.globals: dict[GlobalVar, GlobalVar] = {}
        self.waiting: list[GlobalVar] = []

    @abstractmethod
    def operator(
        self, op: Operator, args: Sequence[Value], t: Type, name: str, b: Block, is_kept: bool
    ) -> Value:
        """A call of an operator with a derivative rule; `is_kept` if others than operators use the result."""

    @abstractmethod
    def is_kept(self, var: Var | None) -> bool:
        """Whether the result bound to `var` is used by others than the operators of its own segment."""

    @abstractmethod
    def more_args(self, b: Block) -> tuple[Expr, ...]:
        """What calls of differentiated functions get besides the arguments."""

    @abstractmethod
    def more_params(self) -> tuple[Var, ...]:
        """What differentiated functions get besides their parameters; the next block is inside of it."""

    def before_call(self, b: Block) -> None:
        """Something that may itself be differentiated is about to happen."""

    def leave(self, b: Block) -> None:
        """The block is about to return."""

    # --- statements ---

    def block(self, e: Expr, b: Block) -> Task:
        """Go through a block; the result is its value."""
        while True:
            match e:
                case Let(var, value, body) if body is not var:
                    self.env[var] = yield self.statement(value, var, b)
                    e = body
                case Let(var, value, _):
                    return (yield self.statement(value, var, b, is_last=True))
                case LetRec():
                    yield self.let_rec(e, b)
                    e = e.body
                case _:
                    return (yield self.statement(e, None, b, is_last=True))

    def statement(self, e: Expr, var: Var | None, b: Block, is_last: bool = False) -> Task:
        """The value of one right-hand side."""
        name = "y" if var is None else var.name_hint
        derive_from(e.span)
        match e:
            case Var() | Constant() | GlobalVar():
                return self.atom(e, b)
            case Tuple(fields):
                return Fields([self.atom(f, b) for f in fields])
            case TupleGetItem(tuple_value, index):
                return self.field(self.atom(tuple_value, b), index, self.type_of(e), name, b)
            case Call(op=Op()) if passes_on(e):
                return self.passed_on(e, b)
            case Call(op=Op()):
                args = [self.spread(self.atom(a, b), b) for a in e.args]
                t = self.type_of(e if var is None else var)
                return self.operate(e.attrs, args, t, name, b, self.is_kept(var))
            case Call(op=Constructor() as c):
                t = self.type_of(e)
                assert isinstance(t, TypeCall)
                args = [self.pack_atom(self.atom(a, b), b) for a in e.args]
                made = Call(self.types.constructor(c, t), tuple(args), span=e.span)
                return self.receive(made, t, name, b, is_last)
            case Call():
                return self.call(e, name, b, is_last)
            case Function():
                return (yield self.local_function(e, var, b))
            case If(cond, yes, no):
                self.before_call(b)
                condition = self.atom(cond, b)
                assert isinstance(condition, Inert)
                true, false = (yield self.branch(yes)), (yield self.branch(no))
                return self.receive(
                    If(condition.expr, true, false, span=e.span), self.type_of(e), name, b, is_last
                )
            case Match():
                return (yield self.match(e, name, b, is_last))
            case RefCreate() | RefRead() | RefWrite():
                return self.reference(e, name, b)
            case Let() | LetRec():
                return (yield self.block(e, b))
            case _:
                raise AssertionError(f"{e!r} where a differentiable statement was expected")

    def atom(self, e: Expr, b: Block) -> Value:
        """The value of a variable, constant or definition."""
        match e:
            case Var():
                return self.env[e]
            case Constant():
                t = self.type_of(e)
                return Number(e, t) if is_floating(t) else Inert(e, t)  # pyright: ignore[reportArgumentType]
            case GlobalVar():
                if isinstance(self.mod.functions[e], Function):
                    return Packed(self.definition(e), self.type_of(e))
                return self.plain(e, self.type_of(e), b)
            case Tuple(fields):
                return Fields([self.atom(f, b) for f in fields])
            case _:
                raise AssertionError(f"{e!r} is not in A-normal form")

    def operate(
        self, op: Operator, args: Sequence[Value], t: Type, name: str, b: Block, is_kept: bool
    ) -> Value:
        """A call of any operator."""
        if op.derivative is not Derivative.DECOMPOSITION or not any(map(varies, args)):
            return self.operator(op, args, t, name, b, is_kept)
        assert isinstance(op, Composite)
        return self._as_type(self.decomposed(op, args, name, b, is_kept), t, name, b, is_kept)

    def _as_type(self, value: Value, t: Type, name: str, b: Block, is_kept: bool) -> Value:
        """The result of a composite operator, whose parts may know less of its sizes than it does."""
        match value:
            case Number() if value.type != t:
                return self.operator(Copy(), [value], t, name, b, is_kept)
            case Fields():
                assert isinstance(t, TupleType)
                parts = zip(value.values, t.fields, strict=True)
                return Fields([self._as_type(v, u, name, b, is_kept) for v, u in parts])
            case _:
                return value

    def passed_on(self, e: Call, b: Block) -> Value:
        """An effect, on the values of the source; its result is the first operand, derivative and all."""
        values = [self.atom(a, b) for a in e.args]
        done = replace(e, args=tuple([self.plain_result(v, b) for v in values]))
        name = b.bind(done, self.type_of(e), "_")
        return values[0] if values else Inert(name, self.type_of(e))

    def decomposed(self, op: Composite, args: Sequence[Value], name: str, b: Block, is_kept: bool) -> Value:
        """A composite operator, by its parts."""
        values: dict[Expr, Value] = {}
        operands = [self._leaf(a, values) for a in args]
        body = op.decompose([self.source_type(a) for a in args], *operands)
        results = set(_results(body)) if is_kept else set[Expr]()
        for e in post_order(body):
            if e in values or isinstance(e, Op):
                continue
            kept = e in results
            match e:
                case Tuple(fields):
                    values[e] = Fields([values[f] for f in fields])
                case TupleGetItem(tuple_value, index):
                    values[e] = self.field(values[tuple_value], index, self.type_of(e), name, b)
                case Call(Operator() as inner, inner_args):
                    values[e] = self.operate(
                        inner,
                        [values[a] for a in inner_args],
                        self.type_of(e),
                        name if e is body else "t",
                        b,
                        kept,
                    )
                case _:
                    values[e] = self.atom(e, b)
        return values[body]

    def _leaf(self, value: Value, values: dict[Expr, Value]) -> Any:
        """An operand of a decomposition; what it stands for goes to `values`."""
        if isinstance(value, Fields):
            return tuple([self._leaf(v, values) for v in value.values])
        e = self.primal(value)
        values[e] = value
        return e

    def call(self, e: Call, name: str, b: Block, is_last: bool) -> Value:
        """A call of a function."""
        t = self.type_of(e)
        if (
            isinstance(e.op, GlobalVar)
            and self.types.is_inert(t)
            and not any(holds_more_than_tensors(self.type_of(a)) for a in e.args)
        ):
            args = tuple([self.pack_primal(self.atom(a, b), b) for a in e.args])
            return Inert(b.bind(replace(e, args=args), t, name), t)
        self.before_call(b)
        callee = self.pack_atom(self.atom(e.op, b), b)
        args = [self.pack_atom(self.atom(a, b), b) for a in e.args]
        type_args = tuple(
            [
                self.types.dual(a) if isinstance(a, Type) and a.kind is Kind.Type else a
                for a in e.written_type_args
            ]
        )
        made = Call(callee, (*args, *self.more_args(b)), None, type_args, span=e.span)
        return self.receive(made, t, name, b, is_last)

    def pack_primal(self, value: Value, b: Block) -> Expr:
        """A value of tensors and tuples as it is in the source."""
        spread = self.primal(self.spread(value, b))

        def packed(e: Any) -> Expr:
            return Tuple(tuple([packed(f) for f in e])) if isinstance(e, tuple) else e  # pyright: ignore[reportUnknownVariableType]

        return packed(spread)

    def reference(self, e: Expr, name: str, b: Block) -> Value:
        """Making, reading and writing references: of dual values."""
        match e:
            case RefCreate(value):
                t = self.type_of(e)
                made = RefCreate(self.pack_atom(self.atom(value, b), b), span=e.span)
                return self.open(b.bind(made, self.types.dual(t), name), t, b)
            case RefRead(ref):
                t = self.type_of(e)
                read = RefRead(self.pack_atom(self.atom(ref, b), b), span=e.span)
                return self.open(b.bind(read, self.types.dual(t), name), t, b)
            case _:
                assert isinstance(e, RefWrite)
                ref, value = (self.pack_atom(self.atom(x, b), b) for x in (e.ref, e.value))
                return Inert(b.bind(RefWrite(ref, value, span=e.span), UNIT, name), UNIT)

    def branch(self, body: Expr) -> Task:
        """A branch as a block of its own."""
        b = Block()
        return (yield self.returned(body, b))

    def returned(self, body: Expr, b: Block) -> Task:
        """The source block `body` at the end of `b`, with its value packed."""
        value = yield self.block(body, b)
        result = self.pack(value, b)
        self.leave(b)
        return b.finish(result)

    def match(self, e: Match, name: str, b: Block, is_last: bool) -> Task:
        """A match on the dual value."""
        self.before_call(b)
        t = self.type_of(e.data)
        data = self.pack_atom(self.atom(e.data, b), b)
        clauses: list[Clause] = []
        for c in e.clauses:
            inside = Block()
            lhs = self.pattern(c.lhs, t, inside)
            clauses.append(Clause(lhs, (yield self.returned(c.rhs, inside)), span=c.span))
        return self.receive(
            Match(data, tuple(clauses), e.complete, span=e.span), self.type_of(e), name, b, is_last
        )

    def pattern(self, root: Pattern, t: Type, b: Block) -> Pattern:
        """A pattern on a source value of type `t` as one on the dual value; its variables are opened in
        `b`.
        """
        types = pattern_types(root, t, self.mod)
        new = dual_pattern(root, types, self.types)
        for p, q in zip(pattern_nodes(root), pattern_nodes(new), strict=True):
            if isinstance(p, PatternVar) and isinstance(q, PatternVar):
                self.env[p.var] = self.open(q.var, types[p], b)
        return new

    # --- functions ---

    def local_function(self, e: Function, var: Var | None, b: Block) -> Task:
        """A function literal; `var` is bound to it and may be called in its body."""
        t = self.type_of(e)
        mine = Var("f" if var is None else var.name_hint, self.types.dual(t), span=e.span)
        value = Packed(mine, t)
        if var is not None:
            self.env[var] = value
            self.literals[var] = e
        b.let(mine, (yield self.function(e)))
        return value

    def let_rec(self, e: LetRec, b: Block) -> Task:
        """Functions that know each other."""
        mine = [Var(v.name_hint, self.types.dual(self.type_of(v)), span=v.span) for v in e.vars]
        for v, m in zip(e.vars, mine, strict=True):
            self.env[v] = Packed(m, self.type_of(v))
        functions: list[Expr] = []
        for f in e.values:
            assert isinstance(f, Function)
            functions.append((yield self.function(f)))
        b.let_rec(mine, functions, e.span)
        return None

    def function(self, f: Function) -> Task:
        """The differentiated function."""
        b = Block()
        params = [Var(p.name_hint, self.types.dual(self.type_of(p)), span=p.span) for p in f.params]
        for p, q in zip(f.params, params, strict=True):
            self.env[p] = self.open(q, self.type_of(p), b)
        outer = self.enter()
        more = self.more_params()
        body = yield self.returned(f.body, b)
        self.restore(outer)
        assert f.ret_type is not None
        return Function(
            (*params, *more),
            body,
            self.types.dual(f.ret_type),
            f.type_params,
            _kept_attributes(f),
            f.constraints,
            span=f.span,
        )

    def enter(self) -> Any:
        """Remember what belongs to the function around."""

    def restore(self, outer: Any) -> None:
        """Return to it."""

    def definition(self, name: GlobalVar) -> GlobalVar:
        """The differentiated definition of that name; `define_waiting` makes it."""
        if name not in self.globals:
            self.globals[name] = self.supply.fresh_global(f"{name.name_hint}_{self.types.mode}")
            self.waiting.append(name)
        return self.globals[name]

    def define_waiting(self) -> None:
        """Make the definitions that were asked for, and those that they ask for."""
        while self.waiting:
            name = self.waiting.pop()
            f = self.prepare(self.mod.functions[name])
            self.mod[self.globals[name]] = run(self.function(f))
        self.structure.define_waiting()

    def prepare(self, f: Expr) -> Function:
        """A function as this needs it: in A-normal form."""
        assert isinstance(f, Function)
        return normal(f, self.type_of)


def _kept_attributes(f: Function) -> dict[str, Any]:
    """The attributes that a function and its derivative share."""
    return {name: f.attrs[name] for name in ("inline",) if name in f.attrs}


def _results(body: Expr) -> Iterator[Expr]:
    """The parts of a decomposition that are part of its result."""
    stack = [body]
    while stack:
        e = stack.pop()
        if isinstance(e, Tuple | TupleGetItem):
            stack += e.children
        else:
            yield e
