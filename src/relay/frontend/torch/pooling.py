"""Pooling over windows."""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import repeated
from relay.frontend.value import Value, call, constant
from relay.frontend.window import Window, windows


def with_batch(rank: int, x: Value, f: Callable[[Value], Any]) -> Any:
    """A function of batches, on a batch or on one item."""
    if x.rank == rank + 2:
        return f(x)
    found = f(call("expand_dims", x, axis=0))
    if isinstance(found, tuple):
        return tuple([call("squeeze", v, axis=(0,)) for v in found])  # pyright: ignore[reportUnknownVariableType]
    return call("squeeze", found, axis=(0,))


def max_pool(
    rank: int, node: Node, x: Value, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The greatest element of each window, and where it is."""
    k, p, d = repeated(kernel, rank), repeated(padding, rank), repeated(dilation, rank)
    s = repeated(stride, rank) if stride else k
    places = "indices" in node.operator
    if places and node.wants(1):
        return with_batch(rank, x, lambda v: greatest(v, Window(k, s, d, p, p, ceil_mode)))
    found = with_batch(
        rank, x,
        lambda v: call(f"nn.max_pool{rank}d", v, pool_size=k, strides=s, padding=p, dilation=d,
                       ceil_mode=ceil_mode),
    )  # fmt: skip
    return (found,) if places else found


def greatest(x: Value, w: Window) -> tuple[Value, Value]:
    """The greatest element of each window, and its place in the flattened image."""
    elements, places = windows(x, w, -np.inf if x.is_float else np.iinfo(x.dtype).min)
    return best_of(x, elements, places, w.outputs(x.sizes()[2:]))


def best_of(x: Value, elements: Value, places: Any, outs: Sequence[int]) -> tuple[Value, Value]:
    """The greatest of the elements `(n, c, cells, each)`, and its place among `places (cells, each)`."""
    best = cast(call("argmax", elements, axis=3), "int64")
    starts = constant(np.arange(places.shape[0]) * places.shape[1])
    where = call("take", constant(places.reshape(-1)), best + starts, axis=0)
    shape = (*x.sizes()[:2], *outs)
    most = call("max", elements, axis=(3,))
    return call("reshape", most, newshape=shape), call("reshape", where, newshape=shape)


def average_pool(
    rank: int, node: Node, x: Value, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window."""
    k, p = repeated(kernel, rank), repeated(padding, rank)
    s = repeated(stride, rank) if stride else k
    count = True if divisor else count_include_pad
    if divisor and ceil_mode:
        x, p, ceil_mode = whole_windows(node, rank, x, k, s, p), (0,), False
    found = with_batch(
        rank, x,
        lambda v: call(f"nn.avg_pool{rank}d", v, pool_size=k, strides=s, padding=p, ceil_mode=ceil_mode,
                       count_include_pad=count),
    )  # fmt: skip
    return found * (prod(k) / divisor) if divisor else found


def whole_windows(
    node: Node, rank: int, x: Value, k: Sequence[int], s: Sequence[int], p: Sequence[int]
) -> Value:
    """`x` with zeros around it, so that all windows of the result lie within."""
    sizes, outs = x.shape[-rank:], node.shape[-rank:]
    if not all(isinstance(n, int) for n in (*sizes, *outs)):
        return node.fail("a divisor together with ceil_mode, of data of open size")
    widths = [(0, 0)] * (x.rank - rank)
    for n, out, size, step, before in zip(sizes, outs, k, s, p, strict=True):
        assert isinstance(n, int)
        assert isinstance(out, int)
        widths.append((before, max((out - 1) * step + size - n - before, 0)))
    return call("nn.pad", x, pad_width=tuple(widths))


def adaptive_pool(rank: int, name: str, node: Node, x: Value, sizes: Any) -> Any:
    """The mean, or the greatest element, of each cell of a grid of given sizes."""
    own = x.shape[-rank:]
    given: Any = repeated(sizes, rank)
    out: list[Any] = [o if n is None else n for n, o in zip(given, own, strict=True)]
    if name == "max" and node.wants(1):
        sizes = tuple(out)
        return with_batch(rank, x, lambda v: greatest_of_cells(v, sizes))
    found = with_batch(rank, x, lambda v: call(f"nn.adaptive_{name}_pool{rank}d", v, output_size=tuple(out)))
    return (found,) if name == "max" else found


def greatest_of_cells(x: Value, out: Sequence[int]) -> tuple[Value, Value]:
    """The greatest element of each cell of a grid, and its place in the flattened image."""
    places = np.zeros((1, 1), "int64")
    for n, o in zip(x.sizes()[2:], out, strict=True):
        cells: Any = np.arange(o)
        first, last = cells * n // o, -(-(cells + 1) * n // o)
        at: Any = np.minimum(first[:, None] + np.arange(int((last - first).max())), last[:, None] - 1)
        shape = (places.shape[0] * o, places.shape[1] * at.shape[1])
        places = (places[:, None, :, None] * n + at[None, :, None, :]).reshape(shape)
    flat = call("reshape", x, newshape=(*x.sizes()[:2], -1))
    return best_of(x, call("take", flat, constant(places), axis=2), places, out)


for _rank in (1, 2, 3):
    converts(f"aten.max_pool{_rank}d", f"aten.max_pool{_rank}d_with_indices")(partial(max_pool, _rank))
    converts(f"aten.avg_pool{_rank}d")(partial(average_pool, _rank))
    converts(f"aten.adaptive_avg_pool{_rank}d", f"aten._adaptive_avg_pool{_rank}d")(
        partial(adaptive_pool, _rank, "avg")
    )
    converts(f"aten.adaptive_max_pool{_rank}d")(partial(adaptive_pool, _rank, "max"))


@converts("aten.max_unpool2d", "aten.max_unpool3d")
def max_unpool(node: Node, x: Value, places: Value, sizes: list[int], *_: Any) -> Value:
    """Elements put back to where pooling found them, zeros elsewhere."""
    front = x.sizes()[: x.rank - len(sizes)]
    zeros = call("full", constant(0, x.dtype), shape=(*front, prod(sizes)))
    flat, index = (call("reshape", v, newshape=(*front, -1)) for v in (x, places))
    found = call("scatter_elements", zeros, index, flat, axis=len(front))
    return call("reshape", found, newshape=(*front, *sizes))
