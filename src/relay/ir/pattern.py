"""Patterns of `match`: wildcard, variable, constructor, tuple."""

from collections.abc import Iterator

from relay.diagnostic import caller_span
from relay.ir.leaf import Constructor, Var
from relay.ir.node import Pattern, node, set_field


def _several(p: "PatternConstructor | PatternTuple") -> None:
    """Fields given as a list (or None) as a tuple, and the span."""
    if type(p.patterns) is not tuple:
        set_field(p, "patterns", tuple(p.patterns or ()))
    if p.span is None:
        set_field(p, "span", caller_span())


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
    patterns: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        _several(self)

    @property
    def children(self) -> tuple[Pattern, ...]:
        return self.patterns


@node
class PatternTuple(Pattern):
    """`(p, q)`: matches a tuple whose fields match."""

    patterns: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        _several(self)

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
