"""Values as flat lists of arrays, and the structure that tells how they are put together again.

Tensors are leaves.  What is known while a program is traced belongs to the structure: the shapes of tuples,
the constructors of instances of data types, strings, functions and references.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.backend.xla.functions import Cell, Closure
from relay.interpreter.value import ConstructorValue, FunctionValue, RefValue, is_tuple
from relay.ir.expr import Constructor, Op

LEAF = None
"""Stands for a tensor in a structure."""
FUNCTIONS = (Op, Constructor, Closure, FunctionValue)
REFERENCES = (Cell, RefValue)
NO_ARRAYS = (str, *FUNCTIONS, *REFERENCES)


@dataclass(frozen=True, slots=True)
class Known:
    """A part of a value that is known, and no array."""

    value: Any


@dataclass(frozen=True, slots=True)
class Structure:
    """How a value is made of arrays: its parts in order, wholes before what is in them.

    A part is `LEAF`, the length of a tuple, a constructor, or something `Known`.
    """

    parts: tuple[Any, ...]

    def __call__(self, *leaves: Any) -> Any:
        """The value that has these arrays for leaves."""
        left = list(leaves)
        done: list[Any] = []
        for part in reversed(self.parts):
            if part is LEAF:
                done.append(left.pop())
            elif isinstance(part, Known):
                done.append(part.value)
            else:
                count = part if isinstance(part, int) else len(part.inputs)
                fields = tuple([done.pop() for _ in range(count)])
                done.append(fields if isinstance(part, int) else ConstructorValue(part, fields))
        return done[0]

    def has(self, kinds: tuple[type, ...]) -> bool:
        """Whether some known part is of certain classes."""
        return any(isinstance(p, Known) and isinstance(p.value, kinds) for p in self.parts)


def flatten(value: Any) -> tuple[list[Any], Structure]:
    """The arrays in a value, and the structure around them."""
    leaves: list[Any] = []
    parts: list[Any] = []
    stack = [value]
    while stack:
        x = stack.pop()
        if is_tuple(x):
            parts.append(len(x))
            stack += x[::-1]
        elif isinstance(x, ConstructorValue):
            parts.append(x.constructor)
            stack += x.fields[::-1]
        elif isinstance(x, NO_ARRAYS):
            parts.append(Known(x))
        else:
            parts.append(LEAF)
            leaves.append(x)
    return leaves, Structure(tuple(parts))


def is_known(x: Any) -> bool:
    """Whether the elements of an operand are known while the program is traced."""
    leaves, _ = flatten(x)
    return all(isinstance(leaf, np.ndarray | np.generic) for leaf in leaves)
