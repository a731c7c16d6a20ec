"""Arrays of PyTorch and JAX: what goes in as such comes out as such, sharing memory (DLPack).

Neither library is imported here: an array of one is given, so that it is there.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from relay.interpreter.value import ConstructorValue, is_sequence, is_tensor, is_tuple
from relay.ir.dtype import dtype_name, to_numpy

Array = np.ndarray[Any, Any]
CARRIERS = {1: "uint8", 2: "int16"}
"""What carries the bits of numbers that NumPy has no name for, by bytes."""


@dataclass(frozen=True)
class ArrayLibrary:
    """A library of arrays."""

    name: str
    """Its module."""
    of: Callable[[Array], Any]
    """Makes its array of one of NumPy."""


def torch_tensor(x: Array) -> Any:
    """A tensor of PyTorch of the same memory; of a copy where that must not be written, or has no elements of
    its own.
    """
    torch: Any = sys.modules["torch"]
    x = x if x.flags.writeable and x.ndim else x.copy()
    if x.dtype.kind != "V" and hasattr(np, x.dtype.name):
        return torch.from_numpy(x)
    return torch.from_numpy(x.view(CARRIERS[x.itemsize])).view(getattr(torch, dtype_name(x.dtype)))


def jax_array(x: Array) -> Any:
    """An array of JAX of the same memory; a copy where that must not be written, lies apart, or holds numbers
    that DLPack has no name for.
    """
    jax: Any = sys.modules["jax"]
    plain = x.dtype.kind != "V" and hasattr(np, x.dtype.name) and x.flags.writeable
    return jax.dlpack.from_dlpack(x) if plain else jax.numpy.asarray(x)


TORCH, JAX = ArrayLibrary("torch", torch_tensor), ArrayLibrary("jax", jax_array)


def kind_of(x: Any) -> ArrayLibrary | None:
    """The library that an array is of; None for NumPy's, and for what is not an array."""
    module = type(x).__module__
    if not module.startswith(("torch", "jax")):
        return None
    torch, jax = (cast(Any, sys.modules.get(name)) for name in ("torch", "jax"))
    if torch is not None and isinstance(x, torch.Tensor):
        return TORCH
    return JAX if jax is not None and isinstance(x, jax.Array) else None


def kind_of_arguments(args: tuple[Any, ...], named: Mapping[str, Any]) -> ArrayLibrary | None:
    """The library of the first argument, or part of one, that is an array of another library than NumPy."""
    return next(filter(None, map(kind_of, leaves((*args, *named.values())))), None)


def leaves(x: Any) -> Iterator[Any]:
    """What containers within containers hold, in order."""
    pending: list[Any] = [x]
    while pending:
        part: Any = pending.pop()
        if is_sequence(part):
            pending += reversed(part)
        elif isinstance(part, Mapping):
            pending += reversed(list(cast("Mapping[Any, Any]", part).values()))
        elif isinstance(part, ConstructorValue):
            pending += reversed(part.fields)
        else:
            yield part


def in_kind(value: Any, kind: ArrayLibrary | None) -> Any:
    """A result whose tensors are arrays of a library; None leaves them NumPy's.

    Tuples and instances of data types are made anew; functions, references and strings stay.
    """
    if kind is None:
        return value
    done: list[Any] = []
    pending: list[Any] = [(value, False)]
    while pending:
        x, is_made = pending.pop()
        parts: tuple[Any, ...] | None = None
        if isinstance(x, ConstructorValue):
            parts = x.fields
        elif is_tuple(x):
            parts = x
        if parts is None:
            done.append(kind.of(np.asarray(x)) if is_number_or_array(x) else x)
        elif not is_made:
            pending.append((x, True))
            pending += [(part, False) for part in reversed(parts)]
        else:
            start = len(done) - len(parts)
            fields = tuple(done[start:])
            del done[start:]
            done.append(
                ConstructorValue(x.constructor, fields) if isinstance(x, ConstructorValue) else fields
            )
    return done[0]


def is_number_or_array(x: Any) -> bool:
    """Whether a value is a tensor of numbers."""
    return is_tensor(x) and x.dtype.kind != "O"


def bits_of(x: Any) -> Array | None:
    """A tensor of PyTorch of numbers that NumPy has no name for, such as bfloat16, as an array of the same
    memory; None for any other.
    """
    if kind_of(x) is not TORCH or x.requires_grad or x.device.type != "cpu":
        return None
    name = str(x.dtype).removeprefix("torch.")
    try:
        dtype = to_numpy(name)
    except (KeyError, TypeError, ValueError):
        return None
    if dtype.kind != "V" and hasattr(np, name):
        return None
    torch: Any = sys.modules["torch"]
    return x.contiguous().view(getattr(torch, CARRIERS[x.element_size()])).numpy().view(dtype)
