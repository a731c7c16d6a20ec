"""`let` chains in the making, for passes that go through A-normal form statement by statement."""

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias

from relay.ir.expr import Expr, Let, LetRec, Var

Task: TypeAlias = Generator["Task", Any, Any]
"""Yields tasks and receives their results (`relay.ir.walk.run`); its docstring says what it returns."""


def in_turn(tasks: Iterable[Task]) -> Task:
    """The results of several tasks as a list."""
    results: list[Any] = []
    for task in tasks:
        results.append((yield task))  # noqa: PERF401  a comprehension cannot yield
    return results


class Chain:
    """Bindings in the order of evaluation; each may say which node of the source it stands for."""

    __slots__ = ("bindings",)

    def __init__(self) -> None:
        """Empty."""
        self.bindings: list[tuple[tuple[Var, ...], tuple[Expr, ...], Let | LetRec | None]] = []

    def let(self, var: Var, value: Expr, source: Let | None = None) -> None:
        """Bind one variable."""
        self.bindings.append(((var,), (value,), source))

    def let_rec(self, several: tuple[Var, ...], values: tuple[Expr, ...], source: LetRec) -> None:
        """Bind functions that know each other."""
        self.bindings.append((several, values, source))

    def finish(self, body: Expr) -> Expr:
        """The chain around its result; where it says what the source says, it is the source."""
        for names, values, source in reversed(self.bindings):
            if source is None:
                body = Let(names[0], values[0], body, span=values[0].span)
            else:
                body = link(names, values, body, source)
        return body


def link(names: tuple[Var, ...], values: tuple[Expr, ...], body: Expr, source: Let | LetRec | None) -> Expr:
    """One `let` or `let rec`: the node of the source if it is the same."""
    if source is None:
        return Let(names[0], values[0], body, span=values[0].span)
    if body is source.body and (*values, body) == source.children and names == chain_vars(source):
        return source
    if isinstance(source, LetRec) and len(names) > 1:
        return LetRec(names, values, body, span=source.span)
    assert names
    return Let(names[0], values[0], body, span=source.span)


def chain_vars(e: Let | LetRec) -> tuple[Var, ...]:
    """The variables that a `let` binds."""
    return (e.var,) if isinstance(e, Let) else e.vars
