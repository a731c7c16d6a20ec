"""The node graph of the JSON format while it is written, and what becomes a node of its own in it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

Node = dict[str, Any]


class Graph:
    """Numbers objects as they are first met; each is one node."""

    def __init__(self) -> None:
        """Node 0 is none."""
        self.nodes: list[Node] = [{"type_key": ""}]
        self.known: dict[Any, int] = {}
        self.waiting: list[tuple[int, Any]] = []
        self.alive: list[Any] = []

    def ref(self, thing: Any) -> int:
        """The number of the node for anything; 0 for None."""
        if thing is None:
            return 0
        plain = isinstance(thing, int | float | str)
        key = (type(thing), repr(thing)) if plain else id(thing)
        index = self.known.get(key)
        if index is None:
            index = self.known[key] = len(self.nodes)
            self.nodes.append({})
            self.alive.append(thing)
            self.waiting.append((index, thing))
        return index

    def text(self, thing: Any) -> str:
        """A reference as the attribute of a node."""
        return str(self.ref(thing))

    def several(self, things: Sequence[Any]) -> str:
        """A reference to an array of its own."""
        return self.text(Items(things))

    def make(self, key: str, plain: Mapping[str, str] | None = None, **refs: Any) -> Node:
        """A node; `refs` become references, sequences arrays."""
        attrs = dict(plain or {})
        for name, thing in refs.items():
            is_array = isinstance(thing, tuple | list)
            attrs[name] = self.several(cast("Sequence[Any]", thing)) if is_array else self.text(thing)
        return {"type_key": key, "attrs": attrs} if attrs else {"type_key": key}


class Items:
    """A sequence that is a field of a node."""

    __slots__ = ("items",)

    def __init__(self, items: Sequence[Any]) -> None:
        """`items` of any kind."""
        self.items = items


class Pairs:
    """A mapping whose keys are nodes."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Mapping[Any, Any]) -> None:
        """`pairs` of any kind."""
        self.pairs = pairs


class Identity:
    """The name of a variable."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """Each variable has one of its own."""
        self.name = name


class DictAttrs:
    """Attributes of functions, and of calls whose callee is not an operator."""

    __slots__ = ("values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        """`values` by name."""
        self.values = dict(values)


class OperatorAttrs:
    """The attributes of an operator."""

    __slots__ = ("name", "op")

    def __init__(self, name: str, op: Any) -> None:
        """`op` is the instance that has them."""
        self.name = name
        self.op = op


class Chain:
    """`op(a, op(b, c))`, of dimensions."""

    __slots__ = ("args", "key")

    def __init__(self, key: str, args: tuple[Any, ...]) -> None:
        """`key` is the type key of each node."""
        self.key = key
        self.args = args
