"""Programs of XLA for many recorded calls, whose operands and results are rows of banks."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from relay.backend.xla.later import Later, RowType
from relay.backend.xla.levels import Group
from relay.backend.xla.records import Signature

COPIED_BYTES = 4_096
"""Up to how many bytes a computed operand that calls have in common is copied for each."""


class Place(Enum):
    """Where calls that are made together find an operand."""

    ARGUMENT = "an array that they have in common"
    ROW = "a row that they have in common"
    ROWS = "a row for each"


def places(group: Group) -> tuple[Place, ...]:
    """Where calls find each of their operands."""
    found: list[Place] = []
    for i, t in enumerate(group.signature.types):
        first = group.records[0].leaves[i]
        is_common = all(r.leaves[i] is first for r in group.records)
        if is_common and type(first) is not Later:
            found.append(Place.ARGUMENT)
        elif is_common and (len(group.records) == 1 or t.bytes > COPIED_BYTES):
            found.append(Place.ROW)
        else:
            found.append(Place.ROWS)
    return tuple(found)


def touched(signature: Signature, where: Sequence[Place]) -> tuple[tuple[RowType, ...], tuple[RowType, ...]]:
    """The types of the banks that calls write to, and those of others that they read."""
    written = tuple(dict.fromkeys(signature.out_types))
    pairs = zip(signature.types, where, strict=True)
    read = dict.fromkeys([t for t, p in pairs if p is not Place.ARGUMENT and t not in written])
    return written, tuple(read)


def calls_program(jax: Any, signature: Signature, where: Sequence[Place], *, is_one: bool) -> Any:
    """The program for some calls, or for one: from the banks that it writes, those that it reads, arrays that
    are arguments, the rows of the other operands `(operands, calls)` and the first rows of the results, to
    the banks that it writes and the greatest number of a requirement that failed, None without such.
    """
    written, read = touched(signature, where)

    def call(banks: Any, others: Any, arguments: Any, rows: Any, outs: Any) -> Any:
        by = dict(zip((*written, *read), (*banks, *others), strict=True))
        left, at = iter(arguments), iter(rows)
        leaves: list[Any] = []
        for t, place in zip(signature.types, where, strict=True):
            if place is Place.ARGUMENT:
                leaves.append(next(left))
            else:
                which = next(at) if place is Place.ROWS and not is_one else next(at)[0]
                leaves.append(by[t].at[which].get(mode="promise_in_bounds"))
        if is_one:
            failed, found = signature.flat(*leaves)
            found = [x[None] for x in found]
        else:
            axes = tuple([0 if p is Place.ROWS else None for p in where])
            many = jax.vmap(signature.flat, axes, axis_size=rows.shape[1])
            failed, found = many(*leaves)
        for t, x, first in zip(signature.out_types, found, outs, strict=True):
            by[t] = jax.lax.dynamic_update_slice(by[t], x, (first, *[np.int32(0)] * (x.ndim - 1)))
        return [by[t] for t in written], None if failed is None else jax.numpy.max(failed)

    return jax.jit(call, donate_argnums=0)


def sums_program(jax: Any) -> Callable[..., Any]:
    """The program for sums: from the bank, the rows of the terms `(sums, terms)`, -1 for none, and the first
    row of the results, to the bank.
    """

    def call(bank: Any, rows: Any, first: Any) -> Any:
        jnp = jax.numpy
        terms = bank.at[jnp.maximum(rows, 0)].get(mode="promise_in_bounds")
        is_term = (rows >= 0).reshape(*rows.shape, *[1] * (terms.ndim - 2))
        found = jnp.sum(jnp.where(is_term, terms, jnp.zeros((), terms.dtype)), axis=1, dtype=terms.dtype)
        return jax.lax.dynamic_update_slice(bank, found, (first, *[np.int32(0)] * (bank.ndim - 1)))

    return jax.jit(call, donate_argnums=0)
