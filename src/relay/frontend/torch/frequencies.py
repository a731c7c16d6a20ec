"""How often elements occur, and running extremes."""

from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.sorting import orderable
from relay.frontend.torch.support import axis_of
from relay.frontend.value import Value, call, constant, fields


@converts("aten.cummax", "aten.cummin")
def cummax(node: Node, x: Value, dim: int) -> Any:
    """The greatest, or least, of each element and those before it, and where it is."""
    if x.rank == 0:
        return x, constant(0, "int64")
    name = node.operator.split(".")[1]
    values, places = fields(call(name, orderable(x), axis=axis_of(dim, x.rank), dtype="int64"))
    return cast(values, x.dtype), places


@converts("aten.mode")
def most_frequent(node: Node, x: Value, dim: int = -1, keep: bool = False) -> Any:
    """The least of the most frequent elements along an axis, and its last place."""
    if x.rank == 0:
        return x, constant(0, "int64")
    attrs: dict[str, Any] = {"axis": axis_of(dim, x.rank), "keepdims": keep, "dtype": "int64"}
    values, places = fields(call("mode", orderable(x), **attrs))
    return cast(values, x.dtype), places


@converts("aten.histc")
def histc(node: Node, x: Value, bins: int = 100, low: float = 0, high: float = 0) -> Value:
    """Counts in bins of equal width."""
    return call("histc", x, bins=bins, min=float(low), max=float(high))


@converts("aten.histogram.bin_ct")
def histogram(node: Node, x: Value, bins: int = 100) -> Any:
    """Counts in bins of equal width, and where they begin and end."""
    limits = node.option("range")
    if limits is None or node.option("weight") is not None or node.option("density", False):
        return node.fail("it is converted with a range, without weights and as counts")
    low, high = map(float, limits)
    edges = np.linspace(low, high, bins + 1)
    return histc(node, x, bins, low, high), constant(edges, x.dtype)
