"""Verify an annotated module, independently of how it came to be annotated.

A plain bottom-up walk: every name is in scope and bound once, every binder and result has its type, and at
each place the value's type (by `Types`) is one that the place accepts.
"""

from collections.abc import Sequence
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
    VMap,
)
from relay.ir.module import IRModule, expect_module
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar, pattern_vars
from relay.ir.subst import substitute_type
from relay.ir.type import BOOL, FuncType, RefType, TupleType, Type, TypeCall, TypeVar
from relay.ir.walk import post_order
from relay.typecheck.closed import Closed, agrees
from relay.typecheck.exhaustive import pattern_text, unmatched_cases
from relay.typecheck.goals import relation_goal
from relay.typecheck.kinds import check_kinds, check_relation
from relay.typecheck.literals import class_members
from relay.typecheck.messages import Fault
from relay.typecheck.schemes import constrained
from relay.typecheck.scoping import check_scopes
from relay.typecheck.types import Types
from relay.typecheck.unknown import has_unknown, kind_of

_ANY = frozenset({"*"})


def check(mod: IRModule) -> None:
    """Raise every fault of an annotated module (`RelayError`); nothing if it is well-typed."""
    with paused():
        checker = _Checker(expect_module(mod))
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
        check_scopes(root, self.bound, self.report)
        nodes = list(post_order(root))
        for e in nodes:
            self.annotated(e)
        if len(self.report.diagnostics) > before:
            return
        for e in nodes:
            if isinstance(e, Function):
                self.declare(e)
        wrong: set[Expr] = set()
        for e in nodes:
            if not any(c in wrong for c in _inputs(e)):
                try:
                    self.place(e)
                except RelayError as error:
                    wrong.add(e)
                    for d in error.diagnostics:
                        self.report.add(d)
            if any(c in wrong for c in e.children):
                wrong.add(e)
        if isinstance(root, Function) or root in wrong:
            return
        wanted = self.mod.constant_types.get(v)
        if wanted is None:
            self.error("not-annotated", f"the constant `@{v.name}` has no type", root)
        else:
            self.accepts(wanted, root, f"`@{v.name}`")

    # --- annotations --------------------------------------------------------------------------------------

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
                self.error("not-annotated", "the dtype of this literal is not decided", e)
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
        """Remember which dtypes the constraints of a function allow its parameters."""
        for c in fn.constraints:
            members = class_members(c.name, c.attrs)
            if members is not None and c.args is not None and isinstance(c.args[0], TypeVar):
                known = self.classes.get(c.args[0])
                self.classes[c.args[0]] = members if known is None else known & members

    # --- places -------------------------------------------------------------------------------------------

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
            case VMap():
                if not isinstance(self.types(e.function), FuncType):
                    self.error("batch-function", "`vmap` needs a function", e)
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
        if len(t.arg_types) != len(e.args):
            self.error("arity", f"{len(t.arg_types)} parameters, {len(e.args)} arguments", e)
            return
        if e.written_type_args and not self.are_arguments(t, e):
            return
        self.types(e)
        made = self.types.signature(e)
        for i, (p, a) in enumerate(zip(made.arg_types, e.args, strict=True)):
            self.accepts(p, a, f"argument {i + 1}")
        for c in made.type_constraints:
            self.holds(c.name, constrained(c, made), c.attrs, e)

    def are_arguments(self, t: FuncType, e: Call) -> bool:
        """Whether the type arguments of a call are what the type parameters ask for."""
        if len(e.written_type_args) != len(t.type_params):
            message = f"{len(e.written_type_args)} type arguments for {len(t.type_params)} type parameters"
            self.error("type-args", message, e)
            return False
        for p, a in zip(t.type_params, e.written_type_args, strict=True):
            if kind_of(a) is not p.kind:
                self.error("kind-mismatch", f"type argument {a} for `{p.name}: {p.kind.name}`", e)
                return False
        return True

    def holds(self, name: str, args: Any, attrs: Any, e: Expr) -> None:
        """Demand a constraint of types without unknowns."""
        members = class_members(name, attrs)
        if members is not None:
            (t,) = args
            if not (t in members if isinstance(t, str) else self.classes.get(t, _ANY) <= members):
                self.error("constraint-not-met", f"this call needs `{name}<{t}>`, which does not hold", e)
            return
        try:
            goal = relation_goal(name, args, attrs, e)
        except Fault as f:
            self.error(f.code, f.message, e, f.hint)
            return
        solver = Closed(self.types.givens)
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


def _inputs(e: Expr) -> Sequence[Expr]:
    """The children that are looked at when a node is checked."""
    return (e.value,) if isinstance(e, Let) else e.children
