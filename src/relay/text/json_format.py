"""Programs as JSON: the node graph that existing Relay files and `#[metadata]` sections hold.

`{"root": i, "nodes": [{"type_key": …, "attrs": {…}}, …], "b64ndarrays": […]}`: each node once, references by
index, tensors as base64.  What we write has the same form; nodes that the format never had (`relay.LetRec`,
`relay.Grad`, kinds, relations) are further keys in it.
"""

from typing import Any

from relay.ir.collector import paused
from relay.text.json_build import read_json
from relay.text.json_write import Writer


def save_json(node: Any) -> str:
    """A module, expression, type, pattern, or a dict or list of these, as JSON."""
    with paused():
        return Writer().write(node)


def load_json(text: str) -> Any:
    """What a JSON text says: the inverse of `save_json`, for existing files too.

    Raises `bad-json` for a text that is not such JSON or does not fit together, `bad-array` for tensor data
    that is cut off or of an unknown kind, and what the operators say of their names and attributes.
    """
    with paused():
        return read_json(text)
