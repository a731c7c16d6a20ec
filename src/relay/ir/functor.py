"""Visitor, mutator and functor classes over expressions: one method per kind of node, results remembered.

`self.visit(child)` may be called anywhere, in any order, or not at all (which prunes), at any depth.
For code of this package `relay.ir.walk` is shorter and faster.
"""

from typing import Any, Generic, TypeVar

from relay.ir.deep import call_with_room
from relay.ir.expr import (
    Call,
    Clause,
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
    Pattern,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
    VMap,
    replace,
)
from relay.ir.pattern import pattern_vars
from relay.ir.walk import renamed_pattern

R = TypeVar("R")

METHODS: dict[type, str] = {
    Constant: "visit_constant", Var: "visit_var", GlobalVar: "visit_global_var", Op: "visit_op",
    Constructor: "visit_constructor", Tuple: "visit_tuple", TupleGetItem: "visit_tuple_getitem",
    Call: "visit_call", Function: "visit_function", Let: "visit_let", LetRec: "visit_let_rec", If: "visit_if",
    Match: "visit_match",
    RefCreate: "visit_ref_create", RefRead: "visit_ref_read", RefWrite: "visit_ref_write", Grad: "visit_grad",
    VMap: "visit_vmap",
}  # fmt: skip
LEVELS_BETWEEN_LOOKS = 16
"""How many nested visits may pass before the stack is measured again: a visit takes a handful of frames."""


class DeepVisits:
    """What expression and type functors share: results by node, and nesting without overflow."""

    def __init__(self) -> None:
        self.memo_map: dict[Any, Any] = {}
        self._level = 0

    def visit(self, node: Any, /) -> Any:
        """The result for a node: remembered, or from the method of its kind."""
        memo = self.memo_map
        if node in memo:
            return memo[node]
        method = getattr(self, self.method_name(node))
        self._level += 1
        try:
            result = call_with_room(method, node) if self._level % LEVELS_BETWEEN_LOOKS == 0 else method(node)
        finally:
            self._level -= 1
        memo[node] = result
        return result

    @staticmethod
    def method_name(node: Any, /) -> str:
        """The name of the method for the node's kind."""
        raise AssertionError("said by the functor")


class ExprFunctor(DeepVisits, Generic[R]):
    """A function over expressions, by kind of node; each node is visited once."""

    @staticmethod
    def method_name(node: Any, /) -> str:
        """The name of the method for the node's kind."""
        if isinstance(node, TempExpr):
            return "visit_temp"
        found = METHODS.get(node.__class__)
        if found is None:
            raise TypeError(f"{node!r} is not an expression")
        return found

    def visit(self, expr: Expr, /) -> R:
        """The result for an expression: remembered, or from the method of its kind."""
        return super().visit(expr)

    def default(self, e: Expr, /) -> R:
        """What a kind of node without a method of its own gets."""
        raise NotImplementedError(f"{type(self).__name__} has no {self.method_name(e)}")

    visit_constant = visit_var = visit_global_var = visit_op = visit_constructor = default
    visit_tuple = visit_tuple_getitem = visit_call = visit_function = default
    visit_let = visit_let_rec = visit_if = visit_match = default
    visit_ref_create = visit_ref_read = visit_ref_write = visit_temp = default
    visit_grad = visit_vmap = default


class ExprVisitor(ExprFunctor[None]):
    """Visits every node once, left to right; an overridden method calls `super()` to go on inside."""

    def visit_constant(self, const: Constant) -> None:
        """A leaf."""

    def visit_var(self, var: Var) -> None:
        """A leaf."""

    def visit_global_var(self, gvar: GlobalVar) -> None:
        """A leaf."""

    def visit_op(self, op: Op) -> None:
        """A leaf."""

    def visit_constructor(self, con: Constructor) -> None:
        """A leaf."""

    def visit_temp(self, temp: TempExpr) -> None:
        """A leaf."""

    def visit_function(self, fn: Function) -> None:
        """Parameters, then the body."""
        for p in fn.params:
            self.visit(p)
        self.visit(fn.body)

    def visit_let(self, let: Let) -> None:
        """Variable, value, body."""
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_let_rec(self, let: LetRec) -> None:
        """Variables, values, body."""
        for v in let.vars:
            self.visit(v)
        self._children(let)

    def visit_match(self, match: Match) -> None:
        """The scrutinee, then of each clause the variables of its pattern and its right-hand side."""
        self.visit(match.data)
        for clause in match.clauses:
            for v in pattern_vars(clause.lhs):
                self.visit(v)
            for part in clause.parts:
                self.visit(part)

    def _children(self, e: Expr) -> None:
        for child in e.children:
            self.visit(child)

    visit_tuple = visit_tuple_getitem = visit_call = visit_if = _children
    visit_ref_create = visit_ref_read = visit_ref_write = visit_grad = visit_vmap = _children


class ExprMutator(ExprFunctor[Expr]):
    """Rebuilds a program: every method returns the node's replacement, which may be the node itself."""

    def _leaf(self, e: Any, /) -> Expr:
        return e

    def _rebuilt(self, e: Any, /) -> Expr:
        children: list[Expr] = []
        for child in e.children:
            children.append(self.visit(child))  # noqa: PERF401  a comprehension is one more frame for every level
        new = tuple(children)
        return e if new == e.children else e.rebuild(new)

    visit_constant = visit_var = visit_global_var = visit_op = visit_constructor = visit_temp = _leaf
    visit_tuple = visit_tuple_getitem = visit_call = visit_if = _rebuilt
    visit_ref_create = visit_ref_read = visit_ref_write = visit_grad = visit_vmap = _rebuilt

    def visit_binder(self, var: Var) -> Var:
        """What a variable becomes where it is bound: what `visit_var` makes of it, if that is a variable."""
        new = self.visit(var)
        return new if isinstance(new, Var) else var

    def visit_function(self, fn: Function) -> Expr:
        """Parameters, then the body."""
        params = tuple([self.visit_binder(p) for p in fn.params])
        body = self.visit(fn.body)
        return fn if body is fn.body and params == fn.params else replace(fn, params=params, body=body)

    def visit_let(self, let: Let) -> Expr:
        """Variable, value, body."""
        var = self.visit_binder(let.var)
        value = self.visit(let.value)
        body = self.visit(let.body)
        same = var is let.var and value is let.value and body is let.body
        return let if same else Let(var, value, body, span=let.span)

    def visit_let_rec(self, let: LetRec) -> Expr:
        """Variables, values, body."""
        variables = tuple([self.visit_binder(v) for v in let.vars])
        values = tuple([self.visit(v) for v in let.values])
        body = self.visit(let.body)
        if variables == let.vars and values == let.values and body is let.body:
            return let
        return LetRec(variables, values, body, span=let.span)

    def visit_match(self, match: Match) -> Expr:
        """The scrutinee, then each clause."""
        data = self.visit(match.data)
        clauses = tuple([self.visit_clause(c) for c in match.clauses])
        if data is match.data and clauses == match.clauses:
            return match
        return Match(data, clauses, match.complete, span=match.span)

    def visit_clause(self, clause: Clause) -> Clause:
        """The pattern, then the guard, if there is one, and the right-hand side."""
        lhs = self.visit_pattern(clause.lhs)
        parts: list[Expr] = []
        for part in clause.parts:
            parts.append(self.visit(part))  # noqa: PERF401  a comprehension is one more frame for every level
        return clause if lhs is clause.lhs and tuple(parts) == clause.parts else clause.rebuild(lhs, parts)

    def visit_pattern(self, pattern: Pattern) -> Pattern:
        """The pattern with its variables replaced."""
        return renamed_pattern(pattern, self.visit_binder)
