"""Substitution in types and expressions; nothing here recurses."""

from collections.abc import Callable, Mapping
from typing import Any

from relay.ir import hooks
from relay.ir.type import (
    HAS_BINDER,
    HAS_INCOMPLETE,
    HAS_VAR,
    FuncType,
    Type,
    TypeRelation,
    TypeVar,
)


def map_type(root: Any, rule: Callable[[Any], Any], mask: int = HAS_VAR | HAS_INCOMPLETE) -> Any:
    """`root` with `rule` applied to every leaf that has a flag of `mask`; parts without one stay as they are.

    `root` may be a dimension, a shape tuple or a dtype's name as well.  `rule` gets a leaf (`TypeVar`,
    `IncompleteType`, …) and returns what stands in its place.
    """
    if not isinstance(root, Type):
        return map_types(root, rule, mask) if isinstance(root, tuple) else root  # pyright: ignore[reportUnknownArgumentType]
    if not root.flags & mask:
        return root
    done: dict[int, Any] = {}  # by identity: comparing polymorphic function types comes back here
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if id(t) in done:
            continue
        children = t.children
        if not t.flags & mask:
            done[id(t)] = t
        elif not children:
            done[id(t)] = rule(t)
        elif ready:
            new = tuple([done[id(c)] for c in children])
            done[id(t)] = t if all(a is b for a, b in zip(new, children, strict=True)) else t.rebuild(new)
        else:
            stack.append((t, True))
            stack += [(c, False) for c in children if id(c) not in done]
    return done[id(root)]


def map_types(
    shape: tuple[Any, ...], rule: Callable[[Any], Any], mask: int = HAS_VAR | HAS_INCOMPLETE
) -> tuple[Any, ...]:
    """`map_type` on each of several."""
    return tuple([map_type(d, rule, mask) for d in shape])


def substitute_type(t: Any, by: Mapping[Any, Any]) -> Any:
    """`t` with each key of `by` (type parameters, inference variables) replaced by its value."""
    return map_type(t, lambda leaf: by.get(leaf, leaf)) if by else t


_CANONICAL: dict[tuple[Any, int, int], TypeVar] = {}


def _height(t: Type) -> int:
    """How deeply polymorphic function types nest inside `t`."""
    if not t.flags & HAS_BINDER:
        return 0
    heights: dict[int, int] = {}
    stack: list[tuple[Type, bool]] = [(t, False)]
    while stack:
        u, ready = stack.pop()
        if ready:
            below = max([heights.get(id(c), 0) for c in u.children], default=0)
            heights[id(u)] = below + bool(isinstance(u, FuncType) and u.type_params)
        elif id(u) not in heights and u.flags & HAS_BINDER:
            stack.append((u, True))
            stack += [(c, False) for c in u.children]
    return heights[id(t)]


def canonical_func_type(t: FuncType) -> FuncType:
    """`t` with its parameters replaced by ones that depend on nesting and position alone."""
    height = _height(t)
    by: dict[TypeVar, TypeVar] = {}
    for i, p in enumerate(t.type_params):
        key = (p.kind, height, i)
        by[p] = _CANONICAL.get(key) or _CANONICAL.setdefault(key, TypeVar(f"t{i}", p.kind))
    constraints = tuple(
        [c for c in (substitute_type(c, by) for c in t.type_constraints) if isinstance(c, TypeRelation)]
    )
    return FuncType(
        tuple([substitute_type(a, by) for a in t.arg_types]),
        substitute_type(t.ret_type, by),
        tuple(by.values()),
        constraints,
    )


hooks.canonical_func_type = canonical_func_type
