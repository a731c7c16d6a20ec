"""Which chains of `Cons` print as lists: those that end with `Nil`, and longer ones before any rest."""

from collections.abc import Container
from typing import Any

from relay.ir.expr import Call, Constructor
from relay.ir.pattern import PatternConstructor

LIST_WITH_REST = 2
"""With fewer elements before its rest, a chain prints as `Cons(%head, %tail)`."""


def list_cells(e: Call, named: tuple[Container[Any], ...]) -> tuple[list[Any], Any] | None:
    """The elements of a list and what follows them (None for `Nil`); None for what prints as calls.

    The nodes in `named` print by a name, and so end the chain.
    """
    elements: list[Any] = []
    rest: Any = e
    while _is_plain(rest, "Cons", 2, e) and (rest is e or not any(rest in names for names in named)):
        elements.append(rest.args[0])
        rest = rest.args[1]
    if elements and _is_plain(rest, "Nil", 0, e) and not any(rest in names for names in named):
        return elements, None
    return (elements, rest) if len(elements) >= LIST_WITH_REST else None


def _is_plain(e: Any, name: str, count: int, like: Call) -> bool:
    """Whether `e` is an instance made by a constructor of that name, of the type of `like`."""
    return (
        type(e) is Call
        and type(e.op) is Constructor
        and e.op.name_hint == name
        and len(e.args) == len(e.op.inputs) == count
        and type(like.op) is Constructor
        and e.op.belong_to == like.op.belong_to
        and e.written_type_args == like.written_type_args
        and not e.attrs
    )


def list_patterns(p: PatternConstructor) -> tuple[list[Any], Any] | None:
    """The patterns of the elements of a list, and of what follows them; None as for `list_cells`."""
    elements: list[Any] = []
    rest: Any = p
    while _is_cell(rest, "Cons", 2, p):
        elements.append(rest.patterns[0])
        rest = rest.patterns[1]
    if elements and _is_cell(rest, "Nil", 0, p):
        return elements, None
    return (elements, rest) if len(elements) >= LIST_WITH_REST else None


def _is_cell(p: Any, name: str, count: int, like: PatternConstructor) -> bool:
    return (
        isinstance(p, PatternConstructor)
        and p.constructor.name_hint == name
        and len(p.patterns) == len(p.constructor.inputs) == count
        and p.constructor.belong_to == like.constructor.belong_to
    )
