"""A page that stands alone: the drawing, the source text beside it, and the script that moves both."""

import json
from html import escape
from typing import Any

from relay.picture.assets import LIBRARY, asset

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""The page asks for nothing, and sends nothing."""
NOTEBOOK_HEIGHT_PIXELS = 520
"""How tall a picture is in a notebook."""


def page_text(data: dict[str, Any], title: str) -> str:
    """The HTML of a program's data."""
    return document(
        title, ["picture.css", "viewer.css"], [LIBRARY, "picture.js", "viewer.js"], data, asset("viewer.html")
    )


def document(title: str, styles: list[str], scripts: list[str], data: dict[str, Any], body: str) -> str:
    """A page with styles, scripts and data inside of it."""
    style = "\n".join(map(asset, styles))
    script = "\n".join([f"<script>\n{asset(name)}</script>" for name in scripts])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{as_script(data)}</script>
{script}
</body>
</html>
"""


def as_script(data: dict[str, Any]) -> str:
    """JSON that no text inside of it can end the script with."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def framed(page: str, title: str, height: int = NOTEBOOK_HEIGHT_PIXELS) -> str:
    """A page inside of another, which its scripts cannot reach."""
    style = f"width:100%;height:{height}px;border:1px solid #8888;border-radius:6px"
    return (
        f'<iframe sandbox="allow-scripts" title="{escape(title)}" style="{style}" '
        f'srcdoc="{escape(page)}"></iframe>'
    )
