"""Copies of programs with variables of their own: each variable is bound in one place."""

from collections.abc import Mapping
from typing import Any

from relay.ir.dtype import rounded, to_numpy
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Expr,
    Function,
    Let,
    LetRec,
    Match,
    Pattern,
    Var,
    replace,
)
from relay.ir.pattern import PatternVar
from relay.ir.subst import substitute_type
from relay.ir.type import HAS_VAR, FuncType, TensorType, Type, TypeVar
from relay.ir.vars import binders
from relay.ir.walk import post_order, rewrite_pattern


def fresh_copy(root: Expr, types: Mapping[TypeVar, Any] | None = None) -> Expr:
    """`root` made of new nodes, with new variables and type parameters in the place of those that it binds.

    `types` are put in for type parameters that are free in it; literals of such a dtype are converted.
    """
    return Copy(types or {}).of(root)


class Copy:
    """One copy, or several that are put together: a variable becomes the same one in all of them."""

    def __init__(self, types: Mapping[TypeVar, Any]) -> None:
        """`types` are put in for type parameters."""
        self.types: dict[TypeVar, Any] = dict(types)
        self.vars: dict[Var, Var] = {}
        self.known: dict[Type, Any] = {}
        self.size = 0
        """How many nodes have been copied."""

    def of(self, root: Expr) -> Expr:
        """The copy of one expression."""
        nodes = list(post_order(root))
        self.size += len(nodes)
        for e in nodes:
            if type(e) is Function:
                for p in e.type_params:
                    self.types[p] = TypeVar(p.name_hint, p.kind)
        for e in nodes:
            for v in binders(e):
                self.vars[v] = Var(v.name_hint, self.type(v.type_annotation), span=v.span)
        new: dict[Expr, Expr] = {}
        for e in nodes:
            new[e] = self.node(e, tuple([new[c] for c in e.children]))
        return new[root]

    def function(self, fn: Function) -> tuple[tuple[Var, ...], Expr, Type | None]:
        """The parameters, the body and the result type of an instance of a function."""
        for p in fn.params:
            self.vars[p] = Var(p.name_hint, self.type(p.type_annotation), span=p.span)
        body = self.of(fn.body)
        return tuple([self.vars[p] for p in fn.params]), body, self.type(fn.ret_type)

    def type(self, t: Any) -> Any:
        """A type, dimension or dtype with types put in."""
        if not isinstance(t, Type) or not t.flags & HAS_VAR or not self.types:
            return tuple([self.type(d) for d in t]) if isinstance(t, tuple) else t  # pyright: ignore[reportUnknownVariableType]
        found = self.known.get(t)
        if found is None:
            found = self.known[t] = self.scheme(substitute_type(t, self.types), t)
        return found

    def scheme(self, made: Any, t: Type) -> Any:
        """A type with types put in, that of a polymorphic function with the parameters that it has in the
        copy.
        """
        if not isinstance(t, FuncType) or not any(p in self.types for p in t.type_params):
            return made
        params = [self.types.get(p, p) for p in t.type_params]
        if not all(isinstance(p, TypeVar) for p in params):
            return made
        return FuncType(made.arg_types, made.ret_type, params, made.type_constraints)

    def node(self, e: Expr, children: tuple[Expr, ...]) -> Expr:
        """One node around copies of its parts."""
        match e:
            case Var():
                return self.vars.get(e, e)
            case Constant():
                return self.constant(e)
            case Call():
                args = self.type(e.written_type_args)
                return Call(children[0], children[1:], e.attrs, args, span=e.span)
            case Let():
                return Let(self.vars[e.var], *children, span=e.span)
            case LetRec():
                *values, body = children
                return LetRec(tuple([self.vars[v] for v in e.vars]), tuple(values), body, span=e.span)
            case Function():
                return replace(
                    e,
                    params=tuple([self.vars[p] for p in e.params]),
                    body=children[0],
                    ret_type=self.type(e.ret_type),
                    type_params=tuple([self.types[p] for p in e.type_params]),
                    constraints=tuple([self.type(c) for c in e.constraints]),
                )
            case Match():
                pairs = zip(e.clauses, children[1:], strict=True)
                clauses = [Clause(self.pattern(c.lhs), rhs, span=c.span) for c, rhs in pairs]
                return Match(children[0], tuple(clauses), e.complete, span=e.span)
            case _:
                return e.rebuild(children) if children else e

    def pattern(self, root: Pattern) -> Pattern:
        """A pattern with new variables."""

        def renamed(p: Pattern) -> Pattern | None:
            return PatternVar(self.vars[p.var], span=p.span) if isinstance(p, PatternVar) else None

        return rewrite_pattern(root, renamed)

    def constant(self, e: Constant) -> Constant:
        """A constant; a literal whose dtype was a parameter gets a value of the dtype put in."""
        t = self.type(e.type)
        if t is e.type:
            return e
        assert isinstance(t, TensorType)
        value = rounded(e.value, to_numpy(t.dtype)) if isinstance(t.dtype, str) else e.value
        return Constant(value, t, span=e.span)
