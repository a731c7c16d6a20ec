"""Truths of the functions of one number."""

from typing import Any

from mpmath import mp

from truths.pointwise import pointwise


def inverse(x: Any) -> Any:
    """Return `1 / x`, which is infinite at 0."""
    return mp.inf if x == 0 else 1 / x


pointwise("exp", mp.exp, mp.exp)
pointwise("sqrt", mp.sqrt, lambda x: inverse(2 * mp.sqrt(x)))
