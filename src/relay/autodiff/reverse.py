"""Reverse mode: what was done is undone in the opposite order, and cotangents are passed back.

Each tensor that leaves its segment has a reference in which its cotangent gathers.  At the end of each
segment a function that goes back through it is put on the tape.  Where `vjp` may pull back more than once,
that leaves every reference at zero.  After Pearlmutter and Siskind, 2008, and Wang et al., 2019.
"""

from collections.abc import Sequence
from typing import Any

from relay.autodiff.custom import CHECKPOINT, CUSTOM, run_again, with_rule
from relay.autodiff.dual import Dualizer, Task
from relay.autodiff.dual_types import TAPE, DualTypes
from relay.autodiff.dual_values import holds_more_than_tensors, varies
from relay.autodiff.plan import Plan
from relay.autodiff.quiet import Quiet
from relay.autodiff.structure import (
    COTANGENT,
    LIFT,
    PRIMAL,
    PULL,
    SEED,
    ZEROS,
    accumulate,
    new_ref,
    new_tape,
    nothing,
    take,
)
from relay.autodiff.values import Block, Fields, Inert, Number, Packed, Value, call
from relay.diagnostic import derive_from
from relay.ir.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    GradKind,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import UNIT, FuncType, TensorType, TupleType, Type
from relay.ir.walk import run
from relay.op.base import Operator
from relay.op.derivative import vjp
from relay.op.kind import Derivative

Sums = dict[Number, list[Expr]]


class Reverse(Dualizer):
    """Functions that put on the tape how to go back."""

    tape: Var
    plan: Plan

    def __init__(self, types: DualTypes, supply: GlobalVarSupply, *, again: bool) -> None:
        """`again` says that what is made may be asked to pull cotangents back more than once."""
        super().__init__(types, supply)
        self.structure.again = again
        self.quiet = Quiet(self.mod, supply)

    def root(self, kind: GradKind, f: Function, captured: Sequence[Var]) -> Function:
        """`grad` or `vjp` of a function literal whose free variables are `captured`."""
        body = self.prepare(f).body
        types = [self.type_of(p) for p in f.params]
        assert f.ret_type is not None
        by_value = not any(map(holds_more_than_tensors, [*types, f.ret_type]))
        self.plan = Plan(body, f.params, by_value=by_value)
        straight = self.plan.by_value
        b = Block()
        params = tuple([Var(p.name_hint, t, span=p.span) for p, t in zip(f.params, types, strict=True)])
        cells = self.capture(captured, b)
        go = self._straight if straight else self._taped
        for p, q, t in zip(f.params, params, types, strict=True):
            self.env[p] = self._varying(q, t, not straight or self.plan.needs_reference(p), b)
        if not straight:
            self.tape = new_tape(b)
        value = self.bound(run(self.block(body, b)), b)
        self.write_back(cells, b)
        y = self.plain_result(value, b)
        gradients = TupleType(types)
        varied = [self.env[p] for p in f.params]
        if kind == "grad":
            result: Expr = go(value, None, varied, params, b, b)
            out: Type = gradients
        else:
            g, inside = Var("g", f.ret_type), Block()
            pulled = go(value, g, varied, params, b, inside)
            result = Function((g,), inside.finish(pulled), gradients, span=f.span)
            out = FuncType((f.ret_type,), gradients)
        body, whole = b.finish(Tuple((y, result))), TupleType((f.ret_type, out))
        return Function(params, body, whole, f.type_params, {}, f.constraints, span=f.span)

    def _varying(self, x: Var, t: Type, has_partner: bool, b: Block) -> Value:
        """A parameter by which the derivative is taken."""
        if self.types.is_inert(t):
            return Inert(x, t)
        if isinstance(t, TensorType):
            return Number(x, t, new_ref(b, x, t) if has_partner else None, active=True)
        if isinstance(t, TupleType):
            fields = [b.bind(TupleGetItem(x, i), f, x.name_hint) for i, f in enumerate(t.fields)]
            return Fields(
                [self._varying(v, f, has_partner, b) for v, f in zip(fields, t.fields, strict=True)]
            )
        return Packed(self.structure.apply(LIFT, t, [x], b, x.span), t)

    def _straight(
        self, y: Value, g: Var | None, xs: Sequence[Value], params: Sequence[Var], b: Block, inside: Block
    ) -> Expr:
        """The gradients of a program of one segment: cotangents are values all the way."""
        sums: Sums = {}
        self._seed(y, g, sums, inside)
        sweep(b.steps, sums, inside, self.structure.again)
        return Tuple(tuple([self._gradient(x, p, sums, inside) for x, p in zip(xs, params, strict=True)]))

    def _taped(
        self, y: Value, g: Var | None, xs: Sequence[Value], params: Sequence[Var], b: Block, inside: Block
    ) -> Expr:
        """The gradients of any program: seed the result, play the tape back, collect.

        What goes back once takes the tape along, and its records go as they are played.
        """
        self.leave(b)
        back = b.bind(RefRead(self.tape), TAPE.value, "back")
        if g is None:
            b.bind(RefWrite(self.tape, nothing(b)), UNIT, "_")
        self._seed(y, g, None, inside)
        inside.bind(Call(back, ()), UNIT, "_")
        return Tuple(tuple([self._gradient(x, p, {}, inside) for x, p in zip(xs, params, strict=True)]))

    def _seed(self, y: Value, g: Expr | None, sums: Sums | None, b: Block) -> None:
        """Give the result the cotangent `g`, or ones; by value to `sums` where there is no tape."""
        match y:
            case Number(active=True):
                seed = b.bind(call("ones_like", y.primal), y.type, "g") if g is None else g
                if y.partner is not None:
                    accumulate(b, y.partner, y.type, seed)
                else:
                    assert sums is not None
                    sums.setdefault(y, []).append(seed)
            case Fields():
                for i, v in enumerate(y.values):
                    inner = None if g is None else b.bind(TupleGetItem(g, i), self.source_type(v), "g")
                    self._seed(v, inner, sums, b)
            case Packed():
                if g is None:
                    self.structure.apply(SEED, y.type, [y.expr], b)
                else:
                    self.structure.apply(PULL, y.type, [y.expr, g], b)
            case _:
                pass

    def _gradient(self, value: Value, x: Expr, sums: Sums, b: Block) -> Expr:
        """The cotangent of a parameter `x`."""
        match value:
            case Number():
                return written(gathered(value, sums, b, self.structure.again), value, b)
            case Fields():
                parts: list[Expr] = []
                for i, v in enumerate(value.values):
                    field = b.bind(TupleGetItem(x, i), self.source_type(v), "x")
                    parts.append(self._gradient(v, field, sums, b))
                return b.bind(Tuple(tuple(parts)), self.source_type(value), "g")
            case Inert():
                return self.structure.apply(ZEROS, self.type_of(x), [x], b)
            case Packed():
                return self.structure.apply(COTANGENT, value.type, [value.expr], b)

    def call(self, e: Call, name: str, b: Block, is_last: bool) -> Value:
        known = self.literals.get(e.op) if isinstance(e.op, Var) else self.mod.functions.get(e.op)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if not isinstance(known, Function) or not known.attrs.get(CUSTOM):
            return super().call(e, name, b, is_last)
        self.before_call(b)
        f, rule, *xs = e.args
        types = [self.type_of(x) for x in xs]
        t = self.type_of(e)
        plain = self._plain_function(f, FuncType(types, t), b)
        plain_rule = self._plain_function(rule, FuncType((*types, t, t), TupleType(types)), b)
        args = [self.pack_atom(self.atom(x, b), b) for x in xs]
        dual = with_rule(plain, plain_rule, args, FuncType(types, t), self.tape, self.structure, b)
        return self.receive(dual, t, name, b, is_last)

    def _plain_function(self, f: Expr, t: FuncType, b: Block) -> Expr:
        """A function of the source as it was before it was differentiated."""
        return (
            f
            if isinstance(f, GlobalVar)
            else self.structure.apply(PRIMAL, t, [self.pack_atom(self.atom(f, b), b)], b)
        )

    def function(self, f: Function) -> Task:
        made = yield super().function(f)
        if not f.attrs.get(CHECKPOINT):
            return made
        assert f.ret_type is not None
        quiet = self.quiet.of(f, self.literals)
        again = made if quiet is f else (yield super().function(quiet))
        return run_again(made, again, f.ret_type, self.structure)

    def prepare(self, f: Expr) -> Function:
        made = super().prepare(f)
        self.plan = Plan(made.body)
        return made

    def operator(
        self, op: Operator, args: Sequence[Value], t: Type, name: str, b: Block, is_kept: bool
    ) -> Value:
        whole = b.bind(op(*[self.primal(a) for a in args]), t, name)
        y = self.parts(whole, t, b)
        if op.derivative is not Derivative.ZERO and any(map(varies, args)):
            self._activate(y, is_kept, b)
            b.steps.append((op, tuple(args), y, whole.span))
        return y

    def _activate(self, y: Value, is_kept: bool, b: Block) -> None:
        match y:
            case Number():
                y.active = True
                if is_kept:
                    y.partner = new_ref(b, y.primal, y.type)
            case Fields():
                for v in y.values:
                    self._activate(v, is_kept, b)
            case _:
                pass

    def partner_of(self, value: Number, b: Block) -> Expr:
        assert value.partner is not None or not value.active, "the plan missed that this is kept"
        return new_ref(b, value.primal, value.type) if value.partner is None else value.partner

    def is_kept(self, var: Var | None) -> bool:
        return not self.plan.by_value if var is None else self.plan.needs_reference(var)

    def more_args(self, b: Block) -> tuple[Expr, ...]:
        return (self.tape,)

    def more_params(self) -> tuple[Var, ...]:
        self.tape = Var("tape", TAPE)
        return (self.tape,)

    def enter(self) -> Any:
        return getattr(self, "tape", None)

    def restore(self, outer: Any) -> None:
        self.tape = outer

    def before_call(self, b: Block) -> None:
        """The end of a segment."""
        if any(isinstance(s, tuple) for s in b.steps):
            before = b.bind(RefRead(self.tape), TAPE.value, "before")
            inside = Block()
            sweep(b.steps, {}, inside, self.structure.again)
            back = b.bind(Function((), inside.finish(Call(before, ())), UNIT), TAPE.value, "back")
            b.bind(RefWrite(self.tape, back), UNIT, "_")
        b.steps = []

    leave = before_call


def sweep(steps: Sequence[Any], sums: Sums, b: Block, again: bool) -> None:
    """Go back through a segment.

    `sums` has the cotangents of its results that were passed on as values; at the end, those of the tensors
    it began with that have no references.  All others are added to the references, which are left at zero if
    this is done `again`.
    """
    for step in reversed(steps):
        if isinstance(step, Number):
            _flush(step, sums, b)
            continue
        op, args, y, span = step
        derive_from(span)
        g = gathered(y, sums, b, again)
        if is_missing(g):
            continue
        given = g if op.takes_no_zeros else written(g, y, b)
        found = vjp(op, given, _primal(y), [_primal(a) for a in args])
        for a, c in zip(args, found, strict=True):
            distribute(a, c, sums, b)
    for number in [n for n in sums if n.partner is not None]:
        _flush(number, sums, b)


def _flush(number: Number, sums: Sums, b: Block) -> None:
    g = total(number, sums, b)
    if g is not None:
        assert number.partner is not None
        accumulate(b, number.partner, number.type, g)


def total(number: Number, sums: Sums, b: Block) -> Expr | None:
    """The sum of the cotangents that were passed to a tensor as values."""
    g: Expr | None = None
    for term in sums.pop(number, ()):
        g = term if g is None else b.bind(call("add", g, term), number.type, "g")
    return g


def gathered(y: Value, sums: Sums, b: Block, again: bool) -> Any:
    """The cotangent of a result: None where it is zero, a Python tuple for a tuple."""
    match y:
        case Fields():
            return tuple([gathered(v, sums, b, again) for v in y.values])
        case Number():
            g = total(y, sums, b)
            if y.partner is None:
                return g
            held = take(b, y.partner, y.type, again)
            return held if g is None else b.bind(call("add", held, g), y.type, "g")
        case _:
            return None


def is_missing(g: Any) -> bool:
    """Whether a cotangent is zero in all parts."""
    return all(map(is_missing, g)) if isinstance(g, tuple) else g is None  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def written(g: Any, y: Value, b: Block) -> Any:
    """A cotangent with its zeros written out."""
    match y:
        case Fields():
            return tuple([written(d, v, b) for d, v in zip(g, y.values, strict=True)])
        case Number():
            return b.bind(call("zeros_like", y.primal), y.type, "z") if g is None else g
        case _:
            return None


def distribute(x: Value, c: Any, sums: Sums, b: Block) -> None:
    """Pass a cotangent to an operand."""
    match x:
        case Number(active=True) if c is not None:
            sums.setdefault(x, []).append(b.bind(c, x.type, "g"))
        case Fields() if c is not None:
            parts: Sequence[Any] = c.fields if isinstance(c, Tuple) else c
            for v, d in zip(x.values, parts, strict=True):
                distribute(v, d, sums, b)
        case _:
            pass


def _primal(value: Value) -> Any:
    match value:
        case Number():
            return value.primal
        case Fields():
            return tuple([_primal(v) for v in value.values])
        case _:
            return value.expr
