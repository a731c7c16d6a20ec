"""Operators with effects, to find faults by: values on standard error, and conditions.

What they do is in `relay.interpreter.effects`: it shows values, as evaluators have them.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, cast

import numpy

from relay.ir.dtype import dtype_name, is_float
from relay.ir.expr import Call, Expr, Op, as_expr
from relay.ir.type import BOOL, UNIT, Dim, TensorType, Type
from relay.op.base import ANY_NUMBER, BOOLEAN, Array, Numpy, Operator, sample
from relay.op.family import family
from relay.op.kind import Derivative
from relay.op.numeric import apply
from relay.op.registry import instance, operator
from relay.op.relation import Typing
from relay.op.traced import UntraceableError, require


@family
class Effect(Operator):
    """Does something when it is evaluated: passes never drop, repeat, reorder or speculate it.

    Operands may have any type.
    """

    impure = True
    passes_on: ClassVar[bool] = True
    """Whether the value is the first operand; else, and where there is none, it is the empty tuple."""

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        """The result has the type of what is passed on."""
        t.equal(out, args[0] if self.passes_on and args else UNIT)

    def reference(self, np: Numpy, *values: Any) -> Any:
        """The value alone."""
        return values[0] if self.passes_on and values else ()

    def traced(self, np: Numpy, *values: Any) -> Any:
        """What it does is done by the host."""
        raise UntraceableError("it has an effect")

    def evaluate(self, *arrays: Any) -> Any:
        """The value on operands of any type."""
        return self.reference(numpy, *arrays)

    @property
    def failure(self) -> tuple[str, str] | None:
        """The code and message of what fails where its operand is false; None for another effect."""
        return None


@operator("trace")
class Trace(Effect):
    """The first of `values`, of any type, after a line with all of them is written to standard error.

    Each `{}` in the label stands for a value; a label without any is followed by them.  Of a tensor with more
    than 20 elements the line has the type, the least, the mean and the greatest element, and how many are
    NaN or infinite.  Without values the result is `()`.  It is evaluated once, in the forward pass, where a
    program is differentiated.

    Raises `attribute-value` for a label with another number of `{}` than values.

    relay> trace("the sum is {}", 1.0 + 2.0)
    3.0
    relay> trace("x {}, y {}", [1, 2], (True, 0.5))
    [1, 2]
    """

    label: str
    attributes_first = 1
    operands = ("values",)
    optional = 1
    variadic = True
    derivative = Derivative.PASSED_ON
    samples = (
        sample("2x3 float32", label="x is {}"),
        sample("bool", label="flag"),
        sample("3 int32", "0 float32", label="{} and {}"),
    )

    @staticmethod
    def builder(label: str, *values: Any) -> Expr:
        """`relay.trace("x is {}", x)`."""
        return Call(Op.get(Trace.name), tuple(map(as_expr, values)), instance(Trace.name, {"label": label}))

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        """As many values as the label has places for."""
        places = self.label.count("{}")
        if places not in (0, len(args)):
            t.fail(
                "attribute-value",
                f"the label has places for {places} value{'s' * (places > 1)}, found {len(args)}",
                hint="write `{}` once for each value, or not at all",
            )
        super().relate(t, args, out)


@operator("assert")
class Assert(Effect):
    """The empty tuple, if `condition`, a scalar bool, holds; else the program fails with the message.

    Raises `assertion` when the program runs; `condition-type`, `condition-shape` for no scalar bool.

    relay> assert(1 < 2, "numbers are in order")
    ()
    """

    message: str
    passes_on = False
    aliases = ("assert_",)
    operands = ("condition",)
    derivative = Derivative.ZERO
    dtypes = frozenset({"bool"})
    samples = (sample(True, message="it holds"),)

    def relate(self, t: Typing, args: Sequence[Type], out: Type) -> None:
        """The condition is a scalar bool."""
        (condition,) = args
        found = t.resolve(condition)
        if isinstance(found, TensorType) and found.shape == () and found.dtype in ANY_NUMBER - BOOLEAN:
            refuse_condition(t, "condition-type", found, "compare it: `%x != 0`")
        if isinstance(found, TensorType) and isinstance(found.shape, tuple) and found.shape:
            refuse_condition(t, "condition-shape", found, "reduce it to one value with `all(…)` or `any(…)`")
        t.equal(condition, BOOL)
        super().relate(t, args, out)

    @property
    def failure(self) -> tuple[str, str]:
        """It fails with its message."""
        return "assertion", self.message

    def reference(self, np: Numpy, condition: Array) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The empty tuple (`assertion`)."""
        require(np, condition, *self.failure)
        return ()

    def traced(self, np: Numpy, condition: Array) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The condition is required."""
        return self.reference(np, condition)

    def batch(self, n: Dim, which: Sequence[Any], condition: Expr) -> Expr:
        return self(apply("all", condition))


@operator("check_nan")
class CheckNan(Effect):
    """The first operand, `result`, if the operator of that name has made no NaN or infinity of `operands`.

    It has made one where there is one in the result and none of the kind in an operand.  The pass `check_nan`
    puts it around operators.

    Raises `not-finite` when the program runs.

    relay> check_nan([1.0, 2.0], [0.5, 1.0], operator="multiply")
    [1.0, 2.0]
    """

    operator: str
    operands = ("result", "operands")
    optional = 1
    variadic = True
    derivative = Derivative.PASSED_ON
    samples = (sample("2x3 float32", "2x3 float32", operator="exp"), sample("3 int32", operator="ones"))

    def traced(self, np: Numpy, *values: Any) -> Any:
        """That it has made none is required."""
        for holds in (np.isnan, np.isinf):
            made, *given = [any_of(np, holds, x) for x in values]
            if made is not None:
                known = [x for x in given if x is not None]
                ok = np.logical_not(made)
                for here in known:
                    ok = ok | here
                require(np, ok, "not-finite", f"`{self.operator}` makes a NaN or an infinity")
        return values[0]


def any_of(np: Numpy, holds: Callable[[Array], Array], value: Any) -> Any:
    """Whether a condition holds for an element of a floating-point tensor in a value; None if it has none."""
    found: Any = None
    stack = [value]
    while stack:
        x = stack.pop()
        if isinstance(x, tuple):
            stack += cast("tuple[Any, ...]", x)
        elif is_float(dtype_name(x.dtype)):
            here = np.any(holds(x))
            found = here if found is None else found | here
    return found


def refuse_condition(t: Typing, code: str, found: Type, hint: str) -> NoReturn:
    """Report a condition that is not a scalar bool."""
    t.fail(code, f"a condition is Tensor[(), bool], found {found}", hint=hint)
