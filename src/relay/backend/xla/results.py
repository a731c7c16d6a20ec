"""Results of a program that is traced, and what Python gets for them.

A reference becomes one of the interpreter, with what it holds at the end; where it is in several places of a
result it stays one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.backend.xla.checks import Requirement
from relay.backend.xla.data import FUNCTIONS, Known, Structure, flatten
from relay.backend.xla.functions import Cell
from relay.backend.xla.processes import gathered
from relay.interpreter.value import RefValue
from relay.op.traced import UntraceableError


@dataclass(frozen=True, slots=True)
class Result:
    """The structure of a result, and of what the references in it hold."""

    structure: Structure
    cells: tuple[Cell, ...]
    requirements: tuple[Requirement, ...]
    """What the program requires as it runs, by number from 1 on."""

    def __call__(self, *leaves: Any) -> Any:
        """The value that has these arrays for leaves."""
        references = {cell: RefValue(None) for cell in self.cells}
        parts = [
            Known(references[p.value]) if isinstance(p, Known) and isinstance(p.value, Cell) else p
            for p in self.structure.parts
        ]
        value, *held = Structure(tuple(parts))(*leaves)
        for reference, x in zip(references.values(), held, strict=True):
            reference.value = x
        return value


def result_of(value: Any, requirements: Sequence[Requirement]) -> tuple[Sequence[Any], Result]:
    """The arrays in a result, and what is made of them outside."""
    cells: dict[Cell, None] = {}
    while True:
        leaves, structure = flatten((value, *[c.value for c in cells]))
        found = [p.value for p in structure.parts if isinstance(p, Known) and isinstance(p.value, Cell)]
        if all(c in cells for c in found):
            break
        cells.update(dict.fromkeys(found))
    if structure.has(FUNCTIONS):
        raise UntraceableError("it gives functions to the outside")
    for cell in cells:
        cell.value = None  # what was traced is gone
    return leaves, Result(structure, tuple(cells), tuple(requirements))


def host_array(x: Any) -> Any:
    """An array of JAX as NumPy's, which may be written to; a number of rank 0."""
    return np.array(gathered(x))[()]
