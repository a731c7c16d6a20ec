"""The type of an expression of an annotated program, by look-up and operator rules; nothing is inferred again.

Where annotations are missing, `type_of` falls back on inference.
"""

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, proxy

from relay.diagnostic import Diagnostic, RelayError, Report, fail
from relay.ir import hooks
from relay.ir.collector import paused
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
    LetRec,
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
from relay.ir.type import (
    ANY,
    HAS_INCOMPLETE,
    UNIT,
    FuncType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeVar,
)
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.typecheck.grads import grad_type
from relay.typecheck.infer import Session, declared_type, infer_expr, recent, type_of_global
from relay.typecheck.literals import class_members
from relay.typecheck.solver import Fault, Solver, relation_goal, remembered
from relay.typecheck.unify import ERROR, HAS_ERROR, has_unknown, head, zonk

_memos: "WeakKeyDictionary[IRModule, tuple[tuple[Any, ...], Types]]" = WeakKeyDictionary()


class Unannotated(RelayError):
    """A type that only inference can find."""

    def __init__(self, e: Any = None) -> None:
        """`e` is the node without a type."""
        super().__init__(
            Diagnostic(
                "not-annotated",
                "this has no type yet",
                getattr(e, "span", None),
                hint="infer the module first: `infer(mod)`",
            )
        )


class Types:
    """`Types(mod)(e)`: the type of `e`, memoised by node.

    Raises `RelayError` where an operator's relation fails, `Unannotated` where an annotation is missing.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        """Without a module, definitions are looked for in the modules that were inferred last."""
        self.mod = mod
        self.known: dict[Expr, Type] = {}
        self.globals: dict[GlobalVar, Type] = {}
        self.givens: Any = None
        self.has_givens = False

    def __call__(self, e: Expr) -> Type:
        """The type of an expression."""
        found = self.leaf(e)
        if found is not None:
            return found
        known = self.known
        stack = [e]
        while stack:
            e = stack[-1]
            if e in known:
                stack.pop()
                continue
            if type(e) is Let or type(e) is LetRec:
                self.chain(e, stack)
                continue
            missing = [c for c in needed(e) if c not in known and self.leaf(c) is None]
            if missing:
                missing.reverse()
                stack += missing
            else:
                stack.pop()
                known[e] = self.rule(e)
        return known[e]

    def chain(self, e: Expr, stack: list[Expr]) -> None:
        """A `let` chain has the type of what it ends in."""
        lets: list[Expr] = []
        while isinstance(e, Let | LetRec) and e not in self.known:
            lets.append(e)
            e = e.body
        t = self.leaf(e)
        if t is None:
            stack.append(e)
        else:
            self.known.update(dict.fromkeys(lets, t))

    type_of = __call__

    def __getitem__(self, e: Expr) -> Type:
        return self(e)

    def leaf(self, e: Expr) -> Type | None:
        """The type of a node that says it itself; None for other nodes."""
        match e:
            case Var(type_annotation=t):
                if t is None or t.flags & HAS_INCOMPLETE:
                    raise Unannotated(e)
                return t
            case Constant(type=t):
                if t is None:
                    raise Unannotated(e)
                return t
            case Call() | Let():
                return self.known.get(e)
            case Function():
                t = declared_type(e)
                if t is None:
                    raise Unannotated(e)
                return t
            case GlobalVar():
                return self.globals[e] if e in self.globals else self.global_type(e)
            case Constructor():
                return self.constructor_type(e)
            case Op():
                return self.known[e] if e in self.known else self.operator_type(e)
            case RefWrite():
                return UNIT
            case _:
                return self.known.get(e)

    def here(self, e: Expr) -> Type:
        """The type of a child whose type has been found."""
        found = self.known.get(e)
        t = self.leaf(e) if found is None else found
        assert t is not None
        return t

    def rule(self, e: Expr) -> Type:
        """The type of a node whose parts have theirs."""
        match e:
            case Call(op=Op()):
                return self.operator_call(e.attrs, tuple([self.here(a) for a in e.args]), e)
            case Call():
                return self.call(e)
            case Tuple(fields=fields):
                return TupleType([self.here(f) for f in fields])
            case TupleGetItem(tuple_value=value, index=index):
                t = self.here(value)
                if isinstance(t, TupleType) and index < len(t.fields):
                    return t.fields[index]
                return self.stuck_field(t, e)
            case If():
                return self.joined([self.here(e.true_branch), self.here(e.false_branch)])
            case Match():
                return self.joined([self.here(c.rhs) for c in e.clauses])
            case RefCreate(value=value):
                return RefType(self.here(value))
            case RefRead(ref=r):
                t = self.here(r)
                if not isinstance(t, RefType):
                    fail("expected-ref", f"expected a reference, found {t}", e.span)
                return t.value
            case Grad(kind=kind, function=f):
                t = self.here(f)
                if not isinstance(t, FuncType) or t.type_params:
                    raise Unannotated(e)
                return grad_type(kind, t)
            case _:
                fail("temporary-node", f"{type(e).__name__} belongs to a pass and has no type", e.span)

    # --- names ------------------------------------------------------------------------------------------------

    def modules(self) -> Iterator[IRModule]:
        """Where names are looked up."""
        if self.mod is not None:
            yield self.mod
            return
        for r in reversed(recent):
            mod = r()
            if mod is not None:
                yield mod

    def global_type(self, v: GlobalVar) -> Type:
        """The type of a definition as it is written."""
        for mod in self.modules():
            e = mod.functions.get(v)
            if e is None:
                continue
            t = declared_type(e) if isinstance(e, Function) else mod.constant_types.get(v)
            if t is None:
                raise Unannotated(v)
            self.globals[v] = t
            return t
        if self.mod is None:
            hint = "a module knows the types of its definitions: `mod.type_of(e)`"
            fail("unknown-global", f"no module is given that defines `@{v.name}`", v.span, hint=hint)
        fail("unknown-global", f"the module has no `@{v.name}`", v.span)

    def constructor_type(self, c: Constructor) -> Type:
        """The type of a constructor as a function."""
        for mod in self.modules():
            data = mod.type_definitions.get(c.belong_to)
            if data is not None:
                return data.constructor_type(c)
        fail(
            "unknown-type",
            f"the module has no type `{c.belong_to.name}`, which `{c.name}` belongs to",
            c.span,
        )

    def operator_type(self, op: Op) -> Type:
        """The most general type of an operator as a value."""
        t = self.known[op] = Session(IRModule()).operator(op)
        return t

    # --- rules ------------------------------------------------------------------------------------------------

    def operator_call(self, op: Operator, types: tuple[Type, ...], e: Expr) -> Type:
        """What an operator makes of operands of these types."""
        known = remembered(op, types)
        return self.solve(lambda s: s.apply(op, types, e)) if known is None else known

    def solve(self, ask: Any) -> Type:
        """Run a relation on closed types."""
        report = Report()
        solver = _Closed(report)
        out = head(ask(solver))
        if has_unknown(zonk(out)) and not report.errors:
            if not self.has_givens:
                self.find_givens()
            if self.givens is not None:
                solver = _Closed(report)
                solver.givens = self.givens
                out = head(ask(solver))
        solver.settle()
        report.check()
        out = zonk(out)
        if has_unknown(out) or out is ERROR or out.flags & HAS_ERROR:
            raise Unannotated(out)
        return out

    def stuck_field(self, t: Type, e: TupleGetItem) -> Type:
        """A field of what only a constraint says to be a tuple."""

        def ask(s: Solver) -> Any:
            out = s.fresh("type")
            s.post(relation_goal("Field", (t, out), (("index", e.index),), e))
            return out

        return self.solve(ask)

    def find_givens(self) -> None:
        """The constraints that the functions of the module declare; their type parameters say where they hold."""
        self.has_givens = True
        for mod in self.modules():
            for root in mod.functions.values():
                for e in post_order(root):
                    if isinstance(e, Function) and e.constraints:
                        self.add_givens(e)

    def add_givens(self, fn: Function) -> None:
        """Assume what a function declares."""
        t = declared_type(fn)
        for c in fn.constraints:
            if class_members(c.name, c.attrs) is None and t is not None:
                try:
                    goal = relation_goal(
                        c.name, (*t.arg_types, t.ret_type) if c.args is None else c.args, c.attrs, fn
                    )
                except Fault:
                    continue
                goal.is_given = True
                self.givens = (goal, self.givens)

    def call(self, e: Call) -> Type:
        """A call of a function: its result with the type arguments put in."""
        t = self.here(e.op)
        if not isinstance(t, FuncType):
            fail("expected-function", f"what is called is {t}", e.span)
        if not t.type_params:
            return t.ret_type
        if len(e.type_args) != len(t.type_params):
            raise Unannotated(e)
        return substitute_type(t.ret_type, dict(zip(t.type_params, e.type_args, strict=True)))

    def joined(self, types: list[Type]) -> Type:
        """The type of one of several branches; sizes that differ are `?`."""
        if not types:
            raise Unannotated
        result = types[0]
        for t in types[1:]:
            if t is not result:
                result = join_closed(result, t)
        return result


class _Closed(Solver):
    """A solver for closed types: what a type parameter must be, its function declares."""

    def need_class(self, t: TypeVar, allowed: frozenset[str]) -> None:
        """See `Unifier`."""

    def check_class(self, t: Any, allowed: frozenset[str], is_literal: bool = False) -> None:
        """See `Unifier`."""
        if isinstance(t, str):
            super().check_class(t, allowed, is_literal)


def needed(e: Expr) -> tuple[Expr, ...]:
    """The children whose types the type of `e` depends on."""
    match e:
        case Call(op=Op(), args=args):
            return args
        case Call(op=op):
            return (op,)
        case If():
            return (e.true_branch, e.false_branch)
        case Match():
            return tuple([c.rhs for c in e.clauses])
        case Function():
            return ()
        case _:
            return e.children


def join_closed(a: Type, b: Type) -> Type:
    """The join of two closed types that have been checked: sizes that differ are `?`, an instance beats its scheme."""
    done: dict[tuple[Type, Type], Type] = {}
    stack = [(a, b)]
    while stack:
        x, y = stack[-1]
        if (
            isinstance(x, TupleType)
            and isinstance(y, TupleType)
            and x is not y
            and len(x.fields) == len(y.fields)
        ):
            pairs = list(zip(x.fields, y.fields, strict=True))
            missing = [p for p in pairs if p not in done]
            if missing:
                stack += missing
                continue
            done[x, y] = TupleType([done[p] for p in pairs])
        elif (
            isinstance(x, TensorType)
            and isinstance(y, TensorType)
            and isinstance(x.shape, tuple)
            and isinstance(y.shape, tuple)
            and len(x.shape) == len(y.shape)
        ):
            dims = [m if m == n else ANY for m, n in zip(x.shape, y.shape, strict=True)]
            done[x, y] = TensorType(dims, x.dtype)
        else:
            done[x, y] = y if isinstance(x, FuncType) and x.type_params else x
        stack.pop()
    return done[a, b]


def type_of(e: Expr, mod: IRModule | None = None) -> Type:
    """The type of an expression: of an annotated program by look-up, else by inference.

    Raises `RelayError` where it is ill-typed, or where nothing decides its type.
    """
    types = _types_of(mod)
    try:
        return types(e)
    except Unannotated:
        pass
    if mod is not None:
        if isinstance(e, GlobalVar):
            return type_of_global(e, mod)
        with paused():
            found = Session(mod).watched(e)
        if found is not None:
            return found
    annotated = infer_expr(e, mod)
    if mod is not None:
        used = [v for v in post_order(annotated) if isinstance(v, GlobalVar) and v not in types.globals]
        types.globals.update({v: type_of_global(v, mod) for v in used})
    try:
        return types(annotated)
    except Unannotated:
        fail(
            "ambiguous-type",
            "nothing decides the type of this expression",
            e.span,
            hint="annotate its variables",
        )


def _types_of(mod: IRModule | None) -> Types:
    """The memo of a module while its definitions stay what they are."""
    if mod is None:
        return Types()
    now = (*mod.functions.values(), *mod.type_definitions.values())
    known = _memos.get(mod)
    if (
        known is not None
        and len(known[0]) == len(now)
        and all(a is b for a, b in zip(known[0], now, strict=True))
    ):
        return known[1]
    types = Types(proxy(mod))
    _memos[mod] = (now, types)
    return types


hooks.checked_type = type_of
