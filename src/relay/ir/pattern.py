"""Patterns of `match`: wildcard, variable, constructor, tuple."""

from collections.abc import Iterator

from relay.ir.leaf import Constructor, Var
from relay.ir.node import Pattern, keep_listed, listed, node, several


@node
class PatternWildcard(Pattern):
    """`_`: matches anything."""


@node
class PatternVar(Pattern):
    """`%x`: matches anything and binds it."""

    var: Var


@node
class PatternConstructor(Pattern):
    """`Cons(p, q)`: matches an instance of that constructor whose fields match."""

    constructor: Constructor
    patterns: tuple[Pattern, ...] = several(converter=listed, default=())

    def __post_init__(self) -> None:
        keep_listed(self, "patterns")

    @property
    def children(self) -> tuple[Pattern, ...]:
        return self.patterns


@node
class PatternTuple(Pattern):
    """`(p, q)`: matches a tuple whose fields match."""

    patterns: tuple[Pattern, ...] = several(converter=listed, default=())

    def __post_init__(self) -> None:
        keep_listed(self, "patterns")

    @property
    def children(self) -> tuple[Pattern, ...]:
        return self.patterns


def pattern_nodes(root: Pattern) -> Iterator[Pattern]:
    """Every pattern under `root`, outside in, left to right."""
    stack = [root]
    while stack:
        p = stack.pop()
        yield p
        stack += reversed(p.children)


def pattern_vars(root: Pattern) -> list[Var]:
    """The variables that `root` binds, left to right."""
    return [p.var for p in pattern_nodes(root) if isinstance(p, PatternVar)]
