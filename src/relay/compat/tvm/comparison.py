"""Structural equality as scripts know it: float attributes are equal where they differ by less than 1e-9."""

from typing import Any

from relay.ir import equal

__all__ = ["assert_structural_equal", "structural_equal"]

TOLERANCE = 1e-9
"""How much float attributes may differ."""


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> bool:
    """Whether two expressions, functions, types, patterns or modules are the same program."""
    return equal.structural_equal(lhs, rhs, map_free_vars, tolerance=TOLERANCE)


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False) -> None:
    """Raise `not-equal`, which names the first difference, unless the two are structurally equal."""
    equal.assert_structural_equal(lhs, rhs, map_free_vars, tolerance=TOLERANCE)
