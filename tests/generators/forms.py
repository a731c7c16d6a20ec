"""Random well-formed modules over every form of the language, typed or not: what a text format must carry."""

import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from random import Random
from typing import Any, Literal, get_args, get_origin

import numpy as np

from generators.names import STRINGS, random_constant, random_name, random_value
from relay.ir.dtype import DTYPES
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
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
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
    constant,
)
from relay.ir.module import IRModule, TypeData
from relay.ir.pattern import (
    PatternAs,
    PatternConstructor,
    PatternLiteral,
    PatternOr,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    pattern_vars,
)
from relay.ir.type import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)
from relay.op.attribute import DTypeName, Size, attribute_types
from relay.op.base import Operator
from relay.op.registry import registry

KINDS = (Kind.Type, Kind.Shape, Kind.Dim, Kind.BaseType)
INFIX = (
    "add", "subtract", "multiply", "divide", "mod", "power", "less", "less_equal", "greater", "greater_equal",
    "equal", "not_equal", "negative", "logical_not",
)  # fmt: skip


LITERALS: tuple[Callable[[Random], Constant], ...] = (
    lambda rng: constant(rng.randint(-9, 9)),
    lambda rng: constant(rng.randint(0, 9), rng.choice(["uint8", "int64", "int4"])),
    lambda rng: Constant(np.asarray(rng.randint(-9, 2**40)), None),
    lambda rng: constant(rng.random() < 0.5),
    lambda rng: constant(rng.choice(STRINGS)),
)
"""What patterns may be compared with."""


@dataclass(frozen=True)
class Scope:
    """What may be mentioned: variables, type parameters, and expressions to share."""

    vars: tuple[Var, ...] = ()
    type_vars: tuple[TypeVar, ...] = ()
    shared: tuple[list[Expr], ...] = field(default_factory=lambda: ([],))

    def inside(self, variables: Sequence[Var] = (), type_vars: Sequence[TypeVar] = ()) -> "Scope":
        """A scope within this one that binds more."""
        return Scope((*self.vars, *variables), (*self.type_vars, *type_vars), (*self.shared, []))


def random_module(seed: int, size: int = 30) -> IRModule:
    """A well-formed module of about `size` nodes a definition; every form of the language may occur."""
    return Forms(Random(seed), size).module()


def random_expr(seed: int, size: int = 30) -> tuple[Expr, IRModule]:
    """A well-formed expression, with free variables perhaps, and the module that it is about."""
    forms = Forms(Random(seed), size)
    mod = forms.module()
    free = [forms.var(Scope()) for _ in range(forms.rng.randint(0, 3))]
    return forms.expr(Scope(tuple(free)), size), mod


class Forms:
    """Writes the parts of one module; `size` counts the nodes that an expression may still have."""

    def __init__(self, rng: Random, size: int) -> None:
        self.rng = rng
        self.size = size
        self.mod = IRModule()
        self.globals: dict[GlobalVar, tuple[TypeVar, ...]] = {}
        self.constructors: list[tuple[Constructor, TypeData]] = []
        self.list_constructors: tuple[Constructor, Constructor] | None = None
        self.leaves: list[Callable[[Scope], Expr]] = [
            self.mention, self.mention, self.mention, lambda _: random_constant(rng), self.global_var,
            self.operator_leaf, self.constructor_leaf, lambda _: Tuple(()),
        ]  # fmt: skip
        self.nodes: list[Callable[[Scope, int], Expr]] = [
            self.infix, self.infix, self.infix, self.tuple_, self.projection, self.operator_call,
            self.operator_call,
            self.call, self.call, self.function, self.let, self.let, self.let_function, self.let_rec,
            self.branch,
            self.condition, self.match, self.match, self.reference, self.transformed, self.list_,
        ]  # fmt: skip

    # --- modules ----------------------------------------------------------------------------------------

    def module(self) -> IRModule:
        """Data types first, then the names of all definitions, then their bodies, which may mention any."""
        rng = self.rng
        self.data_types()
        names = dict.fromkeys(random_name(rng, 0.4) for _ in range(rng.randint(1, 4)))
        for name in names:
            self.globals[GlobalVar(name)] = self.type_params(Scope()) if rng.random() < 0.5 else ()
        for var, params in self.globals.items():
            if rng.random() < 0.2 and not params:
                self.mod[var] = self.expr(Scope(), 4)
                if rng.random() < 0.6:
                    self.mod.constant_types[var] = self.type_(Scope(), 2)
            else:
                self.mod[var] = self.lambda_(Scope(), self.size, params, attrs=True)
        return self.mod

    def data_types(self) -> None:
        names = dict.fromkeys(random_name(self.rng).title() for _ in range(self.rng.randint(0, 3)))
        heads = [(GlobalTypeVar(name), self.type_params(Scope())) for name in names if name != "Tensor"]
        for head, params in heads:
            self.mod[head] = TypeData(head, params, (), is_extern=self.rng.random() < 0.3)
        taken: set[str] = set()
        for head, params in heads:
            if self.mod[head].is_extern:
                continue
            cases: list[Constructor] = []
            for _ in range(self.rng.randint(0, 3)):
                name = random_name(self.rng).title()
                if name not in taken and name != head.name_hint:
                    taken.add(name)
                    inputs = [self.type_(Scope((), params), 2) for _ in range(self.rng.randint(0, 3))]
                    named = tuple([f"f{i}" for i in range(len(inputs))]) if self.rng.random() < 0.3 else ()
                    cases.append(Constructor(name, tuple(inputs), head, len(cases), named))
            data = self.mod[head] = TypeData(head, params, tuple(cases))
            self.constructors += [(c, data) for c in data.constructors]
        if (
            self.rng.random() < 0.3
            and not {"Cons", "Nil"} & taken
            and not any(h.name_hint == "List" for h, _ in heads)
        ):
            self.list_type()

    def list_type(self) -> None:
        """The data type that list syntax makes."""
        head, a = GlobalTypeVar("List"), TypeVar("A")
        cons = Constructor("Cons", (a, TypeCall(head, (a,))), head, 0)
        data = self.mod[head] = TypeData(head, (a,), (cons, Constructor("Nil", (), head, 1)))
        self.constructors += [(c, data) for c in data.constructors]
        self.list_constructors = (cons, data.constructors[1])

    # --- types ------------------------------------------------------------------------------------------

    def type_params(self, scope: Scope, most: int = 3) -> tuple[TypeVar, ...]:
        """Fresh type parameters of all kinds, whose names may repeat those around."""
        return tuple(
            [
                TypeVar(random_name(self.rng, 0.1), self.rng.choice(KINDS))
                for _ in range(self.rng.randint(0, most))
            ]
        )

    def of_kind(self, kind: Kind, scope: Scope, depth: int) -> Any:
        """A type, shape, dimension or dtype."""
        known = [v for v in scope.type_vars if v.kind is kind]
        if known and self.rng.random() < 0.5:
            return self.rng.choice(known)
        match kind:
            case Kind.Dim:
                return self.dim(scope, depth)
            case Kind.Shape:
                return tuple([self.dim(scope, depth - 1) for _ in range(self.rng.randint(0, 3))])
            case Kind.BaseType:
                return self.rng.choice(DTYPES)
            case _:
                return self.type_(scope, depth)

    def dim(self, scope: Scope, depth: int) -> Any:
        """A number, `?`, or arithmetic on dimension variables."""
        variables = [v for v in scope.type_vars if v.kind is Kind.Dim]
        if not variables or depth <= 0 or self.rng.random() < 0.4:
            return self.rng.choice([0, 1, 2, 3, 224, 10**4, ANY, *variables, *variables])
        from relay.ir.dim import arithmetic

        op = self.rng.choice(["+", "-", "*", "/", "min", "max", "broadcast"])
        right = (
            self.rng.randint(1, 5) if op == "/" and self.rng.random() < 0.7 else self.dim(scope, depth - 1)
        )
        d = arithmetic(op, self.dim(scope, depth - 1), right)
        return d if not isinstance(d, int) or d >= 0 else -d

    def type_(self, scope: Scope, depth: int) -> Type:
        """A type of kind `Type`."""
        rng = self.rng
        known = [v for v in scope.type_vars if v.kind is Kind.Type]
        if known and rng.random() < 0.3:
            return rng.choice(known)
        form = rng.random() if depth > 0 else 0.0
        if form < 0.45:
            return TensorType(self.of_kind(Kind.Shape, scope, 2), self.of_kind(Kind.BaseType, scope, 0))
        if form < 0.6:
            return TupleType([self.type_(scope, depth - 1) for _ in range(rng.randint(0, 3))])
        if form < 0.7:
            return RefType(self.type_(scope, depth - 1))
        if form < 0.85 and self.mod.type_definitions:
            data = rng.choice(list(self.mod.type_definitions.values()))
            return TypeCall(data.header, [self.of_kind(p.kind, scope, depth - 1) for p in data.type_vars])
        if form < 0.95:
            return self.function_type(scope, depth)
        return TupleType((IncompleteType(),))

    def function_type(self, scope: Scope, depth: int) -> Type:
        params = self.type_params(scope, 2) if self.rng.random() < 0.4 else ()
        inner = scope.inside((), params)
        args = [self.type_(inner, depth - 1) for _ in range(self.rng.randint(0, 2))]
        relations = [self.relation(inner)] if params and self.rng.random() < 0.3 else []
        return FuncType(args, self.type_(inner, depth - 1), params, relations)

    def relation(self, scope: Scope) -> TypeRelation:
        """A constraint by a relation's or an operator's name, with or without arguments."""
        relations: list[tuple[str, int, dict[str, Any]]] = [
            ("Broadcast", 3, {}),
            ("BroadcastCompare", 3, {}),
            ("Identity", 2, {}),
            ("nn.dense", 3, {"units": 4}),
            ("sum", 2, {"axis": (0, 1), "keepdims": True}),
            ("cast", 2, {"dtype": "int8"}),
        ]
        name, count, attrs = self.rng.choice(relations)
        given = self.rng.random() < 0.6
        return TypeRelation(name, [self.type_(scope, 1) for _ in range(count)] if given else None, attrs)

    # --- expressions ------------------------------------------------------------------------------------

    def var(self, scope: Scope) -> Var:
        """A new variable, annotated or not."""
        return Var(random_name(self.rng), self.type_(scope, 2) if self.rng.random() < 0.5 else None)

    def expr(self, scope: Scope, size: int) -> Expr:
        """An expression of at most about `size` nodes; one that was written before may be used again."""
        rng = self.rng
        known = [e for pool in scope.shared for e in pool]
        if known and rng.random() < 0.15:
            return rng.choice(known)
        if size <= 1 or rng.random() < 0.15:
            return rng.choice(self.leaves)(scope)
        e = rng.choice(self.nodes)(scope, size - 1)
        scope.shared[-1].append(e)
        return e

    def split(self, scope: Scope, size: int, count: int) -> list[Expr]:
        """Several expressions that share `size` between them."""
        return [self.expr(scope, size // max(1, count)) for _ in range(count)]

    def mention(self, scope: Scope) -> Expr:
        return self.rng.choice(scope.vars) if scope.vars else random_constant(self.rng)

    def global_var(self, scope: Scope) -> Expr:
        return self.rng.choice(list(self.globals)) if self.globals else Tuple(())

    def operator_leaf(self, scope: Scope) -> Expr:
        return Op.get(self.rng.choice(["add", "negative", "sum", "nn.relu"]))

    def constructor_leaf(self, scope: Scope) -> Expr:
        return self.rng.choice(self.constructors)[0] if self.constructors else Tuple(())

    def infix(self, scope: Scope, size: int) -> Expr:
        name = self.rng.choice(INFIX)
        return Call(
            Op.get(name), tuple(self.split(scope, size, 1 if name in ("negative", "logical_not") else 2))
        )

    def list_(self, scope: Scope, size: int) -> Expr:
        """A list, or a chain of cells before anything."""
        if self.list_constructors is None:
            return self.tuple_(scope, size)
        cons, nil = self.list_constructors
        elements = self.split(scope, size, self.rng.randint(0, 4))
        rest = Call(nil, ()) if self.rng.random() < 0.6 else self.expr(scope, size // 2)
        for e in reversed(elements):
            rest = Call(cons, (e, rest))
        return rest

    def tuple_(self, scope: Scope, size: int) -> Expr:
        return Tuple(tuple(self.split(scope, size, self.rng.randint(0, 3))))

    def projection(self, scope: Scope, size: int) -> Expr:
        return TupleGetItem(self.expr(scope, size), self.rng.choice([0, 1, 2, 10]))

    def operator_call(self, scope: Scope, size: int) -> Expr:
        """Any operator, with the attributes of a sample or random ones."""
        cls = registry[self.rng.choice(sorted(registry))]
        count = len(cls.operands) - self.rng.randint(0, cls.optional)
        return Call(Op.get(cls.name), tuple(self.split(scope, size, count)), self.attributes(cls))

    def attributes(self, cls: type[Operator]) -> dict[str, Any]:
        """Attributes that the operator takes: those of a sample, or of the right types."""
        required = {f.name for f in fields(cls) if f.default is MISSING}  # pyright: ignore[reportArgumentType]
        if cls.samples and self.rng.random() < 0.5:
            return dict(self.rng.choice(cls.samples).attrs)
        found: dict[str, Any] = {}
        for name, hint in attribute_types(cls).items():
            if name in required or self.rng.random() < 0.4:
                found[name] = self.attribute(hint)
        return found

    def attribute(self, hint: Any) -> Any:
        """A value that the annotation of an attribute admits."""
        rng = self.rng
        origin, args = get_origin(hint), get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return self.attribute(rng.choice(args))
        if origin is Literal:
            return rng.choice(args)
        if origin is tuple:
            if len(args) == 2 and args[1] is ...:
                args = (args[0],) * rng.randint(0, 3)
            return tuple([self.attribute(a) for a in args])
        if hint == Size:
            return rng.randint(-5, 5)
        if hint is DTypeName:
            return rng.choice(DTYPES)
        if hint is Any:
            return self.metadata(2)
        by_type: dict[Any, Callable[[], Any]] = {
            bool: lambda: rng.random() < 0.5, int: lambda: rng.randint(-5, 5),
            str: lambda: rng.choice(STRINGS),
            float: lambda: random_value(rng, "float64"),
        }  # fmt: skip
        return by_type[hint]() if hint in by_type else None

    def metadata(self, depth: int) -> Any:
        """An attribute value of a function or of a call that is not an operator's."""
        rng = self.rng
        form = rng.randint(0, 8 if depth else 4)
        if form <= 4:
            return [rng.randint(-5, 2**40), random_value(rng, "float64"), rng.choice(STRINGS), True, None][
                form
            ]
        several = [self.metadata(depth - 1) for _ in range(rng.randint(0, 3))]
        return (
            tuple(several)
            if form < 7
            else several
            if form == 7
            else {f"k{i}": v for i, v in enumerate(several)}
        )

    def call(self, scope: Scope, size: int) -> Expr:
        """A call of a definition, constructor, variable or any expression, perhaps with type arguments."""
        rng = self.rng
        form = rng.random()
        params: Sequence[TypeVar] = ()
        if form < 0.3 and self.globals:
            callee: Expr = rng.choice(list(self.globals))
            params = self.globals[callee]
        elif form < 0.6 and self.constructors:
            callee, data = rng.choice(self.constructors)
            params = data.type_vars
        else:
            callee = self.expr(scope, size // 2)
            params = callee.type_params if isinstance(callee, Function) else ()
        attrs = (
            {random_name(rng): self.metadata(2)} if rng.random() < 0.1 and type(callee) is not Op else None
        )
        type_args = [self.of_kind(p.kind, scope, 2) for p in params] if rng.random() < 0.5 else []
        return Call(callee, tuple(self.split(scope, size // 2, rng.randint(0, 3))), attrs, tuple(type_args))

    def lambda_(
        self, scope: Scope, size: int, type_params: Sequence[TypeVar] | None = None, *, attrs: bool = False
    ) -> Function:
        """A function; its type parameters are new unless given."""
        rng = self.rng
        if type_params is None:
            type_params = self.type_params(scope, 2) if rng.random() < 0.3 else ()
        inner = scope.inside((), type_params)
        params = tuple([self.var(inner) for _ in range(rng.randint(0, 3))])
        relations = [self.relation(inner) for _ in range(rng.randint(0, 2))] if rng.random() < 0.2 else []
        metadata = {random_name(rng): self.metadata(3) for _ in range(rng.randint(0, 2))} if attrs else {}
        body = self.expr(inner.inside(params), size)
        result = self.type_(inner, 2) if rng.random() < 0.5 else None
        return Function(params, body, result, tuple(type_params), metadata, tuple(relations))

    def function(self, scope: Scope, size: int) -> Expr:
        return self.lambda_(scope, size, attrs=self.rng.random() < 0.2)

    def let(self, scope: Scope, size: int) -> Expr:
        var = self.var(scope)
        value = self.expr(scope, size // 2)
        if isinstance(value, Function):
            return self.let_function(scope, size)
        return Let(var, value, self.expr(scope.inside((var,)), size // 2))

    def let_function(self, scope: Scope, size: int) -> Expr:
        """A local function that may call itself."""
        var = self.var(scope)
        inner = scope.inside((var,))
        return Let(var, self.lambda_(inner, size // 2), self.expr(inner, size // 2))

    def let_rec(self, scope: Scope, size: int) -> Expr:
        variables = tuple([self.var(scope) for _ in range(self.rng.randint(2, 3))])
        inner = scope.inside(variables)
        values = tuple([self.lambda_(inner, size // 3) for _ in variables])
        return LetRec(variables, values, self.expr(inner, size // 3))

    def branch(self, scope: Scope, size: int) -> Expr:
        cond = self.expr(scope, size // 3)
        return If(cond, self.expr(scope.inside(), size // 3), self.expr(scope.inside(), size // 3))

    def condition(self, scope: Scope, size: int) -> Expr:
        """`a && b` or `a || b`, which are conditionals."""
        a, b = self.expr(scope, size // 2), self.expr(scope.inside(), size // 2)
        return If(a, b, constant(False)) if self.rng.random() < 0.5 else If(a, constant(True), b)

    def match(self, scope: Scope, size: int) -> Expr:
        data = self.expr(scope, size // 2)
        clauses: list[Clause] = []
        for _ in range(self.rng.randint(1, 3)):
            lhs = self.pattern(scope, 3)
            inner = scope.inside(pattern_vars(lhs))
            rhs = self.expr(inner, size // 4)
            guard = self.expr(inner, size // 4) if self.rng.random() < 0.2 else None
            clauses.append(Clause(lhs, rhs, guard))
        return Match(data, tuple(clauses), self.rng.random() < 0.7)

    def pattern(self, scope: Scope, depth: int) -> Pattern:
        form = self.rng.random() if depth else 0.0
        if form > 0.92:
            return self.pattern_of_values(scope, depth)
        if form > 0.85 and self.list_constructors is not None:
            return self.list_pattern(scope, depth)
        if form < 0.2:
            return PatternWildcard()
        if form < 0.4:
            return PatternVar(self.var(scope) if self.rng.random() < 0.1 else Var(random_name(self.rng)))
        if form < 0.7 and self.constructors:
            constructor = self.rng.choice(self.constructors)[0]
            return PatternConstructor(
                constructor, tuple([self.pattern(scope, depth - 1) for _ in constructor.inputs])
            )
        return PatternTuple(tuple([self.pattern(scope, depth - 1) for _ in range(self.rng.randint(0, 3))]))

    def pattern_of_values(self, scope: Scope, depth: int) -> Pattern:
        """A literal, alternatives that bind the same, or a pattern with a name for all of it."""
        form = self.rng.randint(0, 2)
        if form == 0:
            return PatternLiteral(self.rng.choice(LITERALS)(self.rng))
        if form == 1:
            v = self.var(scope)
            wide = PatternTuple((PatternWildcard(), PatternVar(v)))
            return PatternOr((PatternVar(v), wide, PatternAs(PatternWildcard(), v)))
        return PatternAs(self.pattern(scope, depth - 1), self.var(scope))

    def list_pattern(self, scope: Scope, depth: int) -> Pattern:
        """A list of patterns, or several before a pattern of the rest."""
        assert self.list_constructors is not None
        cons, nil = self.list_constructors
        rest = PatternConstructor(nil) if self.rng.random() < 0.5 else self.pattern(scope, depth - 1)
        for _ in range(self.rng.randint(0, 3)):
            rest = PatternConstructor(cons, (self.pattern(scope, depth - 1), rest))
        return rest

    def reference(self, scope: Scope, size: int) -> Expr:
        form = self.rng.randint(0, 2)
        if form == 0:
            return RefCreate(self.expr(scope, size))
        if form == 1:
            return RefRead(self.expr(scope, size))
        a, b = self.split(scope, size, 2)
        return RefWrite(a, b)

    def transformed(self, scope: Scope, size: int) -> Expr:
        if self.rng.random() < 0.3:
            in_axes = self.rng.choice([0, 1, -1, (0, None), ((1, None), 0)])
            return VMap(self.expr(scope, size), in_axes, self.rng.choice([0, 1, None]))
        return Grad(self.rng.choice(["grad", "vjp", "jvp"]), self.expr(scope, size))
