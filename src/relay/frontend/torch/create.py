"""Tensors from numbers."""

from typing import Any

import numpy as np

from relay.frontend.support import ascribed, cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_number, vector
from relay.frontend.value import Value, call, constant


def filled(node: Node, sizes: list[Any], value: Any) -> Value:
    """A tensor of one number, in the dtype of the result."""
    one = cast(value, node.dtype) if isinstance(value, Value) else constant(value, node.dtype)
    if all(isinstance(s, int) for s in sizes):
        return call("full", one, shape=tuple(sizes)) if sizes else one
    return ascribed(call("dyn.broadcast_to", one, vector(sizes)), node.shape)


@converts("aten.full")
def full(node: Node, sizes: list[Any], value: Any) -> Value:
    """A tensor of one number."""
    return filled(node, sizes, value)


@converts("aten.zeros", "aten.empty", "aten.empty_permuted", "aten.empty_strided")
def zeros(node: Node, sizes: list[Any], *_: Any) -> Value:
    """Zeros; also where any numbers would do."""
    return filled(node, sizes, 0)


@converts("aten.ones")
def ones(node: Node, sizes: list[Any]) -> Value:
    """Ones."""
    return filled(node, sizes, 1)


@converts("aten.new_zeros", "aten.new_empty", "aten.new_empty_strided")
def new_zeros(node: Node, x: Value, sizes: list[Any], *_: Any) -> Value:
    """Zeros."""
    return filled(node, sizes, 0)


@converts("aten.new_ones")
def new_ones(node: Node, x: Value, sizes: list[Any]) -> Value:
    """Ones."""
    return filled(node, sizes, 1)


@converts("aten.new_full")
def new_full(node: Node, x: Value, sizes: list[Any], value: Any) -> Value:
    """A tensor of one number."""
    return filled(node, sizes, value)


def filled_like(node: Node, x: Value, value: Any) -> Value:
    """A tensor of one number in the shape of another."""
    one = cast(value, node.dtype) if isinstance(value, Value) else constant(value, node.dtype)
    if all(isinstance(d, int) for d in x.shape):
        return call("full", one, shape=x.sizes()) if x.rank else one
    return call("full_like", cast(x, node.dtype), one)


@converts("aten.full_like", "aten.fill")
def full_like(node: Node, x: Value, value: Any) -> Value:
    """A tensor of one number in the shape of another."""
    return filled_like(node, x, value)


@converts("aten.zeros_like", "aten.empty_like")
def zeros_like(node: Node, x: Value) -> Value:
    """Zeros in the shape of another tensor."""
    return filled_like(node, x, 0)


@converts("aten.ones_like")
def ones_like(node: Node, x: Value) -> Value:
    """Ones in the shape of another tensor."""
    return filled_like(node, x, 1)


@converts("aten.scalar_tensor", "aten.tensor.int", "aten.tensor.float", "aten.tensor.bool")
def scalar_tensor(node: Node, value: Any) -> Value:
    """A number as a tensor of rank 0."""
    return cast(Value(value.expr, value.type, value.array), node.dtype) if isinstance(value, Value) \
        else constant(value, node.dtype)  # fmt: skip


def arange_values(node: Node, start: Any, end: Any, step: Any) -> Value:
    """Numbers at equal distances."""
    if not any(isinstance(x, Value) for x in (start, end, step)):
        return constant(np.arange(start, end, step), node.dtype)
    if node.dtype.startswith(("int", "uint")):
        first, last, by = (as_number(x) for x in (start, end, step))
        made = call("arange", first, last, by, dtype="int64")
        return ascribed(cast(made, node.dtype), node.shape)
    count = call("arange", *[as_number(x) for x in (0, end - start if isinstance(end, Value) else end, 1)],
                 dtype="int64")  # fmt: skip
    if step != 1 or isinstance(start, Value):
        return node.fail("floats up to a symbolic size are at distance 1 from a number on")
    return ascribed(cast(count, node.dtype) + start, node.shape)


@converts("aten.arange.default")
def arange(node: Node, end: Any) -> Value:
    """Whole numbers from 0 on."""
    return arange_values(node, 0, end, 1)


@converts("aten.arange.start")
def arange_from(node: Node, start: Any, end: Any) -> Value:
    """Whole numbers from one on."""
    return arange_values(node, start, end, 1)


@converts("aten.arange.start_step")
def arange_by(node: Node, start: Any, end: Any, step: Any = 1) -> Value:
    """Numbers at equal distances."""
    return arange_values(node, start, end, step)


@converts("aten.linspace")
def linspace(node: Node, start: Any, end: Any, steps: int) -> Value:
    """So many numbers from one to another."""
    if any(isinstance(x, Value) for x in (start, end, steps)):
        return node.fail("its ends and its count must be numbers")
    return constant(np.linspace(start, end, steps), node.dtype)


@converts("aten.eye")
def eye(node: Node, rows: int, columns: int | None = None) -> Value:
    """Ones on the diagonal, zeros elsewhere."""
    return constant(np.eye(rows, columns), node.dtype)
