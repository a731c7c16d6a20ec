"""What the server needs of a model: its inputs and outputs, and a call on arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from relay.ir.dtype import to_numpy
from relay.serving.datatypes import NAMES

Array = np.ndarray[Any, Any]


class Joining(Enum):
    """How several requests become one call of a model."""

    ALONE = "alone"
    """They do not: each is a call."""
    ROWS = "rows"
    """Tensors are joined along their first axis, whose rows do not depend on each other."""
    STACKED = "stacked"
    """Tensors of one shape are stacked along a new first axis."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output.  A size that is open is a text, the same one where sizes must be equal."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    @property
    def datatype(self) -> str:
        """What the protocol calls its dtype."""
        return NAMES[self.dtype]

    def metadata(self) -> dict[str, Any]:
        """What the protocol says of it; -1 is an open size."""
        shape = [d if isinstance(d, int) else -1 for d in self.shape]
        return {"name": self.name, "datatype": self.datatype, "shape": shape}


class Model(Protocol):
    """A model that can be served, by whatever engine.

    Calls come from several threads at once, as many as the server has for a model.  Whatever a call raises
    is the answer to its request, and nothing else is harmed.
    """

    platform: str
    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    joining: Joining

    def check(self, arrays: Sequence[Array]) -> None:
        """Raise `RelayError` for arrays that are not of the types of the inputs."""
        ...

    def __call__(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The outputs for one array for each input."""
        ...

    def stacked(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """The outputs for many requests, whose arrays are stacked along a new first axis; of `STACKED`."""
        ...


def fits(arrays: Sequence[Array], inputs: Sequence[TensorSpec]) -> bool:
    """Whether arrays have the dtypes and shapes of inputs."""
    sizes: dict[str, int] = {}
    for x, spec in zip(arrays, inputs, strict=True):
        if x.dtype != to_numpy(spec.dtype) or x.ndim != len(spec.shape):
            return False
        for size, expected in zip(x.shape, spec.shape, strict=True):
            if size != (expected if isinstance(expected, int) else sizes.setdefault(expected, size)):
                return False
    return True
