"""Expansion: every `grad`, `vjp` and `jvp` of a module replaced by the function it stands for.

Derivatives inside of what is differentiated are expanded first, so that derivatives nest to any order.
"""

from collections.abc import Mapping

from relay.analysis.effects import Effect, Effects
from relay.autodiff.dual_types import DualTypes
from relay.autodiff.forward import Forward
from relay.autodiff.reverse import Reverse
from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Function, GlobalVar, Grad, Let, LetRec, Var
from relay.ir.module import IRModule
from relay.ir.supply import GlobalVarSupply
from relay.ir.type import FuncType, TupleType, Type
from relay.ir.vars import free_vars
from relay.ir.walk import post_order, type_post_order
from relay.typecheck.infer import infer
from relay.typecheck.query import Types


def expand_grad(mod: IRModule) -> IRModule:
    """The module without `grad`, `vjp` and `jvp`; the same object where there are none.

    Raises `unknown-grad-target` where it is not known what function is differentiated, or where a function
    differentiates itself.
    """
    while with_grads(mod):
        mod = infer(mod)
        mod = infer(_Round(mod.copy()).expand())
    return mod


def with_grads(mod: IRModule) -> dict[GlobalVar, Expr]:
    """The definitions that have derivatives in them."""
    return {v: e for v, e in mod.functions.items() if any(isinstance(x, Grad) for x in post_order(e))}


class _Round:
    """Expands the derivatives that have no others inside of them."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` is changed."""
        self.mod = mod
        self.pending = with_grads(mod)
        supply = GlobalVarSupply(mod)
        self.forward = Forward(DualTypes(mod, "jvp"), supply)
        self.reverse = Reverse(DualTypes(mod, "vjp"), supply)
        self.type_of = Types(mod)
        self.bindings: dict[Var, Let | LetRec] = {}
        self.effects = Effects(mod)

    def expand(self) -> IRModule:
        ready = False
        for name, definition in self.pending.items():
            self.bindings = bindings(definition)
            inner: set[Expr] = set()
            new: dict[Expr, Expr] = {}
            for e in post_order(definition):
                if any(c in inner for c in e.children):
                    inner.add(e)
                if isinstance(e, Grad):
                    if e not in inner and not self._reaches_pending(e):
                        new[e] = self._expanded(e)
                    inner.add(e)
            if new:
                ready = True
                self.mod[name] = replaced(definition, new)
        if not ready:
            self._report_cycle()
        self.forward.define_waiting()
        self.reverse.define_waiting()
        return self.mod

    def _expanded(self, e: Grad) -> Expr:
        f, captured = self._closed(self._literal(e))
        return self.forward.root(f, captured) if e.kind == "jvp" else self.reverse.root(e.kind, f, captured)

    def _literal(self, e: Grad) -> Function:
        """What is differentiated as a function literal."""
        if isinstance(e.function, Function) and not e.function.type_params:
            return e.function
        t = self.type_of(e)
        assert isinstance(t, FuncType)
        f = source_type(e, t)
        params = tuple([Var("x", a, span=e.span) for a in f.arg_types])
        return Function(params, Call(e.function, params, span=e.span), f.ret_type, span=e.span)

    def _closed(self, f: Function) -> tuple[Function, list[Var]]:
        """`f` with the functions that it captures defined inside of it, and the variables that it still captures."""
        body = f.body
        while True:
            captured = free_vars(Function(f.params, body, f.ret_type))
            functions = [v for v in captured if holds_function(self.type_of(v))]
            if not functions:
                return Function(f.params, body, f.ret_type, f.type_params, span=f.span), captured
            v = self._innermost(functions)
            binding = self.bindings.get(v)
            if binding is None or self.effects.of(binding_value(binding, v)) & ~Effect.NONE:
                fail(
                    "unknown-grad-target",
                    f"what is differentiated calls `%{v.name_hint}`, and which function that is cannot be known here",
                    span=f.span,
                    hint="take the derivative where the function is known, or pass the function on to a definition that "
                    "is called with a known one",
                )
            match binding:
                case Let(var, value, _):
                    body = Let(var, value, body, span=binding.span)
                case LetRec():
                    body = LetRec(binding.vars, binding.values, body, span=binding.span)

    def _innermost(self, several: list[Var]) -> Var:
        """The variable that is bound last, so that what it needs is bound around it."""
        order = {v: i for i, v in enumerate(self.bindings)}
        return max(several, key=lambda v: order.get(v, len(order)))

    def _reaches_pending(self, e: Grad) -> bool:
        """Whether a definition that still has derivatives in it is differentiated."""
        seen: set[GlobalVar] = set()
        stack: list[Expr] = [e.function]
        while stack:
            for x in post_order(stack.pop()):
                if isinstance(x, GlobalVar) and x not in seen:
                    if x in self.pending:
                        return True
                    seen.add(x)
                    stack.append(self.mod.functions[x])
        return False

    def _report_cycle(self) -> None:
        for definition in self.pending.values():
            for e in post_order(definition):
                if isinstance(e, Grad):
                    fail(
                        "unknown-grad-target",
                        "a function that differentiates itself has no derivative that can be written down",
                        span=e.span,
                        hint="differentiate a function that does not call the one around the derivative",
                    )


def source_type(e: Grad, t: FuncType) -> FuncType:
    """The type of what is differentiated, from the type of the derivative."""
    assert isinstance(t.ret_type, TupleType)
    if e.kind != "jvp":
        return FuncType(t.arg_types, t.ret_type.fields[0])
    params = t.arg_types[0]
    assert isinstance(params, TupleType)
    return FuncType(params.fields, t.ret_type.fields[0])


def bindings(root: Expr) -> dict[Var, Let | LetRec]:
    """Where each variable of a definition is bound by a `let`, outer ones first."""
    found: dict[Var, Let | LetRec] = {}
    for e in reversed(list(post_order(root))):
        if isinstance(e, Let):
            found[e.var] = e
        elif isinstance(e, LetRec):
            found.update(dict.fromkeys(e.vars, e))
    return found


def binding_value(binding: Let | LetRec, v: Var) -> Expr:
    """What a variable is bound to."""
    return binding.value if isinstance(binding, Let) else binding.values[binding.vars.index(v)]


def holds_function(t: Type) -> bool:
    """Whether a function is somewhere inside a type."""
    return any(isinstance(p, FuncType) for p in type_post_order(t))


def replaced(root: Expr, new: Mapping[Expr, Expr]) -> Expr:
    """`root` with some of its nodes replaced."""
    done: dict[Expr, Expr] = dict(new)
    for e in post_order(root):
        if e not in done:
            children = tuple([done[c] for c in e.children])
            done[e] = e if children == e.children else e.rebuild(children)
    return done[root]
