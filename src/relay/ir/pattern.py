"""Patterns of `match`: wildcard, variable, constructor, tuple, and those that inference expresses by these.

A literal, alternatives and `P as %x`, as the guard of a clause, are in programs until their types are known:
`relay.typecheck.lowered_match` writes a match that has them as matches that do not, so no pass meets them.
"""

from collections.abc import Iterator

from relay.ir.leaf import Constant, Constructor, Var
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


@node
class PatternLiteral(Pattern):
    """`0`, `True`, `"text"`: matches that scalar integer, bool or string."""

    value: Constant


@node
class PatternOr(Pattern):
    """`p | q`: matches what one of several patterns does; they bind the same variables."""

    patterns: tuple[Pattern, ...] = several(converter=listed)

    def __post_init__(self) -> None:
        keep_listed(self, "patterns")

    @property
    def children(self) -> tuple[Pattern, ...]:
        return self.patterns


@node
class PatternAs(Pattern):
    """`p as %x`: matches what `p` does, and binds it."""

    pattern: Pattern
    var: Var

    @property
    def children(self) -> tuple[Pattern, ...]:
        return (self.pattern,)


BINDING = PatternVar | PatternAs
"""The patterns that bind a variable, their `var`."""


def pattern_nodes(root: Pattern) -> Iterator[Pattern]:
    """Every pattern under `root`, outside in, left to right."""
    stack = [root]
    while stack:
        p = stack.pop()
        yield p
        stack += reversed(p.children)


def pattern_vars(root: Pattern) -> list[Var]:
    """The variables that `root` binds, as one of several alternatives does, which all bind the same."""
    found: list[Var] = []
    stack = [root]
    while stack:
        p = stack.pop()
        if isinstance(p, BINDING):
            found.append(p.var)
        stack += p.children[:1] if isinstance(p, PatternOr) else reversed(p.children)
    return found


def is_lowered(root: Pattern) -> bool:
    """Whether a pattern has none of the forms that inference takes out."""
    return not any(isinstance(p, PatternLiteral | PatternOr | PatternAs) for p in pattern_nodes(root))
