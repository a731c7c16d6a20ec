"""Shapes for `x.reshape(…)`, dimensions among them."""

from typing import Any

from relay.diagnostic import caller_span, fail
from relay.interpreter.value import is_sequence
from relay.ir.type import ANY
from relay.op.attribute import is_dimension
from relay.tracing.indexing import is_integer


def sizes(x: Any, given: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape as `reshape` takes it: a single symbolic size is what the others leave.

    What is neither an integer nor a dimension is left for `reshape` to refuse.  Raises `traced-type` where
    two sizes would have to be found.
    """
    whole = given[0] if len(given) == 1 and is_sequence(given[0]) else given
    shape: list[Any] = [*whole]
    open_axes = [i for i, d in enumerate(shape) if d is ANY or (is_integer(d) and d == -1)]
    symbolic = [i for i, d in enumerate(shape) if is_dimension(d)]
    if not open_axes and len(symbolic) == 1:
        open_axes = symbolic
    if len(open_axes) > 1:
        fail(
            "traced-type",
            f"the shape ({', '.join(map(str, shape))}) leaves more than one size open",
            caller_span(),
            hint="relay.dyn.reshape(x, s) takes the shape as a tensor; `-1` stands for one size",
        )
    return tuple([-1 if i in open_axes else int(d) if is_integer(d) else d for i, d in enumerate(shape)])
