"""The types of the arguments of an operator's call, which nobody computes who does not look at them."""

from collections.abc import Iterator, Sequence
from typing import Any, cast, overload

from relay.ir import hooks
from relay.ir.type_base import Type


class ArgumentTypes(Sequence[Type]):
    """What `call.type_args` is for an operator: equal to a tuple of the types of the arguments.

    They are looked up when one is asked for, as `e.checked_type` is, but nothing is inferred: without
    the annotations that inference makes there are none.
    """

    __slots__ = ("_args", "_types")

    def __init__(self, args: tuple[Any, ...]) -> None:
        """`args` are expressions."""
        self._args = args
        self._types: tuple[Type, ...] | None = None

    @property
    def types(self) -> tuple[Type, ...]:
        """The types as a tuple."""
        found = self._types
        if found is None:
            found = self._types = hooks.annotated_types(self._args)
        return found

    @overload
    def __getitem__(self, index: int) -> Type: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Type, ...]: ...
    def __getitem__(self, index: int | slice) -> Type | tuple[Type, ...]:
        return self.types[index]

    def __len__(self) -> int:
        return len(self.types)

    def __iter__(self) -> Iterator[Type]:
        return iter(self.types)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self.types == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        return hash(self.types)

    def __repr__(self) -> str:
        return repr(self.types)
