"""Functions of Python by global names: `tvm.register_func` and `tvm.get_global_func`."""

from collections.abc import Callable
from typing import Any

from relay.diagnostic import did_you_mean, fail

__all__ = [
    "EnvFunc", "PackedFunc", "get_global_func", "list_global_func_names", "register_func",
    "remove_global_func",
]  # fmt: skip

PackedFunc = Callable
_functions: dict[str, Callable[..., Any]] = {}


def register_func(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Give a function a global name: `register_func("scale", f)`, or above it `@register_func("scale")`.

    Above a function without a name, `@register_func`, it is the function's own.  Raises `ValueError` for a
    name that is taken, unless `override` says so.
    """
    if callable(func_name):
        return register_func(getattr(func_name, "__name__", ""), func_name, override)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if func_name in _functions and not override:
            raise ValueError(f"a function is registered as {func_name!r} already; override=True replaces it")
        _functions[func_name] = function
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """The function of that name; None where there is none and `allow_missing` says so (`unknown-name`)."""
    if name not in _functions and not allow_missing:
        hint = did_you_mean(name, _functions) or "`tvm.register_func` gives a function of Python a name"
        fail("unknown-name", f"no function is registered as `{name}`", hint=hint)
    return _functions.get(name)


def list_global_func_names() -> list[str]:
    """The names that functions have."""
    return sorted(_functions)


def remove_global_func(name: str) -> None:
    """Take the name from its function."""
    _functions.pop(name, None)


class EnvFunc:
    """A registered function, by its name."""

    def __init__(self, name: str) -> None:
        """Raises `unknown-name` where no function has the name."""
        self.name = name
        self.func = get_global_func(name)

    @staticmethod
    def get(name: str) -> "EnvFunc":
        """The function of that name."""
        return EnvFunc(name)

    def __call__(self, *args: Any) -> Any:
        return self.func(*args)
