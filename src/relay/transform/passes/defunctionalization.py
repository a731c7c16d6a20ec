"""Defunctionalisation: functions as values become data, and calls of them a `match` (Reynolds, 1972)."""

from relay.diagnostic import fail
from relay.ir.expr import (
    Call,
    Clause,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Grad,
    Let,
    LetRec,
    Match,
    Op,
    Pattern,
    Var,
    VMap,
    replace,
)
from relay.ir.module import IRModule
from relay.ir.pattern import PatternConstructor, PatternTuple, PatternVar
from relay.ir.subst import substitute_type
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import ANY, FuncType, Kind, TupleType, Type, TypeCall
from relay.ir.walk import post_order, type_post_order
from relay.transform.passes.closure_types import Closures, ClosureTypes, refuse
from relay.transform.passes.eta import eta_expand
from relay.transform.passes.expand_grad import without_derivatives
from relay.transform.passes.lambda_lifting import lambda_lift
from relay.transform.passes.monomorphize import monomorphize
from relay.transform.passes.unused_functions import remove_unused_functions
from relay.transform.rewriting.captures import is_partial_application
from relay.transform.rewriting.definitions import with_definitions, without_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types


@module_pass("defunctionalize", needs=(ANF,), gives=(ANF,))
def defunctionalize(mod: IRModule) -> IRModule:
    """Replace functions used as values by data: a constructor each, with the captured variables as fields.

    Polymorphic functions are specialised and inner functions lifted first.  Each function type becomes a
    data type, with a definition that applies its values.  `@main` must not take or return functions.
    Derivatives are expanded first.

    >>> show(defunctionalize, '''
    ... def @main(%c: bool, %x: int32) {
    ...   let %f = if (%c) { fn(%y: int32) { %x + %y } } else { negative };
    ...   %f(2)
    ... }
    ... ''')
    type Closure {
      Call_main_fn(int32),
      Call_main_fn_1,
    }
    <BLANKLINE>
    def @main(%c: bool, %x: int32) -> int32 {
      let %f: Closure = if (%c) { Call_main_fn(%x) } else { Call_main_fn_1 };
      @apply(%f, 2i32)
    }
    <BLANKLINE>
    def @main_fn(%x: int32, %y: int32) -> int32 {
      %x + %y
    }
    <BLANKLINE>
    def @main_fn_1(%x: int32) -> int32 {
      -%x
    }
    <BLANKLINE>
    def @apply(%f: Closure, %x: int32) -> int32 {
      match (%f) {
        Call_main_fn(%c: int32) => @main_fn(%c, %x),
        Call_main_fn_1 => @main_fn_1(%x),
      }
    }
    """
    check_entry(mod)
    direct = without_aliases(remove_unused_functions(without_derivatives(mod)))
    lifted = lambda_lift(with_values_as_literals(monomorphize(direct)))
    ready = eta_expand(lifted, expand_global_var=True)
    return _Converter(ready).module()


def check_entry(mod: IRModule) -> None:
    """Refuse a `@main` that exchanges functions with its caller."""
    main = mod.functions.get(GlobalVar("main", span=None))
    if isinstance(main, Function):
        for t in (*[p.type_annotation for p in main.params], main.ret_type):
            if t is not None and any(isinstance(u, FuncType) for u in type_post_order(t)):
                fail(
                    "higher-order-entry",
                    f"`@main` exchanges functions with its caller: {t}",
                    main.span,
                    hint="take what the function takes, and return what it returns",
                )


def without_aliases(mod: IRModule) -> IRModule:
    """`mod` without the constants that are other names of functions."""
    names: dict[Expr, Expr] = {
        v: e for v, e in mod.functions.items() if isinstance(e, GlobalVar | Op | Constructor)
    }
    if not names:
        return mod
    for v, e in names.items():
        seen = {v}
        while e in names and e not in seen:
            seen.add(e)
            e = names[e]
        names[v] = e
    new = {v: renamed(e, names) for v, e in mod.functions.items() if v not in names}
    return without_definitions(with_definitions(mod, new), [v for v in mod.functions if v in names])


def with_values_as_literals(mod: IRModule) -> IRModule:
    """`mod` with function literals for operators and constructors, and fused functions as definitions."""
    mod = eta_expand(mod, expand_op=True, expand_constructor=True)
    supply = GlobalVarSupply(mod)
    new: dict[GlobalVar, Expr] = {}
    for v, e in mod.functions.items():
        names: dict[Expr, Expr] = {}
        for n in post_order(e):
            if isinstance(n, Let) and isinstance(n.value, Function) and n.value.attrs.get("Primitive"):
                names[n.var] = supply.fresh_global(f"{v.name_hint}_{n.var.name_hint}")
                new[names[n.var]] = n.value  # pyright: ignore[reportArgumentType]
        new[v] = renamed(e, names) if names else e
    return with_definitions(mod, new)


def renamed(root: Expr, names: dict[Expr, Expr]) -> Expr:
    """`root` with definitions in the place of `let`-bound functions."""
    new: dict[Expr, Expr] = dict(names)
    for e in post_order(root):
        if e in new:
            continue
        if isinstance(e, Let) and e.var in names:
            new[e] = new[e.body]
            continue
        children = tuple([new[c] for c in e.children])
        new[e] = e if children == e.children else e.rebuild(children)
    return new[root]


class _Converter:
    """Converts the definitions of a module whose only inner functions are partial applications."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.source_types = Types(mod)
        self.types = ClosureTypes(mod, GlobalVarSupply(mod))
        self.vars: dict[Var, Var] = {}

    def module(self) -> IRModule:
        """The module with data in the place of functions."""
        new = {v: self.definition(e) for v, e in self.mod.functions.items()}
        if not self.types.closures and not self.types.instances:
            return with_definitions(self.mod, new)
        out = self.mod.copy()
        out.functions = new
        out.constant_types = {v: self.types(t) for v, t in self.mod.constant_types.items()}
        for closures in list(self.types.closures.values()):
            out.functions[closures.apply] = self.applying(closures)
        out.type_definitions = self.types.finish()
        return out

    def definition(self, root: Expr) -> Expr:
        """One definition."""
        new: dict[Expr, Expr] = {}
        for e in post_order(root):
            parts = tuple([new[c] for c in e.children])
            new[e] = (
                self.outermost(e, parts) if isinstance(e, Function) and e is root else self.node(e, parts)
            )
        return new[root]

    def outermost(self, fn: Function, parts: tuple[Expr, ...]) -> Function:
        """The function that a definition is."""
        params, result = tuple([self.bound(p) for p in fn.params]), self.types(fn.ret_type)
        if parts == fn.children and params == fn.params and result is fn.ret_type:
            return fn
        return replace(fn, params=params, body=parts[0], ret_type=result)

    def node(self, e: Expr, parts: tuple[Expr, ...]) -> Expr:
        """A node around converted parts."""
        self.check_values(e)
        match e:
            case Var():
                return self.bound(e)
            case Function():
                return self.closure(e)
            case Call():
                return self.call(e, parts)
            case Let() if self.bound(e.var) is not e.var:
                return Let(self.bound(e.var), *parts, span=e.span)
            case Match() if self.changes(self.source_types(e.data)):
                t = self.source_types(e.data)
                pairs = zip(e.clauses, parts[1:], strict=True)
                clauses = [Clause(self.pattern(c.lhs, t), rhs, span=c.span) for c, rhs in pairs]
                return Match(parts[0], tuple(clauses), e.complete, span=e.span)
            case Grad() | VMap():
                fail("grad-not-expanded", f"`{e.kind}` has no first-order form", e.span)
            case _:
                assert not isinstance(e, LetRec), "lambda_lift leaves no recursive functions inside"
                return e if parts == e.children else e.rebuild(parts)

    def changes(self, t: Type) -> bool:
        """Whether values of a type are others afterwards."""
        return self.types(t) is not t or any(u in self.types.functional for u in type_post_order(t))

    def check_values(self, e: Expr) -> None:
        """Refuse polymorphic functions that are values: which instance they are is not known."""
        for i, c in enumerate(e.children):
            is_function = type(c) is GlobalVar and isinstance(self.mod.functions[c], Function)
            if is_function and (i > 0 or type(e) is not Call):
                refuse(self.source_types(c))

    def bound(self, v: Var) -> Var:
        """A variable with its new type."""
        found = self.vars.get(v)
        if found is None:
            t = self.types(v.type_annotation)
            found = self.vars[v] = v if t is v.type_annotation else Var(v.name_hint, t, span=v.span)
        return found

    # --- functions as values ---

    def closure(self, fn: Function) -> Expr:
        """A partial application as data."""
        assert is_partial_application(fn), "lambda_lift leaves no other functions inside"
        assert isinstance(fn.body, Call)
        assert isinstance(fn.body.op, GlobalVar)
        captured = fn.body.args[: len(fn.body.args) - len(fn.params)]
        of = self.types.of_value(self.source_types(fn))
        case = self.types.case(of, fn.body.op, [self.source_types(a) for a in captured])
        return Call(case, tuple([self.bound(a) if type(a) is Var else a for a in captured]), span=fn.span)

    def call(self, e: Call, parts: tuple[Expr, ...]) -> Expr:
        """A call: of what is known, or of data that says what to call."""
        callee = e.op
        type_args = tuple([self.types(a) for a in e.written_type_args])
        if isinstance(callee, Constructor):
            made = self.types.constructor(callee, self.source_types(e))
            if made is callee and parts == e.children and type_args == e.written_type_args:
                return e
            return Call(made, parts[1:], None, type_args if made is callee else (), span=e.span)
        definition = self.mod.functions[callee] if isinstance(callee, GlobalVar) else None
        if isinstance(callee, Op) or isinstance(definition, Function):
            if parts == e.children and type_args == e.written_type_args:
                return e
            return Call(callee, parts[1:], e.attrs, type_args, span=e.span)
        return Call(self.types.of_value(self.source_types(callee)).apply, parts, span=e.span)

    def applying(self, of: Closures) -> Function:
        """The definition that applies functions of one type."""
        f = Var("f", TypeCall(of.header, ()))
        params = tuple([Var("x", t) for t in of.type.arg_types])
        clauses: list[Clause] = []
        for (callee, inputs), case in of.cases.items():
            fields = tuple([Var("c", t) for t in inputs])
            fn = self.mod.functions[callee]
            assert isinstance(fn, Function)
            type_params = fn.type_params
            if not all(p.kind is Kind.Dim for p in type_params):
                refuse(self.source_types(callee))
            call = Call(callee, (*fields, *params), None, (ANY,) * len(type_params))
            clauses.append(Clause(PatternConstructor(case, tuple([PatternVar(v) for v in fields])), call))
        nobody_makes_one = Call(of.apply, (f, *params))
        body = Match(f, tuple(clauses)) if clauses else nobody_makes_one
        return Function((f, *params), body, of.type.ret_type)

    def pattern(self, root: Pattern, t: Type) -> Pattern:
        """A pattern for values of type `t`, a type of the source."""
        done: list[Pattern] = []
        stack: list[tuple[Pattern, Type, bool]] = [(root, t, False)]
        while stack:
            p, t, ready = stack.pop()
            if isinstance(p, PatternVar):
                done.append(PatternVar(self.bound(p.var), span=p.span))
            elif not isinstance(p, PatternConstructor | PatternTuple):
                done.append(p)
            elif not ready:
                stack.append((p, t, True))
                stack += reversed([(q, u, False) for q, u in zip(p.patterns, self.fields(p, t), strict=True)])
            else:
                n = len(p.patterns)
                inner = tuple(done[len(done) - n :])
                del done[len(done) - n :]
                if isinstance(p, PatternTuple):
                    done.append(PatternTuple(inner, span=p.span))
                else:
                    made = self.types.constructor(p.constructor, t)
                    done.append(PatternConstructor(made, inner, span=p.span))
        return done[0]

    def fields(self, p: PatternConstructor | PatternTuple, t: Type) -> tuple[Type, ...]:
        """The types of what a pattern takes apart."""
        if isinstance(p, PatternTuple):
            assert isinstance(t, TupleType)
            return t.fields
        assert isinstance(t, TypeCall)
        data = self.mod.type_definitions[p.constructor.belong_to]
        by = dict(zip(data.type_vars, t.args, strict=True))
        return tuple([substitute_type(i, by) for i in p.constructor.inputs])
