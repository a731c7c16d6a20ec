"""Operators and constructors as values, which Python may call too."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.interpreter.conversion import untyped_values
from relay.interpreter.show import Form
from relay.interpreter.value import ConstructorValue, FunctionValue, Value
from relay.ir.expr import Constructor, Op
from relay.ir.type import FuncType, Type


class OperatorValue(FunctionValue):
    """An operator as a value, with the default attributes."""

    __slots__ = ("apply", "op")

    def __init__(self, op: Op, apply: Callable[..., Value]) -> None:
        """`apply` computes the operator on values."""
        self.op = op
        self.apply = apply

    @property
    def shown(self) -> Form:
        return Form(self.op.name)

    def __call__(self, *args: Any) -> Value:
        with np.errstate(all="ignore"):
            return self.apply(*untyped_values(args))


class ConstructorFunction(FunctionValue):
    """A constructor as a value."""

    __slots__ = ("constructor", "type")

    def __init__(self, constructor: Constructor, of: FuncType | None = None) -> None:
        """`of` is the constructor's type, where it is known."""
        self.constructor = constructor
        self.type: Type | None = of

    @property
    def shown(self) -> Form:
        return Form(self.constructor.name)

    def __call__(self, *args: Any) -> ConstructorValue:
        wanted = len(self.constructor.inputs)
        if len(args) != wanted:
            fields = f"{wanted or 'no'} field{'' if wanted == 1 else 's'}"
            fail("argument-count", f"`{self.constructor.name}` takes {fields}, not {len(args)}")
        return ConstructorValue(self.constructor, tuple(untyped_values(args)))
