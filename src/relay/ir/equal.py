"""Structural equality: the same program up to the names of what it binds.

What counts: the shape of expressions, annotations, attributes, constants, and **sharing** - a node that two
places share is not equal to two copies of it, because it is evaluated once.  Leaves (variables, names,
constants, the empty tuple) may be shared or copied freely.  What does not count: spans, names of bound
variables and type parameters, the order of definitions in a module.  Two unknown types (`_`) of one kind are
equal.

Free variables are equal only to themselves, unless `map_free_vars` pairs them in the order of first mention.
"""

from typing import Any

from relay.diagnostic import fail
from relay.ir.collector import paused
from relay.ir.equal_exprs import Comparison
from relay.ir.hashing import structural_hash
from relay.ir.mismatch import DifferError, Mismatch, path_of
from relay.ir.module import IRModule
from relay.ir.same import same_value

__all__ = ["Mismatch", "assert_structural_equal", "first_mismatch", "structural_equal", "structural_hash"]


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False, *, tolerance: float = 0.0) -> bool:
    """Whether two expressions, functions, types, patterns or modules are the same program; attributes that
    are floats may differ by `tolerance`.
    """
    return first_mismatch(lhs, rhs, map_free_vars, tolerance) is None


def assert_structural_equal(
    lhs: Any, rhs: Any, map_free_vars: bool = False, *, tolerance: float = 0.0
) -> None:
    """Raise `not-equal`, which names the first difference, unless the two are structurally equal; attributes
    that are floats may differ by `tolerance`.
    """
    found = first_mismatch(lhs, rhs, map_free_vars, tolerance)
    if found is not None:
        fail(
            "not-equal",
            f"the programs differ {found}",
            getattr(found.lhs, "span", None),
            label="the first difference",
        )


@paused()
def first_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False, tolerance: float = 0.0
) -> Mismatch | None:
    """The first difference in the order of the text, or None where the two are structurally equal."""
    try:
        if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
            _modules(lhs, rhs, map_free_vars, tolerance)
        else:
            Comparison(map_free_vars, tolerance).run(lhs, rhs, None)
    except DifferError as found:
        return Mismatch(path_of(found.trail), found.lhs, found.rhs, found.reason)
    return None


def _modules(a: IRModule, b: IRModule, map_free_vars: bool, tolerance: float) -> None:
    if a is b:
        return
    for what, mine, theirs in (
        (
            "@",
            {v.name_hint: f for v, f in a.functions.items()},
            {v.name_hint: f for v, f in b.functions.items()},
        ),
        (
            "type ",
            {v.name_hint: d for v, d in a.type_definitions.items()},
            {v.name_hint: d for v, d in b.type_definitions.items()},
        ),
        (
            "type ",
            {v.name_hint: d for v, d in a.aliases.items()},
            {v.name_hint: d for v, d in b.aliases.items()},
        ),
    ):
        for name in [*mine, *(n for n in theirs if n not in mine)]:
            at = (None, f"{what}{name}")
            if name not in theirs or name not in mine:
                raise DifferError(mine.get(name), theirs.get(name), at, "only one module defines it")
            if mine[name] is not theirs[name]:
                Comparison(map_free_vars, tolerance).run(mine[name], theirs[name], at)
    for what, mine, theirs in (("attrs", a.attrs, b.attrs), ("options", a.options, b.options)):
        if not same_value(mine, theirs, tolerance=tolerance):
            raise DifferError(mine, theirs, (None, what), f"{what} differ")
    for var in {**a.constant_types, **b.constant_types}:
        Comparison(map_free_vars).types(
            a.constant_types.get(var), b.constant_types.get(var), (None, f"@{var.name_hint}.type")
        )
