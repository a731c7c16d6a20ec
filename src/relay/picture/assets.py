"""The scripts and styles that pages have inside of them."""

from functools import cache
from importlib.resources import files

LIBRARY = "dagre.min.js"
"""The layout: @dagrejs/dagre 3.1.3, under the licence in `dagre.LICENSE`."""


@cache
def asset(name: str) -> str:
    """A file of the folder `assets`."""
    return (files("relay.picture") / "assets" / name).read_text("utf-8")
