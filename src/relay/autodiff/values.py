"""What a variable of the source stands for while its program is differentiated, and blocks under
construction.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from relay.diagnostic import Span
from relay.ir.expr import Expr, Let, LetRec, Var
from relay.ir.type import TensorType, Type


class Inert:
    """A value that is the same in the differentiated program."""

    __slots__ = ("expr", "type")

    def __init__(self, expr: Expr, type_: Type) -> None:
        self.expr = expr
        self.type = type_


class Number:
    """A floating-point tensor and its partner.

    `primal` is a variable with its type, or a constant.  `partner` is its tangent or the reference where its
    cotangent gathers; None where there is none (yet).  A tensor that nothing depends on is not `active`.
    """

    __slots__ = ("active", "partner", "primal", "type")

    def __init__(
        self, primal: Expr, type_: TensorType, partner: Expr | None = None, active: bool = False
    ) -> None:
        self.primal = primal
        self.type = type_
        self.partner = partner
        self.active = active or partner is not None


class Fields:
    """A tuple whose fields are known one by one."""

    __slots__ = ("values",)

    def __init__(self, values: "Sequence[Value]") -> None:
        self.values = tuple(values)


class Packed:
    """A value of the dual type of `type`, as one expression."""

    __slots__ = ("expr", "type")

    def __init__(self, expr: Expr, type_: Type) -> None:
        self.expr = expr
        self.type = type_


Value: TypeAlias = Inert | Number | Fields | Packed


class Block:
    """Bindings in the order in which they are evaluated."""

    def __init__(self) -> None:
        self.bindings: list[tuple[tuple[Var, ...], tuple[Expr, ...], bool, Span | None]] = []
        self.steps: list[Any] = []
        """What reverse mode has to go back through since it last put something on the tape."""

    def bind(self, value: Expr, t: Type, name: str = "t") -> Var:
        """A new variable for the value of `value`, which has type `t`."""
        if isinstance(value, Var) and value.type_annotation is t:
            return value
        var = Var(name, t, span=value.span)
        self.bindings.append(((var,), (value,), False, value.span))
        return var

    def let(self, var: Var, value: Expr) -> None:
        """Bind a variable that exists."""
        self.bindings.append(((var,), (value,), False, value.span))

    def let_rec(self, several: Sequence[Var], values: Sequence[Expr], span: Span | None) -> None:
        """Bind functions that know each other."""
        self.bindings.append((tuple(several), tuple(values), True, span))

    def finish(self, result: Expr) -> Expr:
        """The whole block, with its result."""
        for several, values, recursive, span in reversed(self.bindings):
            result = (
                LetRec(several, values, result, span=span)
                if recursive
                else Let(several[0], values[0], result, span=span)
            )
        return result


def call(name: str, *operands: Any) -> Expr:
    """A call of an operator with its default attributes."""
    from relay.op.registry import instance

    return instance(name, {})(*operands)
