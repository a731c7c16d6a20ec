"""Aliases of types: names for types with parameters, which stand for them wherever they are written.

A type that is written by an alias is an `AliasCall`, so that it prints as it was written.  Inference, and
whatever compares types, puts what it stands for in its place.
"""

from collections.abc import Sequence
from typing import Any as Value

from relay.ir.node import Node, keep_listed, listed, node, several
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, Type, TypeVar, spread, unspread
from relay.ir.type_base import HAS_ALIAS, flags_of, intern, known, set_field


@node
class TypeAlias(Node):
    """`type header[type_vars] = type`."""

    header: GlobalTypeVar
    type_vars: tuple[TypeVar, ...] = several(converter=listed)
    type: Type

    def __post_init__(self) -> None:
        keep_listed(self, "type_vars")

    def __call__(self, args: Sequence[Value] = ()) -> "AliasCall":
        """The alias with arguments of the kinds that it declares."""
        by = dict(zip(self.type_vars, args, strict=True))
        return AliasCall(self.header, args, substitute_type(expanded(self.type), by))


class AliasCall(Type):
    """A type that is written by an alias: `Params[3, 4]`; `target` is what it stands for."""

    __slots__ = ("args", "func", "target")
    func: GlobalTypeVar
    args: tuple[Value, ...]
    target: Type

    def __new__(cls, func: GlobalTypeVar, args: Sequence[Value], target: Type) -> "AliasCall":
        args = tuple(args)
        key = (cls, func, args, target)
        found = known(key)
        if found is None:
            found = super().__new__(cls)
            set_field(found, "func", func)
            set_field(found, "args", args)
            set_field(found, "target", target)
            set_field(found, "flags", flags_of((target, *spread(args))) | HAS_ALIAS)
            found = intern(key, found)
        assert isinstance(found, AliasCall)
        return found

    @property
    def children(self) -> tuple[Type, ...]:
        return (self.target, *[a for a in spread(self.args) if isinstance(a, Type)])

    def rebuild(self, children: tuple[Value, ...], /) -> Type:
        target, *rest = children
        return AliasCall(self.func, unspread(self.args, rest), target)


def expanded(root: Value) -> Value:
    """A type, shape, dimension or dtype with what each alias stands for in its place."""
    if not isinstance(root, Type) or not root.flags & HAS_ALIAS:
        return root
    done: dict[int, Value] = {}
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if id(t) in done:
            continue
        if not t.flags & HAS_ALIAS:
            done[id(t)] = t
        elif ready:
            new = tuple([done[id(c)] for c in t.children])
            done[id(t)] = new[0] if isinstance(t, AliasCall) else t.rebuild(new)
        else:
            stack.append((t, True))
            stack += [(c, False) for c in t.children if id(c) not in done]
    return done[id(root)]
