"""Where two programs first differ, and how that is told."""

from dataclasses import dataclass
from typing import Any

from relay.ir.type import Type

Trail = tuple[Any, str] | None
"""The way from the root, last step first."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where two programs first differ, what stands there, and why.

    `path` is the way from the root, as `@main.body.args[1]`.
    """

    path: str
    lhs: Any
    rhs: Any
    reason: str

    def __str__(self) -> str:
        return f"at {self.path or 'the root'}: {self.reason}"


class DifferError(Exception):
    """Ends a comparison at the first difference."""

    def __init__(self, lhs: Any, rhs: Any, trail: Trail, reason: str) -> None:
        super().__init__(reason)
        self.lhs, self.rhs, self.trail, self.reason = lhs, rhs, trail, reason


def path_of(trail: Trail) -> str:
    """The way from the root as text; the middle of a long one is left out."""
    steps: list[str] = []
    while trail is not None:
        trail, step = trail
        steps.append(step)
    steps.reverse()
    if len(steps) > 40:
        steps[20:-20] = [f"….<{len(steps) - 40} steps>…"]
    return "".join(steps).lstrip(".")


def show(x: Any) -> str:
    """What stands at a place, in a few words."""
    if isinstance(x, Type):
        return f"`{x!r}`"
    text = x.summary() if hasattr(x, "summary") else repr(x)
    return text if len(text) < 80 else f"{text[:77]}…"
