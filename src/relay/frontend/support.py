"""What converters of several families share."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from relay.analysis.kinds import free_type_vars
from relay.frontend.value import NeedsValueError, Value, call, constant
from relay.ir.dim import floor_divide, multiply, product
from relay.ir.expr import Call, Expr, Function, Let, Op, Var
from relay.ir.type import ANY, Dim, TensorType, TupleType, Type
from relay.op.numeric import norm_of, raised


def definition(params: Sequence[Var], body: Expr) -> Function:
    """A definition, polymorphic in the symbolic sizes of its parameters."""
    sizes = free_type_vars(TupleType([p.type_annotation for p in params if p.type_annotation is not None]))
    return Function(tuple(params), body, None, tuple(sizes))


def cast(x: Value, dtype: str) -> Value:
    """`x` in a dtype; itself if it has that."""
    return x if x.dtype == dtype else call("cast", x, dtype=dtype)


def root_of(total: Value) -> Value:
    """Return the root of sums of squares, whose derivative is 0 where they are 0, as in PyTorch."""
    return raised(call, constant, total, 0.5, 0.0, 0.0)


def p_norm(x: Value, order: float, total: Callable[[Value], Value]) -> Value:
    """Return the norm of an order that is finite and not 0, of elements whose powers `total` adds up."""
    return norm_of(call, constant, x if order == 2 else call("abs", x), float(order), total)


def axis_in(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"there is no axis {axis} in a tensor of rank {rank}")
    return axis % rank if rank else 0


def axes_in(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front."""
    return [axis_in(a, rank) for a in axes]


def reshape_to(x: Value, dims: Sequence[Dim], sizes: Value | None = None) -> Value:
    """`x` with sizes that are numbers or symbolic; `sizes` is the same as a tensor, if there is one."""
    if tuple(dims) == x.shape:
        return x
    if all(isinstance(d, int) for d in dims):
        return call("reshape", x, newshape=tuple(dims), allowzero=True)
    codes: list[int] = []
    same = True
    for i, d in enumerate(dims):
        same = same and i < x.rank and x.shape[i] == d and d is not ANY
        codes.append(0 if same else d if isinstance(d, int) else -1)
    if codes.count(-1) <= 1 and not any(d == 0 and isinstance(d, int) for d in dims):
        return call("reshape", x, newshape=tuple(codes))
    found = joined_and_split(x.shape, dims)
    if found is not None:
        return call("reshape", x, newshape=tuple(found))
    if sizes is None:
        raise NeedsValueError("a shape", x.sources)
    return ascribed(call("dyn.reshape", x, cast(sizes, "int64"), allowzero=True), dims)


def joined_and_split(shape: Sequence[Dim], dims: Sequence[Dim]) -> list[int] | None:
    """The codes of `reshape` for sizes that are copied, products of two, and parts of one."""
    codes: list[int] = []
    i = j = 0
    while i < len(shape) and j < len(dims):
        two_in, two_out = product(shape[i : i + 2]), product(dims[j : j + 2])
        if shape[i] == dims[j] and dims[j] is not ANY:
            codes.append(0)
            i, j = i + 1, j + 1
        elif i + 1 < len(shape) and two_in == dims[j] and two_in is not ANY:
            codes.append(-3)
            i, j = i + 2, j + 1
        elif j + 1 < len(dims) and shape[i] == two_out and two_out is not ANY:
            parts = [d if isinstance(d, int) else -1 for d in dims[j : j + 2]]
            if max(parts) < 1 or 0 in parts:
                return None
            codes += [-4, *parts]
            i, j = i + 1, j + 2
        else:
            return None
    return codes if (i, j) == (len(shape), len(dims)) else None


def with_rest(x: Value, dims: list[Dim], sizes: Value | None) -> Value:
    """A shape of which one size is what is left over."""
    at = dims.index(-1)
    others = [d for i, d in enumerate(dims) if i != at]
    if all(isinstance(d, int) for d in (*others, *x.shape)):
        known = prod(d for d in others if isinstance(d, int))
        dims[at] = prod(x.sizes()) // known if known else 0
        return reshape_to(x, dims)
    whole, part = product(x.shape), product(others)
    rest = floor_divide(whole, part)
    if whole is not ANY and rest is not ANY and multiply(rest, part) == whole:
        return reshape_to(x, [rest if i == at else d for i, d in enumerate(dims)], sizes)
    codes: list[int] = []
    for i, d in enumerate(dims):
        if isinstance(d, int):
            codes.append(d)
        elif i < x.rank and x.shape[i] == d and len(codes) == i and -1 not in codes:
            codes.append(0)
        elif sizes is None:
            raise NeedsValueError("a shape", x.sources)
        else:
            made = call("dyn.reshape", x, cast(sizes, "int64"))
            return ascribed(made, [ANY if k == at else s for k, s in enumerate(dims)])
    return call("reshape", x, newshape=tuple(codes))


def ascribed(x: Value, dims: Sequence[Dim]) -> Value:
    """`x`, of which more sizes are known than its type says."""
    found = TensorType(tuple(dims), x.dtype)
    var = Var("sized", found)
    return Value(Let(var, x.expr, var), found, sources=x.sources)


def merged(x: Value, axis: int) -> Value:
    """`x` as a matrix: the axes before `axis`, and the others."""
    if x.rank == 0:
        return call("reshape", x, newshape=(1, 1))
    front, back = x.shape[:axis], x.shape[axis:]
    if axis == 0:
        return call("reshape", x, newshape=(1, -1))
    if all(isinstance(d, int) for d in back):
        return call("reshape", x, newshape=(-1, int(np.prod(back))))
    if all(isinstance(d, int) for d in front):
        return call("reshape", x, newshape=(int(np.prod(front)), -1))
    codes = [-3] * (axis - 1)
    found = x
    for _ in codes:
        found = call("reshape", found, newshape=(-3, -2))
    for _ in range(x.rank - axis - 1):
        found = call("reshape", found, newshape=(0, -3, -2))
    return found


def as_rows(x: Value, rank: int, axis: int = 1) -> Value:
    """A vector laid along `axis` of a tensor of that rank."""
    return call("expand_dims", x, axis=1, num_newaxis=rank - axis - 1) if rank - axis - 1 > 0 else x


def transpose(x: Value, axes: Sequence[int]) -> Value:
    """The axes in another order."""
    return x if list(axes) == list(range(x.rank)) else call("transpose", x, axes=tuple(axes))


def sizes_as_value(x: Value) -> Value:
    """The shape as a vector of int64."""
    from relay.frontend.value import open_call, symbolic

    made = open_call(Call(Op.get("shape_of"), (x.stand_in,), {"dtype": "int64"}), [x])
    sources = x.sources if any(not isinstance(d, int) for d in x.shape) else frozenset[str]()
    return symbolic(x.shape, made.expr, made.type, sources)


def scalar(x: Value) -> Value:
    """A tensor of one element as a scalar."""
    return x if x.rank == 0 else call("reshape", x, newshape=())


def filled(shape: Sequence[Dim], value: Any, dtype: str, sources: frozenset[str] = frozenset()) -> Value:
    """A tensor of one number."""
    if all(isinstance(d, int) for d in shape):
        return call("full", constant(value, dtype), shape=tuple(shape))
    raise NeedsValueError("a shape", sources)


def expand_to(x: Value, sizes: Value) -> Value:
    """Stretched to sizes that are known at run time; those that are 1 stretch nothing."""
    rank = sizes.size(0)
    own, wanted = sizes_as_value(x), cast(sizes, "int64")
    ones = constant([1] * abs(rank - x.rank), "int64")
    if rank > x.rank:
        own = call("concatenate", (ones, own), axis=0)
    elif rank < x.rank:
        wanted = call("concatenate", (ones, wanted), axis=0)
    one = call("equal", wanted, constant(1, "int64"))
    return call("dyn.broadcast_to", x, call("where", one, own, wanted))


def stretched(x: Value, wanted: Sequence[Dim], sizes: Value) -> Value:
    """`x` repeated along its axes of size 1 to sizes that `sizes` holds too; 1 keeps an axis."""
    front = len(wanted) - x.rank
    own: list[Dim] = [*[1] * front, *x.shape]
    wanted = [*[1] * -front, *wanted]
    dims = [d if w == 1 else w for d, w in zip(own, wanted, strict=True)]
    if tuple(dims) == x.shape:
        return x
    if all(isinstance(d, int) for d in dims):
        return call("broadcast_to", x, shape=tuple(dims))
    return ascribed(expand_to(x, sizes), dims)


def without_sizes(t: Type) -> Type:
    """The type of any tensor of that rank and dtype."""
    if isinstance(t, TensorType) and isinstance(t.shape, tuple):
        return TensorType([ANY] * len(t.shape), t.dtype)
    return t


def same_kind(t: Type) -> Type:
    """A type without its sizes."""
    return TupleType([same_kind(f) for f in t.fields]) if isinstance(t, TupleType) else without_sizes(t)


def loosened(t: Type, other: Type) -> Type:
    """The type that two share: sizes that differ are `?`."""
    if not isinstance(t, TensorType) or not isinstance(other, TensorType) or same_kind(t) != same_kind(other):
        return t
    assert isinstance(t.shape, tuple)
    assert isinstance(other.shape, tuple)
    return TensorType([a if a == b else ANY for a, b in zip(t.shape, other.shape, strict=True)], t.dtype)
