"""Groups that stay small: what has too many nodes is divided into parts, and these again."""

from relay.picture.graph import Edge, Graph, Group

MAX_CHILDREN = 100
"""Nodes and groups that a group has inside at most, directly."""
PART_CHILDREN = 80
"""How many of them a part takes."""


def divide(graph: Graph) -> None:
    """Put what is in a large group into parts, in the order of the program, until no group is large.

    Groups get new numbers: that of a group around another stays the smaller one.
    """
    drop_unused_tuples(graph)
    inside: list[list[tuple[bool, int]]] = [[] for _ in graph.groups]
    for i, node in enumerate(graph.nodes):
        inside[node.group].append((False, i))
    first = [min([i for _, i in children], default=len(graph.nodes)) for children in inside]
    for g in range(len(graph.groups) - 1, -1, -1):
        parent = graph.groups[g].parent
        if parent >= 0:
            inside[parent].append((True, g))
            first[parent] = min(first[parent], first[g])
    for g in range(len(graph.groups)):
        children = inside[g]
        if len(children) <= MAX_CHILDREN:
            continue
        children.sort(key=lambda child: first[child[1]] if child[0] else child[1])
        while len(children) > MAX_CHILDREN:
            children = in_parts(graph, g, children, first)
    renumber(graph)


def in_parts(
    graph: Graph, around: int, children: list[tuple[bool, int]], first: list[int]
) -> list[tuple[bool, int]]:
    """Some nodes and groups as parts of the group around them."""
    count = -(-len(children) // PART_CHILDREN)
    made: list[tuple[bool, int]] = []
    for i in range(count):
        several = children[i * PART_CHILDREN : (i + 1) * PART_CHILDREN]
        part = graph.add_group(Group(f"part {i + 1} of {count}", "part", around))
        first.append(min(first[j] if is_group else j for is_group, j in several))
        for is_group, j in several:
            if is_group:
                graph.groups[j].parent = part
            else:
                graph.nodes[j].group = part
        spans = [(graph.groups[j] if is_group else graph.nodes[j]).span for is_group, j in several]
        known = [s for s in spans if s is not None]
        if known:
            graph.groups[part].span = known[0].to(known[-1])
        made.append((True, part))
    return made


def renumber(graph: Graph) -> None:
    """Let each group come after that around it, children in their order."""
    children: list[list[int]] = [[] for _ in graph.groups]
    roots: list[int] = []
    for i, group in enumerate(graph.groups):
        (children[group.parent] if group.parent >= 0 else roots).append(i)
    order: list[int] = []
    pending = roots[::-1]
    while pending:
        i = pending.pop()
        order.append(i)
        pending += children[i][::-1]
    new = {old: i for i, old in enumerate(order)}
    graph.groups = [graph.groups[i] for i in order]
    for group in graph.groups:
        group.parent = new.get(group.parent, -1)
    for node in graph.nodes:
        node.group = new[node.group]


def drop_unused_tuples(graph: Graph) -> None:
    """Leave out tuples of which only fields are used: edges come from what these are."""
    used = {e.start for e in graph.edges}
    kept = [i for i, n in enumerate(graph.nodes) if i in used or not n.is_tuple]
    if len(kept) == len(graph.nodes):
        return
    new = {old: i for i, old in enumerate(kept)}
    graph.nodes = [graph.nodes[i] for i in kept]
    graph.edges = [Edge(new[e.start], new[e.end], e.type, e.label) for e in graph.edges if e.end in new]
