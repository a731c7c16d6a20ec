"""What operators with effects do: the line that `trace` writes, and the test of `assert`."""

import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any

from relay.interpreter.show import show_line
from relay.op.debugging import Effect, Trace

is_repeated: ContextVar[bool] = ContextVar("relay_is_repeated", default=False)
"""Whether the run repeats one that has written its lines."""


def effect_function(op: Effect) -> Callable[..., Any]:
    """An operator with an effect as a function of the values of its operands."""
    return partial(traced, op.label) if isinstance(op, Trace) else partial(op.reference, None)


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
