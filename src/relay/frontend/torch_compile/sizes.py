"""Symbolic sizes of a graph, as numbers of one call."""

from collections.abc import Iterable, Sequence
from typing import Any


class SizesOfCall:
    """Where the symbols of a graph stand in its arguments."""

    def __init__(self, traced: Sequence[Any]) -> None:
        """`traced` is what PyTorch traced of each argument."""
        self.places: dict[Any, tuple[int, int | None]] = {}
        for i, t in enumerate(traced):
            axes = enumerate(t.shape) if hasattr(t, "shape") else [(None, t)]
            for axis, size in axes:
                e = expression(size)
                if e is not None and e.is_symbol:
                    self.places.setdefault(e, (i, axis))

    def numbers(self, wanted: Iterable[Any], args: Sequence[Any]) -> tuple[int, ...]:
        """Sizes as they are for some arguments."""
        return tuple([self.number(size, args) for size in wanted])

    def number(self, size: Any, args: Sequence[Any]) -> int:
        """One size."""
        e = expression(size)
        if e is None:
            return int(size)
        known: dict[Any, int] = {}
        for symbol in e.free_symbols:
            i, axis = self.places[symbol]
            known[symbol] = args[i] if axis is None else args[i].shape[axis]
        return int(e.subs(known))

    def knows(self, size: Any) -> bool:
        """Whether arguments decide a size."""
        e = expression(size)
        return e is None or all(symbol in self.places for symbol in e.free_symbols)


def expression(size: Any) -> Any:
    """The formula of a symbolic size; None for a number."""
    return None if isinstance(size, int | float | bool) or not hasattr(size, "node") else size.node.expr
