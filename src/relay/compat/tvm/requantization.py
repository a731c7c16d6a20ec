"""`requantize_config`: how requantisations are rounded that are built inside."""

from collections.abc import Mapping
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Self

__all__ = ["current_requantize_config", "requantize", "requantize_config"]

_entered: ContextVar[tuple["RequantizeConfig", ...]] = ContextVar("relay_compat_requantize", default=())


class RequantizeConfig:
    """The rounding and the dtype that are computed in; "None" leaves either to the operator."""

    def __init__(self, rounding: str = "None", compute_dtype: str = "None") -> None:
        """The rounding is "UPWARD", "TONEAREST" or "TOEVEN", the dtype "int64", "float32" or "float64"."""
        self.rounding = rounding
        self.compute_dtype = compute_dtype

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _entered.set(_entered.get()[:-1])


def requantize_config(**options: Any) -> RequantizeConfig:
    """The rounding and the dtype of requantisations that are built inside of its `with`."""
    return RequantizeConfig(**options)


def current_requantize_config() -> RequantizeConfig:
    """The innermost one, or the default."""
    entered = _entered.get()
    return entered[-1] if entered else RequantizeConfig()


def requantize(*args: Any, **attrs: Any) -> Any:
    """What integers of one scale and zero point are in those of another, rounded as the context says."""
    known: Mapping[str, str] = vars(current_requantize_config())
    build: Any = import_module("relay.op.qnn").requantize
    made = build(*args, **attrs)
    unsaid = {name: value for name, value in known.items() if made.attrs[name] == "None"}
    return made if not unsaid else type(made)(made.op, made.args, {**made.attrs, **unsaid})
