"""Tensors of PyTorch as arrays and back, sharing memory."""

from typing import Any, cast

import numpy as np

from relay.diagnostic import fail
from relay.frontend.torch.complex_value import Complex
from relay.frontend.torch.library import pytorch
from relay.frontend.torch.symbols import dtype_of
from relay.frontend.value import Value, constant
from relay.ir.dtype import dtype_name, to_numpy

CARRIERS = {1: "uint8", 2: "int16"}
"""What carries bits that NumPy's exchange of arrays has no name for, by bytes."""


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """A tensor as an array of the same memory (`torch-type`); one of another device is copied.

    Complex numbers are pairs along a last axis.
    """
    torch = pytorch()

    t = tensor.detach().cpu()
    t = torch.view_as_real(t.resolve_conj()) if t.is_complex() else t
    if t.is_sparse or t.layout != torch.strided:
        t = t.to_dense()
    if t.is_conj() or t.is_neg():
        t = t.resolve_conj().resolve_neg()
    dtype = dtype_of(t.dtype)
    if to_numpy(dtype).kind == "V" or not hasattr(np, dtype.rstrip("_")):
        carrier = getattr(torch, CARRIERS[t.element_size()])
        return np.from_dlpack(t.contiguous().view(carrier)).view(to_numpy(dtype))
    return np.from_dlpack(t.view(torch.uint8)).view(bool) if dtype == "bool" else np.from_dlpack(t)


def held_value(tensor: Any) -> Value | Complex:
    """A tensor as a constant."""
    found = constant(array_of(tensor))
    return Complex.of(found) if tensor.is_complex() else found


def as_tensor(x: Any) -> Any:
    """A tensor, or an array as one of the same memory (`argument-type`)."""
    torch = pytorch()

    if isinstance(x, torch.Tensor):
        return x
    if not isinstance(x, np.ndarray | np.generic):
        message = f"the module takes a tensor or a NumPy array here, not {type(x).__name__}"
        fail("argument-type", message, hint="`torch.as_tensor` makes one")
    array = np.asarray(cast(Any, x))
    if array.dtype.kind == "c":
        return torch.from_numpy(array)
    return tensor_of(array, torch.empty(0, dtype=getattr(torch, dtype_name(array.dtype))))


def result_of(value: Any, like: Any) -> Any:
    """A result as PyTorch gives it: a tensor, or a number where it traced no tensor."""
    return np.asarray(value).item() if like is None else tensor_of(value, like)


def tensor_of(value: Any, like: Any) -> Any:
    """A result as a tensor of the same memory, in the dtype of what PyTorch traced."""
    torch = pytorch()

    array = np.asarray(value)
    array = np.ascontiguousarray(array) if array.ndim else array
    if like.dtype.is_complex:
        return torch.view_as_complex(torch.from_numpy(array if array.flags.writeable else array.copy()))
    name = str(like.dtype).removeprefix("torch.")
    if array.dtype.kind == "V" or not hasattr(np, name):
        carrier = CARRIERS[array.dtype.itemsize]
        return torch.from_dlpack(array.view(carrier)).view(like.dtype)
    if array.ndim == 0 or not array.flags.writeable:
        return torch.tensor(array.copy(), dtype=like.dtype)
    return torch.from_dlpack(array)
