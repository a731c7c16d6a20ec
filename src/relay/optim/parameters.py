"""Numbers of rules and schedules: Python numbers, arrays without axes, values of a program."""

from typing import Any, TypeAlias

import numpy as np

from relay.ir.expr import Expr, RelayExpr
from relay.ir.traced import Traced
from relay.ir.type import DType
from relay.op.numeric import apply, scalar

Number: TypeAlias = Any
"""A number, an array without axes, or a traced value or an expression of a scalar."""


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
