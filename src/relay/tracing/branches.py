"""Branches of traced functions: `relay.cond` and `relay.switch`."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from relay.diagnostic import caller_span, fail
from relay.ir.expr import Expr, If
from relay.ir.traced import Traced
from relay.tracing.indexing import apply
from relay.tracing.nested import as_leaf, flattened, in_trace, open_tuples, traced
from relay.tracing.pytree import Tree, same_structure
from relay.tracing.types import TypesOfTrace, around


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """`true_fun(*operands)` where `pred`, a scalar bool, holds, else `false_fun(*operands)`.

    Both are Python functions over nested values, and return values of one structure and types; only the one
    that is chosen runs.  It is Relay's `if`.

    Raises `structure-mismatch`, and what the type check of `if` raises.
    """
    if not isinstance(pred, Traced):
        return true_fun(*operands) if _python_bool(pred) else false_fun(*operands)
    of_trace = in_trace(pred)
    branches, has_effects = results((true_fun, false_fun), operands, "cond", of_trace)
    e = If(pred.expr, branches[0][0], branches[1][0])
    return traced(branches[0][1], of_trace.done(e) if has_effects else e, of_trace)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """`branches[index](*operands)`; an index below 0 is the first branch, one beyond the end the last.

    All are Python functions over nested values, and return values of one structure and types; only the one
    that is chosen runs.  `index` is a scalar integer.

    Raises `structure-mismatch`, `ValueError` without branches.
    """
    if not branches:
        raise ValueError("relay.switch needs at least one branch")
    if not isinstance(index, Traced):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    of_trace = in_trace(index)
    made, has_effects = results(branches, operands, "switch", of_trace)

    def chosen(low: int, high: int) -> Expr:
        """The branches from `low` up to `high`, found in as many comparisons as their number has bits."""
        if high - low == 1:
            return made[low][0]
        middle = (low + high) // 2
        is_lower = cast("Traced", apply("less", index, middle))
        return If(is_lower.expr, chosen(low, middle), chosen(middle, high))

    e = chosen(0, len(made))
    return traced(made[0][1], of_trace.done(e) if has_effects else e, of_trace)


def results(
    branches: Sequence[Callable[..., Any]], operands: Sequence[Any], name: str, of_trace: TypesOfTrace
) -> tuple[list[tuple[Expr, Tree]], bool]:
    """What each branch returns, all in one structure, and whether there are effects
    (`structure-mismatch`).
    """
    made: list[tuple[Expr, Tree]] = []
    has_effects = False
    for f in branches:
        with of_trace.block() as effects:
            e, tree = flattened(f(*operands), open_tuples(as_leaf, of_trace), "result")
        made.append((around(effects, e), tree))
        has_effects = has_effects or bool(effects)
    for i, (_, tree) in enumerate(made[1:], 2):
        if not same_structure(tree, made[0][1]):
            fail(
                "structure-mismatch",
                f"the branches of relay.{name} return different structures",
                caller_span(),
                label=f"branch 1 returns {made[0][1]}, branch {i} {tree}",
                hint="return the same tuples, lists, dicts and dataclasses from each",
            )
    return made, has_effects


def _python_bool(pred: Any) -> bool:
    """A condition that is known (`condition-type`)."""
    known = np.asarray(pred)
    if known.dtype == np.bool_ and known.ndim == 0:
        return bool(known)
    fail("condition-type", f"a condition is a scalar bool, not {pred!r:.60}", caller_span())
