"""Weights of a model with its adapters: one for all rows of a batch, or one for each."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from relay.decoding.adapters import Choice, is_by_row
from relay.ir.expr import Constructor
from relay.models.values import Made, value_of


class Weighted(NamedTuple):
    """Weights of which each row of a batch has an adapter of its own."""

    made: Made
    rows: Any
    """What stands in them for the numbers of the rows' adapters; see `relay.models.checkpoint.stacked`."""


class Weights:
    """The weights of a model, as one of its programs takes them."""

    def __init__(
        self, constructors: Mapping[str, Constructor], every: Mapping[str | None, Made], names: Sequence[str],
        rows: Any,
    ) -> None:  # fmt: skip
        """`every` are by the name of an adapter, None is without; with `rows`, of rows that choose."""
        self.constructors, self.every, self.names, self.rows = constructors, every, names, rows
        self.known: dict[str | None, Any] = {}

    def of(self, choice: Choice) -> Any:
        """The weights with those adapters."""
        if is_by_row(choice):
            numbers = [0 if name is None else 1 + self.names.index(name) for name in choice or ()]
            return value_of(
                self.every[None], self.constructors, {id(self.rows): np.asarray(numbers, "int32")}
            )
        name = choice if isinstance(choice, str) else None
        if name not in self.known:
            self.known[name] = value_of(self.every[name], self.constructors)
        return self.known[name]
