"""Metadata about operators that belongs to someone else: a pass, or a user."""

from typing import Generic, TypeVar

from relay.op.base import Operator
from relay.op.registry import registry

V = TypeVar("V")


class Column(Generic[V]):
    """Metadata that one pass or user owns, by operator class, inherited along the classes.

    `flops = Column[FlopRule](default=unknown)`, `flops[Elementwise] = one_per_element`, `flops[op]`.
    """

    def __init__(self, default: V) -> None:
        """`default` is what a class gets when neither it nor a base has an entry."""
        self.default = default
        self.entries: dict[type[Operator], V] = {}

    def __setitem__(self, owner: type[Operator], value: V) -> None:
        self.entries[owner] = value

    def __getitem__(self, owner: type[Operator] | Operator | str) -> V:
        cls = registry[owner] if isinstance(owner, str) else owner if isinstance(owner, type) else type(owner)
        for base in cls.__mro__:
            if base in self.entries:
                return self.entries[base]
        return self.default
