"""The arrays in a cache."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from relay.interpreter.value import ConstructorValue

Array = np.ndarray[Any, Any]
GROWING = ("Whole", "Rounded")
"""The parts of a cache with a place for each token, along their second axis."""


def arrays(root: Any, name: str = "") -> Iterator[tuple[Array, bool]]:
    """The arrays in a cache, in order, and whether each has a place for each token."""
    pending = [(root, name)]
    while pending:
        x, name = pending.pop()
        if isinstance(x, ConstructorValue):
            pending += [(f, x.constructor.name_hint) for f in reversed(x.fields)]
        elif isinstance(x, list | tuple):
            pending += [(f, name) for f in reversed(cast("list[Any]", x))]
        elif isinstance(x, np.ndarray):
            yield x, name in GROWING
