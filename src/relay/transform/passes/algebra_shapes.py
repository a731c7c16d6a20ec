"""Rules of shapes: rearrangements that undo one another or do nothing, casts, and tensors of one value."""

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

import numpy as np

from relay.ir.dtype import FLOAT8, bits, is_float, is_integer, is_signed, rounded, to_numpy
from relay.ir.expr import Call, Expr, Tuple, TupleGetItem, Var
from relay.ir.type import HAS_ANY, TensorType, TupleType, Type
from relay.op.arrange import Reverse
from relay.op.axes import SIZES
from relay.op.broadcast import BroadcastTo, BroadcastToLike, CollapseSumLike, CollapseSumTo
from relay.op.cast import Cast, CastLike
from relay.op.create import FullLike, OnesLike, ZerosLike
from relay.op.join import Concatenate, Repeat, Split, Stack, Tile
from relay.op.layout import LayoutTransform
from relay.op.pad import Pad
from relay.op.reduce import Max, Min, Prod, Sum
from relay.op.reshape import (
    BatchFlatten,
    ExpandDims,
    Reshape,
    ReshapeLike,
    Reshaping,
    ReverseReshape,
    Squeeze,
    Transpose,
)
from relay.op.slice import SliceLike, StridedSlice
from relay.op.statistics import Mean
from relay.transform.passes.algebra_numbers import ZERO_SIGN, dtype_of
from relay.transform.rewriting.rewriter import Rewriter, call, call_of
from relay.transform.rewriting.rulebook import Rulebook
from relay.transform.rewriting.splat import filled, uniform

SHAPES = Rulebook()
RESHAPING = (Reshape, ReverseReshape, ReshapeLike, ExpandDims, Squeeze, BatchFlatten)


def same_known(t: Type, s: Type) -> bool:
    """Whether two types are one, and with them the sizes: an unknown size (`?`) need not equal itself."""
    return t == s and not t.flags & HAS_ANY


# --- the same elements under another shape ---


@SHAPES.rule("reshape(x) => x if the shape stays; likewise squeeze, expand_dims, reshape_like, …", *RESHAPING)
def _reshaped_to_itself(w: Rewriter, e: Call) -> Expr | None:
    x, *like = e.args
    return x if same_known(w.types(x), w.types(e)) and all(w.may_go(a) for a in like) else None


@SHAPES.rule("reshape(reshape(x)) => reshape(x), or x; likewise squeeze, expand_dims, reshape_like, …",
             *RESHAPING)  # fmt: skip
def _reshaped_twice(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[0], Reshaping)
    if not inner or not all(w.may_go(a) for a in (*e.args[1:], *inner[1][1:])):
        return None
    x = inner[1][0]
    if same_known(w.types(x), w.types(e)):
        return x
    t = w.tensor(e)
    return as_shape(x, t.concrete_shape, e) if t is not None and w.tensor(x) is not None else None


def as_shape(x: Expr, shape: tuple[int, ...], source: Expr) -> Expr:
    """`x` reshaped to a static shape."""
    return call(Reshape(newshape=shape, allowzero=0 in shape), (x,), source)


@SHAPES.rule("transpose(transpose(x)) => transpose(x), or x; transpose(x) => x if the axes stay", Transpose)
def _transposed(w: Rewriter, e: Call) -> Expr | None:
    t = w.types(e)
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
        return None
    rank = len(t.shape)
    order = e.attrs.order(SIZES, rank)
    if order == tuple(range(rank)):
        return e.args[0]
    inner = w.parts(e.args[0], Transpose)
    if not inner:
        return None
    first = inner[0].order(SIZES, rank)
    return call(Transpose(axes=tuple([first[i] for i in order])), inner[1], e)


@SHAPES.rule("transpose(reshape(transpose(x))) => reshape(x) if elements keep their order", Transpose)
def _transposed_around_reshape(w: Rewriter, e: Call) -> Expr | None:
    middle = w.parts(e.args[0], *RESHAPING)
    inner = w.parts(middle[1][0], Transpose) if middle and all(map(w.may_go, middle[1][1:])) else None
    if not inner:
        return None
    x, between, t = w.tensor(inner[1][0]), w.tensor(e.args[0]), w.tensor(e)
    if x is None or between is None or t is None:
        return None
    axes: tuple[int, ...] = inner[0].order(SIZES, len(x.concrete_shape))
    parts = parts_of_axes([x.concrete_shape[a] for a in axes], between.concrete_shape)
    if parts is None:
        return None
    order: tuple[int, ...] = e.attrs.order(SIZES, len(parts))
    places = [(axes[axis], part) for a in order for axis, part in parts[a]]
    return as_shape(inner[1][0], t.concrete_shape, e) if places == sorted(places) else None


def parts_of_axes(sizes: Sequence[int], shape: Sequence[int]) -> list[list[tuple[int, int]]] | None:
    """Which parts of the axes of a tensor make up each axis of another shape of as many elements: `(axis,
    part)`, counted from the outermost part of an axis, those of size 1 left out.  None if a part is of no
    whole number of elements.

    >>> parts_of_axes((6, 4), (2, 12))
    [[(0, 0)], [(0, 1), (1, 0)]]
    """
    left = [(axis, n) for axis, n in reversed(list(enumerate(sizes))) if n != 1]
    taken = dict.fromkeys(range(len(sizes)), 0)
    found: list[list[tuple[int, int]]] = []
    for n in shape:
        own: list[tuple[int, int]] = []
        while n > 1 and left:
            axis, rest = left.pop()
            part = gcd(n, rest)
            if part not in (n, rest):
                return None
            own.append((axis, taken[axis]))
            taken[axis] += 1
            n //= part
            if rest != part:
                left.append((axis, rest // part))
        if n != 1:
            return None
        found.append(own)
    return found


@SHAPES.rule("layout_transform there and back => x", LayoutTransform)
def _laid_out_again(w: Rewriter, e: Call) -> Expr | None:
    op = e.attrs
    if op.src_layout == op.dst_layout:
        return e.args[0]
    inner = w.parts(e.args[0], LayoutTransform)
    if not inner or (inner[0].src_layout, inner[0].dst_layout) != (op.dst_layout, op.src_layout):
        return None
    return inner[1][0] if same_known(w.types(inner[1][0]), w.types(e)) else None


@SHAPES.rule("reverse(reverse(x)) => x along one axis", Reverse)
def _reversed_twice(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[0], Reverse)
    return inner[1][0] if inner and inner[0] == e.attrs else None


@SHAPES.rule("strided_slice of everything, slice_like, tile and repeat once, nn.pad by nothing => x",
             StridedSlice, SliceLike, Tile, Repeat, Pad)  # fmt: skip
def _nothing_done(w: Rewriter, e: Call) -> Expr | None:
    x, *others = e.args
    if w.tensor(x) is None or w.types(x) != w.types(e) or not all(w.may_go(a) for a in others):
        return None
    if isinstance(e.attrs, StridedSlice) and any(s < 0 for s in e.attrs.strides or ()):
        return None
    return x


@SHAPES.rule("sum, prod, max, min and mean over axes of size 1 => reshape", Sum, Prod, Max, Min, Mean,
             but=ZERO_SIGN)  # fmt: skip
def _reduced_over_one(w: Rewriter, e: Call) -> Expr | None:
    x, t = w.tensor(e.args[0]), w.tensor(e)
    if x is None or t is None or 0 in x.concrete_shape or x.dtype != t.dtype:
        return None
    axes: tuple[int, ...] = e.attrs.axes(len(x.concrete_shape))
    if any(x.concrete_shape[a] != 1 for a in axes):
        return None
    return as_shape(e.args[0], t.concrete_shape, e)


@SHAPES.rule("max, min and mean of full(c) => full(c), sum of full(c) => full(n * c)", Sum, Max, Min, Mean,
             but="a sum of equal numbers is rounded once")  # fmt: skip
def _reduced_filling(w: Rewriter, e: Call) -> Expr | None:
    x, t = w.tensor(e.args[0]), w.tensor(e)
    if x is None or t is None or x.dtype != t.dtype or not isinstance(t.dtype, str):
        return None
    axes: tuple[int, ...] = e.attrs.axes(len(x.concrete_shape))
    n = prod([x.concrete_shape[a] for a in axes])
    value = uniform(w, e.args[0]) if n and w.may_go(e.args[0]) else None
    if value is None:
        return None
    return filled(w, _times(n, value, t.dtype) if isinstance(e.attrs, Sum) else value, e)


def _times(n: int, value: Any, dtype: str) -> Any:
    """`n` times a number of a dtype: an integer wraps around, a float is rounded once."""
    if is_integer(dtype):
        return np.asarray((n * int(value)) % 2 ** bits(dtype)).astype(np.uint64).astype(to_numpy(dtype))[()]
    with np.errstate(over="ignore"):
        return rounded(np.float64(value) * n, to_numpy(dtype))


# --- stretching and summing back ---


@SHAPES.rule("broadcast_to, collapse_sum_to and their twins with _like => x if the shape stays",
             BroadcastTo, BroadcastToLike, CollapseSumTo, CollapseSumLike)  # fmt: skip
def _stretched_to_itself(w: Rewriter, e: Call) -> Expr | None:
    return _reshaped_to_itself(w, e)


@SHAPES.rule("broadcast_to_like(x, y) => broadcast_to(x), collapse_sum_like(x, y) => collapse_sum_to(x)",
             BroadcastToLike, CollapseSumLike)  # fmt: skip
def _like_of_known_shape(w: Rewriter, e: Call) -> Expr | None:
    x, like = e.args
    t = w.tensor(e)
    if t is None or not w.may_go(like):
        return None
    op = BroadcastTo if isinstance(e.attrs, BroadcastToLike) else CollapseSumTo
    return call(op(shape=t.concrete_shape), (x,), e)


@SHAPES.rule("broadcast_to(broadcast_to(x)) => broadcast_to(x)", BroadcastTo)
def _stretched_twice(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[0], BroadcastTo)
    return call(e.attrs, inner[1], e) if inner else None


@SHAPES.rule("reshape or transpose of broadcast_to(scalar) => broadcast_to(scalar)", *RESHAPING, Transpose)
def _moved_scalar(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[0], BroadcastTo)
    t = w.tensor(e)
    if not inner or t is None or not all(w.may_go(a) for a in e.args[1:]):
        return None
    s = w.tensor(inner[1][0])
    return None if s is None or s.shape else call(BroadcastTo(shape=t.concrete_shape), inner[1], e)


# --- tensors of one value ---


@SHAPES.rule("zeros_like, ones_like, full_like => zeros, ones, full", ZerosLike, OnesLike, FullLike)
def _like_of_known_type(w: Rewriter, e: Call) -> Expr | None:
    value = uniform(w, e)
    return filled(w, value, e) if value is not None and w.may_go(e.args[0]) else None


@SHAPES.rule("broadcast_to, reshape, transpose, cast of zeros, ones or full => zeros, ones or full",
             BroadcastTo, Reshape, ExpandDims, Squeeze, Transpose, Cast)  # fmt: skip
def _moved_fill(w: Rewriter, e: Call) -> Expr | None:
    value = uniform(w, e)
    return filled(w, value, e) if value is not None and w.may_go(e.args[0]) else None


# --- casts ---


@SHAPES.rule("cast_like(x, y) => cast(x)", CastLike)
def _cast_like_known(w: Rewriter, e: Call) -> Expr | None:
    x, like = e.args
    dtype = dtype_of(w, e)
    return call_of("cast", (x,), e, dtype=dtype) if dtype and w.may_go(like) else None


@SHAPES.rule("cast(x) => x if the dtype stays", Cast)
def _cast_to_itself(w: Rewriter, e: Call) -> Expr | None:
    (x,) = e.args
    return x if dtype_of(w, x) and dtype_of(w, x) == e.attrs.dtype else None


@SHAPES.rule("cast(cast(x)) => cast(x) if the first cast loses nothing", Cast)
def _cast_twice(w: Rewriter, e: Call) -> Expr | None:
    inner = w.parts(e.args[0], Cast)
    if not inner:
        return None
    (x,), (dtype, between) = inner[1], (dtype_of(w, inner[1][0]), inner[0].dtype)
    if not dtype or not is_exact_cast(dtype, between) or "string" in (dtype, between, e.attrs.dtype):
        return None
    saturates = is_integer(dtype) and is_float(between) and is_integer(e.attrs.dtype)
    if saturates and not is_exact_cast(dtype, e.attrs.dtype):
        return None
    return call(e.attrs, (x,), e)


SIGNIFICANT = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""The bits of the significand of floats that have infinities and subnormal numbers, as IEEE 754 has them."""


def is_exact_cast(source: str, target: str) -> bool:
    """Whether a cast keeps every value apart and as it is."""
    if source in (target, "bool"):
        return True
    if is_integer(source) and is_integer(target):
        room = bits(target) - (is_signed(target) and not is_signed(source))
        return room >= bits(source) and (is_signed(target) or not is_signed(source))
    if is_integer(source):
        return bits(source) - is_signed(source) <= SIGNIFICANT.get(target, 0)
    if source in FLOAT8:
        return target in ("bfloat16", "float32", "float64")
    if source in ("float16", "bfloat16"):
        return target in ("float32", "float64")
    return source == "float32" and target == "float64"


# --- tuples ---


@SHAPES.rule("concatenate((x,)) => x; stack((x,)) => expand_dims(x)", Concatenate, Stack)
def _joined_alone(w: Rewriter, e: Call) -> Expr | None:
    made = w.seen(e.args[0])
    if not isinstance(made, Tuple) or len(made.fields) != 1:
        return None
    (x,) = made.fields
    if isinstance(e.attrs, Concatenate):
        return x
    rank = len(w.types(e).shape)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
    return call(ExpandDims(axis=e.attrs.axis % rank), (x,), e)


@SHAPES.rule("concatenate(split(x)) => x along one axis", Concatenate)
def _joined_again(w: Rewriter, e: Call) -> Expr | None:
    whole = e.args[0]
    made = w.seen(whole)
    if isinstance(made, Tuple):
        found = whole_of(w, made)
        whole = whole if found is None else found
    inner = w.parts(whole, Split)
    if not inner or not same_known(w.types(inner[1][0]), w.types(e)):
        return None
    rank = len(w.types(e).shape)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
    return inner[1][0] if inner[0].axis % rank == e.attrs.axis % rank else None


@SHAPES.rule("(a, b).0 => a", TupleGetItem)
def _projected(w: Rewriter, e: TupleGetItem) -> Expr | None:
    made = w.seen(e.tuple_value)
    if not isinstance(made, Tuple):
        return None
    others = [f for i, f in enumerate(made.fields) if i != e.index]
    if type(e.tuple_value) is not Var and not all(w.may_go(f) for f in others):
        return None
    return made.fields[e.index]


@SHAPES.rule("(t.0, t.1) => t", Tuple)
def _put_together(w: Rewriter, e: Tuple) -> Expr | None:
    return whole_of(w, e)


def whole_of(w: Rewriter, e: Tuple) -> Expr | None:
    """The tuple whose fields, all of them and in order, are the fields of `e`."""
    whole: Expr | None = None
    for i, f in enumerate(e.fields):
        made = w.seen(f)
        if not isinstance(made, TupleGetItem) or made.index != i:
            return None
        if whole is not None and made.tuple_value is not whole:
            return None
        whole = made.tuple_value
    t = None if whole is None else w.types(whole)
    return whole if isinstance(t, TupleType) and len(t.fields) == len(e.fields) else None
