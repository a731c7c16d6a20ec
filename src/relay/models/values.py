"""Values of a program that is not there yet: constructors by name, which choose the program's."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from relay.interpreter.value import ConstructorValue
from relay.ir.expr import Constructor


class Made(NamedTuple):
    """What a constructor of that name makes of fields: arrays, numbers, lists, and others."""

    name: str
    fields: tuple[Any, ...] = ()


def made(name: str, *fields: Any) -> Made:
    """The constructor of that name with fields."""
    return Made(name, fields)


def parts_of(root: Any) -> Iterator[Made]:
    """All that constructors make in a value."""
    pending = [root]
    while pending:
        x = pending.pop()
        if isinstance(x, Made):
            yield x
            pending += x.fields
        elif isinstance(x, list):
            pending += x


def value_of(
    root: Any, constructors: Mapping[str, Constructor], instead: Mapping[int, Any] | None = None
) -> Any:
    """The value, by constructors of a program.  Parts that are one object stay one.

    `instead` has what stands for some of the parts, by their `id`.
    """
    done: dict[int, Any] = dict(instead or {})
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        x, is_ready = stack.pop()
        key = id(x)
        if key in done:
            continue
        if isinstance(x, Made):
            parts = x.fields
        elif isinstance(x, list):
            parts = tuple(cast("list[Any]", x))
        else:
            done[key] = x
            continue
        if is_ready:
            fields = [done[id(p)] for p in parts]
            constructor = constructors[x.name] if isinstance(x, Made) else None
            done[key] = fields if constructor is None else ConstructorValue(constructor, tuple(fields))
        else:
            stack.append((cast("Any", x), True))
            stack += [(p, False) for p in parts]
    return done[id(root)]
