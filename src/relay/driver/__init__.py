"""What composes the rest: `compilation.py` compiles programs, `executor.py` evaluates them."""

from typing import Any

from relay.ir import import_home

_NAMES = {
    "relay.driver.compilation": "build compile load_module optimize",
    "relay.driver.executor": "Executor create_executor run",
    "relay.interpreter.machine": "Interpreter evaluate",
    "relay.ir.bind": "bind_params_by_name",
    "relay.tracing.function": "TracedFunction function",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """A public name, on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'relay.driver' has no attribute {name!r}")
    return getattr(import_home(_HOME[name]), name)


def __dir__() -> list[str]:
    """Everything public."""
    return sorted(__all__)
