"""Write what inference found into the program: binders, results, type parameters, type arguments, literals.

Nothing else changes; nodes that need nothing come back as they are, shared ones stay shared.
"""

from collections.abc import Sequence
from operator import is_
from typing import TYPE_CHECKING, Any

from relay.diagnostic import Span
from relay.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Let,
    LetRec,
    Match,
    Op,
    Pattern,
    Var,
    VMap,
    replace,
)
from relay.ir.pattern import PatternLiteral, PatternOr, is_lowered, pattern_nodes, pattern_vars
from relay.ir.type import HAS_INCOMPLETE, FuncType, TensorType, Type
from relay.ir.type_base import HAS_ALIAS
from relay.ir.walk import renamed_pattern, rewrite_pattern
from relay.op.subscript import Subscript
from relay.typecheck.dim_values import DimensionValues, sized
from relay.typecheck.generalize import Signature
from relay.typecheck.literals import converted
from relay.typecheck.lowered_match import lowered
from relay.typecheck.naming import Naming
from relay.typecheck.unknown import has_unknown

if TYPE_CHECKING:
    from relay.typecheck.inference import Inference


class Elaborator:
    """Rebuilds one definition."""

    def __init__(self, inf: "Inference") -> None:
        """`inf` has solved the definition's group."""
        self.inf = inf
        self.naming = Naming(inf)
        self.vars: dict[Var, Var] = {}
        self.done: dict[Expr, Expr] = {}
        self.dimensions = DimensionValues(inf)
        self.alternatives: dict[Pattern, Type] = {}
        """The types of what alternatives are matched with."""

    def run(self, root: Expr) -> Expr:
        """The definition with everything filled in."""
        done = self.done
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            e, ready = stack.pop()
            if ready:
                if type(e) is Call:
                    done[e] = self.call(e)
                else:
                    done[e] = self.close_let(e) if type(e) is Let else self.build(e)
            elif type(e) in _LEAVES or e in done:
                continue
            elif type(e) is Constant:
                done[e] = self.constant(e)
            elif type(e) is Let:
                stack.append((e, True))
                stack.append((e.body, False))
                if type(e.value) is not Var:
                    stack.append((e.value, False))
                self.open_let(e)
            elif type(e) is Call:
                children = e.args if type(e.op) is Op else e.children
                below = [(a, False) for a in children if type(a) not in _LEAVES and a not in done]
                if below:
                    stack.append((e, True))
                    below.reverse()
                    stack += below
                else:
                    done[e] = self.call(e)
            else:
                self.open(e)
                stack.append((e, True))
                stack += [(c, False) for c in reversed(e.children)]
        return self.get(root)

    def get(self, e: Expr) -> Expr:
        """A child that is finished."""
        if type(e) is Var:
            found = self.vars.get(e)
            return self.var(e) if found is None else found
        return e if type(e) in _LEAVES else self.done[e]

    def var(self, v: Var, sig: Signature | None = None) -> Var:
        """The annotated form of a binder (or of a free variable)."""
        written = v.type_annotation
        if written is not None and not written.flags & TO_FILL:
            new = v
        else:
            t = self.naming.type(self.inf.vars[v]) if sig is None else self.naming.scheme(sig)
            new = v if t is written else Var(v.name_hint, t, span=v.span)
        self.vars[v] = new
        return new

    def open_let(self, e: Let) -> None:
        """Name the variable before its uses are rebuilt."""
        value = e.value
        kv = type(value)
        if kv is Function:
            sig = self.inf.signatures.get(value)
            self.var(
                e.var, sig if sig is not None and _has_given_scheme(self.inf.vars.get(e.var), sig) else None
            )
        elif kv is Op:
            self.var(e.var, self.inf.signatures.get(e.var))
        else:
            self.var(e.var)

    def close_let(self, e: Let) -> Expr:
        var, value, body = self.vars[e.var], self.get(e.value), self.get(e.body)
        if var is e.var and value is e.value and body is e.body:
            return e
        return Let(var, value, body, span=e.span)

    def open(self, e: Expr) -> None:
        """Bind what a node binds, before its children are rebuilt."""
        match e:
            case Function():
                self.open_function(e)
            case LetRec():
                for v, fn in zip(e.vars, e.values, strict=True):
                    self.var(v, self.inf.signatures[fn])
            case Match():
                for c in e.clauses:
                    for v in pattern_vars(c.lhs):
                        self.var(v)
            case _:
                pass

    def open_function(self, fn: Function) -> None:
        sig = self.inf.signatures[fn]
        self.naming.enter(sig)
        self.dimensions.enter(fn, [self.var(p) for p in fn.params])

    def build(self, e: Expr) -> Expr:
        """A node around its finished children."""
        match e:
            case Function():
                return self.function(e)
            case LetRec():
                several = tuple([self.vars[v] for v in e.vars])
                values, body = tuple([self.get(v) for v in e.values]), self.get(e.body)
                if body is e.body and _same(several, e.vars) and _same(values, e.values):
                    return e
                return LetRec(several, values, body, span=e.span)
            case Match():
                return self.match(e)
            case VMap():
                return self.vmap(e)
            case _:
                old = e.children
                new = tuple([self.get(c) for c in old])
                return e if _same(old, new) else e.rebuild(new)

    def call(self, e: Call) -> Expr:
        op = e.op if type(e.op) is Op else self.get(e.op)
        args = tuple([self.get(a) for a in e.args])
        type_args = e.written_type_args
        if type(op) is not Op:
            type_args = self.type_args(e)
        elif e.attrs.is_resolved:
            t = self.inf.types[e]
            if type(t) is not TensorType or t.dtype not in e.attrs.settled_dtypes:
                found = self.resolved(e, args)
                if found is not None:
                    return found
        if op is e.op and type_args is e.written_type_args and _same(args, e.args):
            return e
        return Call(op, args, e.attrs, type_args, span=e.span)

    def vmap(self, e: VMap) -> Expr:
        """A batched function; one that is not called, for one number of rows, as a function that calls it."""
        f = self.get(e.function)
        instance = self.inf.batched_instances.get(e)
        if e not in self.inf.batched_rows:
            return e if f is e.function else VMap(f, e.in_axes, e.out_axes, span=e.span)
        rows, t = self.inf.batched_rows[e]
        if instance is not None:
            f = calling(f, self.naming.type(t), tuple([self.naming.type(a) for a in instance]), e.span)
        made = VMap(f, e.in_axes, e.out_axes, span=e.span)
        if e in self.inf.raw_wanted:
            return made
        whole = self.naming.type(self.inf.types[e])
        return calling(made, whole, (self.naming.type(rows),), e.span)

    def resolved(self, e: Call, args: tuple[Expr, ...]) -> Expr | None:
        """What a call of an operator is, by the types of its operands or with its dimensions computed."""
        op: Any = e.attrs
        if op.has_dimensions and not op.__class__.is_resolved:
            types = [self.naming.type(self.known(a)) for a in e.args]
            return self.dimensions.computed(e, types, args, self.naming.type(self.inf.types[e]))
        found = op.resolved([self.known(a) for a in e.args], args, self.inf.mod, e.span)
        if found is None and type(op) is Subscript and len(op.with_sizes(e.args[1:])[1]) < len(e.args) - 1:
            found = replace(e, args=args)
            return sized(found, self.naming.type(self.inf.types[e]))
        return found if found is None or found.span is e.span else replace(found, span=e.span)

    def known(self, a: Expr) -> Any:
        """What is known of the type of an operand; all of it, if that is not a tensor."""
        found = self.inf.resolve(self.inf.vars.get(a) if type(a) is Var else self.inf.quick_leaf(a))
        return found if type(found) is TensorType else self.naming.type(found)

    def type_args(self, e: Call) -> tuple[Any, ...]:
        """What instantiates the callee; a recursive call passes the function's own parameters on."""
        found = self.inf.type_args.get(e)
        if found is None:
            sig = self.inf.mono_calls.get(e)
            if sig is None:
                return e.written_type_args
            found = (*sig.type_params, *sig.added)
            new = tuple([self.naming.parameter(p) for p in found])
        else:
            new = tuple([self.naming.type(t) for t in found])
        return e.written_type_args if new == e.written_type_args else new

    def constant(self, c: Constant) -> Constant:
        v = self.inf.constant_dtype.get(c)
        if v is None:
            return c
        dtype = self.naming.type(v)
        t = TensorType(c.value.shape, dtype)
        return Constant(converted(c, dtype) if isinstance(dtype, str) else c.value, t, span=c.span)

    def function(self, fn: Function) -> Expr:
        sig = self.inf.signatures[fn]
        body = self.get(fn.body)
        params = tuple([self.vars[p] for p in fn.params])
        ret = fn.ret_type
        if ret is None or ret.flags & TO_FILL:
            ret = self.naming.type(sig.mono.ret_type)
        added = tuple([sig.final[p] for p in sig.added])
        constraints = fn.constraints
        if sig.needs or any(has_unknown(c) for c in constraints):
            constraints = tuple([self.naming.type(c) for c in (*constraints, *sig.needs)])
        self.naming.leave()
        self.dimensions.leave()
        if (
            body is fn.body
            and ret is fn.ret_type
            and not added
            and constraints is fn.constraints
            and _same(params, fn.params)
        ):
            return fn
        return replace(
            fn,
            params=params,
            body=body,
            ret_type=ret,
            type_params=(*fn.type_params, *added),
            constraints=constraints,
        )

    def match(self, e: Match) -> Expr:
        data = self.get(e.data)
        clauses: list[Clause] = []
        for c in e.clauses:
            lhs, parts = self.pattern(c.lhs), [self.get(part) for part in c.parts]
            clauses.append(c if lhs is c.lhs and _same(parts, c.parts) else c.rebuild(lhs, parts))
        t = self.inf.matched.get(e)
        if t is not None:
            whole = Match(data, tuple(clauses), e.complete, span=e.span)
            result = self.naming.type(self.inf.types[e])
            return lowered(whole, self.naming.type(t), result, self.alternatives, self.inf.mod)
        if data is e.data and _same(clauses, e.clauses):
            return e
        return Match(data, tuple(clauses), e.complete, span=e.span)

    def pattern(self, root: Pattern) -> Pattern:
        """A pattern with its variables and literals annotated."""
        plain = is_lowered(root)
        if plain and all(self.vars[v] is v for v in pattern_vars(root)):
            return root
        new = renamed_pattern(root if plain else rewrite_pattern(root, self.literal), self.vars.__getitem__)
        for old, p in () if plain else zip(pattern_nodes(root), pattern_nodes(new), strict=True):
            if isinstance(old, PatternOr):
                self.alternatives[p] = self.naming.type(self.inf.matched[old])
        return new

    def literal(self, p: Pattern) -> Pattern | None:
        """A literal of a pattern with its dtype."""
        return PatternLiteral(self.constant(p.value), span=p.span) if isinstance(p, PatternLiteral) else None


_LEAVES = frozenset({Var, GlobalVar, Op, Constructor})
TO_FILL = HAS_INCOMPLETE | HAS_ALIAS
"""Types as written with these flags are replaced by what inference found."""


def calling(f: Expr, t: Any, type_args: tuple[Any, ...], span: Span | None) -> Function:
    """A function of type `t` that calls an instance of another."""
    params = tuple([Var("x", a, span=span) for a in t.arg_types])
    return Function(params, Call(f, params, None, type_args, span=span), t.ret_type, span=span)


def _same(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    return all(map(is_, xs, ys))


def _has_given_scheme(t: Any, sig: Signature) -> bool:
    """Whether a variable has the scheme that its function was given (not one that was written)."""
    return isinstance(t, FuncType) and t.type_params == (*sig.type_params, *sig.added)
