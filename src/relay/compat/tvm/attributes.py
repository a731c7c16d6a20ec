"""Nodes that are made by the names of their kinds."""

from typing import Any

from relay.compat.tvm.symbols import FloatImm, IntImm
from relay.diagnostic import fail

__all__ = ["Attrs", "DictAttrs", "make_node"]

Attrs = DictAttrs = dict
"""Attributes of functions and calls, which are dicts; those of operators are the operators themselves."""
CONTAINERS = ("DictAttrs", "Map", "StrMap")


def make_node(type_key: str, **kwargs: Any) -> Any:
    """A node by the name of its kind: attributes (`DictAttrs`, `relay.attrs.*`) as a dict, which `relay.Call`
    takes, and numbers (`IntImm`, `FloatImm`).

    Raises `unknown-type` for other kinds: their classes make them.
    """
    if type_key in CONTAINERS or type_key.startswith("relay.attrs."):
        return kwargs
    if type_key in ("IntImm", "FloatImm"):
        return (IntImm if type_key == "IntImm" else FloatImm)(kwargs["dtype"], kwargs["value"])
    hint = f"its class makes it, such as `relay.{type_key.rpartition('.')[2]}(…)`"
    fail("unknown-type", f"no node is made by the name `{type_key}`", hint=hint)
