"""Borders around tensors."""

from typing import Any

import numpy as np

from relay.frontend.slices import sliced
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call, constant

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "circular"}


@converts("aten.pad")
def pad(node: Node, x: Value, widths: list[int], mode: str = "constant", value: Any = None) -> Value:
    """A border of a kind."""
    return bordered(node, x, widths, MODES[mode], value)


@converts("aten.constant_pad_nd")
def constant_pad(node: Node, x: Value, widths: list[int], value: Any = 0) -> Value:
    """A border of one number; where its width is negative, a part is cut off."""
    return bordered(node, x, widths, "constant", value)


def _border(mode: str) -> Any:
    def convert(node: Node, x: Value, widths: list[int]) -> Value:
        return bordered(node, x, widths, mode)

    return convert


for _rank in (1, 2, 3):
    converts(f"aten.reflection_pad{_rank}d")(_border("reflect"))
    converts(f"aten.replication_pad{_rank}d")(_border("edge"))
converts("aten._pad_circular")(_border("circular"))


def bordered(node: Node, x: Value, widths: list[Any], mode: str, value: Any = None) -> Value:
    """A border; `widths` are those before and after each axis, the last axis first."""
    if any(isinstance(w, Value) for w in widths):
        return node.fail("the widths of a border must be numbers")
    pairs = [(0, 0)] * x.rank
    for i in range(len(widths) // 2):
        before, after = widths[2 * i], widths[2 * i + 1]
        axis = x.rank - 1 - i
        if before < 0 or after < 0:
            last = -after if after < 0 else (1 << 63) - 1
            end = -last if after < 0 else last
            x = sliced(x, [max(-before, 0)], [end], [axis], [1])
        pairs[axis] = (max(before, 0), max(after, 0))
    if not any(b or a for b, a in pairs):
        return x
    if mode == "circular":
        return circular(x, pairs)
    if mode == "constant":
        return call("nn.pad", x, constant(value or 0, x.dtype), pad_width=tuple(pairs))
    return call("nn.pad", x, pad_width=tuple(pairs), pad_mode=mode)


def circular(x: Value, pairs: list[tuple[int, int]]) -> Value:
    """A border that continues at the other end."""
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            places = np.arange(-before, x.size(axis) + after) % x.size(axis)
            x = call("take", x, constant(places), axis=axis)
    return x
