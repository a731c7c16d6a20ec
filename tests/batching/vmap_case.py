"""Functions to be batched, each with the arguments of one row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

N = 3
"""Rows."""
CASES: list[Any] = []
"""Functions with the arguments of a row, axes and names."""


@dataclass(frozen=True)
class Given:
    """An argument of one row: what is drawn, and of which shape."""

    shape: tuple[int, ...]
    kind: str = "normal"
    top: int = 0

    def rows(self, rng: np.random.Generator, dtype: str, axis: int | None) -> Any:
        """Values of the rows along an axis; of one row, where they share it."""
        found = self.values(rng, () if axis is None else (N,))
        found = found if axis is None else np.moveaxis(found, 0, axis)
        return found.astype(dtype) if found.dtype == np.float64 else found

    def values(self, rng: np.random.Generator, batch: tuple[int, ...]) -> Any:
        """Values in float64, or integers."""
        shape = (*batch, *self.shape)
        if self.kind == "int":
            return rng.integers(0, self.top, shape).astype("int32")
        if self.kind == "bool":
            return rng.random(shape) < 0.5
        x = rng.standard_normal(shape)
        if self.kind == "positive":
            return 0.3 + abs(x)
        if self.kind == "unit":
            return 0.9 * np.tanh(x)
        if self.kind == "spd":
            return x @ np.swapaxes(x, -1, -2) + 2 * np.eye(shape[-1])
        if self.kind == "solvable":
            return x + 4 * np.eye(shape[-1])
        return x


def real(*shape: int) -> Given:
    return Given(shape)


def positive(*shape: int) -> Given:
    return Given(shape, "positive")


def unit(*shape: int) -> Given:
    return Given(shape, "unit")


def integer(top: int, *shape: int) -> Given:
    return Given(shape, "int", top)


def square(n: int) -> Given:
    return Given((n, n), "solvable")


def definite(n: int) -> Given:
    return Given((n, n), "spd")


def case(name: str, *given: Given, in_axes: Any = 0, out_axes: Any = 0, slopes: bool = True) -> Any:
    """A function of the library and the arguments of one row; without `slopes` its values alone are held."""

    def enter(f: Any) -> Any:
        axes = tuple([in_axes] * len(given)) if isinstance(in_axes, int) else in_axes
        CASES.append(pytest.param(f, given, axes, out_axes, slopes, id=name))
        return f

    return enter
