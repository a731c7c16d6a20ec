"""What converters of several families share."""

from collections.abc import Sequence
from math import prod
from typing import Any

from relay.frontend.support import cast, sizes_as_value
from relay.frontend.torch.symbols import Size, kind_of, promoted
from relay.frontend.value import Value, call, constant
from relay.ir.type import ANY, Dim


def finfo(dtype: str) -> Any:
    """The limits of a dtype of floats."""
    import ml_dtypes

    library: Any = ml_dtypes
    return library.finfo(dtype)


def as_float(node: Any, x: Value) -> Value:
    """`x` in the dtype of the node's result, where that is another one: floats of integers."""
    return cast(x, node.dtype)


def operands(*xs: Any) -> tuple[Value, ...]:
    """Operands of arithmetic in the dtype that PyTorch promotes them to."""
    return in_type(promoted(*map(kind_of, xs)), *xs)


def in_type(dtype: str, *xs: Any) -> tuple[Value, ...]:
    """Values and numbers in a dtype."""
    return tuple([cast(x, dtype) if isinstance(x, Value) else constant(x, dtype) for x in xs])


def axes_of(dims: Any, rank: int) -> tuple[int, ...]:
    """The axes that `dim` names, all of them where it names none."""
    if dims is None or (isinstance(dims, list) and not dims):
        return tuple(range(rank))
    several: list[int] = dims if isinstance(dims, list) else [dims]  # pyright: ignore[reportUnknownVariableType]
    return tuple([axis_of(d, rank) for d in several])


def axis_of(dim: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise ValueError(f"there is no axis {dim} in a tensor of rank {rank}")
    return dim % rank if rank else 0


def repeated(x: Any, count: int) -> tuple[int, ...]:
    """A number for each axis, from one or several."""
    several: list[int] = list(x) if isinstance(x, list | tuple) else [x]  # pyright: ignore[reportUnknownArgumentType]
    return tuple(several * count if len(several) == 1 else several)


def dims_of(sizes: Sequence[Any]) -> list[Dim]:
    """Sizes as dimensions."""
    return [s.dim if isinstance(s, Size) else ANY if isinstance(s, Value) else int(s) for s in sizes]


def vector(sizes: Sequence[Any]) -> Value:
    """Sizes as a vector of int64."""
    if all(isinstance(s, int) for s in sizes):
        return constant(list(sizes), "int64")
    parts = [as_row(s) if isinstance(s, Value) else constant([s], "int64") for s in sizes]
    return call("concatenate", tuple(parts), axis=0) if len(parts) > 1 else parts[0]


def as_row(x: Value) -> Value:
    """A number as a vector of one."""
    return call("reshape", cast(x, "int64"), newshape=(1,))


def as_number(x: Any) -> Value:
    """A size as a scalar of int64."""
    return x if isinstance(x, Value) else constant(x, "int64")


def size_at(x: Value, axis: int) -> Any:
    """The size of an axis: a number if it is known, else a scalar."""
    found = x.shape[axis]
    if isinstance(found, int):
        return found
    return call("take", sizes_as_value(x), constant(axis, "int64"), axis=0)


def count_of(x: Value, axes: Sequence[int]) -> Any:
    """How many elements there are along axes: a number, or a scalar of int64."""
    known = prod(x.shape[a] for a in axes if isinstance(x.shape[a], int))
    for a in axes:
        if not isinstance(x.shape[a], int):
            known = as_number(size_at(x, a)) * known
    return known


def moved(x: Value, source: int, target: int) -> Value:
    """One axis at another place."""
    order = [a for a in range(x.rank) if a != source]
    order.insert(target, source)
    return x if order == list(range(x.rank)) else call("transpose", x, axes=tuple(order))
