"""Builders of operators whose arguments scripts give in another way, and operators that are several here."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from relay.diagnostic import fail
from relay.ir.bind import substitute
from relay.ir.expr import Expr, Function, Op, Var, constant, replace
from relay.ir.type import TensorType
from relay.op import op as own
from relay.op.registry import builders, registry

__all__ = [
    "cumprod", "cumsum", "device_copy", "function_on_device", "get", "mean", "on_device", "prod",
    "segment_sum", "sum",
]  # fmt: skip


def _as_there(name: str) -> Callable[..., Expr]:
    """Return the builder of an operator whose calls have the attributes that those of TVM have."""
    build, attrs = builders[name], registry[name].tvm_attributes

    @wraps(build)
    def call(*args: Any, **named: Any) -> Expr:
        return build(*args, **{**attrs, **named})

    return call


sum, prod, mean = _as_there("sum"), _as_there("prod"), _as_there("mean")
cumsum, cumprod = _as_there("cumsum"), _as_there("cumprod")


def get(name: str) -> Op:
    """The operator of that name (`unknown-operator`)."""
    return own.get(name)


def on_device(
    body: Expr, device: Any = None, constrain_result: bool = False, constrain_body: bool = True
) -> Expr:
    """An expression marked with where it is computed, and, if `constrain_result`, with where its value is."""
    from relay.op import on_device as mark

    return mark(body, str(device or ""), constrain_result, constrain_body)


def device_copy(data: Expr, src_device: Any, dst_device: Any) -> Expr:
    """An expression, copied from one device to another."""
    from relay.op import device_copy as copy

    return copy(data, str(src_device), str(dst_device))


def function_on_device(function: Function, param_devices: Any, result_device: Any) -> Function:
    """A function whose parameters and result are on these devices."""
    if len(param_devices) != len(function.params):
        fail(
            "argument-count",
            f"{len(param_devices)} devices are given for {len(function.params)} parameters",
            function.span,
            hint="give one for each",
        )
    pairs = zip(function.params, param_devices, strict=True)
    placed: dict[Var, Expr] = {p: on_device(p, where) for p, where in pairs}
    return replace(
        function, body=on_device(substitute(function.body, placed), result_device, constrain_result=True)
    )


def segment_sum(data: Expr, segment_ids: Expr, num_segments: Any = None) -> Expr:
    """Return the sums of the rows of `data` with the same number in `segment_ids`, one row for each number.

    Without `num_segments` the greatest number, known at run time, is that of the last row.
    """
    op: Any = import_module("relay.op")
    t = data.checked_type
    assert isinstance(t, TensorType)
    assert isinstance(t.shape, tuple)
    if num_segments is None:
        ids = op.cast(segment_ids, dtype="int64")
        num_segments = op.add(op.max(ids), constant(1, "int64"))
    if isinstance(num_segments, int):
        zeros = op.zeros((num_segments, *t.shape[1:]), t.dtype)
    else:
        count = op.reshape(op.cast(num_segments, dtype="int64"), (1,))
        sizes = op.strided_slice(op.shape_of(data, "int64"), [1], [len(t.shape)])
        zeros = op.zeros(op.concatenate((count, sizes), 0), t.dtype)
    return op.scatter_nd(zeros, op.expand_dims(segment_ids, axis=0), data, mode="add")
