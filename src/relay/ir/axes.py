"""Where the rows of batched values lie: the `in_axes` and `out_axes` of `vmap`."""

from typing import Any

from relay.diagnostic import Span, fail

Axes = int | None | tuple["Axes", ...]
"""One axis for every tensor of a value, None for what all rows share, or axes for a tuple's fields."""
DEEPEST_AXES = 16
"""How deep axes may nest."""


def expect_axes(value: Any, name: str, span: Span | None = None, depth: int = 0) -> Axes:
    """`value` as axes, with lists as tuples (`attribute-type`)."""
    if isinstance(value, list | tuple) and depth < DEEPEST_AXES:
        return tuple([expect_axes(v, name, span, depth + 1) for v in value])  # pyright: ignore[reportUnknownVariableType]
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    hint = "for example in_axes=(0, None)" if name == "in_axes" else "for example out_axes=0"
    message = f"`{name}` of `vmap` is an axis, None, or a tuple of these, not {value!r:.40}"
    fail("attribute-type", message, span, hint=hint)


def axes_by_part(axes: Axes, count: int) -> tuple[Axes, ...] | None:
    """The axes of each of `count` arguments or fields; None where they are given for another number."""
    if isinstance(axes, tuple):
        return axes if len(axes) == count else None
    return (axes,) * count


def names_an_axis(axes: Axes) -> bool:
    """Whether something is batched."""
    return any(map(names_an_axis, axes)) if isinstance(axes, tuple) else axes is not None
