"""A graph in DOT, the language of Graphviz."""

from relay.picture.graph import Graph

SHAPES = {"parameter": "ellipse", "result": "ellipse", "control": "diamond"}
COLOURS = {
    "operator": "#e5effb",
    "call": "#e9e4fa",
    "value": "#eef1f5",
    "control": "#fdf0d5",
    "constant": "#e6f4ea",
    "parameter": "#eef1f5",
    "result": "#eef1f5",
}


def dot_text(graph: Graph) -> str:
    """The whole graph, each group a cluster, types on edges."""
    children: list[list[int]] = [[] for _ in graph.groups]
    inside: list[list[int]] = [[] for _ in graph.groups]
    for i, node in enumerate(graph.nodes):
        inside[node.group].append(i)
    for i, group in enumerate(graph.groups):
        if group.parent >= 0:
            children[group.parent].append(i)
    lines = [f"digraph {quoted(graph.name)} {{", "  compound=true;", '  fontname="monospace";']
    lines.append('  node [shape=box style="filled,rounded" fontname="monospace" fontsize=11];')
    lines.append('  edge [fontname="monospace" fontsize=9];')
    pending = [(i, 1, False) for i, group in enumerate(graph.groups) if group.parent < 0][::-1]
    while pending:
        g, depth, is_done = pending.pop()
        margin = "  " * min(depth, 20)
        if is_done:
            lines.append(f"{margin}}}")
            continue
        lines.append(f"{margin}subgraph cluster_{g} {{")
        lines.append(f"{margin}  label={quoted(graph.groups[g].label)};")
        lines += [f"{margin}  {node_line(graph, i)}" for i in inside[g]]
        pending.append((g, depth, True))
        pending += [(child, depth + 1, False) for child in reversed(children[g])]
    for e in graph.edges:
        label = f"{e.label} {e.type}".strip()
        lines.append(f"  n{e.start} -> n{e.end} [label={quoted(label)}];")
    firsts = {g: next(iter(inside[g]), None) for g in {g for _, g in graph.calls()}}
    for node, group in graph.calls():
        to = firsts[group]
        if to is not None and graph.nodes[node].group != group:
            lines.append(f"  n{node} -> n{to} [style=dashed constraint=false lhead=cluster_{group}];")
    return "\n".join([*lines, "}"]) + "\n"


def node_line(graph: Graph, i: int) -> str:
    """The statement for one node."""
    node = graph.nodes[i]
    text = f"{node.label}\n{node.detail}" if node.detail else node.label
    shape = SHAPES.get(node.kind)
    more = f" shape={shape}" if shape else ""
    words = f"label={quoted(text)} tooltip={quoted(node.type)}"
    return f"n{i} [{words} fillcolor={quoted(COLOURS[node.kind])}{more}];"


def quoted(text: str) -> str:
    """A string of DOT."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
