"""Families of operators: classes that supply what they know to the operators below them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

from relay.ir.type import Type
from relay.op.base import Array, Numpy, Operator
from relay.op.conversion import through_wide
from relay.op.kind import Fusion, Precision, Wide
from relay.op.native import Loops, View
from relay.op.relation import Typing, relations

C = TypeVar("C", bound=type[Operator])


@dataclass_transform(frozen_default=True)
def family(cls: C) -> C:
    """A class whose fields are attributes of operators, which `Operator` compares and shows."""
    if len(cls.__bases__) == 1 and "__annotations__" not in cls.__dict__:
        return cls  # it has the fields of the class above it, and to make its methods anew takes a while
    return dataclass(frozen=True, repr=False, eq=False)(cls)  # pyright: ignore[reportReturnType]


class Elementwise(Operator):
    """One operand; the result has its type.  `ufunc` or `reference` says how an element is computed."""

    wide = Wide.ARITHMETIC
    fusion = Fusion.ELEMENTWISE
    relation_name = "Identity"
    is_pointwise = True

    def reference(self, np: Numpy, data: Array) -> Array:
        return through_wide(getattr(np, self.ufunc), data)

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        (x,) = args
        t.equal(out, x)
        t.tensor(x)
        self.check_dtype(t, x)

    def element(self, b: Loops, index: Sequence[Any], data: View) -> Any:
        """An element of the result, by `native`."""
        return self.native(b, data.at(index))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

    def extent(self, b: Loops, data: View) -> Sequence[Any]:
        """The shape of the result is the operand's."""
        return data.sizes


class Broadcast(Operator):
    """Two operands of one dtype whose shapes broadcast; comparisons set `relation_name =
    "BroadcastCompare"`.
    """

    wide = Wide.ARITHMETIC
    fusion = Fusion.BROADCAST
    relation_name = "Broadcast"
    is_pointwise = True

    def reference(self, np: Numpy, lhs: Array, rhs: Array) -> Array:
        return through_wide(getattr(np, self.ufunc), lhs, rhs)

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        x, y = args
        relations[self.relation_name](t, x, y, out)
        self.check_dtype(t, x)

    def element(self, b: Loops, index: Sequence[Any], *views: View) -> Any:
        """An element of the result, by `native`."""
        return self.native(b, *[x.at(b.spread(index, x)) for x in views])  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]

    def extent(self, b: Loops, *views: View) -> Sequence[Any]:
        """The shape that all operands broadcast to."""
        return b.broadcast([x.sizes for x in views])


class Injective(Operator):
    """Each element of the result is one element of an operand, elsewhere."""

    fusion = Fusion.INJECTIVE
    computes = False
    precision = Precision.FOLLOW


class Reduction(Operator):
    """Combines elements along axes."""

    fusion = Fusion.REDUCTION
    adds_up: ClassVar[bool] = False
    """True if elements are combined by adding, so that floats are better combined in blocks."""


class Kernel(Operator):
    """A loop nest of its own."""

    fusion = Fusion.KERNEL
