"""Trees of parameters: nested tuples of tensors, taken apart and put together leaf by leaf."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from relay.diagnostic import fail
from relay.ir.dtype import is_float
from relay.ir.expr import Expr, Tuple, TupleGetItem
from relay.ir.type import TensorType, TupleType, Type
from relay.op.numeric import apply


def check_tree(t: Type) -> None:
    """Report `optimizer-parameter` unless `t` is a floating-point tensor or a tuple of trees."""
    stack = [t]
    while stack:
        u = stack.pop()
        if isinstance(u, TupleType):
            stack += u.fields
        elif not (isinstance(u, TensorType) and isinstance(u.dtype, str) and is_float(u.dtype)):
            fail(
                "optimizer-parameter",
                f"{u} cannot be optimised",
                hint="parameters are floating-point tensors, and tuples of them to any depth",
            )


def leaves(t: Type, *trees: Expr) -> list[tuple[TensorType, tuple[Expr, ...]]]:
    """Each tensor of a tree of type `t`, left to right, with its place in each of `trees`."""
    found: list[tuple[TensorType, tuple[Expr, ...]]] = []
    stack: list[tuple[Type, tuple[Expr, ...]]] = [(t, trees)]
    while stack:
        u, at = stack.pop()
        if isinstance(u, TupleType):
            stack += [
                (f, tuple([TupleGetItem(e, i) for e in at])) for i, f in reversed(list(enumerate(u.fields)))
            ]
        else:
            assert isinstance(u, TensorType)
            found.append((u, at))
    return found


def rebuilt(t: Type, values: Sequence[Expr]) -> Expr:
    """A tree of type `t` with these leaves."""
    return _rebuilt(t, values, Tuple)


def rebuilt_type(t: Type, types: Sequence[Type]) -> Type:
    """The type of a tree with the structure of `t` and leaves of these types."""
    return _rebuilt(t, types, TupleType)


T = TypeVar("T")


def _rebuilt(t: Type, values: Sequence[T], node: Callable[[tuple[T, ...]], T]) -> T:
    rest = iter(values)
    out: list[T] = []
    stack: list[tuple[Type, bool]] = [(t, False)]
    while stack:
        u, ready = stack.pop()
        if not isinstance(u, TupleType):
            out.append(next(rest))
        elif ready:
            fields = tuple(out[len(out) - len(u.fields) :])
            del out[len(out) - len(u.fields) :]
            out.append(node(fields))
        else:
            stack.append((u, True))
            stack += [(f, False) for f in reversed(u.fields)]
    return out[0]


def zeros(t: Type, tree: Expr) -> Expr:
    """A tree of type `t` with zeros in it."""
    return rebuilt(t, [apply("zeros_like", leaf) for _, (leaf,) in leaves(t, tree)])
