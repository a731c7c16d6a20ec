"""Arrays as `tvm.nd` has them: NumPy arrays with `.numpy()`, `.copyto` and a device."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Self

import numpy as np

from relay.compat.tvm.devices import Device, checked, cpu
from relay.ir.dtype import to_numpy

__all__ = ["NDArray", "array", "empty", "from_dlpack", "numpyasarray"]


class NDArray(np.ndarray[Any, Any]):
    """A tensor in the memory of this machine: an array of NumPy with the methods of `tvm.nd.NDArray`."""

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy, as an array of NumPy; of rank 0 where it is a scalar."""
        return np.array(self)

    asnumpy = numpy

    def copyto(self, target: Any) -> "NDArray":
        """The elements written to another array, or a copy on a device."""
        if isinstance(target, Device):
            return array(self, target)
        target[...] = self
        return target

    def copyfrom(self, source: Any) -> Self:
        """The elements of another array, written to this one."""
        self[...] = source
        return self

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very array."""
        return self is other

    @property
    def device(self) -> Any:
        """Where it lies: the processor."""
        return cpu()

    ctx = device


def array(value: Any, device: Device | None = None) -> NDArray:
    """A copy of numbers as an array; Python's ints are int64 and floats float64, as NumPy has them.

    Raises `unknown-target` for a device that is not here.
    """
    checked(device)
    return np.array(value).view(NDArray)


def empty(shape: Any, dtype: str = "float32", device: Device | None = None, mem_scope: Any = None) -> NDArray:
    """An array of that shape and dtype that is not filled."""
    del mem_scope
    checked(device)
    return np.empty(shape, to_numpy(dtype)).view(NDArray)


def numpyasarray(value: np.ndarray[Any, Any]) -> NDArray:
    """The memory of an array of NumPy as an array, without a copy."""
    return value.view(NDArray)


def from_dlpack(tensor: Any) -> NDArray:
    """The memory of a tensor of another library as an array, by DLPack."""
    return np.from_dlpack(tensor).view(NDArray)


def arrays(params: Mapping[str, Any]) -> dict[str, NDArray]:
    """Parameters by name, as arrays of the same memory."""
    return {name: np.asarray(value).view(NDArray) for name, value in params.items()}


def with_arrays(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives `mod, params`, with the parameters as such arrays."""

    @wraps(make)
    def made(*args: Any, **named: Any) -> Any:
        mod, params = make(*args, **named)
        return mod, arrays(params)

    return made
