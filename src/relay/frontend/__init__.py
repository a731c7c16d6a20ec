"""Models of other formats as Relay programs."""

from typing import Any


def __getattr__(name: str) -> Any:
    """`from_onnx`, on first use."""
    if name == "from_onnx":
        from relay.frontend.onnx.api import from_onnx

        return from_onnx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
