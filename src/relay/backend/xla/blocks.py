"""Writing to elements in equal steps along each axis of an array, which for XLA is not a scatter."""

from collections.abc import Sequence
from typing import Any, cast


def written(jax: Any, x: Any, at: Any, values: Any) -> Any:
    """`x` with `values` at the distinct places that `at` names."""
    block = block_of(at, x.shape)
    if block is None:
        return x.at[at].set(values)
    np, sizes = jax.numpy, [len(r) for r in block]
    kept = [n for n, place in zip(sizes, places_of(at, x.ndim), strict=True) if isinstance(place, slice)]
    values = np.broadcast_to(np.asarray(values, x.dtype), kept).reshape(sizes)
    if 0 in sizes:
        return x
    if all(r.step == 1 for r in block):
        return jax.lax.dynamic_update_slice(x, values, [r.start for r in block])
    gaps = [(r.start, d - r[-1] - 1, r.step - 1) for r, d in zip(block, x.shape, strict=True)]
    there = jax.lax.pad(np.ones(sizes, bool), np.bool_(False), gaps)
    return np.where(there, jax.lax.pad(values, np.zeros((), x.dtype), gaps), x)


def block_of(at: Any, shape: Sequence[Any]) -> list[range] | None:
    """The places along each axis that numbers and slices name; None if they name something else."""
    places = places_of(at, len(shape))
    if not all(isinstance(d, int) for d in shape) or not all(isinstance(p, int | slice) for p in places):
        return None
    found = [
        range(p % d, p % d + 1) if isinstance(p, int) else range(*p.indices(d))
        for p, d in zip(places, shape, strict=True)
    ]
    return found if all(r.step > 0 for r in found) else None


def places_of(at: Any, rank: int) -> list[Any]:
    """What names places, along each axis."""
    given = cast("tuple[Any, ...]", at) if isinstance(at, tuple) else (at,)
    return [*given, *[slice(None)] * (rank - len(given))]
