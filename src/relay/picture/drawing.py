"""SVG without a browser: the page's own script, run by QuickJS."""

import json
from importlib import import_module
from typing import Any

from relay.diagnostic import fail
from relay.picture.assets import LIBRARY, asset

MAX_SHOWN_NODES = 300
"""As many nodes and groups as a drawing has at most; groups stay closed that would make it more."""
STACK_BYTES = 64 << 20
CLONE = "globalThis.structuredClone = x => x === undefined ? x : JSON.parse(JSON.stringify(x));"
"""What browsers have and dagre asks for; the values that it copies are plain."""


def svg_text(data: dict[str, Any], shown: int = MAX_SHOWN_NODES) -> str:
    """The drawing of a program's data, as a file of its own (`no-drawing`)."""
    try:
        quickjs: Any = import_module("quickjs")
    except ImportError:
        fail(
            "no-drawing",
            "drawings without a browser need the package quickjs-ng",
            hint="pip install 'relay-ir[view]', or write a page: `--output NAME.html`",
        )
    context = quickjs.Context()
    context.set_max_stack_size(STACK_BYTES)
    context.eval(CLONE)
    context.eval(asset(LIBRARY))
    context.eval(asset("picture.js"))
    without_texts: dict[str, Any] = {**data, "sources": []}
    context.set("given", json.dumps(without_texts))
    context.set("style", asset("picture.css"))
    # As JSON, since the package cannot take strings that QuickJS has put together and not yet copied.
    return json.loads(context.eval(f"JSON.stringify(Picture.file(JSON.parse(given), style, {shown}))"))
