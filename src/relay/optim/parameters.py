"""Numbers of rules and schedules: Python numbers, arrays without axes, values of a program."""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from relay.diagnostic import caller_span, fail
from relay.ir.expr import Expr, RelayExpr
from relay.ir.traced import Traced
from relay.ir.type import DType
from relay.op.numeric import apply, scalar

Number: TypeAlias = Any
"""A number, an array without axes, or a traced value or an expression of a scalar."""


_Limit: TypeAlias = tuple[Callable[[float], bool], str]
_RATE: _Limit = (lambda x: x >= 0, "a finite number that is not negative")
_SHARE: _Limit = (lambda x: 0 <= x < 1, "a number from 0 up to 1, and not 1 itself")
_POSITIVE: _Limit = (lambda x: x > 0, "a finite number above 0")
_AT_LEAST_ONE: _Limit = (lambda x: x >= 1, "a number of at least 1")
LIMITS: Mapping[str, _Limit] = {
    "learning_rate": (_RATE[0], f"{_RATE[1]}, or a schedule"),
    "momentum": _RATE, "epsilon": _RATE, "weight_decay": _RATE, "decay_exponent": _RATE,
    "value": _RATE, "values": _RATE, "peak": _RATE, "start": _RATE, "end": _RATE,
    "beta1": _SHARE, "beta2": _SHARE, "decay": _SHARE,
    "clipping_threshold": _POSITIVE, "greatest_norm": _POSITIVE, "scale": _POSITIVE,
    "start_divisor": _POSITIVE, "end_divisor": _POSITIVE,
    "rising": (lambda x: 0 < x < 1, "a number between 0 and 1"),
    "backoff": (lambda x: 0 < x <= 1, "a number above 0, and at most 1"),
    "growth": _AT_LEAST_ONE, "every": _AT_LEAST_ONE, "steps": _AT_LEAST_ONE,
}  # fmt: skip
"""The values that numbers of rules and schedules may have, by their names, and what to pass."""


def check_numbers(**numbers: Number) -> None:
    """Report `optimizer-parameter` for a number that is known and outside of its limits."""
    for name, value in numbers.items():
        is_allowed, advice = LIMITS[name]
        if not is_known(value):
            continue
        known = _as_float(value)
        if known is None:
            message = f"`{name}` is {value!r:.40}, which is not a number"
        elif not (isfinite(known) and is_allowed(known)):
            message = f"`{name}` cannot be {known:g}"
        else:
            continue
        fail("optimizer-parameter", message, caller_span(), hint=f"pass {advice}")


def _as_float(value: Any) -> float | None:
    """Return a number, or an array of one element, as a float; None for any other value."""
    try:
        return None if isinstance(value, str | bytes) else float(np.asarray(value).item())
    except (TypeError, ValueError):
        return None


def is_known(*values: Number) -> bool:
    """Return whether all values are known when the rule is made."""
    return not any(isinstance(v, Traced | RelayExpr) for v in values)


def is_zero(value: Number) -> bool:
    """Return whether a value is known to be zero."""
    return is_known(value) and value == 0


def number(value: Number, dtype: DType) -> Expr:
    """Return a number as a scalar expression of a dtype."""
    if is_known(value):
        return scalar(np.asarray(value).item(), dtype)
    return apply("cast", value.expr if isinstance(value, Traced) else value, dtype=dtype)


def rounded(name: str, value: Number) -> Number:
    """Return a number rounded to an integer by the operator `floor` or `ceil`."""
    if is_known(value):
        return int(getattr(np, name)(value))
    return apply(name, number(value, "float32"))
