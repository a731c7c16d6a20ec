"""Operators as Python functions of values: as cheap as static types allow, checked where those are open."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol

from relay.diagnostic import Diagnostic, RelayError, fail
from relay.interpreter.effects import effect_function
from relay.interpreter.functions import OperatorValue
from relay.interpreter.limits import available_memory
from relay.interpreter.value import is_tuple, type_of_value
from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Expr, Op, Var
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import IncompleteType, TensorType, TupleType, Type
from relay.op.debugging import Effect
from relay.op.family import Broadcast, Elementwise
from relay.op.kind import Fusion
from relay.op.registry import instance

UNKNOWN = IncompleteType()


class Typed(Protocol):
    """Who knows static types."""

    def type_of(self, e: Expr) -> Type | None:
        """The static type of an expression, None where it is not known."""
        ...


def operator_value(op: Op) -> OperatorValue:
    """An operator as a first-class value."""
    operator = instance(op.name, {})
    return OperatorValue(op, CheckedOperator(operator, operator.compile_reference([UNKNOWN])))


def operator_function(world: Typed, e: Call) -> Callable[..., Any]:
    """What to apply to the operands of an operator call."""
    operator: Any = e.attrs
    if isinstance(operator, Effect):
        return effect_function(operator)
    types = [world.type_of(a) or UNKNOWN for a in e.args]
    function = operator.compile_reference(types)
    if all(_has_static_shape(t) for t in types):
        problem = too_large(operator, types, world.type_of(e))
        return _refusal(problem) if problem else function
    if isinstance(operator, Elementwise):
        return function
    return (
        BroadcastGuard(operator.name, function)
        if isinstance(operator, Broadcast)
        else CheckedOperator(operator, function)
    )


def _has_static_shape(t: Type) -> bool:
    stack = [t]
    while stack:
        part = stack.pop()
        if isinstance(part, TupleType):
            stack += part.fields
        elif (
            not isinstance(part, TensorType)
            or not isinstance(part.shape, tuple)
            or not all(isinstance(d, int) for d in part.shape)
        ):
            return False
    return True


READS_ALL = frozenset({Fusion.REDUCTION, Fusion.KERNEL, Fusion.OPAQUE})
"""Operators that look at every element of their operands, also of a filled constant that takes no memory."""


def too_large(instance: Any, types: Sequence[Type], result: Type | None) -> str:
    """The fault of a call that needs more memory than there is, before it is computed; empty if it fits."""
    room = available_memory()
    size = bytes_of(result)
    if size > room:
        return f"the result of `{instance.name}` takes {human(size)}, more memory than this machine has"
    size = max([bytes_of(t) for t in types], default=0) if instance.fusion in READS_ALL else 0
    return (
        f"an operand of `{instance.name}` has {human(size)}, more than this machine holds"
        if size > room
        else ""
    )


def bytes_of(t: Type | None) -> int:
    """The memory that tensors of a static type take; 0 where it is not known."""
    total = 0
    for _, part in tensor_parts(t):
        if isinstance(part.shape, tuple) and isinstance(part.dtype, str):
            total += to_numpy(part.dtype).itemsize * prod(
                [d if isinstance(d, int) else 0 for d in part.shape]
            )
    return total


def refuse(problem: str) -> None:
    """Stop before memory is asked for that the machine does not have (`out-of-memory`)."""
    fail(
        "out-of-memory",
        problem,
        hint="check the shapes: one of them is probably larger than it should be",
    )


def human(size: int) -> str:
    """A number of bytes in a unit people read."""
    amount = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1024 or unit == "PiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:.1f} {unit}"


def _refusal(problem: str) -> Callable[..., Any]:
    def stop(*_: Any) -> None:
        refuse(problem)

    return stop


class BroadcastGuard:
    """A broadcasting operator on shapes that were not known when the program was checked."""

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.function = function

    def __call__(self, x: Any, y: Any) -> Any:
        try:
            return self.function(x, y)
        except ValueError:
            fail(
                "shape-check",
                f"`{self.name}` cannot broadcast {_spell(x)} with {_spell(y)}",
                label="these shapes were not known before the program ran",
                hint="two sizes broadcast when they are equal or one of them is 1",
            )


def _spell(x: Any) -> str:
    return "(" + ", ".join(map(str, x.shape)) + (",)" if x.ndim == 1 else ")")


class CheckedOperator:
    """An operator on types that were not known when the program was checked: its relation is checked now.

    What it finds for the types of operands that it meets is remembered.
    """

    __slots__ = ("function", "instance", "known")

    def __init__(self, instance: Any, function: Callable[..., Any]) -> None:
        self.instance = instance
        self.function = function
        self.known: set[Any] = set()

    def __call__(self, *operands: Any) -> Any:
        key = tuple([_key(x) for x in operands])
        if key not in self.known:
            self.check(operands)
            self.known.add(key)
        return self.function(*operands)

    def check(self, operands: tuple[Any, ...]) -> None:
        """Infer the type of the call on these operands (`shape-check`, `out-of-memory`)."""
        from relay.typecheck.infer import infer_expr

        types = [type_of_value(x) for x in operands]
        args = tuple([Var(f"x{i}", t, span=None) for i, t in enumerate(types)])
        call = Call(Op.get(self.instance.name), args, self.instance, span=None)
        try:
            inferred = infer_expr(call)
        except RelayError as error:
            raise RelayError([_at_run_time(self.instance.name, d) for d in error.diagnostics[:1]]) from None
        problem = too_large(self.instance, types, inferred.checked_type)
        if problem:
            refuse(problem)


def _at_run_time(name: str, found: Diagnostic) -> Diagnostic:
    return Diagnostic(
        "shape-check",
        f"`{name}`: {found.message}",
        label="these types were not known before the program ran",
        hint=found.hint,
    )


def _key(x: Any) -> Any:
    if is_tuple(x):
        return tuple([_key(v) for v in x])
    return "string" if isinstance(x, str) else (x.shape, x.dtype)
