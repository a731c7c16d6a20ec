"""Shapes that are found at run time: an operator's rule of types, on sizes that the code computes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, cast

from relay.backend.native.loops.builder import Builder
from relay.backend.native.loops.nodes import Index
from relay.ir.expr import Call
from relay.ir.type import ANY, Dim, TensorType, TupleType, Type
from relay.op.base import Operator
from relay.op.relation import Comparison
from relay.typecheck.dims import holds
from relay.typecheck.types import Types


def shapes_of(b: Builder, op: Operator, views: Sequence[Any]) -> list[list[Index | None]]:
    """The shapes of an operator's results, None for sizes that its rule of types leaves open.

    What the rule demands of sizes is checked.
    """
    out = op.infer(Demands(b), *[type_of(b, x) for x in views])
    fields = out.fields if isinstance(out, TupleType) else (out,)
    shapes = [cast("tuple[Dim, ...]", cast("TensorType", f).shape) for f in fields]
    return [[None if d is ANY else b.size(d) for d in shape] for shape in shapes]


@dataclass(frozen=True)
class Sized:
    """A tensor of which it matters how large it is."""

    dtype: str
    sizes: Sequence[Index]


def check_sizes(b: Builder, call: Call, types: Types) -> None:
    """Check what the rule of types of an operator demands of sizes whose operands are not read through it."""
    parts = [cast("TensorType", types(a)) for a in call.args]
    shapes = [cast("tuple[Dim, ...]", t.shape) for t in parts]
    sized = [Sized(str(t.dtype), [b.size(d) for d in s]) for t, s in zip(parts, shapes, strict=True)]
    shapes_of(b, call.attrs, sized)


def has_rule_of_types(op: Operator) -> bool:
    """Whether an operator computes the type of its result from those of its operands."""
    return type(op).infer is not Operator.infer


def type_of(b: Builder, x: Any) -> Type:
    """The type of an operand; sizes that the code computes are variables."""
    if isinstance(x, tuple):
        return TupleType([type_of(b, y) for y in cast("tuple[Any, ...]", x)])
    return TensorType(b.dims(x.sizes), x.dtype)


class Demands:
    """What a rule of types asks of sizes, as checks in the code: a `Typing`."""

    def __init__(self, b: Builder) -> None:
        """Checks fail at the call that `b` is for."""
        self.b = b

    def resolve(self, t: Type) -> Type:
        """See `Typing`, here and below: types are known, up to sizes."""
        return t

    def tensor(self, t: Type) -> TensorType:
        """A tensor type."""
        assert isinstance(t, TensorType)
        return t

    def shape(self, t: Type, rank: int | None = None, what: str = "") -> tuple[Dim, ...]:
        """Its dimensions."""
        return cast("tuple[Dim, ...]", self.tensor(t).shape)

    def dtype(self, t: Type) -> Any:
        """Its dtype."""
        return self.tensor(t).dtype

    known_dtype = dtype

    def fields(self, t: Type) -> tuple[Type, ...]:
        """The fields of a tuple type."""
        assert isinstance(t, TupleType)
        return t.fields

    def field(self, t: Type, name: str) -> NoReturn:
        """Fields by name are gone after inference."""
        raise AssertionError(name)

    def static(self, d: Dim) -> int | None:
        """A known dimension."""
        return d if isinstance(d, int) else None

    def settled(self, d: Dim) -> Dim:
        """A dimension."""
        return d

    def equal(self, a: Any, b: Any, why: str = "") -> None:
        """Check that sizes are equal; dtypes and ranks are known to be."""
        pending = [(a, b)]
        while pending:
            x, y = pending.pop()
            if isinstance(x, TensorType):
                pending.append((x.shape, self.tensor(y).shape))
            elif isinstance(x, tuple | list):
                pending += zip(cast("Sequence[Any]", x), y, strict=True)
            elif not isinstance(x, str):
                self.require(x, "==", y, why or "the sizes are the same")

    def require(self, a: Dim, comparison: Comparison, b: Dim, why: str, code: str = "") -> None:
        """Check a comparison (`shape-check`, whatever it is before the program runs)."""
        if holds(a, comparison, b):
            return
        i, j = self.b.size(a), self.b.size(b)
        match comparison:
            case "==":
                found = self.b.is_same(i, j)
            case "!=":
                found = self.b.negation(self.b.is_same(i, j))
            case "<=":
                found = self.b.negation(self.b.is_less(j, i))
            case "<":
                found = self.b.is_less(i, j)
            case "divides":
                found = self.b.is_same(self.b.rest(j, i), 0)
        self.b.require_shape(found, why)

    def broadcast(self, *shapes: Any) -> tuple[Dim, ...]:
        """The shape that some shapes broadcast to."""
        found = self.b.broadcast([[self.b.size(d) for d in s] for s in shapes])
        return self.b.dims(found)

    def dtype_in(self, t: Type, allowed: Collection[str], what: str = "") -> None:
        """Dtypes have been checked."""

    decided_dtype_in = dtype_in

    def fresh(self, like: Literal["type", "tensor", "shape", "dim", "dtype"] = "type") -> NoReturn:
        """Nothing is unknown."""
        raise AssertionError("a rule on known types needs no unknowns")

    def fail(self, code: str, message: str, label: str = "", hint: str = "") -> NoReturn:
        """What fails on types has failed before."""
        raise AssertionError(message)
