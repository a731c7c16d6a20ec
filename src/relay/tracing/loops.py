"""Loops of traced functions, `relay.while_loop` and `relay.fori`, as recursive local functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.diagnostic import caller_span, fail
from relay.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var, constant
from relay.ir.type import TensorType, Type
from relay.tracing.function import as_function
from relay.tracing.indexing import apply
from relay.tracing.nested import as_leaf, in_trace, open_tuples, traced_leaf, typed_leaf
from relay.tracing.pytree import Leaf, Tree, Where, flatten, same_structure, unflatten
from relay.tracing.types import TypesOfTrace, around, current


@dataclass(frozen=True)
class Carry:
    """What goes from round to round: the structure of a nested value, and the types of its leaves."""

    tree: Tree
    types: tuple[Type, ...]
    of_trace: TypesOfTrace

    def params(self, name: str = "carry") -> tuple[Var, ...]:
        """A variable for each leaf."""
        return tuple([Var(name, t) for t in self.types])

    def value(self, leaves: Sequence[Expr]) -> Any:
        """The nested value of expressions for the leaves."""
        rest = iter(leaves)

        def leaf(_: Any, leaf: Leaf) -> Any:
            return traced_leaf(next(rest), leaf, self.of_trace)

        return unflatten(self.tree, None, leaf, lambda whole, _: whole)

    def leaves_of(self, value: Any, name: str) -> list[Expr]:
        """The leaves of what a round of `relay.<name>` gives, which has to be like what it was given
        (`structure-mismatch`).
        """
        leaves, tree = leaves_of(value, as_leaf, self.of_trace)
        if not same_structure(tree, self.tree):
            self._refuse(name, str(self.tree), str(tree))
        same = [as_literal_of(e, t) for e, t in zip(leaves, self.types, strict=True)]
        found = [self.of_trace(e) for e in same]
        for before, after in zip(self.types, found, strict=True):
            if before is not after:
                self._refuse(name, str(before), str(after))
        return same

    def _refuse(self, name: str, before: str, after: str) -> None:
        fail(
            "structure-mismatch",
            f"what relay.{name} carries is {before} before a round and {after} after it",
            caller_span(),
            hint="each round gives back the same structure, shapes and dtypes; 0.0 is a float32, 0 an int32",
        )


def leaves_of(
    value: Any, leaf: Callable[[Any, Where], tuple[Expr, Leaf]], types: TypesOfTrace
) -> tuple[list[Expr], Tree]:
    """Return the leaves of a nested value as expressions, and its structure."""
    parts, tree = flatten(value, open_tuples(leaf, types), "carry")
    leaves: list[Expr] = []
    unflatten(tree, parts, lambda e, _: leaves.append(e), lambda x, i: x[i])
    return leaves, tree


def as_literal_of(e: Expr, t: Type) -> Expr:
    """A number without a dtype as a constant of the dtype of a type; anything else as it is."""
    if isinstance(e, Constant) and e.is_open and isinstance(t, TensorType):
        return constant(e.value, str(t.dtype))
    return e


def carried(init: Any, of_trace: TypesOfTrace) -> tuple[Carry, list[Expr]]:
    """What a loop carries, and its first values."""
    leaves, tree = leaves_of(init, typed_leaf, of_trace)
    return Carry(tree, tuple([of_trace(e) for e in leaves]), of_trace), leaves


def packed(leaves: Sequence[Expr]) -> Expr:
    """Several expressions as a tuple, one as it is."""
    return leaves[0] if len(leaves) == 1 else Tuple(tuple(leaves))


def unpacked(e: Expr, count: int) -> list[Expr]:
    """The inverse of `packed`."""
    return [e] if count == 1 else [TupleGetItem(e, i) for i in range(count)]


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """`init`, replaced by `body_fun` of itself as long as `cond_fun` of it, a scalar bool, holds.

    Both are Python functions of one nested value, whose structure, shapes and dtypes stay the same.  It is a
    recursive local function, which runs in constant space; derivatives keep what they need of each round.

    Raises `structure-mismatch`, and what the type check of `if` raises.
    """
    if current.get() is None:
        return as_function(lambda carry: while_loop(cond_fun, body_fun, carry))(init)  # pyright: ignore[reportUnknownLambdaType]
    carry, first = carried(init, in_trace())
    params = carry.params()
    held = carry.value(params)
    loop, of_trace = Var("loop"), carry.of_trace
    with of_trace.block() as before:
        goes_on = as_leaf(cond_fun(held))[0]
    with of_trace.block() as inside:
        after = Call(loop, tuple(carry.leaves_of(body_fun(held), "while_loop")))
    body = around(before, If(goes_on, around(inside, after), packed(params)))
    function = Function(params, body, of_trace(packed(params)))
    e = Let(loop, function, Call(loop, tuple(first)))
    return carry.value(unpacked(of_trace.done(e) if before or inside else e, len(first)))


def limits(lower: Any, upper: Any) -> tuple[Any, Any]:
    """Two integers, of which a Python number takes the dtype of the other."""
    if isinstance(lower, int) and not isinstance(upper, int):
        return constant(lower, upper.dtype), upper
    if isinstance(upper, int) and not isinstance(lower, int):
        return lower, constant(upper, lower.dtype)
    return lower, upper


def fori(lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init: Any) -> Any:
    """`init`, replaced by `body_fun(i, itself)` for each `i` from `lower` up to but not including `upper`.

    The limits are integers, Python's or scalars, of one dtype; the nested value keeps its structure, shapes
    and dtypes.

    Raises `structure-mismatch`.
    """
    if current.get() is None:
        limited = as_function(lambda low, high, carry: fori(low, high, body_fun, carry))  # pyright: ignore[reportUnknownLambdaType]
        return limited(lower, upper, init)
    low, high = limits(lower, upper)
    return while_loop(
        lambda state: apply("less", state[0], high),
        lambda state: (state[0] + 1, body_fun(state[0], state[1])),
        (low, init),
    )[1]
