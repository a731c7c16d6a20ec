"""Taps: values that Python listens to while a program runs."""

import itertools
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from relay.op.base import Array, Numpy, sample
from relay.op.debugging import Effect
from relay.op.kind import Derivative
from relay.op.registry import operator

Listener = Callable[..., None]
listeners: dict[int, Listener] = {}
_numbers = itertools.count()


@operator("tap")
class Tap(Effect):
    """The first of `values`, after the Python function that listens at `number` has been called with all.

    Calibration puts it into programs that it runs on examples.  If nobody listens it is the identity.

    relay> tap([1.0, 2.0], number=-1)
    [1.0, 2.0]
    """

    number: int
    operands = ("values",)
    variadic = True
    derivative = Derivative.PASSED_ON
    samples = (sample("2x3 float32", number=-1), sample("3 int32", "0 float32", number=-1))

    def reference(self, np: Numpy, *values: Array) -> Array:
        """The first value."""
        listener = listeners.get(self.number)
        if listener is not None:
            listener(*values)
        return values[0]


def listen(function: Listener) -> int:
    """The number of taps that call a function for as long as the process runs."""
    number = next(_numbers)
    listeners[number] = function
    return number


@contextmanager
def listening(functions: Sequence[Listener]) -> Generator[list[int]]:
    """Numbers of taps, one for each function, which is called by them inside the block."""
    numbers: list[Any] = [next(_numbers) for _ in functions]
    listeners.update(zip(numbers, functions, strict=True))
    try:
        yield numbers
    finally:
        for n in numbers:
            listeners.pop(n, None)
