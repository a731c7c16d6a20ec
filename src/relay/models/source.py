"""Tensors of a checkpoint as the program's values: matrices as they are stored, vectors as float32."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.models.blocks import Blocks, part_of
from relay.models.checkpoint import Adapter
from relay.models.settings import unsupported
from relay.models.values import Made, made

Array = np.ndarray[Any, Any]
STORED = {"float32": "Float32", "float16": "Float16", "bfloat16": "BFloat16"}
"""The constructor of `Weight` by the dtype of an array."""


def stored(x: Any, name: str) -> Made:
    """A matrix as it is stored (`model-unsupported`)."""
    if isinstance(x, Blocks):
        return made(x.format.upper().replace("_K", "K").replace("IQ4_", "IQ4"), x.data)
    if str(x.dtype) not in STORED:
        unsupported(f"{name!r} of {x.dtype}")
    return made(STORED[str(x.dtype)], x)


@dataclass(frozen=True)
class Source:
    """The tensors of one model, by the names of this package."""

    tensors: Mapping[str, Any]
    """Arrays, by the names that a file has."""
    spelled: Callable[[str], Sequence[str]]
    """The names that a tensor may have in the file, without `.weight`."""
    columns: bool = False
    """Whether matrices are stored by columns, those in blocks apart."""
    adapter: Adapter | None = None
    """What is added to matrices."""

    def find(self, name: str, end: str = ".weight") -> Any:
        """A tensor; None if there is none."""
        return next((self.tensors[s + end] for s in self.spelled(name) if s + end in self.tensors), None)

    def has(self, name: str) -> bool:
        """Whether the file has that tensor."""
        return self.find(name) is not None

    def need(self, name: str) -> Any:
        """A tensor (`model-file`)."""
        found = self.find(name)
        if found is None:
            places = self.spelled(name)
            message = f"the tensor {(places[0] if places else name) + '.weight'!r} is missing"
            fail("model-file", message, hint="all files of the checkpoint belong together")
        return found

    def vector(self, name: str, size: int, end: str = ".weight") -> Array | None:
        """A vector as float32 (`model-file`); None if there is none."""
        found = self.find(name, end)
        if found is None:
            return None
        if found.shape != (size,):
            wrong_shape(name + end, found.shape, (size,))
        return np.ascontiguousarray(found, "float32")

    def matrix(self, name: str, rows: int, columns: int) -> Made:
        """A matrix as the program takes it, and what is added to products with it (`model-file`)."""
        x = self.need(name)
        by_columns = self.by_columns(x) and not name.endswith("_embd") and name != "output"
        self.check(name, x, (columns, rows) if by_columns else (rows, columns))
        w = made("Columns", np.ascontiguousarray(x, "float32")) if by_columns else stored(x, name)
        bias = self.vector(name, rows, ".bias")
        return self.adapted(name, w if bias is None else made("Biased", w, bias), rows, columns)

    def by_columns(self, x: Any) -> bool:
        """Whether a matrix of a layer is stored by columns."""
        return self.columns and not isinstance(x, Blocks)

    def part(self, name: str, begin: int, rows: int, columns: int) -> Made:
        """Some rows of a matrix, whose shape is known."""
        w = stored(part_of(self.need(name), slice(begin, begin + rows)), name)
        return self.adapted(name, w, rows, columns, begin)

    def adapted(self, name: str, w: Made, rows: int, columns: int, begin: int = 0) -> Made:
        """A matrix with what an adapter adds to it (`model-file`)."""
        if self.adapter is None:
            return w
        terms = self.adapter.terms
        term = next((terms[s] for s in self.spelled(name) if s in terms), None)
        if term is None:
            return w
        a, b, scale = term
        self.check(f"{name} of the adapter", a, (*a.shape[:-1], columns))
        if b.shape[-2] < begin + rows:
            wrong_shape(f"{name} of the adapter", b.shape, (begin + rows, a.shape[0]))
        b = np.ascontiguousarray(b[..., begin : begin + rows, :])
        if self.adapter.rows is None:
            return made("Adapted", w, a, b, scale)
        if ".expert." in name:
            unsupported("adapters of experts, which rows of a batch cannot choose")
        return made("AdaptedByRow", w, a, b, scale, self.adapter.rows)

    def check(self, name: str, x: Any, shape: tuple[int, ...]) -> None:
        """That a tensor has a shape (`model-file`)."""
        if tuple(x.shape) != shape:
            wrong_shape(name, tuple(x.shape), shape)


def wrong_shape(name: str, found: Sequence[int], wanted: Sequence[int]) -> None:
    """The diagnostic of a tensor that the configuration does not fit (`model-file`)."""
    message = f"the tensor {name!r} is of shape {tuple(found)}, and the configuration says {tuple(wanted)}"
    fail("model-file", message, hint="the configuration and the weights belong together")
