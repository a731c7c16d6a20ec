"""Trees in which two nodes find what they have in common, in logarithmic time."""

from typing import Self, TypeVar

D = TypeVar("D", bound="Descendant")


class Descendant:
    """A node of a tree that knows its parent.  `jump` skips ancestors: skew-binary lists, Myers, 1983."""

    __slots__ = ("depth", "jump", "parent")
    parent: Self | None
    jump: Self

    def __init__(self: D, parent: D | None) -> None:
        """A node directly below `parent`; the root has none."""
        self.parent = parent
        if parent is None:
            self.depth, self.jump = 0, self
        else:
            self.depth = parent.depth + 1
            leap = parent.jump
            even = parent.depth - leap.depth == leap.depth - leap.jump.depth
            self.jump = leap.jump if even else parent


def common(a: D, b: D) -> D:
    """The lowest node that both are, or are below."""
    if a.depth < b.depth:
        a, b = b, a
    a = ancestor(a, b.depth)
    while a is not b:
        a, b = (a.jump, b.jump) if a.jump is not b.jump else (_up(a), _up(b))
    return a


def ancestor(d: D, depth: int) -> D:
    """The node at a depth that a node is, or is below; a node above that depth itself."""
    while d.depth > depth:
        d = d.jump if d.jump.depth >= depth else _up(d)
    return d


def _up(d: D) -> D:
    assert d.parent is not None
    return d.parent
