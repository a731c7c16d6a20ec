"""The typing rule of each kind of expression.

`Inference.infer` drives generators on an explicit stack: a rule yields a child and receives its type.  What needs
no descent (variables, literals, operator calls on such) is answered at once by `quick`.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from relay.diagnostic import RelayError, Report
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
from relay.ir.scope import Scope, scopes
from relay.ir.subst import map_type, substitute_type
from relay.ir.type import (
    BOOL,
    HAS_ANY,
    HAS_INCOMPLETE,
    UNIT,
    FuncType,
    IncompleteType,
    Kind,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeRelation,
    TypeVar,
)
from relay.op.base import Operator, registry
from relay.op.base import instance as operator_instance
from relay.typecheck import explain
from relay.typecheck.generalize import Signature, generalise
from relay.typecheck.grads import grad_goal
from relay.typecheck.graph import Scan
from relay.typecheck.kinds import check_kinds, check_relation, name_of
from relay.typecheck.literals import class_members, literal_class
from relay.typecheck.patterns import check_clauses, type_pattern
from relay.typecheck.solver import BROADCASTS, Fault, Goal, Solver, relation_goal, show
from relay.typecheck.unify import ERROR, HAS_ERROR, Mismatch, Unknown, has_unknown, head, kind_of, zonk

Rule = Generator[Expr, Any, Any]


class Inference(Solver):
    """The types of one group of definitions, while they are being found."""

    def __init__(self, mod: IRModule, report: Report, lookup: Callable[[GlobalVar, Expr], Any]) -> None:
        """`lookup` gives the type of a definition of another group."""
        super().__init__(report)
        self.mod = mod
        self.lookup = lookup
        self.vars: dict[Var, Any] = {}
        self.group: dict[GlobalVar, Any] = {}
        self.types: dict[Expr, Any] = {}
        self.literals: list[tuple[Constant, Unknown]] = []
        self.all_literals: list[tuple[Constant, Unknown]] = []
        self.constant_dtype: dict[Constant, Unknown] = {}
        self.type_args: dict[Call, tuple[Any, ...]] = {}
        self.monomorphic: dict[Any, Signature] = {}
        self.mono_calls: dict[Call, Signature] = {}
        self.signatures: dict[Expr, Signature] = {}
        self.schemes: dict[Expr, FuncType] = {}
        self.roots: list[Expr] = []
        self.binders: dict[Var, Expr] | None = None
        self.is_open = False
        self.free: list[Var] = []
        self.want: Any = None
        self.raw_wanted: set[Expr] = set()
        self.homes: dict[Expr, Scope] = {}
        self.scope_level: dict[tuple[Expr | None, int], int] = {}
        self.kinds_seen: set[Any] = set()

    def enter(self, root: Expr, scanned: Scan) -> None:
        """Make ready for a definition: where its shared nodes live matters if something inside is generalised."""
        self.roots.append(root)
        if scanned.has_inner_schemes and scanned.shared:
            where = scopes(root)
            for e in scanned.shared:
                if type(e) not in (Var, GlobalVar, Op, Constructor) and not (
                    type(e) is Constant and not e.is_open
                ):
                    self.homes[e] = where[e]

    # --- driving ----------------------------------------------------------------------------------------------

    def infer(self, root: Expr, want: Any = None) -> Any:
        """The type of an expression; `want` is what its place requires, if a `?` in it loosens branches."""
        t = self.quick(root)
        if t is not None:
            return t
        return self.drive(root, self.start(root, want))

    def drive(self, e: Any, rule: Rule) -> Any:
        """Run a rule to its end."""
        stack: list[tuple[Any, Rule]] = []
        value: Any = None
        while True:
            try:
                child = rule.send(value)
            except StopIteration as stop:
                value = stop.value
                if e is not None:
                    self.types[e] = value
                    if type(value) is FuncType and value.type_params and e not in self.raw_wanted:
                        value = self.instance_of(value, e)
                if not stack:
                    return value
                e, rule = stack.pop()
            else:
                stack.append((e, rule))
                want, self.want = self.want, None
                e, rule, value = child, self.start(child, want), None

    def start(self, e: Expr, want: Any) -> Rule:
        """The rule for a node, at the level of the scope that evaluates it."""
        rule = _RULES.get(type(e), Inference.temporary)(self, e, want)
        return self.at_home(e, rule) if e in self.homes else rule

    def at_home(self, e: Expr, rule: Rule) -> Rule:
        """A shared node belongs to the innermost scope around its uses, so nothing inside generalises it."""
        where: Scope | None = self.homes[e]
        while where is not None and (where.owner, where.index) not in self.scope_level:
            where = where.parent
        level = 1 if where is None else self.scope_level[where.owner, where.index]
        saved, self.level = self.level, min(level, self.level)
        t = yield from rule
        self.level = saved
        return t

    def quick(self, e: Expr) -> Any:
        """The type of a node that needs no descent, else None."""
        k = type(e)
        if k is Var:
            t = self.vars.get(e)
            if t is None:
                return self.unbound(e)
            return self.instance_of(t, e) if type(t) is FuncType and t.type_params else t
        if k is Call and type(e.op) is Op:
            t = self.types.get(e)
            if t is not None:
                return t
            if self.homes and e in self.homes:
                return None
            args: list[Any] = []
            known = self.vars
            for a in e.args:
                t = known.get(a) if type(a) is Var else self.quick_leaf(a)
                if t is None or (type(t) is FuncType and t.type_params):
                    if type(a) is not Var:
                        return None
                    t = self.quick(a)
                args.append(t)
            t = self.types[e] = self.operator_call(e, tuple(args))
            return t
        return self.quick_leaf(e)

    def quick_leaf(self, e: Expr) -> Any:
        """`quick`, without operator calls."""
        k = type(e)
        if k is Constant:
            return self.constant(e)
        if k is Op or k is GlobalVar or k is Constructor:
            t = self.raw(e)
            return self.instance_of(t, e) if type(t) is FuncType and t.type_params else t
        t = self.types.get(e)
        return self.instance_of(t, e) if type(t) is FuncType and t.type_params else t

    def raw(self, e: Expr) -> Any:
        """The type of something named, not instantiated; None for other nodes."""
        k = type(e)
        if k is Var:
            t = self.vars.get(e)
            return self.unbound(e) if t is None else t
        if k is GlobalVar:
            t = self.group.get(e)
            return self.lookup(e, e) if t is None else t
        if k is Constructor:
            return self.constructor_type(e)
        if k is Op:
            return self.operator_value(e)
        return None

    # --- errors and annotations -------------------------------------------------------------------------------

    def explain(self, operands: Iterable[Expr]) -> tuple[Any, ...]:
        return explain.notes(self, operands)

    def agree(
        self,
        expected: Any,
        found: Any,
        at: Expr,
        what: str,
        *,
        strict: bool = False,
        hint: str = "",
        operands: Sequence[Expr] | None = None,
    ) -> bool:
        """Unify, or report at an expression that `what` should be `expected`."""
        if expected is found:
            return True
        self.cause = at
        try:
            self.unify(expected, found, strict)
        except Mismatch as m:
            f = self.describe(m, expected, found)
            message = f"{what}: {f.message}" if what else f.message
            self.diagnose(
                f.code,
                message,
                at,
                label=f.label,
                hint=hint or f.hint,
                operands=(at,) if operands is None else operands,
            )
            return False
        if self.queue:
            self.settle()
        return True

    def annotation(self, t: Type, at: Any, *, polymorphic: bool = False) -> Any:
        """A type as written, with each `_` a new unknown."""
        if t not in self.kinds_seen:

            def complain(code: str, message: str, hint: str) -> None:
                self.diagnose(code, message, at, hint=hint)

            before = self.report.errors.__len__() if self.failed else 0
            check_kinds(t, self.mod, complain, self.kinds_seen, may_be_polymorphic=polymorphic)
            if self.failed and len(self.report.errors) > before:
                return ERROR
            self.kinds_seen.add(t)
        if not t.flags & HAS_INCOMPLETE:
            return t
        return map_type(
            t, lambda leaf: self.fresh_of(leaf.kind) if type(leaf) is IncompleteType else leaf, HAS_INCOMPLETE
        )

    def unbound(self, v: Var) -> Any:
        """A variable that nothing around it binds: free in an open expression, a fault in a definition."""
        if v.type_annotation is not None:
            t = self.annotation(v.type_annotation, v)
        else:
            t = self.fresh_of(Kind.Type)
        if type(t) is Unknown:
            t.level = 0 if not self.is_open else min(t.level, 1)
        if not self.is_open:
            self.diagnose(
                "unbound-variable",
                f"nothing around it binds `%{v.name}`",
                v,
                hint="bind it with `let`, or make it a parameter",
            )
            t = ERROR
        self.free.append(v)
        self.vars[v] = t
        return t

    # --- leaves -----------------------------------------------------------------------------------------------

    def constant(self, c: Constant) -> Any:
        """The type of a constant; that of an open literal has an unknown base type."""
        t = c.type
        if t is not None:
            if type(t.dtype) is TypeVar:
                self.cause = c
                self.check_class(t.dtype, literal_class(c))
            return t
        v = self.constant_dtype.get(c)
        if v is None:
            if self.homes and c in self.homes:
                where: Scope | None = self.homes[c]
                while where is not None and (where.owner, where.index) not in self.scope_level:
                    where = where.parent
                level = 1 if where is None else self.scope_level[where.owner, where.index]
            else:
                level = self.level
            v = self.constant_dtype[c] = Unknown(Kind.BaseType, min(level, self.level))
            v.allowed, v.is_literal = literal_class(c), True
            self.literals.append((c, v))
            self.all_literals.append((c, v))
        return TensorType(c.value.shape, v)

    def constructor_type(self, c: Constructor) -> Any:
        """`fn<a>(a, List[a]) -> List[a]`."""
        data = self.mod.type_definitions.get(c.belong_to)
        if data is None:
            self.diagnose(
                "unknown-type", f"the module has no type `{c.belong_to.name}`, which `{c.name}` belongs to", c
            )
            return ERROR
        return data.constructor_type(c)

    def operator_value(self, op: Op) -> Any:
        """The type of an operator as a value, with its default attributes."""
        try:
            made = operator_instance(op.name, {})
        except RelayError as error:
            for d in error.diagnostics:
                self.diagnose(
                    d.code,
                    d.message,
                    op,
                    label=d.label,
                    hint=f"a bare operator has its default attributes; write fn(%x) {{ {op.name}(%x, …) }}",
                )
            return ERROR
        args = tuple([self.fresh_of(Kind.Type) for _ in range(len(made.operands) - made.optional)])
        out = self.apply(made, args, op)
        self.settle()
        return FuncType(args, out)

    def operator_call(self, e: Call, args: tuple[Any, ...]) -> Any:
        """The type of an operator call."""
        for a in args:
            if a is ERROR:
                return ERROR
        op = e.attrs
        if len(args) == 2 and op.relation_name in BROADCASTS:
            args = self.same_dtype(args, e)
        t = self.apply(op, args, e)
        if self.queue:
            self.settle()
        return t

    def same_dtype(self, args: tuple[Any, ...], e: Call) -> tuple[Any, ...]:
        """Operands of one base type, that of the known one; then the memo often knows the rest."""
        x, y = args
        if (x.flags | y.flags) & HAS_INCOMPLETE and type(x) is TensorType and type(y) is TensorType:
            known, literal = (x, y) if isinstance(x.dtype, str) else (y, x)
            v = head(literal.dtype)
            if (
                type(v) is Unknown
                and isinstance(known.dtype, str)
                and (v.allowed is None or known.dtype in v.allowed)
            ):
                self.cause = e
                self.bind(v, known.dtype)
                return self.resolve(x), self.resolve(y)
        return args

    def apply(self, op: Operator, types: tuple[Any, ...], call: Expr | None) -> Any:
        """See `Solver`; the number of operands is checked where the memo does not know the call."""
        n = len(types)
        if n < len(op.operands) - op.optional or (n > len(op.operands) and not op.variadic):
            names = ", ".join(op.operands)
            self.diagnose(
                "arity",
                f"`{op.name}` takes {_count(op)}, found {n}",
                call,
                hint=f"its operands are {names}" if names else "it has no operands",
            )
            return ERROR
        if type(call) is Call and call.type_args:
            self.diagnose("type-args", f"`{op.name}` takes no type arguments", call)
        return super().apply(op, types, call)

    # --- polymorphism -----------------------------------------------------------------------------------------

    def instance_of(self, t: FuncType, e: Expr | None) -> FuncType:
        """A polymorphic type used as a value: an instance, whose constraints are to hold."""
        made, constraints, _ = self.instantiate(t, e)
        self.demand(constraints, made, e)
        return made

    def instantiate(
        self, t: FuncType, e: Expr | None, explicit: tuple[Any, ...] = ()
    ) -> tuple[FuncType, list[TypeRelation], tuple[Any, ...]]:
        """An instance of a scheme, its constraints, and its type arguments."""
        if explicit and len(explicit) != len(t.type_params):
            self.diagnose(
                "type-args",
                f"{_plural(len(explicit), 'type argument')} for {_plural(len(t.type_params), 'type parameter')}",
                e,
                hint=f"the type is {show(t)}",
            )
            explicit = ()
        by: dict[Any, Any] = {}
        for i, p in enumerate(t.type_params):
            by[p] = self.explicit_argument(explicit[i], p, e) if explicit else Unknown(p.kind, self.level)
        made = FuncType([substitute_type(a, by) for a in t.arg_types], substitute_type(t.ret_type, by))
        constraints = [substitute_type(c, by) for c in t.type_constraints]
        return made, constraints, tuple(by.values())

    def explicit_argument(self, t: Any, p: TypeVar, e: Expr | None) -> Any:
        """A type argument as written, if it is of the parameter's kind."""
        t = tuple(t) if isinstance(t, list) else t
        if p.kind is Kind.BaseType and isinstance(t, TensorType) and t.shape == ():
            t = t.dtype
        if kind_of(t) is not p.kind:
            self.diagnose(
                "kind-mismatch",
                f"type argument `{show(t)}` is {name_of(kind_of(t))}, but `{p.name}` is {name_of(p.kind)}",
                e,
            )
            return ERROR
        if p.kind is Kind.Type:
            return self.annotation(t, e)
        return self.fresh_of(p.kind) if type(t) is IncompleteType else t

    def demand(self, constraints: Iterable[TypeRelation], of: FuncType, e: Expr | None) -> None:
        """Post the constraints of an instantiated type."""
        for c in constraints:
            self.post_constraint(c, of, e)
        if self.queue:
            self.settle()

    def post_constraint(self, c: TypeRelation, of: FuncType, e: Expr | None) -> Goal | None:
        """One constraint as a goal; a class is remembered on the unknown itself."""
        types = (*of.arg_types, of.ret_type) if c.args is None else c.args
        self.cause = e
        try:
            allowed = class_members(c.name, c.attrs)
            if allowed is not None and len(types) == 1 and kind_of(types[0]) is Kind.BaseType:
                self.restrict(types[0], allowed)
                return None
            goal = relation_goal(c.name, types, c.attrs, e)
        except Mismatch as m:
            found = zonk(types[0])
            members = class_members(c.name, c.attrs)
            hint = "" if members is None else explain.allowed(members)
            message = f"this use needs `{c.name}<{show(found)}>`, which does not hold"
            if m.code == "literal-kind":
                message = self.describe(m, found, found).message
            self.diagnose("constraint-not-met", message, e, hint=hint)
            return None
        except Fault as f:
            self.diagnose(f.code, f.message, e, hint=f.hint)
            return None
        except RelayError as error:
            for d in error.diagnostics:
                self.diagnose(d.code, d.message, e, hint=d.hint)
            return None
        self.post(goal)
        return goal

    # --- functions and bindings -------------------------------------------------------------------------------

    def signature(self, fn: Function, level_of_params: int) -> Signature:
        """Bind the parameters of a function to their types; what is not written is unknown."""
        for p in fn.type_params:
            self.rigid_level[p] = level_of_params
            self.classes.pop(p, None)
        params: list[Any] = []
        is_annotated = fn.ret_type is not None and not has_unknown(fn.ret_type)
        for p in fn.params:
            written = p.type_annotation
            if written is None or has_unknown(written):
                is_annotated = False
            t = self.fresh_of(Kind.Type) if written is None else self.annotation(written, p)
            self.vars[p] = t
            params.append(t)
        ret = self.fresh_of(Kind.Type) if fn.ret_type is None else self.annotation(fn.ret_type, fn)
        return Signature(fn, FuncType(params, ret), is_annotated)

    def body(self, sig: Signature, *, is_scheme: bool) -> Rule:
        """Check the body of a function against its signature, under the constraints it declares."""
        fn, mono = sig.function, sig.mono
        assert isinstance(fn, Function)
        saved = self.givens
        if fn.constraints:
            self.assume(sig, is_scheme=is_scheme)
        self.scope_level[fn, 0] = self.level
        ret = mono.ret_type
        t = self.quick(fn.body)
        if t is None:
            self.want = ret if isinstance(ret, Type) and ret.flags & HAS_ANY else None
            t = yield fn.body
        self.settle()
        if fn.ret_type is None and not is_scheme:  # nothing can have mentioned the unknown result
            sig.mono = FuncType(mono.arg_types, t)
            self.givens = saved
            return sig.mono
        what = "the result" if fn.ret_type is not None else "the result of the recursion"
        self.agree(ret, t, _result(fn.body, fn), what, operands=(fn.body,))
        self.givens = saved
        return mono

    def assume(self, sig: Signature, *, is_scheme: bool) -> None:
        """Take the constraints that a function declares as given in its body."""
        fn, mono = sig.function, sig.mono
        assert isinstance(fn, Function)
        for c in fn.constraints:
            check_relation(c, lambda code, message, hint: self.diagnose(code, message, fn, hint=hint))
            types = (*mono.arg_types, mono.ret_type) if c.args is None else c.args
            allowed = class_members(c.name, c.attrs)
            if allowed is not None and len(types) == 1:
                t = head(types[0])
                if type(t) is TypeVar:
                    known = self.classes.get(t)
                    self.classes[t] = allowed if known is None else known & allowed
                    continue
            try:
                goal = relation_goal(c.name, types, c.attrs, fn)
            except Fault as f:
                if f.code != "unknown-relation":
                    self.diagnose(f.code, f.message, fn, hint=f.hint)
                continue
            goal.is_given = is_scheme
            if is_scheme:
                self.givens = (goal, self.givens)
            if has_unknown(types) or not any(_has_variable(t) for t in types):
                self.post(goal)
                self.settle()

    def lambda_(self, fn: Function, want: Any) -> Rule:
        """A function that is not bound to a name: monomorphic unless it declares type parameters."""
        if fn.type_params:
            return (yield from self.bind_group((fn,), (fn,)))[0]
        sig = self.signature(fn, self.level)
        self.signatures[fn] = sig
        return (yield from self.body(sig, is_scheme=False))

    def bind_group(self, binders: Sequence[Any], values: Sequence[Expr]) -> Generator[Expr, Any, list[Any]]:
        """Functions bound together: infer them, then generalise.  Returns their types."""
        marks = len(self.pending), len(self.literals)
        self.level += 1
        signatures: list[Signature] = []
        for b, fn in zip(binders, values, strict=True):
            assert isinstance(fn, Function)
            sig = self.signature(fn, self.level)
            self.signatures[fn] = sig
            signatures.append(sig)
            if b is not fn:
                self.declare(b, sig)
        for sig in signatures:
            yield from self.body(sig, is_scheme=True)
        self.level -= 1
        types = generalise(self, signatures, marks)
        for b in binders:
            self.monomorphic.pop(b, None)
        return types

    def declare(self, binder: Any, sig: Signature) -> None:
        """What a function is inside its own group: its declared type if that is complete, else monomorphic."""
        written = binder.type_annotation if type(binder) is Var else None
        if isinstance(written, FuncType) and not has_unknown(written):
            t: Any = self.annotation(written, binder, polymorphic=True)
        elif sig.is_annotated:
            t = sig.declared
        else:
            t = sig.mono
            self.monomorphic[binder] = sig
        if type(binder) is Var:
            self.vars[binder] = t
        else:
            self.group[binder] = t

    def let(self, e: Any, want: Any) -> Rule:
        """A chain of bindings, in a flat loop."""
        first = e
        while True:
            k = type(e)
            if k is not Let and k is not LetRec:
                break
            if e is not first and self.homes and e in self.homes:
                break
            if k is LetRec:
                yield from self.let_rec(e)
                e = e.body
                continue
            var, value = e.var, e.value
            kv = type(value)
            if kv is Call:
                t = self.quick(value)
                if t is None:
                    written = var.type_annotation
                    self.want = written if written is not None and written.flags & HAS_ANY else None
                    t = yield value
            elif kv is Function and value not in self.types and value not in self.homes:
                (t,) = yield from self.bind_group((var,), (value,))
                self.types[value] = t
            elif kv is Var or kv is GlobalVar or kv is Constructor:
                t = self.raw(value)
            elif kv is Op:
                t = self.bound_operator(var, value)
            else:
                t = self.quick(value)
                if t is None:
                    written = var.type_annotation
                    self.want = written if written is not None and written.flags & HAS_ANY else None
                    t = yield value
            if var.type_annotation is None:
                self.vars[var] = t
            elif var.type_annotation is t:
                self.vars[var] = t
                self.kinds_seen.add(t)
            else:
                self.bind_annotated(var, t, value)
            e = e.body
        t = self.quick(e)
        if t is None:
            self.want = want
            t = yield e
        return t

    def let_rec(self, e: LetRec) -> Rule:
        """Mutually recursive functions."""
        if all(type(v) is Function for v in e.values):
            types = yield from self.bind_group(e.vars, e.values)
            for v, fn, t in zip(e.vars, e.values, types, strict=True):
                self.types[fn] = t
                self.vars[v] = t
                if v.type_annotation is not None and v.type_annotation != t:
                    self.bind_annotated(v, t, fn)
            return UNIT
        for v in e.vars:
            self.vars[v] = ERROR
        bad = next(v for v in e.values if type(v) is not Function)
        self.diagnose(
            "recursive-value", "only functions can be recursive", bad, hint="write `fn() { … }` around it"
        )
        return UNIT

    def bound_operator(self, var: Var, op: Op) -> Any:
        """`let %f = add`: the most general type of the operator."""
        marks = len(self.pending), len(self.literals)
        self.level += 1
        t = self.operator_value(op)
        self.level -= 1
        if t is ERROR:
            return t
        sig = self.signatures[var] = Signature(op, t, False)
        return generalise(self, [sig], marks)[0]

    def bind_annotated(self, var: Var, t: Any, value: Expr) -> None:
        """A binding whose type is written: the value's type has to agree."""
        written = var.type_annotation
        assert written is not None
        wanted = self.annotation(written, var, polymorphic=True)
        if isinstance(wanted, FuncType) and wanted.type_params:
            if t != wanted:
                self.subsume(wanted, t, value)
            self.vars[var] = wanted
            return
        if type(t) is FuncType and t.type_params:
            t = self.instance_of(t, value)
        self.agree(
            wanted,
            t,
            _result(value, var),
            f"`%{var.name}`" if var.name != "_" else "the ascription",
            operands=(value,) if type(value) is Var else value.children[:4],
        )
        self.vars[var] = wanted

    def subsume(self, wanted: FuncType, t: Any, value: Expr) -> None:
        """Demand that a value is at least as general as a polymorphic annotation."""
        self.level += 1
        for p in wanted.type_params:
            self.rigid_level.setdefault(p, self.level)
        saved = self.givens
        rigid = FuncType(wanted.arg_types, wanted.ret_type)
        for c in wanted.type_constraints:
            types = (*rigid.arg_types, rigid.ret_type) if c.args is None else c.args
            allowed = class_members(c.name, c.attrs)
            if allowed is not None and type(types[0]) is TypeVar:
                self.classes[types[0]] = allowed
            else:
                goal = relation_goal(c.name, types, c.attrs, value)
                goal.is_given = True
                self.givens = (goal, self.givens)
        mark = len(self.pending)
        if type(t) is FuncType and t.type_params:
            made, constraints, _ = self.instantiate(t, value)
        else:
            made, constraints = t, []
        if self.agree(rigid, made, value, "the value is less general than its annotation"):
            self.demand(constraints, made, value)
        self.level -= 1
        self.givens = saved
        for goal in self.pending[mark:]:
            if not goal.done:
                goal.done = True
                self.diagnose(
                    "missing-constraint",
                    f"the value needs `{goal.name}`, which its annotation does not declare",
                    value,
                    hint=f"add `where {show(goal.constraint())}`",
                )
        del self.pending[mark:]

    # --- the other nodes --------------------------------------------------------------------------------------

    def call(self, e: Call, want: Any) -> Rule:
        """A call of an operator or of anything else."""
        callee = e.op
        if type(callee) is Op:
            types: list[Any] = []
            for a in e.args:
                t = self.quick(a)
                types.append((yield a) if t is None else t)
            return self.operator_call(e, tuple(types))
        t = self.raw(callee)
        if t is None:
            t = self.types.get(callee)
        if t is None:
            self.raw_wanted.add(callee)
            t = yield callee
        t = head(t)
        constraints: list[TypeRelation] = []
        if type(t) is FuncType and t.type_params:
            t, constraints, args = self.instantiate(t, e, e.type_args)
            self.type_args[e] = args
        elif e.type_args and t is not ERROR:
            if callee in self.monomorphic:
                self.diagnose(
                    "type-args",
                    f"`{_callee(callee)}` is not polymorphic inside its own definition",
                    e,
                    hint="annotate its parameters and result in full",
                )
            else:
                self.diagnose(
                    "type-args",
                    f"{_callee(callee)} is not polymorphic, so it takes no type arguments",
                    e,
                    hint=f"its type is {show(t)}",
                )
        if self.monomorphic and type(callee) in (Var, GlobalVar) and callee in self.monomorphic:
            self.mono_calls[e] = self.monomorphic[callee]
        params = t.arg_types if type(t) is FuncType else ()
        if type(t) is FuncType and len(params) != len(e.args):
            self.diagnose(
                "arity",
                f"{_callee(callee)} takes {_plural(len(params), 'argument')}, found {len(e.args)}",
                e,
                hint=f"its type is {show(t)}",
            )
            params = ()
        found: list[Any] = []
        for i, a in enumerate(e.args):
            p = head(params[i]) if params else None
            ta = self.quick(a)
            if ta is None:
                self.want = p if p is not None and p.flags & HAS_ANY else None
                ta = yield a
            found.append(ta)
            if p is not None and p is not ta:
                self.agree(
                    p, ta, _place(a, e), f"argument {i + 1} of {_callee(callee)}", operands=(callee, a)
                )
        return self.result_of(t, found, constraints, e, is_known=bool(params) or not e.args)

    def result_of(
        self, t: Any, found: list[Any], constraints: list[TypeRelation], e: Call, *, is_known: bool
    ) -> Any:
        """The type of a call whose callee has type `t`."""
        if type(t) is FuncType:
            if not is_known:
                return ERROR if has_unknown(t.ret_type) else t.ret_type
            if constraints:
                self.demand(constraints, t, e)
            return head(t.ret_type)
        if t is ERROR:
            return ERROR
        if type(t) is Unknown:
            out = self.fresh_of(Kind.Type)
            self.agree(t, FuncType(found, out), e, f"the call of {_callee(e.op)}", operands=(e.op,))
            return out
        hint = "apply it fully, or declare the type as a function" if type(t) is TypeVar else ""
        self.diagnose(
            "expected-function",
            f"{_callee(e.op)} is called, but it is {show(t)}",
            e,
            hint=hint,
            operands=(e.op,),
        )
        return ERROR

    def tuple_(self, e: Tuple, want: Any) -> Rule:
        """A tuple."""
        want = head(want)
        wanted = want.fields if type(want) is TupleType and len(want.fields) == len(e.fields) else ()
        types: list[Any] = []
        for i, f in enumerate(e.fields):
            t = self.quick(f)
            if t is None:
                self.want = wanted[i] if wanted and wanted[i].flags & HAS_ANY else None
                t = yield f
            types.append(t)
        return TupleType(types)

    def project(self, e: TupleGetItem, want: Any) -> Rule:
        """A field of a tuple, which may not be known yet."""
        t = self.quick(e.tuple_value)
        if t is None:
            t = yield e.tuple_value
        t = head(t)
        if t is ERROR:
            return ERROR
        if type(t) is TupleType and 0 <= e.index < len(t.fields):
            return t.fields[e.index]
        if type(t) is TupleType:
            n = len(t.fields)
            self.diagnose(
                "projection-out-of-range",
                f"{_plural(n, 'field')}, but .{e.index} is asked for",
                e,
                label=f"the tuple is {show(t)}",
                operands=(e.tuple_value,),
                hint=f"fields are numbered from 0; the last is .{n - 1}" if n else "it has no fields",
            )
            return ERROR
        if type(t) is Unknown or type(t) is TypeVar:
            out = self.fresh_of(Kind.Type)
            self.post(Goal("Field", (t, out), (("index", e.index),), e))
            self.settle()
            return head(out)
        self.diagnose(
            "expected-tuple",
            f".{e.index} is asked of {show(t)}, which is not a tuple",
            e,
            operands=(e.tuple_value,),
        )
        return ERROR

    def if_(self, e: If, want: Any) -> Rule:
        """A conditional."""
        t = self.quick(e.cond)
        self.condition((yield e.cond) if t is None else t, e)
        types: list[Any] = []
        for branch in (e.true_branch, e.false_branch):
            t = self.quick(branch)
            if t is None:
                self.want = want
                t = yield branch
            types.append(t)
        return self.join_all(types, (e.true_branch, e.false_branch), e, want, "the branches of this `if`")

    def join_all(self, types: list[Any], branches: Sequence[Expr], e: Expr, want: Any, what: str) -> Any:
        """The type of one of several branches."""
        if want is not None:
            for t, b in zip(types, branches, strict=True):
                if not self.agree(want, t, _result(b, e), what, operands=(b,)):
                    return ERROR
            return want
        if not types:
            return self.fresh_of(Kind.Type)
        joined = types[0]
        for t, b in zip(types[1:], branches[1:], strict=True):
            if joined is t:
                continue
            self.cause = e
            try:
                joined = self.join(joined, t)
            except Mismatch as m:
                f = self.describe(m, joined, t)
                hint = f.hint
                if m.code == "shape-mismatch":
                    hint = "declare the size that differs as `?`: `let %y: Tensor[(?,), …] = if …`"
                elif type(e) is If and _short_circuit(e):
                    hint = f"for tensors use `{_short_circuit(e)}`"
                self.diagnose(
                    f.code,
                    f"{what} differ: {show(joined)} and {show(t)}",
                    _result(b, e),
                    label=f.label,
                    hint=hint,
                    operands=(_end(branches[0]), _end(b)),
                )
                return ERROR
            self.settle()
        return joined

    def condition(self, t: Any, e: If) -> None:
        """Demand a scalar bool."""
        t = self.resolve(t)
        if t is BOOL or t is ERROR:
            return
        self.cause = e.cond
        try:
            self.unify(BOOL, t)
        except Mismatch as m:
            logical = _short_circuit(e)
            hint = "reduce it to one value with `all(…)` or `any(…)`"
            if logical:
                hint = f"`{'&&' if logical == 'logical_and' else '||'}` is for scalars; for tensors use `{logical}`"
            elif m.code in ("dtype-mismatch", "literal-kind", "dtype-not-supported"):
                hint = "compare it: `%x != 0`"
            self.diagnose(
                "condition-shape" if m.code in ("rank-mismatch", "shape-mismatch") else "condition-type",
                f"a condition is Tensor[(), bool], found {show(t)}",
                _place(e.cond, e),
                hint=hint,
                operands=(e.cond,) if type(e.cond) is Var else e.cond.children[1:],
            )
        else:
            self.settle()

    def match(self, e: Match, want: Any) -> Rule:
        """A match: patterns agree with the value, clauses with each other, and together they are complete."""
        t = self.quick(e.data)
        if t is None:
            t = yield e.data
        before = self.failed
        self.failed = False
        for clause in e.clauses:
            type_pattern(self, clause.lhs, t, e.data)
        self.settle()
        patterns_fail, self.failed = self.failed, before or self.failed
        types: list[Any] = []
        for clause in e.clauses:
            t = self.quick(clause.rhs)
            if t is None:
                self.want = want
                t = yield clause.rhs
            types.append(t)
        if not patterns_fail:
            check_clauses(self, e)
        return self.join_all(types, [c.rhs for c in e.clauses], e, want, "the clauses of this `match`")

    def ref_create(self, e: RefCreate, want: Any) -> Rule:
        """A new reference."""
        t = self.quick(e.value)
        return RefType((yield e.value) if t is None else t)

    def ref_read(self, e: RefRead, want: Any) -> Rule:
        """What a reference holds."""
        t = self.quick(e.ref)
        if t is None:
            t = yield e.ref
        return self.held(t, e.ref, e)

    def held(self, t: Any, ref: Expr, at: Expr) -> Any:
        """The type inside a reference type."""
        t = head(t)
        if type(t) is RefType:
            return t.value
        if type(t) is Unknown:
            inside = self.fresh_of(Kind.Type)
            return inside if self.agree(t, RefType(inside), at, "", operands=(ref,)) else ERROR
        if t is not ERROR:
            self.diagnose(
                "expected-ref",
                f"expected a reference, found {show(t)}",
                _place(ref, at),
                operands=(ref,),
                hint="make one with `ref(…)`",
            )
        return ERROR

    def ref_write(self, e: RefWrite, want: Any) -> Rule:
        """Storing gives the empty tuple."""
        t = self.quick(e.ref)
        inside = self.held((yield e.ref) if t is None else t, e.ref, e)
        t = self.quick(e.value)
        if t is None:
            t = yield e.value
        self.agree(
            inside,
            t,
            _place(e.value, e),
            "what is written into the reference",
            strict=True,
            operands=(e.ref, e.value),
        )
        return UNIT

    def grad(self, e: Grad, want: Any) -> Rule:
        """A derivative of a function."""
        t = self.quick(e.function)
        if t is None:
            t = yield e.function
        out = self.fresh_of(Kind.Type)
        self.post(grad_goal(e, t, out))
        self.settle()
        return head(out)

    def global_(self, e: GlobalVar, want: Any) -> Rule:
        """A name (only where a place asked for it by `yield`)."""
        return self.quick(e)
        yield e  # pragma: no cover

    def temporary(self, e: Expr, want: Any) -> Rule:
        """A pass left one of its own nodes over."""
        self.diagnose("temporary-node", f"{type(e).__name__} belongs to a pass and has no type", e)
        return ERROR
        yield e  # pragma: no cover


def _has_variable(t: Any) -> bool:
    from relay.typecheck.unify import variables

    return bool(variables(t))


def _count(op: Operator) -> str:
    most = len(op.operands)
    least = most - op.optional
    if op.variadic:
        return f"at least {_plural(max(0, least - 1), 'operand')}"
    return _plural(most, "operand") if least == most else f"{least} to {most} operands"


def _plural(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _callee(e: Expr) -> str:
    match e:
        case Var():
            return f"`%{e.name}`"
        case GlobalVar():
            return f"`@{e.name}`"
        case Op() | Constructor():
            return f"`{e.name}`"
        case _:
            return "the function"


def _result(e: Expr, parent: Expr) -> Expr:
    """Where the value of a block is written: the end of its `let` chain."""
    while type(e) is Let or type(e) is LetRec:
        parent, e = e, e.body
    return _place(e, parent)


def _end(e: Expr) -> Expr:
    while type(e) is Let or type(e) is LetRec:
        e = e.body
    return e


def _place(e: Expr, parent: Expr) -> Expr:
    """The node whose span shows `e`: a variable, operator or constructor is one object for all its uses."""
    return parent if type(e) in (Var, Op, Constructor) else e


def _short_circuit(e: If) -> str:
    """`logical_and` for what `&&` becomes, `logical_or` for `||`, else nothing."""
    for branch, value, name in ((e.false_branch, False, "logical_and"), (e.true_branch, True, "logical_or")):
        if type(branch) is Constant and branch.type is BOOL and bool(branch.value) is value:
            return name
    return ""


_RULES: dict[type, Callable[[Inference, Any, Any], Rule]] = {
    Call: Inference.call,
    Let: Inference.let,
    LetRec: Inference.let,
    Function: Inference.lambda_,
    Tuple: Inference.tuple_,
    TupleGetItem: Inference.project,
    If: Inference.if_,
    Match: Inference.match,
    RefCreate: Inference.ref_create,
    RefRead: Inference.ref_read,
    RefWrite: Inference.ref_write,
    Grad: Inference.grad,
    GlobalVar: Inference.global_,
    Var: Inference.global_,
    Constant: Inference.global_,
    Op: Inference.global_,
    Constructor: Inference.global_,
}
__all__ = ["HAS_ERROR", "Inference", "registry"]
