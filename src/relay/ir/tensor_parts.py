"""The tensors inside a type."""

from collections.abc import Iterator
from typing import Any

from relay.ir.type import TensorType, TupleType, Type


def tensor_parts(t: Type | None) -> list[tuple[tuple[int, ...], TensorType]]:
    """The tensors of a tensor type or a (nested) tuple of such, each with the path of projections to it."""
    found: list[tuple[tuple[int, ...], TensorType]] = []
    stack: list[tuple[Any, Any]] = [(None, t)]
    while stack:
        link, part = stack.pop()
        if isinstance(part, TensorType):
            found.append((whole_path(link), part))
        elif isinstance(part, TupleType):
            stack += [((link, i), f) for i, f in reversed(list(enumerate(part.fields)))]
    return found


def whole_path(link: Any) -> tuple[Any, ...]:
    """A path that is kept as `(path so far, last step)`, so that going deeper costs nothing."""
    steps: list[Any] = []
    while link is not None:
        link, step = link
        steps.append(step)
    return tuple(reversed(steps))


def nested(t: Type, parts: Iterator[Any]) -> Any:
    """A value of a (nested) tuple type, whose parts come in their order."""
    done: list[list[Any]] = [[]]
    pending: list[Type | None] = [t]
    while pending:
        u = pending.pop()
        if u is None:
            made = tuple(done.pop())
            done[-1].append(made)
        elif isinstance(u, TupleType):
            done.append([])
            pending += [None, *reversed(u.fields)]
        else:
            done[-1].append(next(parts))
    return done[0][0]
