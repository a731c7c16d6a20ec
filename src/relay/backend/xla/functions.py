"""Functions, references and scopes of a program that is traced."""

from dataclasses import dataclass, field
from typing import Any

from relay.interpreter.placing import Plan
from relay.ir.expr import Expr, Function, GlobalVar, Var


@dataclass(slots=True, eq=False)
class Frame:
    """What is known in a scope: values of variables and of nodes, and sizes of dimensions.

    `outer` is the scope around it, of the function that it is in or that the function was made in.
    """

    plan: Plan
    outer: "Frame | None" = None
    values: dict[Expr, Any] = field(default_factory=dict[Expr, Any])
    sizes: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def find(self, e: Expr) -> Any:
        """The value of a variable or node that has one, else None."""
        frame: Frame | None = self
        while frame is not None:
            if e in frame.values:
                return frame.values[e]
            frame = frame.outer
        return None

    def inside(self) -> "Frame":
        """A scope in this one: a branch or a clause."""
        return Frame(self.plan, self, sizes=self.sizes)


@dataclass(slots=True, eq=False)
class Closure:
    """A function with the scope that it was made in, and the name by which it calls itself."""

    function: Function
    frame: Frame
    name: Var | GlobalVar | None


@dataclass(slots=True, eq=False)
class Cell:
    """A reference, and what is in it at this point of the trace."""

    value: Any
