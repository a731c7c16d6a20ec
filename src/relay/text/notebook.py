"""What a notebook shows of a program: its text in colours, and of a long one the beginning."""

import re
from html import escape
from typing import Any

from relay.ir import hooks

MAX_SHOWN_LINES = 200
"""Lines that are shown; the text of a large network would make a notebook slow."""

FONT = "font-family:var(--jp-code-font-family,monospace)"
"""The font of programs: that of Jupyter for code, or any of one width."""

PIECE = re.compile(
    r"""(?P<comment>//[^\n]*)
      | (?P<variable>[%@](?:\w+|"[^"\n]*"))
      | (?P<string>"(?:\\.|[^"\\\n])*")
      | (?P<number>\b\d[\w.]*)
      | (?P<keyword>\b(?:and|def|else|extern|fn|free_var|if|import|let|match|rec|type|where)\b)""",
    re.VERBOSE,
)
COLOURS = {
    "comment": ("comment", "#408080"),
    "variable": ("variable-2", "#2f6fb3"),
    "string": ("string", "#ba2121"),
    "number": ("number", "#008000"),
    "keyword": ("keyword", "#a05000"),
}
"""The editor's colour that each kind of piece takes in Jupyter, and the colour elsewhere."""


def display(program: Any) -> dict[str, str]:
    """A module, an expression or a type by the kind of text: plain, and HTML."""
    return shown(str(program).rstrip("\n"))


def shown(text: str) -> dict[str, str]:
    """A text of the language by the kind of text: plain, and HTML."""
    text = beginning(text)
    coloured = PIECE.sub(_coloured, escape(text, quote=False))
    return {"text/plain": text, "text/html": f'<pre class="relay" style="{FONT}">{coloured}</pre>'}


def beginning(text: str) -> str:
    """The first lines of a text, and how many more there are."""
    lines = text.split("\n")
    if len(lines) <= MAX_SHOWN_LINES:
        return text
    return "\n".join(
        [*lines[:MAX_SHOWN_LINES], f"// {len(lines) - MAX_SHOWN_LINES:,} more lines: print(…) shows all"]
    )


def _coloured(piece: re.Match[str]) -> str:
    name, colour = COLOURS[piece.lastgroup or "comment"]
    weight = ";font-weight:bold" if name == "keyword" else ""
    return f'<span style="color:var(--jp-mirror-editor-{name}-color,{colour}){weight}">{piece[0]}</span>'


hooks.display = display
