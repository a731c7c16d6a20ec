"""Builders of operators whose arguments scripts give in another way, and operators that are several here."""

from importlib import import_module
from typing import Any

from relay.ir.expr import Expr, Function, Op
from relay.ir.type import TensorType
from relay.op import op as own

__all__ = ["device_copy", "function_on_device", "get", "on_device", "segment_sum"]


def get(name: str) -> Op:
    """The operator of that name (`unknown-operator`)."""
    return own.get(name)


def on_device(
    body: Expr, device: Any = None, constrain_result: bool = False, constrain_body: bool = True
) -> Expr:
    """An expression marked with where it is computed, which changes nothing: all is computed here."""
    from relay.op import on_device as mark

    return mark(body, str(device or ""), constrain_result, constrain_body)


def device_copy(data: Expr, src_device: Any, dst_device: Any) -> Expr:
    """An expression, copied from one device to another."""
    from relay.op import device_copy as copy

    return copy(data, str(src_device), str(dst_device))


def function_on_device(function: Function, param_devices: Any, result_device: Any) -> Function:
    """A function as it is: parameters and results are all on the processor."""
    del param_devices, result_device
    return function


def segment_sum(data: Expr, segment_ids: Expr, num_segments: int) -> Expr:
    """The sums of the rows of `data` that have the same number in `segment_ids`, one row for each number."""
    op: Any = import_module("relay.op")
    t = data.checked_type
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    zeros = op.zeros((num_segments, *t.shape[1:]), t.dtype)
    return op.scatter_nd(zeros, op.expand_dims(segment_ids, axis=0), data, mode="add")
