"""What convolutions and pooling share: windows, and the padding around the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.frontend.value import Value, call, constant


@dataclass(frozen=True)
class Window:
    """The geometry of windows over the spatial axes of data `(n, c, ...)`."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    ceil_mode: bool = False

    @property
    def padding(self) -> tuple[int, ...]:
        """Widths before each axis, then after each."""
        return (*self.before, *self.after)

    def outputs(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """How many windows there are along each axis."""
        found: list[int] = []
        for i, n in enumerate(sizes):
            room = n + self.before[i] + self.after[i] - self.dilations[i] * (self.kernel[i] - 1) - 1
            count = room // self.strides[i] + 1
            if self.ceil_mode and room % self.strides[i]:
                count += (count * self.strides[i]) < n + self.before[i]
            found.append(max(count, 0))
        return tuple(found)

    def places(self, sizes: tuple[int, ...]) -> tuple[Any, Any]:
        """For each element of each window its place in the flattened data, and whether it is inside."""
        outs = self.outputs(sizes)
        flat = np.zeros((1, 1), "int64")
        inside = np.ones((1, 1), bool)
        for i, n in enumerate(sizes):
            first = np.arange(outs[i]) * self.strides[i] - self.before[i]
            at = first[:, None] + np.arange(self.kernel[i]) * self.dilations[i]
            shape = (flat.shape[0] * outs[i], flat.shape[1] * self.kernel[i])
            flat = (flat[:, None, :, None] * n + at[None, :, None, :]).reshape(shape)
            good = (at >= 0) & (at < n)
            inside = (inside[:, None, :, None] & good[None, :, None, :]).reshape(shape)
        return np.where(inside, flat, 0), inside


def windows(x: Value, window: Window, outside: Any) -> tuple[Value, Any]:
    """Data `(n, c, windows, elements)` and the places of the elements; beyond the data is `outside`."""
    sizes = x.sizes()
    flat = call("reshape", x, newshape=(sizes[0], sizes[1], -1))
    places, inside = window.places(sizes[2:])
    found = call("take", flat, constant(places), axis=2)
    if not inside.all():
        found = call("where", constant(inside), found, constant(outside, x.dtype))
    return found, places
