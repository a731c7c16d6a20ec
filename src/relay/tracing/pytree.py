"""Nested Python values: tuples, lists, dicts, named tuples, dataclasses and records around leaves.

Their structure is a `Tree`, which is a key of what is kept for it.  In Relay each container is a tuple: of a
dict the values in the order of their **sorted** keys, so that equal dicts have one structure; of a dataclass
or a record the fields in the order in which they are declared; `None` is the empty tuple.
"""

import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from relay.diagnostic import caller_span, fail
from relay.interpreter.value import ConstructorValue, is_tuple
from relay.ir.expr import Constructor, RelayExpr
from relay.ir.walk import run

STATIC = "static"
"""`field(metadata={"static": True})`: a field of a dataclass that is part of the structure, no value."""


@dataclass(frozen=True)
class Instance:
    """A dataclass, and the values of its static fields."""

    kind: type
    fixed: tuple[tuple[str, Any], ...]

    def of(self, fields: Iterable[tuple[str, Any]]) -> Any:
        """An instance with these fields, made without its constructor: they stood in one before."""
        made = cast("Any", object.__new__(self.kind))
        for name, value in (*self.fixed, *fields):
            object.__setattr__(made, name, value)
        return made


@dataclass(frozen=True)
class Box:
    """Classes whose instances have one tensor: of known elements, made of its value, and in a trace."""

    known: Callable[[Any], Any]
    traced: Callable[[Any, Any], Any]


class Boxed:
    """A tensor in a class of its own, whose `value` is the tensor as the interpreter has it."""

    __slots__ = ()
    box: ClassVar[Box]
    value: Any


def unboxed(x: Any) -> Any:
    """What a box has inside; anything else as it is."""
    return x.value if isinstance(x, Boxed) else x


@dataclass(frozen=True)
class Leaf:
    """A place for one value."""

    trees: tuple["Tree", "Tree"] | None = None
    """The structures of the arguments and of the result of a function between nested values."""
    box: Box | None = None
    """What the value stands in; None for NumPy's arrays and scalars."""

    def __str__(self) -> str:
        return "*"


@dataclass(frozen=True, eq=False)
class Node:
    """A container: what makes it of its parts, and their structures."""

    kind: Any
    keys: tuple[Any, ...]
    parts: tuple["Tree", ...]
    known_hash: list[int] = field(default_factory=list[int], init=False, repr=False)
    """Its hash, once that has been asked for: of the parts it is needed again for the whole."""

    def __eq__(self, other: object) -> bool:
        pairs: list[tuple[Any, Any]] = [(self, other)]
        while pairs:
            a, b = pairs.pop()
            if a is b:
                continue
            if not isinstance(a, Node) or not isinstance(b, Node):
                if isinstance(a, Node) or isinstance(b, Node) or a != b:
                    return False
            elif a.kind != b.kind or a.keys != b.keys or len(a.parts) != len(b.parts):
                return False
            else:
                pairs += zip(a.parts, b.parts, strict=True)
        return True

    def __hash__(self) -> int:
        pending = [] if self.known_hash else [self]
        while pending:
            top = pending[-1]
            new = [p for p in top.parts if isinstance(p, Node) and not p.known_hash]
            if new:
                pending += new
            else:
                pending.pop()
                top.known_hash[:] = [hash((top.kind, top.keys, top.parts))]
        return self.known_hash[0]

    def __str__(self) -> str:
        """The container with `*` for each leaf."""
        said: list[str] = []
        pending: list[Tree | str] = [self]
        while pending:
            x = pending.pop()
            if isinstance(x, Node):
                pending += reversed(x.written())
            else:
                said.append(str(x))
        return "".join(said)

    def written(self) -> "list[Tree | str]":
        """What its text consists of."""
        kind = self.kind.kind if isinstance(self.kind, Instance) else self.kind
        if isinstance(kind, Constructor):
            return [*self.in_brackets(f"{kind.name_hint} {{ ", kind.field_names), " }"]
        if kind is None:
            return ["None"]
        brackets = {dict: "{}", list: "[]", tuple: "()"}.get(kind)
        opening, closing = brackets or (f"{kind.__name__}(", ")")
        inside = self.in_brackets(opening, [repr(k) for k in self.keys] if kind is dict else ())
        return [*inside, "," if kind is tuple and len(self.parts) == 1 else "", closing]

    def in_brackets(self, opening: str, names: Sequence[str]) -> "list[Tree | str]":
        """The parts behind an opening bracket, each with its name if there are names."""
        found: list[Tree | str] = [opening]
        for i, part in enumerate(self.parts):
            found += [", " if i else "", f"{names[i]}: " if names else "", part]
        return found

    def built(self, parts: Sequence[Any]) -> Any:
        """The container of these parts."""
        if self.kind is dict:
            return dict(zip(self.keys, parts, strict=True))
        if self.kind is None:
            return None
        if self.kind is tuple:
            return tuple(parts)
        if self.kind is list:
            return [*parts]
        if isinstance(self.kind, Constructor):
            return ConstructorValue(self.kind, tuple(parts))
        if hasattr(self.kind, "_make"):
            return self.kind._make(parts)
        made = self.kind if isinstance(self.kind, Instance) else Instance(self.kind, ())
        return made.of(zip(self.keys, parts, strict=True))


Tree = Leaf | Node
LEAF = Leaf()


def parts_of(value: Any) -> tuple[Any, tuple[Any, ...], Sequence[Any]] | None:
    """The kind, keys and parts of a container, None for a leaf (`bad-argument` for keys in no order)."""
    kind = cast("Any", type(value))
    if value is None:
        return None, (), ()
    if kind is tuple or kind is list:
        return kind, (), value
    if kind is dict:
        keys = _sorted_keys(value)
        return dict, keys, [value[k] for k in keys]
    if isinstance(value, ConstructorValue) and value.constructor.field_names:
        return value.constructor, value.constructor.field_names, value.fields
    if is_tuple(value) and hasattr(value, "_make"):
        return kind, value._fields, value  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    if dataclasses.is_dataclass(value) and not isinstance(value, type | RelayExpr):
        fields = dataclasses.fields(value)
        names = tuple([f.name for f in fields if not f.metadata.get(STATIC)])
        fixed = tuple([(f.name, getattr(value, f.name)) for f in fields if f.metadata.get(STATIC)])
        return Instance(kind, fixed) if fixed else kind, names, [getattr(value, n) for n in names]
    return None


class Path:
    """Where a part of a nested value is, as `params["w"][0]`: written out only where a diagnostic says it."""

    __slots__ = ("before", "i", "keys", "kind")

    def __init__(self, before: "Where", kind: Any, keys: tuple[Any, ...], i: int) -> None:
        """Part `i` of a container with these keys, which is at `before`."""
        self.before, self.kind, self.keys, self.i = before, kind, keys, i

    def __str__(self) -> str:
        steps: list[str] = []
        at: Where = self
        while isinstance(at, Path):
            steps.append(at.step())
            at = at.before
        return at + "".join(reversed(steps))

    def step(self) -> str:
        """How Python reaches the part from the container."""
        if self.kind in (tuple, list):
            return f"[{self.i}]"
        key = self.keys[self.i]
        return f"[{key!r}]" if self.kind is dict else f".{key}"


Where = Path | str
"""A place in a nested value; a name for the whole."""


def flatten(value: Any, leaf: Callable[[Any, Where], tuple[Any, Tree]], name: Where) -> tuple[Any, Tree]:
    """A nested value as nested tuples of what `leaf` makes of its leaves, and its structure.

    `leaf` is given each leaf and where it is, and gives a value and its structure.  Raises what `leaf`
    raises, and `bad-argument` for dicts whose keys have no order.
    """
    return run(_flatten(value, leaf, name))


def _flatten(
    value: Any, leaf: Callable[[Any, Where], tuple[Any, Tree]], name: Where
) -> Generator[Any, Any, tuple[Any, Tree]]:
    found = parts_of(value)
    if found is None:
        return leaf(value, name)
    kind, keys, parts = found
    done: list[tuple[Any, Tree]] = []
    for i, part in enumerate(parts):
        done.append((yield _flatten(part, leaf, Path(name, kind, keys, i))))
    return tuple([d[0] for d in done]), Node(kind, keys, tuple([d[1] for d in done]))


def unflatten(
    tree: Tree, value: Any, leaf: Callable[[Any, Leaf], Any], field: Callable[[Any, int], Any]
) -> Any:
    """The nested value of a structure: `field(value, i)` is a part of a tuple, `leaf` makes the leaves."""
    return run(_unflatten(tree, value, leaf, field))


def _unflatten(
    tree: Tree, value: Any, leaf: Callable[[Any, Leaf], Any], field: Callable[[Any, int], Any]
) -> Generator[Any, Any, Any]:
    if isinstance(tree, Leaf):
        return leaf(value, tree)
    parts: list[Any] = []
    for i, part in enumerate(tree.parts):
        parts.append((yield _unflatten(part, field(value, i), leaf, field)))
    return tree.built(parts)


def nodes(tree: Tree) -> Iterator[Tree]:
    """Every structure inside of one, itself too."""
    stack = [tree]
    while stack:
        t = stack.pop()
        yield t
        if isinstance(t, Node):
            stack += t.parts


def is_plain(tree: Tree) -> bool:
    """Whether values of a structure are what programs give: tuples and leaves."""
    return all(t == LEAF if isinstance(t, Leaf) else t.kind is tuple for t in nodes(tree))


def same_structure(a: Tree, b: Tree) -> bool:
    """Whether two structures have the same containers, whatever the values at the leaves stand in."""
    return a == b or run(_without_boxes(a)) == run(_without_boxes(b))


def _without_boxes(tree: Tree) -> Generator[Any, Any, Tree]:
    if isinstance(tree, Leaf):
        return Leaf(tree.trees)
    parts: list[Tree] = []
    for part in tree.parts:
        bare: Tree = yield _without_boxes(part)
        parts.append(bare)
    return Node(tree.kind, tree.keys, tuple(parts))


def _sorted_keys(value: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(value))
    except TypeError:
        kinds = ", ".join(sorted({type(k).__name__ for k in value}))
        fail("bad-argument", f"the keys of a dict have no order: they are of {kinds}", caller_span(),
             hint="parts of a dict go by their sorted keys: use text alone, or a dataclass")  # fmt: skip
