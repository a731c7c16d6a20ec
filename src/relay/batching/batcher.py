"""The batched program, statement by statement.

The source is annotated, in A-normal form, and its functions are lifted.  A block of the source becomes a
block of the result; each definition gets a copy for each pattern of arguments that it is called with.  What a
call gives is assumed to be shared by all rows at first; where it turns out not to be, what calls it is done
again with what is known then, until nothing changes.
"""

from collections.abc import Generator, Sequence
from typing import Any

from relay.autodiff.closing import caller_of
from relay.autodiff.normal import normal
from relay.autodiff.values import Block
from relay.batching.context import Context, operands, source_type
from relay.batching.control import branching, matched
from relay.batching.data import constructed
from relay.batching.maps import refuse
from relay.batching.operators import batched
from relay.batching.references import made_cell, read_cell, written_cell
from relay.batching.row_loops import RowLoops
from relay.batching.type_params import as_argument, instance, type_params_around
from relay.batching.types import BatchedTypes
from relay.batching.values import (
    Closure,
    Fields,
    Packed,
    Pattern,
    Rows,
    Value,
    joined,
    known_functions,
    pattern_of,
    settled,
)
from relay.diagnostic import derive_from
from relay.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import UNIT, FuncType, Kind, TensorType, TupleType, Type, TypeVar
from relay.ir.vars import free_vars
from relay.ir.walk import post_order, run
from relay.op.base import Operator
from relay.op.batching import any_batched
from relay.op.debugging import Effect
from relay.op.derivative import fields_of
from relay.typecheck.types import Types
from relay.typecheck.vmaps import is_type

Task = Generator[Any, Any, Any]
Key = tuple[GlobalVar, tuple[Pattern, ...]]


MOST_NESTED = 8
"""How deep functions capture each other that are known: each depth asks for copies of its own."""


class NeedsPartitionError(Exception):
    """A condition differs from row to row, and one of its branches must not be run for all."""


class Batcher(Context):
    """Batches the functions of a module."""

    def __init__(
        self, source: IRModule, mod: IRModule, supply: GlobalVarSupply, rows: int | None, *, may_select: bool
    ) -> None:
        """`source` has the lifted definitions, `mod` gets the batched ones; `rows` is their number, if it is
        known and the same everywhere.  Cheap branches run for all rows if it `may_select` among their values.
        """
        super().__init__(BatchedTypes(mod), supply, Types(source))
        self.source = source
        self.mod = mod
        self.may_select = may_select
        self.fixed_rows = rows
        self.sources: dict[GlobalVar, Function] = {}
        self.callers: dict[GlobalVar, Function] = {}
        self.around: dict[Function, tuple[TypeVar, ...]] = {}
        self.copies: dict[Key, GlobalVar] = {}
        self.results: dict[Key, Pattern] = {}
        self.made: dict[GlobalVar, Function] = {}
        self.waiting: dict[Key, None] = {}
        self.calls: dict[Key, dict[Key | None, None]] = {}
        """What calls each copy, None for the function that is batched."""
        self.caller: Key | None = None
        self.is_settled = True
        self.loops = RowLoops(self)
        self.type_params: tuple[TypeVar, ...] = ()
        self.functions: dict[Expr, Function] = {}
        """What has become of functions that differ from row to row."""
        self.branches: dict[Expr, tuple[GlobalVar, list[Var]]] = {}
        """The definitions that branches have become, with what they take."""

    def define(self) -> bool:
        """Define the copies that were asked for, and those that they ask for; whether the function that is
        batched assumed of their results what they are.
        """
        self.is_settled = True
        while self.waiting:
            self.caller, _ = self.waiting.popitem()
            self.made[self.copies[self.caller]] = run(self.copy(self.caller))
        self.caller = None
        return self.is_settled

    def reached(self, root: Expr) -> dict[GlobalVar, Function]:
        """The definitions made that an expression needs: what was assumed on the way asked for others too."""
        made = self.made | self.loops.made
        found: set[GlobalVar] = set()
        stack = [root]
        while stack:
            for e in post_order(stack.pop()):
                if isinstance(e, GlobalVar) and e in made and e not in found:
                    found.add(e)
                    stack.append(made[e])
        return {v: f for v, f in made.items() if v in found}

    # --- definitions ---

    def definition(self, name: GlobalVar) -> Function:
        """A definition of the source as this needs it."""
        if name not in self.sources:
            f = self.source.functions[name]
            assert isinstance(f, Function)
            self.sources[name] = normal(f, self.type_of)
        return self.sources[name]

    def copy(self, key: Key) -> Task:
        """The batched copy of a definition."""
        name, patterns = key
        f = self.definition(name)
        assert f.ret_type is not None
        own: tuple[TypeVar, ...] = ()
        params: list[Var] = []
        self.env = {}
        self.more_params = []
        if self.fixed_rows is None:
            own = (TypeVar("b", Kind.Dim),)
            self.rows = own[0]
            params.append(Var("rows", TensorType((self.rows,), "int64")))
            self.witness = params[0]
        else:
            self.rows, self.witness = self.fixed_rows, None
        self.type_params = f.type_params
        for p, pattern in zip(f.params, patterns, strict=True):
            self.env[p] = self.received(pattern, self.type_of(p), p.name_hint, params)
        around = [v for v in type_params_around(self, patterns) if v not in f.type_params]
        own = (*own, *self.more_params, *around, *f.type_params)
        b = Block()
        value = yield self.block(f.body, b)
        pattern = settled(joined(self.results[key], pattern_of(value)))
        if pattern != self.results[key]:
            self.results[key] = pattern
            self.is_settled = self.is_settled and None not in self.calls[key]
            self.waiting.update(dict.fromkeys([k for k in self.calls[key] if k is not None]))
        body = b.finish(self.pack(self.coerced(value, pattern, b), b))
        result = self.type_at(pattern, f.ret_type, self.rows)
        kept = {k: v for k, v in f.attrs.items() if k == "inline"}
        return Function(tuple(params), body, result, own, kept, f.constraints, span=f.span)

    def call_copy(
        self, name: GlobalVar, args: Sequence[Value], type_args: Sequence[Any], t: Type, hint: str, b: Block
    ) -> Value:
        """A call of the copy of a definition for the patterns of these arguments."""
        f = self.definition(name)
        assert f.ret_type is not None
        by = dict(zip(f.type_params, type_args, strict=True))
        args = [as_argument(self, a, self.type_of(p), by, b) for a, p in zip(args, f.params, strict=True)]
        key = (name, tuple([pattern_of(a) for a in args]))
        if key not in self.copies:
            self.copies[key] = self.supply.fresh_global(f"{name.name_hint}_vmap")
            self.results[key] = self.least(f.ret_type)
            self.calls[key] = {}
        self.calls[key][self.caller] = None
        made = self.copies[key]
        if made not in self.made:
            self.made[made] = Function((), Tuple(()))
            self.waiting[key] = None
        passed = [e for a in args for e in self.flattened(a)]
        more = [d for a in args for d in self.outer_rows(a)]
        more += [v for v in type_params_around(self, key[1]) if v not in by]
        more += [self.types.batched(a, self.rows) if is_type(a) else a for a in type_args]
        if self.fixed_rows is None:
            assert self.witness is not None
            passed, more = [self.witness, *passed], [self.rows, *more]
        pattern = instance(self, self.results[key], f.ret_type, t)
        result = self.type_at(pattern, t, self.rows)
        call = Call(made, tuple(passed), None, tuple(more))
        return self.open(b.bind(call, result, hint), pattern, t, b)

    def body(self, name: GlobalVar, args: Sequence[Value], b: Block) -> Task:
        """The value of a definition that stands here itself, for these arguments."""
        f = self.definition(name)
        self.type_params = f.type_params
        self.env = dict(zip(f.params, args, strict=True))
        return (yield self.block(f.body, b))

    # --- statements ---

    def block(self, e: Expr, b: Block) -> Task:
        """Go through a block; the result is its value."""
        while isinstance(e, Let):
            self.env[e.var] = yield self.statement(e.value, e.var, b)
            e = e.body
        return (yield self.statement(e, None, b))

    def statement(self, e: Expr, var: Var | None, b: Block) -> Task:
        """The value of one right-hand side."""
        name = "y" if var is None else var.name_hint
        derive_from(e.span)
        match e:
            case Var() | Constant() | GlobalVar():
                return self.value(e, b)
            case Tuple(fields):
                return Fields(tuple([self.value(f, b) for f in fields]))
            case TupleGetItem(whole, index):
                found = self.value(whole, b)
                assert isinstance(found, Fields)
                return found.values[index]
            case Call(op=Op()):
                t = self.type_of(e if var is None else var)
                return self.operate(e.attrs, [self.value(a, b) for a in e.args], t, name, b)
            case Call(op=Constructor() as c):
                return constructed(self, c, [self.value(a, b) for a in e.args], self.type_of(e), e, name, b)
            case Call():
                args = [self.value(a, b) for a in e.args]
                return (
                    yield self.call(
                        self.value(e.op, b), args, e.written_type_args, self.type_of(e), e, name, b
                    )
                )
            case Function():
                return self.closure(e, b)
            case Grad(kind=kind, function=function):
                f, t = self.value(function, b), self.type_of(e)
                assert isinstance(f, Closure)
                made = Grad(kind, self.packed_closure(f, b).expr, span=e.span)
                return Packed(b.bind(made, self.types.batched(t, self.rows), name), t)
            case If():
                return (yield branching(self, e, name, b))
            case Match():
                return (yield matched(self, e, name, b))
            case RefCreate() | RefRead() | RefWrite():
                return self.reference(e, name, b)
            case Let():
                return (yield self.block(e, b))
            case _:
                raise AssertionError(f"{e!r} where a statement was expected")

    def value(self, e: Expr, b: Block) -> Value:
        """The value of an atom."""
        match e:
            case Var():
                return self.env[e]
            case GlobalVar() if isinstance(self.source.functions[e], Function):
                if e not in self.callers:
                    t = self.type_of(e)
                    assert isinstance(t, FuncType)
                    self.callers[e] = caller_of(e, t)
                return Closure(self.callers[e], {})
            case Tuple(fields):
                return Fields(tuple([self.value(f, b) for f in fields]))
            case _:
                return self.shared(e, self.type_of(e), b)

    def closure(self, f: Function, b: Block) -> Closure:
        """A function with what it captures: functions that would nest without end are not known in it."""
        captured: dict[Var, Value] = {}
        for v in free_vars(f):
            value = self.env[v]
            functions, depth = known_functions(value)
            if f in functions or depth > MOST_NESTED:
                value = self.coerced(value, settled(pattern_of(value)), b)
            captured[v] = value
        return Closure(f, captured)

    def operate(self, op: Operator, args: Sequence[Value], t: Type, name: str, b: Block) -> Value:
        """A call of an operator."""
        if isinstance(op, Effect) and op.passes_on:
            return self.effect(op, args, t, b)
        xs, which = operands(args)
        if not any(map(any_batched, which)):
            made = op(*[self.pack(a, b) for a in args])
            return self.shared(b.bind(made, t, name), t, b)
        found = batched(op, self.rows, which, xs, lambda e: self.bound(e, b))
        if found is None:
            found = self.loops.call(op, args, t, keeps=True, b=b)
        whole = Tuple(fields_of(found)) if isinstance(found, tuple) else found
        return self.open(b.bind(whole, self.types.batched(t, self.rows), name), self.full(t), t, b)

    def effect(self, op: Operator, args: Sequence[Value], t: Type, b: Block) -> Value:
        """An effect whose value is its first operand: it happens for each row."""
        self.loops.call(op, args, t, keeps=False, b=b)
        return args[0] if args else self.shared(Tuple(()), UNIT, b)

    def bound(self, e: Expr, b: Block) -> Any:
        """The atom of an expression; of a tuple a Python tuple."""
        if not isinstance(e, Var | Constant | TupleGetItem):
            e = b.bind(e, self.type_of(e), "t")
        t = self.type_of(e)
        if isinstance(t, TupleType):
            return tuple([self.bound(b.bind(TupleGetItem(e, i), f, "t"), b) for i, f in enumerate(t.fields)])
        return e

    def call(
        self, f: Value, args: Sequence[Value], type_args: Sequence[Any], t: Type, e: Call, name: str, b: Block
    ) -> Task:
        """A call of a function."""
        match f:
            case Closure():
                body = f.function.body
                outside = self.env
                self.env = {**f.captured, **dict(zip(f.function.params, args, strict=True))}
                if not (isinstance(body, Call) and isinstance(body.op, GlobalVar)):
                    value = yield self.block(body, b)
                    self.env = outside
                    return value
                by = dict(zip(f.function.type_params, type_args, strict=False))
                given = [substitute_type(a, by) if isinstance(a, Type) else a for a in body.written_type_args]
                values = [self.value(a, b) for a in body.args]
                self.env = outside
                return self.call_copy(body.op, values, given, t, name, b)
            case Packed(type=FuncType() as of):
                full = [self.coerced(a, self.full(u), b) for a, u in zip(args, of.arg_types, strict=True)]
                packed = [self.atom(a, self.full(u), b) for a, u in zip(full, of.arg_types, strict=True)]
                made = Call(f.expr, tuple(packed))
                return self.open(b.bind(made, self.types.batched(t, self.rows), name), self.full(t), t, b)
            case _:
                refuse(source_type(f), e.span)

    def packed_closure(self, value: Closure, b: Block) -> Packed:
        """A function that is known as a value: of what is batched in every part."""
        f = value.function
        t = source_type(value)
        assert isinstance(t, FuncType)
        params: list[Var] = [
            Var(p.name_hint, self.types.batched(u, self.rows))
            for p, u in zip(f.params, t.arg_types, strict=True)
        ]
        inside = Block()
        args = [self.open(p, self.full(u), u, inside) for p, u in zip(params, t.arg_types, strict=True)]
        at = Call(f, f.params, span=f.span)
        found = run(self.call(value, args, (), t.ret_type, at, "y", inside))
        body = self.pack(self.coerced(found, self.full(t.ret_type), inside), inside)
        made = Function(tuple(params), inside.finish(body), self.types.batched(t.ret_type, self.rows))
        return Packed(b.bind(made, self.types.batched(t, self.rows), "f"), t)

    def partition(self, cond: Rows, e: If, name: str, b: Block) -> Task:
        """An `if` on a condition that differs from row to row."""
        raise NeedsPartitionError
        yield

    # --- references ---

    def reference(self, e: Expr, name: str, b: Block) -> Value:
        """Making, reading and writing references."""
        match e:
            case RefCreate(value):
                return made_cell(self, self.value(value, b), self.type_of(e), name, b)
            case RefRead(ref):
                return read_cell(self, self.value(ref, b), self.type_of(e), name, b)
            case RefWrite(ref, value):
                return written_cell(self, self.value(ref, b), self.value(value, b), e.span, b)
            case _:
                raise AssertionError(e)
