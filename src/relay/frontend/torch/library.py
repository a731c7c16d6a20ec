"""PyTorch itself: imported when it is used, unknown to type checkers, since it need not be installed."""

from importlib import import_module
from typing import Any


def pytorch(module: str = "torch") -> Any:
    """A module of PyTorch.  Raises `ImportError` where it is not installed."""
    return import_module(module)
