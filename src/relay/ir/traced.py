"""Values of a Python function that is being traced, as nodes and builders meet them.

`relay.tracing` gives them the methods of arrays; here is what lets each of them stand where an expression is
expected.
"""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from relay.ir.expr import Expr

F = TypeVar("F", bound=Callable[..., Any])

current: ContextVar[Any] = ContextVar("relay_trace", default=None)
"""What knows the types and effects of the trace at hand; None outside of any."""


class Traced:
    """A value while tracing: the expression that computes it, and what knows the types of its trace."""

    __slots__ = ("expr", "types")

    def __init__(self, expr: "Expr", types: Any) -> None:
        """`types(expr)` is the type of an expression of the trace."""
        self.expr = expr
        self.types = types

    def wrap(self, expr: "Expr") -> Self:
        """Another value of the same trace."""
        return self.__class__(expr, self.types)


def first_traced(values: Iterable[Any]) -> Traced | None:
    """The first traced value among some values, and in lists and tuples of them."""
    pending = list(values)[::-1]
    while pending:
        v = pending.pop()
        if isinstance(v, Traced):
            return v
        if isinstance(v, list | tuple):
            pending += reversed(v)  # pyright: ignore[reportUnknownArgumentType]
    return None


def untraced(value: Any) -> Any:
    """A traced value as its expression, in lists and tuples too; anything else as it is."""
    if isinstance(value, Traced):
        return value.expr
    if not isinstance(value, list | tuple) or first_traced(value) is None:  # pyright: ignore[reportUnknownArgumentType]
        return value  # pyright: ignore[reportUnknownVariableType]
    done: list[Any] = []
    stack: list[tuple[Any, bool]] = [(value, False)]
    while stack:
        v, ready = stack.pop()
        if ready:
            first = len(done) - len(v)
            done[first:] = [tuple(done[first:])]
        elif isinstance(v, list | tuple):
            stack.append((v, True))  # pyright: ignore[reportUnknownArgumentType]
            stack += [(x, False) for x in reversed(v)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        else:
            done.append(v.expr if isinstance(v, Traced) else v)
    return done[0]


def takes_traced(build: F) -> F:
    """What builds expressions, made to build traced values of traced ones."""

    @wraps(build)
    def built(*args: Any, **named: Any) -> Any:
        found = first_traced(args)
        if found is None and named:
            found = first_traced(named.values())
        if found is None:
            made, trace = build(*args, **named), current.get()
            return made if trace is None else trace.kept(made)
        return found.wrap(build(*map(untraced, args), **{k: untraced(v) for k, v in named.items()}))

    return built  # pyright: ignore[reportReturnType]
