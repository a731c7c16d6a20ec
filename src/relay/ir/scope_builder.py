"""Builds nested `let`s and `if`s in the order in which one thinks of them."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from relay.diagnostic import Span, caller_span
from relay.ir.expr import Expr, If, Let, Var, as_expr
from relay.ir.type import IncompleteType, Type


class ScopeBuilder:
    """
    >>> sb = ScopeBuilder()
    >>> with sb.if_scope(relay.less(x, y)):
    ...     doubled = sb.let("d", relay.add(x, x))
    ...     sb.ret(doubled)
    >>> with sb.else_scope():
    ...     sb.ret(y)
    >>> body = sb.get()
    """

    def __init__(self) -> None:
        self._scopes = [_Scope()]

    def let(self, var: Var | str | tuple[str, Type], value: Any) -> Var:
        """Bind a value; the variable may be given as a name, or as a name and a type."""
        if isinstance(var, str):
            var = Var(var)
        elif isinstance(var, tuple):
            var = Var(*var)
        scope = self._open_scope()
        scope.bindings.append((var, as_expr(value), caller_span()))
        return var

    @contextmanager
    def if_scope(self, cond: Any) -> Generator[None]:
        """What happens where the condition holds; an `else_scope` must follow."""
        scope = self._open_scope()
        scope.condition = as_expr(cond)
        yield from self._branch()
        scope.true_branch = self._finished.pop()

    @contextmanager
    def else_scope(self) -> Generator[None]:
        """What happens where the condition of the preceding `if_scope` does not hold."""
        scope = self._scopes[-1]
        if scope.condition is None or scope.true_branch is None or scope.result is not None:
            raise RuntimeError("an else_scope follows an if_scope")
        yield from self._branch()
        scope.result = If(scope.condition, scope.true_branch, self._finished.pop(), span=scope.condition.span)

    def ret(self, value: Any) -> None:
        """The value of the scope."""
        self._open_scope().result = as_expr(value)

    def get(self) -> Expr:
        """The expression that was built."""
        if len(self._scopes) != 1:
            raise RuntimeError("get() belongs after the scopes are closed")
        return self._scopes[0].finish()

    def type_of(self, expr: Expr) -> Type:
        """The type of an expression: what a variable is annotated with, else what inference finds."""
        if isinstance(expr, Var):
            return expr.type_annotation or IncompleteType()
        return expr.checked_type

    def _branch(self) -> Generator[None]:
        self._scopes.append(_Scope())
        try:
            yield
        except BaseException:
            self._scopes.pop()
            raise
        self._finished = [self._scopes.pop().finish()]

    def _open_scope(self) -> "_Scope":
        scope = self._scopes[-1]
        if scope.condition is not None and scope.result is None:
            raise RuntimeError("an if_scope needs an else_scope before anything else")
        if scope.result is not None:
            raise RuntimeError("nothing can follow the value of a scope")
        return scope


class _Scope:
    """The bindings so far, and the value once it is known."""

    def __init__(self) -> None:
        self.bindings: list[tuple[Var, Expr, Span | None]] = []
        self.condition: Expr | None = None
        self.true_branch: Expr | None = None
        self.result: Expr | None = None

    def finish(self) -> Expr:
        """The `let`s around the value."""
        if self.result is None:
            missing = "an else_scope" if self.condition is not None else "a ret(value)"
            raise RuntimeError(f"a scope has no value: it needs {missing}")
        body = self.result
        for var, value, span in reversed(self.bindings):
            body = Let(var, value, body, span=span)
        return body
