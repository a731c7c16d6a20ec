"""What is drawn of a program: nodes in groups, with edges along which values go."""

from dataclasses import dataclass, field
from typing import Literal

from relay.diagnostic import Span

NodeKind = Literal["parameter", "constant", "operator", "call", "value", "control", "result"]
GroupKind = Literal["definition", "function", "branch", "fusion", "part"]


@dataclass(slots=True)
class Node:
    """One value of a program: what makes it, and in which group."""

    label: str
    kind: NodeKind
    group: int
    type: str
    """The text of its type."""
    span: Span | None
    detail: str = ""
    """Attributes of an operator, below its name."""
    callees: tuple[str, ...] = ()
    """The definitions that it mentions."""
    is_tuple: bool = False
    seconds: float | None = None
    """What it took, in a picture of a profile."""


@dataclass(slots=True)
class Group:
    """Nodes that belong together: a definition, a function, a branch, operators of one loop, a part of these.

    `parent` is the number of the group around it, smaller than its own; a definition has -1.
    """

    label: str
    kind: GroupKind
    parent: int
    span: Span | None = None
    definition: str = ""
    """The name of the definition that it is, without `@`."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A value of the type on its way from one node to another; the label says which part, or to what end."""

    start: int
    end: int
    type: str
    label: str = ""


@dataclass(slots=True)
class Graph:
    """A whole program."""

    name: str
    nodes: list[Node] = field(default_factory=list[Node])
    groups: list[Group] = field(default_factory=list[Group])
    edges: list[Edge] = field(default_factory=list[Edge])

    def add_group(self, group: Group) -> int:
        """The number of a new group."""
        self.groups.append(group)
        return len(self.groups) - 1

    def add_node(self, node: Node) -> int:
        """The number of a new node."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def definitions(self) -> dict[str, int]:
        """The group of each definition."""
        return {g.definition: i for i, g in enumerate(self.groups) if g.kind == "definition"}

    def calls(self) -> list[tuple[int, int]]:
        """Each node that mentions a definition, with the group of that."""
        groups = self.definitions()
        return [(i, groups[name]) for i, n in enumerate(self.nodes) for name in n.callees if name in groups]
