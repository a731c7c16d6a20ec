"""Closing a function over the functions that it captures, so that what is differentiated is all there."""

from collections.abc import Set as AbstractSet
from functools import cached_property

from relay.analysis.effects import Effect, Effects
from relay.analysis.uses import recursive_lets
from relay.ir.expr import Call, Expr, Function, Let, LetRec, Var
from relay.ir.subst import substitute_type
from relay.ir.type import FuncType, Type, TypeVar
from relay.ir.vars import free_vars
from relay.ir.walk import post_order, type_post_order
from relay.typecheck.query import Types


class Closing:
    """Closes functions of one definition."""

    def __init__(self, root: Expr, type_of: Types, effects: Effects) -> None:
        """`root` is the definition."""
        self.root = root
        self.type_of = type_of
        self.effects = effects

    @cached_property
    def bindings(self) -> dict[Var, Let | LetRec]:
        """Where each variable is bound by a `let`, outer ones first."""
        return bindings(self.root)

    @cached_property
    def order(self) -> dict[Var, int]:
        """Which `let` comes first."""
        return {v: i for i, v in enumerate(self.bindings)}

    @cached_property
    def recursive(self) -> AbstractSet[Let]:
        """The `let`s whose function calls itself."""
        return set(recursive_lets(self.root))

    def closed(self, f: Function) -> tuple[Function, list[Var], Var | None]:
        """`f` with the functions it captures defined inside, what it still captures, and a function it
        cannot know.
        """
        body = f.body
        while True:
            captured = free_vars(Function(f.params, body, f.ret_type, span=f.span))
            functions = [v for v in captured if holds_function(self.type_of(v))]
            # the one bound last goes in first: what it captures is bound around it
            v = max(functions, key=lambda v: self.order.get(v, len(self.order)), default=None)
            binding = None if v is None else self.bindings.get(v)
            if v is None or binding is None or self.effects.of(_value(binding, v)) is not Effect.NONE:
                closed = Function(f.params, body, f.ret_type, f.type_params, {}, f.constraints, span=f.span)
                return closed, captured, v
            if isinstance(binding, Let):
                body = Let(binding.var, binding.value, body, span=binding.span)
            else:
                body = LetRec(binding.vars, binding.values, body, span=binding.span)

    def literal(self, e: Expr, t: FuncType) -> Function:
        """An expression of function type `t` as a literal: the one it names, or one that calls it."""
        while isinstance(e, Var) and isinstance(binding := self.bindings.get(e), Let):
            if isinstance(binding.value, Function):
                if binding in self.recursive:
                    break
            elif not isinstance(binding.value, Var):
                break
            e = binding.value
        if isinstance(e, Function):
            return e
        return caller_of(e, t)


def caller_of(e: Expr, t: FuncType) -> Function:
    """A literal that calls an expression of function type `t`."""
    own = tuple([TypeVar(p.name_hint, p.kind) for p in t.type_params])
    by = dict(zip(t.type_params, own, strict=True))
    params = tuple([Var("x", substitute_type(a, by), span=e.span) for a in t.arg_types])
    body = Call(e, params, None, own, span=e.span)
    needs = tuple([substitute_type(c, by) for c in t.type_constraints])
    return Function(params, body, substitute_type(t.ret_type, by), own, {}, needs, span=e.span)


def bindings(root: Expr) -> dict[Var, Let | LetRec]:
    """Where each variable of a definition is bound by a `let`, outer ones first."""
    found: dict[Var, Let | LetRec] = {}
    for e in reversed(list(post_order(root))):
        if isinstance(e, Let):
            found[e.var] = e
        elif isinstance(e, LetRec):
            found.update(dict.fromkeys(e.vars, e))
    return found


def _value(binding: Let | LetRec, v: Var) -> Expr:
    return binding.value if isinstance(binding, Let) else binding.values[binding.vars.index(v)]


def holds_function(t: Type) -> bool:
    """Whether a function is somewhere inside a type."""
    return any(isinstance(p, FuncType) for p in type_post_order(t))
