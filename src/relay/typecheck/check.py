"""Verify an annotated module, independently of how it came to be annotated.

A plain bottom-up walk: every name is in scope and bound once, every binder and result has its type, and at each
place the value's type (by `query.Types`) is one that the place accepts.
"""

from collections.abc import Iterable
from typing import Any

from relay.diagnostic import Diagnostic, RelayError, Report
from relay.ir.collector import paused
from relay.ir.expr import (
    Call,
    Constant,
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
    RefWrite,
    TempExpr,
    Var,
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, pattern_vars
from relay.ir.subst import substitute_type
from relay.ir.type import BOOL, HAS_BINDER, FuncType, RefType, TupleType, Type, TypeCall, TypeVar
from relay.ir.walk import post_order
from relay.typecheck.exhaustive import pattern_text, unmatched_cases
from relay.typecheck.infer import declared_type
from relay.typecheck.kinds import check_kinds, check_relation
from relay.typecheck.literals import class_members
from relay.typecheck.query import Types
from relay.typecheck.solver import Fault, Solver, relation_goal
from relay.typecheck.unify import Mismatch, Unknown, has_unknown, kind_of, zonk


def check(mod: IRModule) -> None:
    """Raise every fault of an annotated module (`RelayError`); nothing if it is well-formed and well-typed."""
    with paused():
        checker = _Checker(mod)
        for v, e in mod.functions.items():
            checker.definition(v, e)
        checker.report.check()


class _Checker:
    """One run over a module."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.report = Report()
        self.types = Types(mod)
        self.bound: set[Var] = set()
        self.kinds_seen: set[Any] = set()
        self.classes: dict[TypeVar, frozenset[str]] = {}

    def error(self, code: str, message: str, at: Any, hint: str = "") -> None:
        self.report.add(Diagnostic(code, message, at.span, hint=hint))

    def definition(self, v: GlobalVar, root: Expr) -> None:
        before = len(self.report.diagnostics)
        self.scopes(root)
        nodes = list(post_order(root))
        for e in nodes:
            self.annotated(e)
        if len(self.report.diagnostics) > before:
            return
        for e in nodes:
            if isinstance(e, Function):
                self.declare(e)
        for e in nodes:
            try:
                self.place(e)
            except RelayError as error:
                for d in error.diagnostics:
                    self.report.add(d)
        if isinstance(root, Function):
            return
        wanted = self.mod.constant_types.get(v)
        if wanted is None:
            self.error("not-annotated", f"the constant `@{v.name}` has no type", root)
        else:
            self.accepts(wanted, root, f"`@{v.name}`")

    # --- names ------------------------------------------------------------------------------------------------

    def scopes(self, root: Expr) -> None:
        """Every variable is used inside the scope of its one binder."""
        scope: set[Var] = set()
        seen: set[Expr] = set()
        stack: list[Any] = [root]
        while stack:
            step = stack.pop()
            if isinstance(step, tuple):
                enter, several = step
                for v in several:
                    if enter:
                        self.bind(v, scope)
                    else:
                        scope.discard(v)
                continue
            e: Expr = step
            if isinstance(e, Var):
                if e not in scope:
                    self.error(
                        "unbound-variable",
                        f"`%{e.name}` is not in scope here",
                        e,
                        "bind it with `let`, or make it a parameter",
                    )
                    scope.add(e)
                continue
            if e in seen:
                continue
            seen.add(e)
            stack += reversed(_steps(e))

    def bind(self, v: Var, scope: set[Var]) -> None:
        if v in self.bound:
            self.error(
                "duplicate-binder",
                f"the variable object `%{v.name}` is bound in two places",
                v,
                "each `Var` object is one binding site: make a second one",
            )
        self.bound.add(v)
        scope.add(v)

    # --- annotations ------------------------------------------------------------------------------------------

    def annotated(self, e: Expr) -> None:
        """Every binder and result has a type, and the types are well-kinded."""
        match e:
            case TempExpr():
                self.error("temporary-node", f"{type(e).__name__} belongs to a pass and has no type", e)
            case Function():
                for p in e.params:
                    self.written(p.type_annotation, p, f"`%{p.name}`")
                self.written(e.ret_type, e, "the result")
                for c in e.constraints:
                    check_relation(c, lambda code, message, hint: self.error(code, message, e, hint))
            case Let():
                self.written(e.var.type_annotation, e.var, f"`%{e.var.name}`")
            case LetRec():
                for v in e.vars:
                    self.written(v.type_annotation, v, f"`%{v.name}`")
            case Match():
                for v in (v for c in e.clauses for v in pattern_vars(c.lhs)):
                    self.written(v.type_annotation, v, f"`%{v.name}`")
            case Constant(type=None):
                self.error("not-annotated", "the base type of this literal is not decided", e)
            case GlobalVar() if e not in self.mod.functions:
                self.error("unknown-global", f"the module has no `@{e.name}`", e)
            case _:
                pass

    def written(self, t: Type | None, at: Any, what: str) -> None:
        if t is None or has_unknown(t):
            self.error("not-annotated", f"{what} has no type", at)
        elif t not in self.kinds_seen:
            self.kinds_seen.add(t)
            check_kinds(
                t,
                self.mod,
                lambda code, message, hint: self.error(code, message, at, hint),
                self.kinds_seen,
                may_be_polymorphic=True,
            )

    def declare(self, fn: Function) -> None:
        """Remember which base types the constraints of a function allow its parameters."""
        for c in fn.constraints:
            members = class_members(c.name, c.attrs)
            if members is not None and c.args is not None and isinstance(c.args[0], TypeVar):
                known = self.classes.get(c.args[0])
                self.classes[c.args[0]] = members if known is None else known & members

    # --- places -----------------------------------------------------------------------------------------------

    def place(self, e: Expr) -> None:
        """What a node's type says about its parts."""
        match e:
            case Call(op=Op()):
                self.types(e)
            case Call():
                self.call(e)
            case Function():
                assert e.ret_type is not None
                self.accepts(e.ret_type, e.body, "the result")
            case Let():
                assert e.var.type_annotation is not None
                self.accepts(e.var.type_annotation, e.value, f"`%{e.var.name}`")
            case LetRec():
                for v, value in zip(e.vars, e.values, strict=True):
                    assert v.type_annotation is not None
                    self.accepts(v.type_annotation, value, f"`%{v.name}`")
            case If():
                self.accepts(BOOL, e.cond, "the condition")
                self.branches(e, [e.true_branch, e.false_branch])
            case Match():
                self.match(e)
            case RefWrite():
                t = self.types(e.ref)
                if not isinstance(t, RefType):
                    self.error("expected-ref", f"expected a reference, found {t}", e)
                else:
                    self.accepts(t.value, e.value, "what is written", strict=True)
            case Grad():
                if not isinstance(self.types(e.function), FuncType):
                    self.error("unknown-grad-target", f"`{e.kind}` needs a function", e)
            case Var() | GlobalVar() | Op():
                pass
            case _:
                self.types(e)

    def accepts(self, wanted: Type, e: Expr, what: str, *, strict: bool = False) -> None:
        """Demand that a place for `wanted` takes the value of `e`."""
        found = self.types(e)
        if found is not wanted and not agrees(wanted, found, strict=strict):
            self.error("type-mismatch", f"{what}: expected {wanted}, found {found}", e)

    def branches(self, at: Expr, several: list[Expr]) -> None:
        types = [self.types(b) for b in several]
        for t in types[1:]:
            if t is not types[0] and not agrees(types[0], t, is_branch=True):
                self.error("type-mismatch", f"the branches differ: {types[0]} and {t}", at)

    def call(self, e: Call) -> None:
        """Arguments agree with parameters, and the callee's constraints hold."""
        t = self.types(e.op)
        if not isinstance(t, FuncType):
            self.error("expected-function", f"what is called is {t}", e)
            return
        if len(e.type_args) != len(t.type_params):
            self.error(
                "type-args", f"{len(e.type_args)} type arguments for {len(t.type_params)} type parameters", e
            )
            return
        by = dict(zip(t.type_params, e.type_args, strict=True))
        for p, a in by.items():
            if kind_of(a) is not p.kind:
                self.error("kind-mismatch", f"type argument {a} for `{p.name}: {p.kind.name}`", e)
                return
        params = [substitute_type(a, by) for a in t.arg_types]
        if len(params) != len(e.args):
            self.error("arity", f"{len(params)} parameters, {len(e.args)} arguments", e)
            return
        for i, (p, a) in enumerate(zip(params, e.args, strict=True)):
            self.accepts(p, a, f"argument {i + 1}")
        whole = (*params, substitute_type(t.ret_type, by))
        for c in t.type_constraints:
            args = whole if c.args is None else substitute_type(c, by).args
            self.holds(c.name, args, c.attrs, e)

    def holds(self, name: str, args: Any, attrs: Any, e: Expr) -> None:
        """Demand a constraint of types without unknowns."""
        members = class_members(name, attrs)
        if members is not None:
            (t,) = args
            if not (t in members if isinstance(t, str) else self.classes.get(t, frozenset({"*"})) <= members):
                self.error("constraint-not-met", f"this call needs `{name}<{t}>`, which does not hold", e)
            return
        solver = _Ground(Report())
        if not self.types.has_givens:
            self.types.find_givens()
        solver.givens = self.types.givens
        try:
            goal = relation_goal(name, args, attrs, e)
        except Fault as f:
            self.error(f.code, f.message, e, f.hint)
            return
        solver.post(goal)
        if solver.report.errors or not goal.done:
            self.error("constraint-not-met", f"this call needs the relation `{name}`, which does not hold", e)

    def match(self, e: Match) -> None:
        t = self.types(e.data)
        for c in e.clauses:
            self.pattern(c.lhs, t)
        self.branches(e, [c.rhs for c in e.clauses])
        missing = unmatched_cases(e, self.mod) if e.complete else []
        if missing:
            self.error("missing-case", f"this match does not cover `{pattern_text(missing[0])}`", e)

    def pattern(self, root: Pattern, t: Type) -> None:
        """A pattern takes apart a value of type `t`."""
        stack: list[tuple[Pattern, Type]] = [(root, t)]
        while stack:
            p, t = stack.pop()
            match p:
                case PatternVar(var=var):
                    assert var.type_annotation is not None
                    if not agrees(var.type_annotation, t):
                        self.error(
                            "type-mismatch", f"`%{var.name}` is {var.type_annotation}, matched is {t}", var
                        )
                case PatternConstructor(constructor=c, patterns=fields):
                    data = self.mod.type_definitions.get(c.belong_to)
                    fits = data is not None and isinstance(t, TypeCall) and t.func is c.belong_to
                    if (
                        data is None
                        or not isinstance(t, TypeCall)
                        or not fits
                        or len(fields) != len(c.inputs)
                    ):
                        self.error("type-mismatch", f"`{c.name}` does not match {t}", p)
                        continue
                    by = dict(zip(data.type_vars, t.args, strict=True))
                    stack += zip(fields, [substitute_type(i, by) for i in c.inputs], strict=True)
                case PatternTuple(patterns=fields):
                    if not isinstance(t, TupleType) or len(t.fields) != len(fields):
                        self.error(
                            "type-mismatch", f"a pattern of {len(fields)} fields does not match {t}", p
                        )
                        continue
                    stack += zip(fields, t.fields, strict=True)
                case _:
                    pass


class _Ground(Solver):
    """A solver for types without unknowns: classes of type parameters are checked elsewhere."""

    def check_class(self, t: Any, allowed: frozenset[str], is_literal: bool = False) -> None:
        """See `Unifier`."""
        if isinstance(t, str):
            super().check_class(t, allowed, is_literal)


def agrees(wanted: Type, found: Type, *, strict: bool = False, is_branch: bool = False) -> bool:
    """Whether a value of type `found` can stand where `wanted` is required; what is open is left to run time."""
    if wanted == found:
        return True
    solver = _Ground(Report())
    found = _with_instances(found)
    if isinstance(wanted, FuncType) and wanted.type_params:
        wanted = _instance(wanted) if is_branch else FuncType(wanted.arg_types, wanted.ret_type)
    try:
        solver.unify(wanted, found, strict)
        zonk(found)
    except Mismatch as m:
        return is_branch and m.code == "shape-mismatch"
    return True


def _instance(t: FuncType) -> FuncType:
    by = {p: Unknown(p.kind) for p in t.type_params}
    return FuncType([substitute_type(a, by) for a in t.arg_types], substitute_type(t.ret_type, by))


def _with_instances(root: Type) -> Type:
    """`root` with each polymorphic function that it is, or has in tuples and references, as an instance."""
    done: list[Type] = []
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if not t.flags & HAS_BINDER:
            done.append(t)
        elif ready:
            parts = tuple(done[len(done) - len(t.children) :])
            done[len(done) - len(parts) :] = [t.rebuild(parts)]
        elif isinstance(t, TupleType | RefType):
            stack.append((t, True))
            stack += [(c, False) for c in reversed(t.children)]
        else:
            done.append(_instance(t) if isinstance(t, FuncType) and t.type_params else t)
    return done[0]


def _steps(e: Expr) -> list[Any]:
    """The children of a node in order, with the scopes that open and close around them."""
    match e:
        case Function():
            return [(True, e.params), e.body, (False, e.params)]
        case Let():
            one = (e.var,)
            recursive = isinstance(e.value, Function)
            head: Iterable[Any] = [(True, one), e.value] if recursive else [e.value, (True, one)]
            return [*head, e.body, (False, one)]
        case LetRec():
            return [(True, e.vars), *e.values, e.body, (False, e.vars)]
        case Match():
            steps: list[Any] = [e.data]
            for c in e.clauses:
                vs = tuple(pattern_vars(c.lhs))
                steps += [(True, vs), c.rhs, (False, vs)]
            return steps
        case _:
            return list(e.children)


__all__ = ["agrees", "check", "declared_type"]
