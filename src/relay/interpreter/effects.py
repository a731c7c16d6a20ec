"""What operators with effects do: the line that `trace` writes, and the tests of `assert` and `check_nan`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from relay.diagnostic import Note, fail
from relay.interpreter.show import show_line
from relay.interpreter.value import is_tuple
from relay.ir.dtype import dtype_name, is_float
from relay.op.debugging import CheckNan, Effect, Trace

is_repeated: ContextVar[bool] = ContextVar("relay_is_repeated", default=False)
"""Whether the run repeats one that has written its lines."""


def effect_function(op: Effect) -> Callable[..., Any]:
    """An operator with an effect as a function of the values of its operands."""
    match op:
        case Trace(label=label):
            return partial(traced, label)
        case CheckNan(operator=name):
            return partial(checked, name)
        case _:
            return op.evaluate


def traced(label: str, *values: Any) -> Any:
    """The first of some values, after a line with all of them is written to standard error."""
    if not is_repeated.get():
        print(traced_line(label, values), file=sys.stderr, flush=True)
    return values[0] if values else ()


def traced_line(label: str, values: Sequence[Any]) -> str:
    """A label with values in the places of its `{}`; behind it, if it has none."""
    texts = [show_line(v) for v in values]
    before, *after = label.split("{}")
    if after:
        return before + "".join([text + part for text, part in zip(texts, after, strict=True)])
    return ": ".join([part for part in (label, ", ".join(texts)) if part])


def checked(name: str, result: Any, *operands: Any) -> Any:
    """The result of an operator that has not made a NaN or an infinity of its operands (`not-finite`)."""
    for what, holds in (("a NaN", np.isnan), ("an infinity", np.isinf)):
        if any(holds(x).any() for x in floats_in(result)) and not any(
            holds(x).any() for x in floats_in(operands)
        ):
            notes = tuple([Note(f"operand {i} is {show_line(x)}") for i, x in enumerate(operands, 1)])
            hint = "to see where operands come from, put `trace` around them"
            fail("not-finite", f"`{name}` makes {what}", label=show_line(result), hint=hint, notes=notes)
    return result


def floats_in(value: Any) -> Iterator[Any]:
    """The floating-point tensors of a value of an operator."""
    stack = [value]
    while stack:
        x = stack.pop()
        if is_tuple(x):
            stack += x
        elif isinstance(x, np.ndarray | np.generic) and is_float(dtype_name(x.dtype)):  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
            yield x if x.dtype.kind == "f" else x.astype("float32")  # pyright: ignore[reportUnknownMemberType]
