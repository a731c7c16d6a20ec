"""Nested values of expressions, and of traced values, between Python and tuples of Relay."""

from collections.abc import Callable, Generator
from typing import Any, Protocol, runtime_checkable

from relay.backend.xla.host_operators import is_on_device
from relay.diagnostic import caller_span, fail
from relay.interpreter.tensor_conversion import MisfitError, convert_tensor
from relay.interpreter.value import FunctionValue
from relay.ir.expr import Call, Expr, RelayExpr, TupleGetItem, as_expr, constant
from relay.ir.traced import Traced
from relay.ir.type import TupleType, Type
from relay.ir.walk import run
from relay.tracing.pytree import LEAF, Boxed, Leaf, Node, Tree, Where, flatten, unflatten
from relay.tracing.types import TypesOfTrace, current
from relay.tracing.value import TracedValue


class TracedFunctionValue(TracedValue):
    """A traced function between nested values, such as what `relay.vjp` gives to pull cotangents back."""

    __slots__ = ("trees",)

    def __init__(self, expr: Expr, types: TypesOfTrace, trees: tuple[Tree, Tree]) -> None:
        """`trees` are the structures of a tuple of its arguments, and of its result."""
        super().__init__(expr, types)
        self.trees = trees

    def __call__(self, *args: Any) -> Any:
        given = [flattened(a, as_leaf, "argument")[0] for a in args]
        return traced(self.trees[1], Call(self.expr, tuple(given)), self.types)


def traced(tree: Tree, expr: Expr, types: TypesOfTrace) -> Any:
    """An expression, in a structure, as traced values."""
    return unflatten(tree, expr, lambda e, leaf: traced_leaf(e, leaf, types), TupleGetItem)


def traced_leaf(expr: Expr, leaf: Leaf, types: TypesOfTrace) -> TracedValue:
    """An expression as a traced value: in its box, or with a structure where it is such a function."""
    if leaf.box is not None:
        return leaf.box.traced(expr, types)
    return TracedValue(expr, types) if leaf.trees is None else TracedFunctionValue(expr, types, leaf.trees)


def in_trace(value: Any = None) -> TypesOfTrace:
    """The types of the trace at hand, else of a traced value, else new ones."""
    return current.get() or (value.types if isinstance(value, Traced) else TypesOfTrace())


def flattened(value: Any, leaf: Callable[[Any, Where], tuple[Any, Tree]], name: str) -> tuple[Expr, Tree]:
    """A nested value as an expression of tuples, and its structure."""
    parts, tree = flatten(value, leaf, name)
    return as_expr(parts), tree


def open_tuples(
    leaf: Callable[[Any, Where], tuple[Expr, Leaf]], types: TypesOfTrace
) -> Callable[[Any, Where], tuple[Any, Tree]]:
    """Return `leaf`, made to give the fields and the structure of a leaf whose type is a tuple."""

    def fields_of(e: Expr, t: Type | None, tree: Leaf) -> Generator[Any, Any, tuple[Any, Tree]]:
        if not isinstance(t, TupleType):
            return e, tree
        fields: list[tuple[Any, Tree]] = []
        for i, field in enumerate(t.fields):
            fields.append((yield fields_of(TupleGetItem(e, i), field, LEAF)))
        return tuple([f[0] for f in fields]), Node(tuple, (), tuple([f[1] for f in fields]))

    def opened(x: Any, where: Where) -> tuple[Any, Tree]:
        e, tree = leaf(x, where)
        return run(fields_of(e, types.get(e), tree))

    return opened


@runtime_checkable
class AsRelay(Protocol):
    """What stands for an expression in a program that is being built."""

    def as_relay(self) -> Expr:
        """The expression."""
        ...


def as_leaf(x: Any, _: Where = "") -> tuple[Expr, Leaf]:
    """A leaf as an expression, and its structure; `TypeError` for what is not an expression."""
    if isinstance(x, TracedFunctionValue):
        return x.expr, Leaf(x.trees)
    made = x.as_relay() if isinstance(x, AsRelay) else as_expr(x)
    return made, Leaf(box=x.box) if isinstance(x, TracedValue | Boxed) else LEAF


def value_of_leaf(x: Any, where: Where) -> tuple[Any, Leaf]:
    """An argument that is not a container as a value (`bad-argument`)."""
    try:
        if isinstance(x, FunctionValue):
            raise MisfitError("its type is not known", "a function", "annotate the parameter")
        if isinstance(x, Boxed):
            return x.value, Leaf(box=x.box)
        return convert_tensor(x, None, {}), LEAF
    except MisfitError as misfit:
        fail(
            "bad-argument",
            f"`{where}` cannot be given to a Relay function: {misfit.message}",
            caller_span(),
            label=f"found {misfit.found}",
            hint="give numbers, strings and arrays, in tuples, lists, dicts, named tuples and dataclasses",
        )


def argument_leaf(x: Any, where: Where) -> tuple[Any, Leaf]:
    """An argument of a call that is not a container; an array on a device stays there (`bad-argument`)."""
    return (x, LEAF) if is_on_device(x) else value_of_leaf(x, where)


def typed_leaf(x: Any, where: Where) -> tuple[Expr, Leaf]:
    """An argument of a call in a trace as an expression whose type is known (`bad-argument`)."""
    if isinstance(x, Traced | RelayExpr | AsRelay):
        return as_leaf(x)
    value, leaf = value_of_leaf(x, where)
    return constant(value), leaf
