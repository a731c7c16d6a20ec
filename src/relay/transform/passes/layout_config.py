"""Convolutions that `ConvertLayout` leaves as they are, by their numbers."""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Optional

_current: ContextVar[Optional["LayoutConfig"]] = ContextVar("layout_config", default=None)


class _Scoped(type):
    """The class of `LayoutConfig`, which knows the one that holds here."""

    @property
    def current(cls) -> Optional["LayoutConfig"]:
        """The one that holds in this block; None outside of all."""
        return _current.get()


class LayoutConfig(metaclass=_Scoped):
    """`with LayoutConfig(skip_layers=[0]): …`: `ConvertLayout` leaves the first `nn.conv2d` in its layout.

    Calls are counted from 0, in the order of evaluation, as long as the block lasts.  A function of
    `register_convert_op_layout` is not asked about those that are left.
    """

    def __init__(self, skip_layers: Iterable[int] | None = None) -> None:
        """`skip_layers` has the numbers of the calls that stay."""
        self.skip_layers: Sequence[int] = list(skip_layers or ())
        self.skip_counter = 0
        self._tokens: list[Token[LayoutConfig | None]] = []

    def check_skip(self) -> bool:
        """Whether the next call stays; counts it."""
        self.skip_counter += 1
        return self.skip_counter - 1 in self.skip_layers

    def reset(self) -> None:
        """Leave none from here on, and count from 0."""
        self.skip_counter, self.skip_layers = 0, []

    def __enter__(self) -> "LayoutConfig":
        self._tokens.append(_current.set(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _current.reset(self._tokens.pop())
