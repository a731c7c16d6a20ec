"""Maps over values by their type: into dual values and out of them again.

Tensors and tuples are mapped in place, data types by generated recursive functions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.autodiff.dual_types import TAPE, DualTypes, is_floating
from relay.autodiff.values import Block, call
from relay.diagnostic import Span, fail
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from relay.ir.pattern import PatternConstructor, PatternVar
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import UNIT, FuncType, GlobalTypeVar, TupleType, Type, TypeCall, TypeVar
from relay.ir.walk import type_post_order


@dataclass(frozen=True)
class Map:
    """One way through values of a type: `sources` say which arguments are duals, `result` what comes out."""

    name: str
    sources: tuple[str, ...]
    result: str


LIFT = Map("lift", ("plain",), "dual")
"""A value without derivative as a dual one: no tangent, or a cotangent that nobody asks for."""
PRIMAL = Map("primal", ("dual",), "plain")
"""The value itself."""
ZEROS = Map("zeros", ("plain",), "plain")
"""The same constructors with zeros in them."""
JOIN = Map("dual", ("plain", "plain"), "dual")
"""A value and its tangent together."""
TANGENT = Map("tangent", ("dual",), "plain")
"""The tangent, zeros where there is none."""
COTANGENT = Map("cotangent", ("dual",), "plain")
"""The cotangent that has gathered."""
SEED = Map("seed", ("dual",), "unit")
"""Add ones to every cotangent."""
PULL = Map("pull", ("dual", "plain"), "unit")
"""Add the second to the cotangents of the first."""


def accumulate(b: Block, ref: Expr, t: Type, g: Expr) -> None:
    """Add `g` to what a reference holds."""
    held = b.bind(RefRead(ref), t, "g")
    b.bind(RefWrite(ref, b.bind(call("add", held, g), t, "g")), UNIT, "_")


def take(b: Block, ref: Expr, t: Type, again: bool) -> Var:
    """Return what a reference holds; it is zero from then on if cotangents are pulled back `again`."""
    held = b.bind(RefRead(ref), t, "g")
    if again:
        b.bind(RefWrite(ref, b.bind(call("zeros_like", held), t, "z")), UNIT, "_")
    return held


def new_ref(b: Block, like: Expr, t: Type) -> Var:
    """A reference to zeros."""
    from relay.ir.type import RefType

    return b.bind(RefCreate(b.bind(call("zeros_like", like), t, "z")), RefType(t), "r")


def new_tape(b: Block) -> Var:
    """An empty tape."""
    return b.bind(RefCreate(nothing(b)), TAPE, "tape")


def nothing(b: Block) -> Var:
    """Return the value of an empty tape."""
    return b.bind(Function((), Tuple(()), UNIT), TAPE.value, "nothing")


class Structure:
    """Makes the maps of one mode; the functions they need are added to the module."""

    def __init__(self, types: DualTypes, supply: GlobalVarSupply) -> None:
        self.types = types
        self.again = True
        """True if cotangents may be pulled back more than once."""
        self.supply = supply
        self.made: dict[tuple[Map, Type], GlobalVar] = {}
        self.waiting: list[tuple[Map, TypeCall, GlobalVar]] = []

    def type_at(self, role: str, t: Type) -> Type:
        """The type of an argument or result of a map over `t`."""
        return UNIT if role == "unit" else t if role == "plain" else self.types.dual(t)

    def apply(self, m: Map, t: Type, xs: Sequence[Expr], b: Block, span: Span | None = None) -> Expr:
        """The result of a map over values of type `t`; `xs` are variables or constants."""
        inert = self.types.is_inert(t)
        if inert and m.result != "unit" and m not in (ZEROS, COTANGENT, TANGENT):
            return xs[0]
        if m.result == "unit" and inert:
            return Tuple(())
        if inert:
            m = ZEROS
        if isinstance(t, TupleType):
            return self._tuple(m, t, xs, b, span)
        if isinstance(t, TypeCall) and isinstance(t.func, GlobalTypeVar):
            return self._call(m, t, xs, b)
        if is_floating(t):
            return b.bind(self._tensor(m, t, xs, b), self.type_at(m.result, t))
        if isinstance(t, FuncType) and m is PRIMAL:
            return b.bind(self._plain_function(t, xs[0], span), t, "f")
        if m is ZEROS:
            return (
                xs[0]
                if getattr(t, "dtype", "string") == "string"
                else b.bind(call("zeros_like", xs[0]), t, "z")
            )
        if m.result == "unit" or m in (COTANGENT, TANGENT):
            return self.apply(PRIMAL, t, xs[:1], b, span) if m.result != "unit" else Tuple(())
        return no_dual(t, span)

    def _tensor(self, m: Map, t: Any, xs: Sequence[Expr], b: Block) -> Expr:
        """The map of one floating-point tensor."""
        x = xs[0]
        reverse = self.types.mode == "vjp"
        if m is LIFT:
            zeros = b.bind(call("zeros_like", x), t, "z")
            return Tuple((x, b.bind(RefCreate(zeros), self.types.partner(t), "r") if reverse else zeros))
        if m is PRIMAL:
            return TupleGetItem(x, 0)
        if m is ZEROS:
            return call("zeros_like", x)
        if m is JOIN:
            return Tuple((x, xs[1]))
        if m is TANGENT:
            return TupleGetItem(x, 1)
        ref = b.bind(TupleGetItem(x, 1), self.types.partner(t), "r")
        if m is COTANGENT:
            return take(b, ref, t, self.again)
        g = xs[1] if m is PULL else b.bind(call("ones_like", b.bind(TupleGetItem(x, 0), t, "y")), t, "g")
        accumulate(b, ref, t, g)
        return Tuple(())

    def _tuple(self, m: Map, t: TupleType, xs: Sequence[Expr], b: Block, span: Span | None) -> Expr:
        parts: list[Expr] = []
        for i, f in enumerate(t.fields):
            inner = [
                b.bind(TupleGetItem(x, i), self.type_at(role, f))
                for x, role in zip(xs, m.sources, strict=False)
            ]
            parts.append(self.apply(m, f, inner, b, span))
        return Tuple(()) if m.result == "unit" else b.bind(Tuple(tuple(parts)), self.type_at(m.result, t))

    def _plain_function(self, t: FuncType, f: Expr, span: Span | None) -> Expr:
        """A differentiated function as one that takes and returns plain values."""
        inside = Block()
        params = tuple([Var("x", a) for a in t.arg_types])
        args = [self.apply(LIFT, a, [p], inside, span) for p, a in zip(params, t.arg_types, strict=True)]
        more = [new_tape(inside)] if self.types.mode == "vjp" else []
        out = inside.bind(Call(f, (*args, *more)), self.types.dual(t.ret_type), "y")
        return Function(
            params, inside.finish(self.apply(PRIMAL, t.ret_type, [out], inside, span)), t.ret_type
        )

    def _call(self, m: Map, t: TypeCall, xs: Sequence[Expr], b: Block) -> Expr:
        """The map of a data type: a call of the function that does it."""
        key = (m, t)
        if key not in self.made:
            assert isinstance(t.func, GlobalTypeVar)
            self.made[key] = self.supply.fresh_global(f"{t.func.name_hint}_{m.name}")
            self.waiting.append((m, t, self.made[key]))
        return b.bind(Call(self.made[key], tuple(xs)), self.type_at(m.result, t))

    def define_waiting(self) -> None:
        """Define the functions that were asked for, and those that they ask for."""
        while self.waiting:
            m, t, name = self.waiting.pop()
            self.types.mod[name] = self._function(m, t)

    def _function(self, m: Map, t: TypeCall) -> Function:
        """`fn(x) { match (x) { C(a, …) => C(map(a), …), … } }`."""
        sources = m.sources if m.result != "plain" or not self.types.is_inert(t) else ("plain",)
        params = tuple([Var("x", self.type_at(role, t)) for role in sources])
        cons = self.constructors(t)
        clauses = [self._clause(m, t, cons, i, params[1:]) for i in range(len(cons))]
        result = self.type_at(m.result, t)
        free = [v for v in dict.fromkeys(type_post_order(t)) if isinstance(v, TypeVar)]
        body: Expr = Match(params[0], tuple(clauses)) if clauses else params[0]
        return Function(params, body, result, tuple(free))

    def _clause(self, m: Map, t: TypeCall, cons: list[Any], i: int, others: Sequence[Var]) -> Clause:
        c, fields = cons[i]
        b = Block()
        taken = [[Var("a", self.type_at(role, f)) for f in fields] for role in m.sources]
        results = [self.apply(m, f, [v[j] for v in taken], b) for j, f in enumerate(fields)]
        if m.result == "unit":
            result: Expr = Tuple(())
        else:
            result = (
                Call(self._as(m.result, c, t), tuple(results))
                if results
                else Call(self._as(m.result, c, t), ())
            )
        body = b.finish(result)
        for other, role, names in zip(
            reversed(others), reversed(m.sources[1:]), reversed(taken[1:]), strict=True
        ):
            pattern = PatternConstructor(self._as(role, c, t), [PatternVar(v) for v in names])  # pyright: ignore[reportArgumentType]
            body = Match(other, (Clause(pattern, body),), len(cons) == 1)
        first = PatternConstructor(self._as(m.sources[0], c, t), tuple([PatternVar(v) for v in taken[0]]))
        return Clause(first, body)

    def _as(self, role: str, c: Constructor, t: TypeCall) -> Constructor:
        return c if role == "plain" else self.types.constructor(c, t)

    def constructors(self, t: TypeCall) -> list[tuple[Constructor, tuple[Type, ...]]]:
        """Each constructor of a data type with the types of its fields at these arguments."""
        assert isinstance(t.func, GlobalTypeVar)
        data = self.types.mod.type_definitions[t.func]
        by = dict(zip(data.type_vars, t.args, strict=True))
        return [(c, tuple([substitute_type(f, by) for f in c.inputs])) for c in data.constructors]


def no_dual(t: Type, span: Span | None) -> Any:
    """Report a value that cannot be carried into a derivative."""
    fail(
        "unknown-grad-target",
        f"a value of type {t} comes from outside the differentiated function, and is not statically known",
        span=span,
        hint="define the function inside, or take the derivative where the function is known",
    )
