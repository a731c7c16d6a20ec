"""Arguments that lie on a device: they are checked by their types, and stay where they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.backend.xla.data import FUNCTIONS, LEAF, REFERENCES, Structure, flatten
from relay.backend.xla.host_operators import is_on_device, on_host
from relay.backend.xla.layout import Layout
from relay.backend.xla.shapes import shape_of

ON_DEVICE = "on_device"
"""The argument of a call that leaves its results on the device."""
DLPACK_CPU = 1
"""The memory of this process, as DLPack numbers kinds of devices."""
ONE = Structure((1, LEAF))
"""The structure of one tensor as the only argument."""


def of_jax(jax: Any, x: Any) -> Any:
    """A tensor of another library that lies on a device, as an array of JAX of the same memory; other values
    as they are.
    """
    if is_on_device(x) or not hasattr(x, "__dlpack_device__"):
        return x
    try:
        return x if x.__dlpack_device__()[0] == DLPACK_CPU else jax.dlpack.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return x


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


def types_of(leaves: Sequence[Any], structure: Structure) -> Any:
    """What decides whether arguments are of the types of parameters, if all of their tensors are arrays; None
    where they are something else, or hold functions or references.
    """
    if structure.has((*FUNCTIONS, *REFERENCES)) or not all(
        type(x) is np.ndarray or is_on_device(x) for x in leaves
    ):
        return None
    return structure, tuple(map(shape_of, leaves))


def placed(layout: Layout, value: Any, name: str) -> Any:
    """A value of the parameter `name` with its tensors on the devices of a layout; strings, functions and
    references as they are.
    """
    leaves, structure = flatten((value,))
    if any(x.dtype == object for x in leaves):
        return structure(*[x if x.dtype == object else layout.put([x], ONE, (name,))[0] for x in leaves])[0]
    return structure(*layout.put(leaves, structure, (name,)))[0]


def is_out_of_reach(value: Any) -> bool:
    """Whether the numbers of some tensor cannot be brought to this process."""
    arrays = filter(is_on_device, flatten(value)[0])
    return any(x.is_deleted() or not (x.is_fully_addressable or x.is_fully_replicated) for x in arrays)


def all_on_host(value: Any) -> Any:
    """A value with its tensors as NumPy's."""
    leaves, structure = flatten(value)
    return structure(*map(on_host, leaves)) if any(map(is_on_device, leaves)) else value
