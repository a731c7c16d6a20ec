"""The picture of docs/batching.md: launches of a program over a tree of 15 nodes, call by call and by levels.

python benchmarks/launches_picture.py
"""

from pathlib import Path

import numpy as np

import relay

PICTURE = Path(__file__).parents[1] / "docs" / "batching-launches.svg"
PROGRAM = """
type Tree { Leaf(Tensor[(8,), float32]), Node(Tree, Tree) }
def @encode(%t: Tree, %w: Tensor[(8, 8), float32]) -> Tensor[(8,), float32] {
  match (%t) { Leaf(%x) => tanh(%w @ %x), Node(%a, %b) => tanh(%w @ (@encode(%a, %w) + @encode(%b, %w))) }
}
def @full(%depth: int32) -> Tree {
  if (%depth == 0) { Leaf(ones(shape=(8,), dtype=float32)) }
  else { Node(@full(%depth - 1), @full(%depth - 1)) }
}
def @main(%depth: int32, %w: Tensor[(8, 8), float32]) { @encode(@full(%depth), %w) }
"""
DEPTH = 3
WIDTH, HEIGHT, TOP, RADIUS = 360, 240, 46, 13
COLOURS = ("#4477aa", "#228833", "#ccbb44", "#ee6677")
FONT = "font-family='sans-serif' text-anchor='middle'"


def counts() -> tuple[int, int]:
    """The calls of blocks of the program, and the launches that they become."""
    built = relay.build(relay.parse(PROGRAM), batch="dynamic")
    built(DEPTH, np.eye(8, dtype="float32"))
    found = built.launches()
    return found.calls, found.launches


def tree(left: int, labels: list[str], title: str, by_level: bool) -> list[str]:
    """A full binary tree, its nodes labelled in the order of their levels from the root."""
    lines = [f"<text x='{left + WIDTH / 2}' y='22' {FONT} font-size='15' fill='#333'>{title}</text>"]
    places: list[tuple[float, float, int]] = []
    for level in range(DEPTH + 1):
        n = 2**level
        y = TOP + 24 + level * (HEIGHT - TOP - 50) / DEPTH
        places += [(left + WIDTH * (i + 0.5) / n, y, level) for i in range(n)]
        if by_level:
            box = f"x='{left + 8}' y='{y - 20:.0f}' width='{WIDTH - 16}' height='40' rx='9'"
            lines.append(f"<rect {box} fill='{COLOURS[DEPTH - level]}' opacity='0.25'/>")
    for i, (x, y, _) in enumerate(places[1:], 1):
        px, py, _ = places[(i - 1) // 2]
        lines.append(f"<line x1='{px:.0f}' y1='{py:.0f}' x2='{x:.0f}' y2='{y:.0f}' stroke='#999'/>")
    for (x, y, level), label in zip(places, labels, strict=True):
        colour = COLOURS[DEPTH - level] if by_level else "#777"
        lines.append(f"<circle cx='{x:.0f}' cy='{y:.0f}' r='{RADIUS}' fill='{colour}'/>")
        lines.append(f"<text x='{x:.0f}' y='{y + 4:.0f}' {FONT} font-size='12' fill='#fff'>{label}</text>")
    return lines


def in_order_of_calls() -> list[str]:
    """When each node is computed call by call: children first, the left one before the right one."""
    order: dict[int, int] = {}
    pending = [(0, False)]
    while pending:
        i, is_done = pending.pop()
        if is_done:
            order[i] = len(order) + 1
        else:
            pending.append((i, True))
            if 2 * i + 1 < 2 ** (DEPTH + 1) - 1:
                pending += [(2 * i + 2, False), (2 * i + 1, False)]
    return [str(order[i]) for i in range(len(order))]


def picture() -> str:
    """The picture as SVG."""
    calls, launches = counts()
    levels = [str(DEPTH + 1 - level) for level in range(DEPTH + 1) for _ in range(2**level)]
    lines = tree(0, in_order_of_calls(), f"call by call: {calls} launches", False)
    lines += tree(WIDTH, levels, f"batch=&quot;dynamic&quot;: {launches} launches", True)
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {2 * WIDTH} {HEIGHT}' width='{2 * WIDTH}'>"
    return (
        "\n".join([head, f"<rect width='{2 * WIDTH}' height='{HEIGHT}' fill='#fff'/>", *lines, "</svg>"])
        + "\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture())
