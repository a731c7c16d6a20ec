"""Shapes of tensors that are traced, which are numbers, against types."""

from typing import Any

from relay.interpreter.checks import shape_fits
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import Type
from relay.op.traced import UntraceableError


def shape_of(x: Any) -> tuple[Any, Any]:
    """The shape and dtype of an array."""
    return x.shape, x.dtype


def demand(t: Type | None, value: Any, sizes: dict[Any, Any]) -> None:
    """Check the shapes of tensors against a type; `sizes` gets parameters that are not known before."""
    for path, part in tensor_parts(t):
        x = value
        for i in path:
            x = x[i]
        if not shape_fits(part, x, sizes):
            raise UntraceableError("a shape is not what its type says")
