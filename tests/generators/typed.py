"""Random well-typed programs, fully annotated: closures, recursion that ends, data types, references,
sharing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from relay.ir.expr import (
    Call,
    Clause,
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
    constant,
    literal,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, PatternWildcard
from relay.ir.type import (
    FuncType,
    GlobalTypeVar,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    scalar_type,
)

INT, FLOAT, BOOL = scalar_type("int32"), scalar_type("float32"), scalar_type("bool")
TENSORS = tuple([TensorType(s, "float32") for s in ((2,), (3,), (2, 3), (3, 2), (1,), (0,))])
LIST, OPTION, TREE = GlobalTypeVar("List"), GlobalTypeVar("Option"), GlobalTypeVar("Tree")
DEEPEST_LOOP = 2
"""Loops within loops, and loops that call looping definitions, multiply the time that a program takes."""


@dataclass(frozen=True)
class Scope:
    """The variables by type, expressions that may be shared, and how many loops there are around."""

    vars: tuple[tuple[Var, Type], ...] = ()
    shared: tuple[list[tuple[Expr, Type]], ...] = field(default_factory=lambda: ([],))
    loops: int = 0

    def inside(self, variables: Sequence[Var] = (), loops: int = 0) -> "Scope":
        """A scope within this one that binds more."""
        bound = tuple([(v, v.type_annotation) for v in variables if v.type_annotation is not None])
        return Scope((*self.vars, *bound), (*self.shared, []), self.loops + loops)

    def of_type(self, t: Type) -> list[Expr]:
        """What is at hand of that type."""
        shared = [e for pool in self.shared for e, u in pool if u is t]
        return [*[v for v, u in self.vars if u is t], *shared]


Writer = Callable[[Type, Scope, int], Expr]


class Typed:
    """Writes the definitions of one module; every expression is asked for by its type."""

    least_params = 0
    """How many parameters `@main` has at least."""

    def __init__(self, rng: Random, size: int) -> None:
        self.rng = rng
        self.size = size
        self.mod = IRModule()
        self.constructors = _data_types(self.mod)
        self.helpers: list[tuple[GlobalVar, tuple[Type, ...], Type, bool]] = []
        self.any_type: list[Writer] = [
            self.let, self.let, self.branch, self.project, self.apply_function, self.call_helper,
            self.call_helper,
            self.match_data, self.match_tuple, self.cell, self.polymorphic, self.local_polymorphic, self.loop,
            self.even_odd, self.call_variable,
        ]  # fmt: skip

    def module(self) -> IRModule:
        """Helpers, each of which may call those before it, and `@main`."""
        self.generic_helpers()
        for i in range(self.rng.randint(1, 4)):
            self.helper(f"helper{i}")
        params = [self.fresh(self.value_type(1)) for _ in range(self.rng.randint(self.least_params, 3))]
        result = self.type_(2)
        self.mod["main"] = self.lambda_(params, result, Scope(), self.size)
        return self.mod

    # --- types ------------------------------------------------------------------------------------------

    def value_type(self, depth: int) -> Type:
        """A type of which a caller from outside can give a value."""
        form = self.rng.random() if depth > 0 else 0.0
        if form < 0.6:
            return self.rng.choice([INT, FLOAT, BOOL, *TENSORS])
        if form < 0.75:
            return TupleType([self.value_type(depth - 1) for _ in range(self.rng.randint(0, 3))])
        return TypeCall(self.rng.choice([LIST, OPTION, TREE]), (self.value_type(depth - 1),))

    def type_(self, depth: int) -> Type:
        """Any closed type."""
        form = self.rng.random() if depth > 0 else 0.0
        if form < 0.8:
            return self.value_type(depth)
        if form < 0.93:
            return FuncType([self.type_(depth - 1)], self.type_(depth - 1))
        return RefType(self.value_type(depth - 1))

    def fresh(self, t: Type) -> Var:
        """A new variable of that type; names repeat."""
        return Var(self.rng.choice(["x", "y", "z", "acc", "k"]), t)

    # --- definitions ------------------------------------------------------------------------------------

    def generic_helpers(self) -> None:
        """Definitions that are polymorphic in types, dimensions and dtypes."""
        a = TypeVar("a")
        x = Var("x", a)
        self.mod["id"] = Function((x,), x, a, (a,))
        a, b = TypeVar("a"), TypeVar("b")
        x, y = Var("x", a), Var("y", b)
        self.mod["first"] = Function((x, y), x, a, (a, b))
        a = TypeVar("a")
        x, f = Var("x", a), Var("f", FuncType([a], a))
        self.mod["twice"] = Function((f, x), Call(f, (Call(f, (x,)),)), a, (a,))
        n, bt = TypeVar("n", Kind.Dim), TypeVar("t", Kind.BaseType)
        v, k = Var("v", TensorType((n,), "float32")), Var("k", FLOAT)
        self.mod["scale"] = Function((v, k), Call(Op.get("multiply"), (v, k)), v.type_annotation, (n,))
        n = TypeVar("n", Kind.Dim)
        w = Var("w", TensorType((n,), bt))
        self.mod["twin"] = Function((w,), Tuple((w, w)), TupleType([TensorType((n,), bt)] * 2), (n, bt))

    def helper(self, name: str) -> None:
        """A definition of a random signature; half of them call themselves with a counter that falls."""
        var, result = GlobalVar(name), self.type_(2)
        params = [self.fresh(self.type_(2)) for _ in range(self.rng.randint(0, 3))]
        signature = tuple([p.type_annotation for p in params if p.type_annotation is not None])
        if self.rng.random() < 0.5:
            self.mod[var] = self.lambda_(params, result, Scope(), self.size // 2)
            self.helpers.append((var, signature, result, False))
            return
        counter = Var("n", INT)
        inner = Scope().inside([counter, *params], loops=1)
        fewer = Call(Op.get("subtract"), (counter, constant(1)))
        more = Call(var, (fewer, *[self.expr(t, inner, 3) for t in signature]))
        again = Var("again", result)
        rest = Let(again, more, self.expr(result, inner.inside([again]), self.size // 3))
        stop = Call(Op.get("less_equal"), (counter, constant(0)))
        body = If(stop, self.expr(result, inner.inside(), self.size // 3), rest)
        self.mod[var] = Function((counter, *params), body, result)
        self.helpers.append((var, (INT, *signature), result, True))

    def lambda_(self, params: Sequence[Var], result: Type, scope: Scope, size: int) -> Function:
        """A function of these parameters."""
        return Function(tuple(params), self.expr(result, scope.inside(params), size), result)

    # --- expressions ------------------------------------------------------------------------------------

    def expr(self, t: Type, scope: Scope, size: int) -> Expr:
        """An expression of type `t`, of about `size` nodes."""
        known = scope.of_type(t)
        if known and (size <= 1 or self.rng.random() < 0.25):
            return self.rng.choice(known)
        if size <= 1 or self.rng.random() < 0.5:
            e = self.introduce(t, scope, size - 1)
        else:
            e = self.rng.choice(self.any_type)(t, scope, size - 1)
        if e.children:
            scope.shared[-1].append((e, t))
        return e

    def introduce(self, t: Type, scope: Scope, size: int) -> Expr:
        """What makes a value of just that type."""
        match t:
            case TensorType():
                return self.tensor(t, scope, size)
            case TupleType():
                return Tuple(tuple([self.expr(f, scope, size // len(t.fields)) for f in t.fields]))
            case RefType():
                return RefCreate(self.expr(t.value, scope, size))
            case FuncType():
                if (
                    t.arg_types == (t.ret_type,)
                    and t.ret_type in (FLOAT, *TENSORS)
                    and self.rng.random() < 0.3
                ):
                    return Op.get(self.rng.choice(["tanh", "negative", "nn.relu"]))
                return self.lambda_([self.fresh(a) for a in t.arg_types], t.ret_type, scope, size)
            case _:
                assert isinstance(t, TypeCall)
                return self.data(t, scope, size)

    def tensor(self, t: TensorType, scope: Scope, size: int) -> Expr:
        if size <= 0 or self.rng.random() < 0.2:
            return self.number(t)
        name = self.rng.choice(_OPERATORS.get(t, _TENSOR_OPERATORS))
        types, attrs = _operands(name, t, self.rng)
        args = [self.expr(a, scope, size // len(types)) for a in types]
        return Call(Op.get(name), tuple(args), attrs)

    def number(self, t: TensorType) -> Expr:
        """A constant, or a literal whose dtype the context decides."""
        if t is INT:
            n = self.rng.randint(-3, 9)
            return literal(n) if self.rng.random() < 0.3 else constant(n)
        if t is BOOL:
            return constant(self.rng.random() < 0.5)
        if t is FLOAT and self.rng.random() < 0.3:
            return literal(round(self.rng.uniform(-2, 2), 2))
        from numpy.random import default_rng

        values = default_rng(self.rng.randint(0, 99)).normal(size=t.concrete_shape).round(2)
        return constant(values, "float32")

    def data(self, t: TypeCall, scope: Scope, size: int) -> Expr:
        (item,) = t.args
        empty, full = self.constructors[t.func]
        if size <= 0 or self.rng.random() < 0.3:
            return Call(empty, (), None, t.args)
        fields = [
            item if isinstance(f, TypeVar) else TypeCall(f.func, t.args)
            for f in full.inputs
            if isinstance(f, TypeVar | TypeCall)
        ]
        return Call(full, tuple([self.expr(f, scope, size // len(fields)) for f in fields]), None, t.args)

    def let(self, t: Type, scope: Scope, size: int) -> Expr:
        x = self.fresh(self.type_(2))
        assert x.type_annotation is not None
        value = self.expr(x.type_annotation, scope, size // 2)
        return Let(x, value, self.expr(t, scope.inside([x]), size // 2))

    def branch(self, t: Type, scope: Scope, size: int) -> Expr:
        return self.chosen(self.expr(BOOL, scope, size // 3), t, scope, size)

    def chosen(self, cond: Expr, t: Type, scope: Scope, size: int) -> Expr:
        """What a condition chooses."""
        return If(cond, self.expr(t, scope.inside(), size // 3), self.expr(t, scope.inside(), size // 3))

    def project(self, t: Type, scope: Scope, size: int) -> Expr:
        fields = [self.value_type(0) for _ in range(self.rng.randint(0, 2))]
        index = self.rng.randint(0, len(fields))
        fields.insert(index, t)
        return TupleGetItem(self.expr(TupleType(fields), scope, size), index)

    def apply_function(self, t: Type, scope: Scope, size: int) -> Expr:
        u = self.type_(1)
        f = self.expr(FuncType([u], t), scope, size // 2)
        return Call(f, (self.expr(u, scope, size // 2),))

    def call_variable(self, t: Type, scope: Scope, size: int) -> Expr:
        """A call of a variable that holds a function with that result."""
        at_hand = [(v, u) for v, u in scope.vars if isinstance(u, FuncType) and u.ret_type is t]
        if not at_hand:
            return self.apply_function(t, scope, size)
        f, u = self.rng.choice(at_hand)
        return Call(f, tuple([self.expr(a, scope, size // 2) for a in u.arg_types]))

    def call_helper(self, t: Type, scope: Scope, size: int) -> Expr:
        fitting = [h for h in self.helpers if h[2] is t and (not h[3] or scope.loops < DEEPEST_LOOP)]
        if not fitting:
            return self.let(t, scope, size)
        var, params, _, counts = self.rng.choice(fitting)
        args = [self.expr(p, scope, size // len(params)) for p in params]
        if counts:
            args[0] = self.rounds(3, scope)
        return Call(var, tuple(args))

    def rounds(self, most: int, scope: Scope) -> Expr:
        """How often something is repeated."""
        return constant(self.rng.randint(0, most))

    def match_data(self, t: Type, scope: Scope, size: int) -> Expr:
        """A match with a case for each constructor; the full one may be taken apart further."""
        item = self.value_type(1)
        kind = self.rng.choice([LIST, OPTION, TREE])
        empty, full = self.constructors[kind]
        data = self.expr(TypeCall(kind, (item,)), scope, size // 3)
        types = [item if isinstance(f, TypeVar) else TypeCall(kind, (item,)) for f in full.inputs]
        fields = [self.fresh(f) for f in types]
        inner = scope.inside(fields)
        whole = PatternConstructor(full, tuple([PatternVar(v) for v in fields]))
        clauses = [
            Clause(PatternConstructor(empty), self.expr(t, scope.inside(), size // 3)),
            Clause(whole, self.expr(t, inner, size // 3)),
        ]
        if self.rng.random() < 0.3:
            clauses[0] = Clause(PatternWildcard(), clauses[0].rhs)
            clauses.reverse()
        return Match(data, tuple(clauses))

    def match_tuple(self, t: Type, scope: Scope, size: int) -> Expr:
        types = [self.value_type(1) for _ in range(2)]
        data = self.expr(TupleType(types), scope, size // 2)
        x = self.fresh(types[0])
        pattern = PatternTuple((PatternVar(x), PatternWildcard()))
        return Match(data, (Clause(pattern, self.expr(t, scope.inside([x]), size // 2)),))

    def cell(self, t: Type, scope: Scope, size: int) -> Expr:
        """A cell that is written to and read, in an order that `let` pins."""
        r, done = Var("r", RefType(t)), Var("_", TupleType(()))
        write = RefWrite(r, self.expr(t, scope.inside([r]), size // 3))
        return Let(r, RefCreate(self.expr(t, scope, size // 3)), Let(done, write, RefRead(r)))

    def polymorphic(self, t: Type, scope: Scope, size: int) -> Expr:
        """A call of a generic definition at this type."""
        if (
            t in TENSORS
            and isinstance(t, TensorType)
            and len(t.concrete_shape) == 1
            and self.rng.random() < 0.5
        ):
            args = (self.expr(t, scope, size // 2), self.expr(FLOAT, scope, size // 2))
            if self.rng.random() < 0.5:
                return Call(GlobalVar("scale"), args, None, t.concrete_shape)
            pair = Call(GlobalVar("twin"), args[:1], None, (*t.concrete_shape, "float32"))
            return TupleGetItem(pair, self.rng.randint(0, 1))
        form = self.rng.randint(0, 2)
        if form == 0:
            return Call(GlobalVar("id"), (self.expr(t, scope, size),), None, (t,))
        if form == 1:
            u = self.value_type(1)
            args = (self.expr(t, scope, size // 2), self.expr(u, scope, size // 2))
            return Call(GlobalVar("first"), args, None, (t, u))
        step = self.expr(FuncType([t], t), scope.inside(loops=1), size // 2)
        return Call(GlobalVar("twice"), (step, self.expr(t, scope, size // 2)), None, (t,))

    def local_polymorphic(self, t: Type, scope: Scope, size: int) -> Expr:
        """A local function that is used at two types."""
        a, u = TypeVar("a"), self.value_type(1)
        f, x = Var("f"), Var("x", a)
        inner = scope.inside()
        pair = Tuple(
            (
                Call(f, (self.expr(t, inner, size // 2),), None, (t,)),
                Call(f, (self.expr(u, inner, size // 2),), None, (u,)),
            )
        )
        return Let(f, Function((x,), x, a, (a,)), TupleGetItem(pair, 0))

    def loop(self, t: Type, scope: Scope, size: int) -> Expr:
        """A local function that calls itself as the last thing, a few times."""
        if scope.loops >= DEEPEST_LOOP:
            return self.let(t, scope, size)
        n, acc = Var("n", INT), Var("acc", t)
        f = Var("loop", FuncType([INT, t], t))
        step = self.expr(t, scope.inside([n, acc], loops=1), size // 2)
        fewer = Call(Op.get("subtract"), (n, constant(1)))
        body = If(Call(Op.get("less_equal"), (n, constant(0))), acc, Call(f, (fewer, step)))
        start = Call(f, (self.rounds(4, scope), self.expr(t, scope, size // 2)))
        return Let(f, Function((n, acc), body, t), start)

    def even_odd(self, t: Type, scope: Scope, size: int) -> Expr:
        """Two local functions that call each other."""
        if scope.loops >= DEEPEST_LOOP:
            return self.branch(t, scope, size)
        signature = FuncType([INT, t], t)
        names = [Var("even", signature), Var("odd", signature)]
        values: list[Expr] = []
        for other in reversed(names):
            n, acc = Var("n", INT), Var("acc", t)
            fewer = Call(Op.get("subtract"), (n, constant(1)))
            step = self.expr(t, scope.inside([n, acc], loops=1), size // 3)
            stop = Call(Op.get("less_equal"), (n, constant(0)))
            values.append(Function((n, acc), If(stop, acc, Call(other, (fewer, step))), t))
        start = Call(names[0], (self.rounds(4, scope), self.expr(t, scope, size // 3)))
        return LetRec(tuple(names), tuple(values), start)


_OPERATORS: dict[Type, tuple[str, ...]] = {
    INT: ("add", "subtract", "multiply", "maximum", "cast"),
    FLOAT: ("add", "subtract", "multiply", "tanh", "sum", "cast", "minimum"),
    BOOL: ("less", "equal", "logical_not", "logical_and"),
}
_TENSOR_OPERATORS = ("add", "multiply", "tanh", "nn.relu", "negative", "transpose", "maximum")


def _operands(name: str, t: TensorType, rng: Random) -> tuple[list[Type], dict[str, object]]:
    """Operand types and attributes for an operator whose result is to be `t`."""
    shape = t.concrete_shape
    match name:
        case "cast":
            return [INT if t is FLOAT else BOOL], {"dtype": t.dtype}
        case "sum":
            return [rng.choice(TENSORS)], {}
        case "less" | "equal":
            return [rng.choice([INT, FLOAT])] * 2, {}
        case "logical_not":
            return [BOOL], {}
        case "tanh" | "nn.relu" | "negative":
            return [t], {}
        case "transpose":
            return [TensorType(shape[::-1], "float32")], {}
        case _:
            return [t, t], {}


def _data_types(mod: IRModule) -> dict[Type, tuple[Constructor, Constructor]]:
    """Declares the data types; of each, the constructor without fields and the other."""
    found: dict[Type, tuple[Constructor, Constructor]] = {}
    for head, empty, full, repeats in [
        (LIST, "Nil", "Cons", 1),
        (OPTION, "None_", "Some", 0),
        (TREE, "Leaf", "Node", 2),
    ]:
        a = TypeVar("A")
        cases = (
            Constructor(empty, (), head, 0),
            Constructor(full, (a, *[TypeCall(head, (a,))] * repeats), head, 1),
        )
        mod[head] = TypeData(head, (a,), cases)
        found[head] = cases
    return found
