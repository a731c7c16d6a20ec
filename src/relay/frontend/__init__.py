"""Models of other formats as Relay programs, and Relay programs as models of other formats."""

from importlib import import_module
from typing import Any

from relay.ir import import_home

PLACES = {
    "from_onnx": "onnx.api", "to_onnx": "onnx.export.api", "save_onnx": "onnx.export.api",
    "from_pytorch": "torch.api",
}  # fmt: skip
"""The module of each function."""


def __getattr__(name: str) -> Any:
    """An importer or exporter, on first use."""
    if name in PLACES:
        function = getattr(import_home(f"relay.frontend.{PLACES[name]}"), name)
        return import_module("relay.op.namespace").public_function(function, f"frontend.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
