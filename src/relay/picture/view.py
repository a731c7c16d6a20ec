"""`mod.view()`: a program as a picture that is shown in a notebook, saved, or opened in a browser."""

import webbrowser
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

from relay.diagnostic import counted, fail
from relay.ir import hooks
from relay.ir.module import IRModule
from relay.picture.data import page_data
from relay.picture.dot import dot_text
from relay.picture.drawing import MAX_SHOWN_NODES, svg_text
from relay.picture.graph import Graph
from relay.picture.page import framed, page_text
from relay.picture.program import graph_of
from relay.text.files import write_atomically


class View:
    """A picture of a program: `save("name.html")`, `.svg` or `.dot` writes a file, `open()` shows a browser.

    In a notebook it is shown where it is the value of a cell.
    """

    def __init__(self, graph: Graph) -> None:
        """`graph` is what is drawn."""
        self.graph = graph
        self.data = page_data(graph)

    def html(self) -> str:
        """A page that stands alone."""
        return page_text(self.data, f"{self.graph.name} - Relay")

    def svg(self, shown: int = MAX_SHOWN_NODES) -> str:
        """An SVG with at most so many nodes and groups to see; groups stay closed for that (`no-drawing`)."""
        return svg_text(self.data, shown)

    def dot(self) -> str:
        """The graph as Graphviz reads it."""
        return dot_text(self.graph)

    def save(self, path: str | Path) -> None:
        """Write a file, of the kind that its name ends in (`output-format`, `no-drawing`, `cannot-write`)."""
        text = self.kind(str(path))().encode()
        write_atomically(str(path), lambda out: out.write(text))

    def kind(self, name: str) -> Callable[[], str]:
        """What makes the text of a file of that name (`output-format`)."""
        kinds: dict[str, Callable[[], str]] = {".html": self.html, ".svg": self.svg, ".dot": self.dot}
        made = kinds.get(Path(name).suffix or name)
        if made is None:
            hint = f"the name must end in {', '.join(kinds)}"
            fail("output-format", f"`{name}` is not the name of a picture", hint=hint)
        return made

    def open(self) -> Path:
        """Show the page in a browser; the file that it is in, among the temporary ones."""
        with NamedTemporaryFile("w", encoding="utf-8", prefix="relay-", suffix=".html", delete=False) as out:
            out.write(self.html())
        path = Path(out.name)
        webbrowser.open(path.as_uri())
        return path

    def __repr__(self) -> str:
        count, nodes = sum(g.kind == "definition" for g in self.graph.groups), len(self.graph.nodes)
        return f"<picture of {self.graph.name}: {counted(count, 'definition')}, {counted(nodes, 'node')}>"

    def _repr_html_(self) -> str:
        return framed(self.html(), self.graph.name)


def view(mod: IRModule, name: str = "program", *, fused: bool = True) -> View:
    """A picture of a module; with `fused`, operators that machine code computes in one loop are a group.

    Raises what is wrong with the program.
    """
    return View(graph_of(mod, name, fused=fused))


hooks.view = view
