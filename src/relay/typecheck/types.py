"""The type of an expression of an annotated program, by look-up and operator rules: nothing is inferred."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from relay.diagnostic import Diagnostic, RelayError, fail
from relay.ir.alias import expanded
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
    VMap,
)
from relay.ir.module import IRModule
from relay.ir.subst import substitute_type
from relay.ir.type import HAS_INCOMPLETE, UNIT, FuncType, RefType, TupleType, Type
from relay.ir.type_base import HAS_ERROR
from relay.op.base import Operator
from relay.typecheck.closed import Closed, applied, declared_constraints
from relay.typecheck.goals import Givens, relation_goal
from relay.typecheck.grads import grad_type
from relay.typecheck.join import join_closed
from relay.typecheck.schemes import declared_type
from relay.typecheck.session import Session
from relay.typecheck.solver import Solver, remembered
from relay.typecheck.unknown import ERROR, Mismatch, has_unknown, head, zonk
from relay.typecheck.vmaps import polymorphic_vmap_type

_NAMED = (Var, GlobalVar, Constructor, Function, Grad, VMap)
"""Callees whose calls say their type arguments."""


class Unannotated(RelayError):  # noqa: N818
    """A type that only inference can find."""

    def __init__(self, e: Expr) -> None:
        """`e` is the node without a type."""
        hint = "infer the module first: `infer(mod)`"
        super().__init__(Diagnostic("not-annotated", "this has no type yet", e.span, hint=hint))


class Types:
    """`Types(mod)(e)`: the type of `e`, memoised by node.

    Raises `RelayError` where an operator's relation fails, `Unannotated` where an annotation is missing.
    """

    def __init__(self, mod: IRModule | None = None, others: Iterable[IRModule] = ()) -> None:
        """Names are looked up in `mod`, then in `others`."""
        self.modules = (*others,) if mod is None else (mod, *others)
        self.known: dict[Expr, Type] = {}
        self.globals: dict[GlobalVar, Type] = {}
        self._givens: Givens = None
        self._has_givens = False

    def __call__(self, e: Expr) -> Type:
        """The type of an expression."""
        found = self.leaf(e)
        if found is not None:
            return found
        known, leaf = self.known, self.leaf
        stack = [e]
        while stack:
            e = stack[-1]
            if e in known:
                stack.pop()
            elif type(e) is Let or type(e) is LetRec:
                self.chain(e, stack)
            elif type(e) is Call and type(e.op) is Op:
                types = [leaf(a) for a in e.args]
                missing = [a for a, t in zip(e.args, types, strict=True) if t is None]
                if missing:
                    missing.reverse()
                    stack += missing
                else:
                    stack.pop()
                    known[e] = self.operator_call(e.attrs, tuple([t for t in types if t is not None]), e)
            else:
                missing = [c for c in needed(e) if leaf(c) is None]
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
        """The type of a node that says it itself, or that is known already; None for other nodes."""
        if type(e) is Var:
            t = e.type_annotation
            if t is None or t.flags & HAS_INCOMPLETE:
                raise Unannotated(e)
            return expanded(t)
        t = self.known.get(e)
        if t is None:
            find = _LEAVES.get(type(e))
            return None if find is None else find(self, e)
        return t

    def here(self, e: Expr) -> Type:
        """The type of a child whose type has been found."""
        t = self.leaf(e)
        assert t is not None
        return t

    def rule(self, e: Expr) -> Type:
        """The type of a node whose parts have theirs."""
        match e:
            case Call():
                return self.result(e)
            case Tuple(fields=fields):
                return TupleType([self.here(f) for f in fields])
            case TupleGetItem():
                return self.field(e)
            case If():
                return self.joined(e, (e.true_branch, e.false_branch))
            case Match():
                return self.joined(e, [c.rhs for c in e.clauses])
            case RefCreate(value=value):
                return RefType(self.here(value))
            case RefRead(ref=r):
                t = self.here(r)
                if not isinstance(t, RefType):
                    fail("expected-ref", f"expected a reference, found {t}", e.span)
                return t.value
            case Grad(kind=kind, function=f):
                t = self.here(f)
                if not isinstance(t, FuncType):
                    raise Unannotated(e)
                return grad_type(kind, t)
            case VMap(function=f):
                t = self.here(f)
                if not isinstance(t, FuncType):
                    raise Unannotated(e)
                return polymorphic_vmap_type(e, t)
            case _:
                fail("temporary-node", f"{type(e).__name__} belongs to a pass and has no type", e.span)

    # --- names --------------------------------------------------------------------------------------------

    def constant(self, e: Constant) -> Type:
        """The type of a constant."""
        if e.type is None:
            raise Unannotated(e)
        return e.type

    def function(self, e: Function) -> Type:
        """The type of a function as it is written."""
        t = declared_type(e)
        if t is None:
            raise Unannotated(e)
        self.known[e] = t
        return t

    def global_(self, v: GlobalVar) -> Type:
        """The type of a definition as it is written."""
        known = self.globals.get(v)
        if known is not None:
            return known
        for mod in self.modules:
            e = mod.functions.get(v)
            if e is not None:
                t = declared_type(e) if isinstance(e, Function) else mod.constant_types.get(v)
                if t is None:
                    raise Unannotated(v)
                self.globals[v] = t
                return t
        hint = "a module knows the types of its definitions: `mod.type_of(e)`"
        if any(mod.functions for mod in self.modules):
            fail("unknown-global", f"the module has no `@{v.name}`", v.span, hint=hint)
        fail("unknown-global", f"no module is given that defines `@{v.name}`", v.span, hint=hint)

    def constructor(self, c: Constructor) -> Type:
        """The type of a constructor as a function."""
        for mod in self.modules:
            data = mod.type_definitions.get(c.belong_to)
            if data is not None:
                return data.constructor_type(c)
        message = f"the module has no type `{c.belong_to.name}`, which `{c.name}` belongs to"
        fail("unknown-type", message, c.span)

    def operator(self, op: Op) -> Type:
        """The most general type of an operator as a value."""
        t = self.known[op] = Session(IRModule()).operator(op)
        return t

    # --- rules --------------------------------------------------------------------------------------------

    def operator_call(self, op: Operator, types: tuple[Type, ...], e: Expr) -> Type:
        """What an operator makes of operands of these types."""
        known = remembered(op, types)
        return self.solve(lambda s: s.apply(op, types, e), e) if known is None else known

    def solve(self, ask: Callable[[Solver], Any], at: Expr) -> Type:
        """Run a relation on closed types; if it stays open, with the constraints that functions declare."""
        out = self._asked(ask, None)
        if has_unknown(out) and self.givens is not None:
            out = self._asked(ask, self.givens)
        if has_unknown(out) or out is ERROR or out.flags & HAS_ERROR:
            raise Unannotated(at)
        return out

    def _asked(self, ask: Callable[[Solver], Any], givens: Givens) -> Type:
        solver = Closed(givens)
        out = head(ask(solver))
        solver.settle()
        solver.report.check()
        return zonk(out)

    @property
    def givens(self) -> Givens:
        """The constraints that the functions of the modules declare."""
        if not self._has_givens:
            self._givens, self._has_givens = declared_constraints(self.modules), True
        return self._givens

    def field(self, e: TupleGetItem) -> Type:
        """A field of a tuple, or of what only a constraint says to be one."""
        t = self.here(e.tuple_value)
        if isinstance(t, TupleType) and e.index < len(t.fields):
            return t.fields[e.index]

        def ask(s: Solver) -> Any:
            out = s.fresh("type")
            s.post(relation_goal("Field", (t, out), (("index", e.index),), e))
            return out

        return self.solve(ask, e)

    def result(self, e: Call) -> Type:
        """The type of a call of a function."""
        t = self.here(e.op)
        if isinstance(t, FuncType) and len(e.written_type_args) == len(t.type_params):
            return substitute_type(t.ret_type, dict(zip(t.type_params, e.written_type_args, strict=True)))
        return self.signature(e).ret_type

    def signature(self, e: Call) -> FuncType:
        """The type of the callee in this call: with the type arguments put in, or as the arguments decide."""
        t = self.here(e.op)
        if not isinstance(t, FuncType):
            fail("expected-function", f"what is called is {t}", e.span)
        if len(e.written_type_args) == len(t.type_params):
            by = dict(zip(t.type_params, e.written_type_args, strict=True))
            return substitute_type(FuncType(t.arg_types, t.ret_type, (), t.type_constraints), by)
        made = None
        if not e.written_type_args and not says_type_args(e.op):
            with suppress(Mismatch):
                made = applied(t, [self.here(a) for a in e.args], self.givens)
        if made is None or has_unknown(made):
            raise Unannotated(e)
        return made

    def joined(self, e: Expr, branches: Sequence[Expr]) -> Type:
        """The type of one of several branches; sizes that differ are `?`."""
        if not branches:
            raise Unannotated(e)
        result = self.here(branches[0])
        for b in branches[1:]:
            t = self.here(b)
            result = result if t is result else join_closed(result, t)
        return result


_LEAVES: dict[type, Callable[[Types, Any], Type]] = {
    Constant: Types.constant,
    Function: Types.function,
    GlobalVar: Types.global_,
    Constructor: Types.constructor,
    Op: Types.operator,
    RefWrite: lambda types, e: UNIT,
}


def says_type_args(callee: Expr) -> bool:
    """Whether calls of a polymorphic callee have type arguments; those of operators have none."""
    return isinstance(callee, _NAMED) and not (isinstance(callee, Grad) and isinstance(callee.function, Op))


def needed(e: Expr) -> Sequence[Expr]:
    """The children whose types the type of `e` depends on."""
    match e:
        case Call(op=op):
            return (op,) if says_type_args(op) else e.children
        case If():
            return (e.true_branch, e.false_branch)
        case Match():
            return [c.rhs for c in e.clauses]
        case _:
            return e.children
