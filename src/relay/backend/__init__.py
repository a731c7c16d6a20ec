"""What runs programs; what others compile: `register_compiler` says who."""

from typing import Any

from relay.ir import import_home

_HOME = {
    "register_compiler": "relay.interpreter.regions",
    "get_pattern_table": "relay.pattern.tables",
    "register_pattern_table": "relay.pattern.tables",
}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """A public name, on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'relay.backend' has no attribute {name!r}")
    value = globals()[name] = getattr(import_home(_HOME[name]), name)
    return value
