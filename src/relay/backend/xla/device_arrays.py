"""Arguments that lie on a device: they are checked by their types, and stay where they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.backend.xla.data import flatten
from relay.backend.xla.host_operators import is_on_device, on_host


def stand_ins(x: Any) -> tuple[Any, Sequence[Any]]:
    """An argument with arrays of NumPy in the place of those on a device, of the same types and of no size in
    memory; and what `put_back` puts back.
    """
    leaves, structure = flatten(x)
    if not any(map(is_on_device, leaves)):
        return x, ()
    if not all(hasattr(leaf, "dtype") for leaf in leaves):
        return structure(*map(on_host, leaves)), ()  # a list may become several leaves
    return structure(*[stand_in(leaf) if is_on_device(leaf) else leaf for leaf in leaves]), leaves


def stand_in(x: Any) -> Any:
    """An array of NumPy with the type of another one."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape)


def put_back(value: Any, given: Sequence[Any]) -> Any:
    """A converted argument with the arrays on a device that it was given with."""
    if not given:
        return value
    leaves, structure = flatten(value)
    return structure(*[g if is_on_device(g) else leaf for g, leaf in zip(given, leaves, strict=True)])


def placed(jax: Any, device: Any, value: Any) -> Any:
    """A value with its tensors on a device; strings, functions and references as they are."""
    leaves, structure = flatten(value)
    return structure(*[x if x.dtype == object else jax.device_put(x, device) for x in leaves])


def all_on_host(value: Any) -> Any:
    """A value with its tensors as NumPy's."""
    leaves, structure = flatten(value)
    return structure(*map(on_host, leaves))
