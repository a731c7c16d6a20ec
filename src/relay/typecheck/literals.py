"""Number literals: what they may become, what they become if nothing decides, and whether they fit."""

from typing import Any

import numpy as np

from relay.ir.dtype import DTYPES, FLOATS, INTEGERS, integer_range, is_float, is_integer, rounded, to_numpy
from relay.ir.expr import Constant
from relay.op.relation import NUMBERS

FLOATING = frozenset(FLOATS)
_CLASSES = {NUMBERS: "Number", FLOATING: "Floating", frozenset(INTEGERS): "Integral"}
CLASS_NAMES = {**{name: allowed for allowed, name in _CLASSES.items()}}


def class_named(allowed: frozenset[str]) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """The built-in relation that says a dtype is one of `allowed`, with its attributes."""
    if allowed in _CLASSES:
        return _CLASSES[allowed], ()
    return "BaseTypeIn", (("allowed", tuple([d for d in DTYPES if d in allowed])),)


def class_members(name: str, attrs: Any) -> frozenset[str] | None:
    """The dtypes of a built-in class relation; None for other relations."""
    if name == "BaseTypeIn":
        return frozenset(dict(attrs).get("allowed", ()))
    return CLASS_NAMES.get(name)


def is_integral(c: Constant) -> bool:
    """Whether an open literal was written without a point."""
    return c.value.dtype.kind in "iu"


def literal_class(c: Constant) -> frozenset[str]:
    """The dtypes an open literal may become."""
    return NUMBERS if is_integral(c) else FLOATING


def default(allowed: frozenset[str] | None, literals: list[Constant]) -> str:
    """The dtype of an unknown that nothing decides: int32 or float32 where they are allowed and fit."""
    usual = (
        ["int32", "int64", "uint64", "float32"]
        if literals and all(map(is_integral, literals))
        else ["float32"]
    )
    order = [*usual, "float32", "int32", "bool", *DTYPES]
    candidates = [d for d in order if allowed is None or d in allowed]
    return next((d for d in candidates if all(fits(c, d) for c in literals)), candidates[0])


def fits(c: Constant, dtype: str) -> bool:
    """Whether the value of an open literal is in the range of a dtype."""
    if c.value.size == 0:
        return True
    if is_integer(dtype):
        low, high = integer_range(dtype)
        return is_integral(c) and low <= int(c.value.min()) and int(c.value.max()) <= high
    if not is_float(dtype):
        return False
    wide = c.value.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    if finite.size == 0:
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(finite.astype(to_numpy(dtype)).astype(np.float64)).all())


def converted(c: Constant, dtype: str) -> Any:
    """The value of an open literal in a dtype."""
    return rounded(c.value, to_numpy(dtype))
