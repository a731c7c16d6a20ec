"""Reshaping, and adding or dropping axes."""

from collections.abc import Callable, Sequence
from typing import Any

from relay.frontend.support import ascribed, cast, reshape_to, stretched
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import axes_of, axis_of, count_of, dims_of, moved, size_at, vector
from relay.frontend.value import Value, call, constant
from relay.ir.type import ANY, Dim


@converts("aten.view.default", "aten.reshape", "aten._unsafe_view", "aten.view_copy", "aten._reshape_copy")
def view(node: Node, x: Value, sizes: list[Any]) -> Value:
    """Reshape, in row-major order."""
    return reshaped(x, list(node.shape), sizes)


def reshaped(x: Value, dims: Sequence[Dim], sizes: Sequence[Any]) -> Value:
    """`x` of a shape that is known as far as `dims` says; `sizes` are numbers, of which one may be -1."""
    if any(d is ANY for d in dims):
        return call("dyn.reshape", x, vector(sizes))
    if tuple(dims) == x.shape:
        return x
    return reshape_to(x, dims, None if all(isinstance(d, int) for d in dims) else vector(filled_in(x, sizes)))


def filled_in(x: Value, sizes: Sequence[Any]) -> list[Any]:
    """Sizes of which -1 is computed from the others."""
    if -1 not in [s for s in sizes if isinstance(s, int)]:
        return list(sizes)
    others: Any = 1
    for s in sizes:
        if not (isinstance(s, int) and s == -1):
            others = s * others if isinstance(s, Value) else others * s
    total = count_of(x, range(x.rank))
    rest = total // others if isinstance(total, int) and isinstance(others, int) else None
    if rest is None:
        whole, part = (v if isinstance(v, Value) else constant(v, "int64") for v in (total, others))
        rest = call("floor_divide", whole, part)
    return [rest if isinstance(s, int) and s == -1 else s for s in sizes]


@converts("aten.view_as", "aten.reshape_as")
def view_as(node: Node, x: Value, other: Value) -> Value:
    """Reshape to the shape of another tensor."""
    return reshaped(x, list(node.shape), [size_at(other, a) for a in range(other.rank)])


@converts("aten.flatten.using_ints")
def flatten(node: Node, x: Value, start: int = 0, end: int = -1) -> Value:
    """Some axes as one."""
    if x.rank == 0:
        return call("reshape", x, newshape=(1,))
    first, last = axis_of(start, x.rank), axis_of(end, x.rank)
    own = [size_at(x, a) for a in range(x.rank)]
    return reshaped(x, list(node.shape), [*own[:first], -1, *own[last + 1 :]])


@converts("aten.unflatten.int")
def unflatten(node: Node, x: Value, dim: int, sizes: list[Any]) -> Value:
    """One axis as several."""
    own = [size_at(x, a) for a in range(x.rank)]
    axis = axis_of(dim, x.rank)
    return reshaped(x, list(node.shape), [*own[:axis], *sizes, *own[axis + 1 :]])


@converts("aten.permute", "aten.permute_copy")
def permute(node: Node, x: Value, dims: list[int]) -> Value:
    """The axes in another order."""
    order = tuple([axis_of(d, x.rank) for d in dims])
    return x if order == tuple(range(x.rank)) else call("transpose", x, axes=order)


@converts("aten.transpose.int", "aten.transpose_copy", "aten.swapaxes", "aten.swapdims")
def transpose(node: Node, x: Value, a: int, b: int) -> Value:
    """Two axes exchanged."""
    order = list(range(x.rank))
    if order:
        i, j = axis_of(a, x.rank), axis_of(b, x.rank)
        order[i], order[j] = order[j], order[i]
    return permute(node, x, order)


@converts("aten.t", "aten.numpy_T", "aten.mT", "aten.adjoint")
def flipped(node: Node, x: Value) -> Value:
    """The last two axes exchanged, or all in reverse."""
    if x.rank < 2:
        return x
    order = list(range(x.rank))
    return permute(node, x, order[::-1] if "numpy" in node.operator else [*order[:-2], order[-1], order[-2]])


@converts("aten.movedim")
def movedim(node: Node, x: Value, source: Any, target: Any) -> Value:
    """Axes at other places."""
    pairs = [
        (axis_of(s, x.rank), axis_of(t, x.rank)) for s, t in zip(*map(as_list, (source, target)), strict=True)
    ]
    if len(pairs) == 1:
        return moved(x, *pairs[0])
    order = [a for a in range(x.rank) if a not in [s for s, _ in pairs]]
    for s, t in sorted(pairs, key=lambda p: p[1]):
        order.insert(t, s)
    return permute(node, x, order)


def as_list(x: Any) -> list[Any]:
    """One or several as a list."""
    return x if isinstance(x, list) else [x]  # pyright: ignore[reportUnknownVariableType]


@converts("aten.unsqueeze", "aten.unsqueeze_copy")
def unsqueeze(node: Node, x: Value, dim: int) -> Value:
    """With a new axis of size 1."""
    return call("expand_dims", x, axis=axis_of(dim, x.rank + 1))


@converts("aten.squeeze", "aten.squeeze_copy")
def squeeze(node: Node, x: Value, dims: Any = None) -> Value:
    """Without axes of size 1."""
    along = [a for a in axes_of(dims, x.rank) if x.rank and x.shape[a] == 1]
    if isinstance(dims, list) and not dims:
        return x
    return call("squeeze", x, axis=tuple(along)) if along else x


@converts("aten.expand", "aten.expand_copy", "aten.broadcast_to")
def expand(node: Node, x: Value, sizes: list[Any]) -> Value:
    """Repeated along axes of size 1; a size of -1 keeps an axis."""
    front = len(sizes) - x.rank
    kept = [
        size_at(x, i - front) if isinstance(s, int) and s == -1 else s for i, s in enumerate(sizes)
    ]  # fmt: skip
    dims = list(node.shape) if not any(d is ANY for d in node.shape) else dims_of(kept)
    return stretched(x, dims, vector(kept))


@converts("aten.expand_as")
def expand_as(node: Node, x: Value, other: Value) -> Value:
    """Repeated to the shape of another tensor."""
    return stretched(x, list(node.shape), vector([size_at(other, a) for a in range(other.rank)]))


@converts("aten.repeat", "aten.tile")
def repeat(node: Node, x: Value, counts: list[Any]) -> Value:
    """The tensor so many times along each axis."""
    if all(isinstance(n, int) for n in counts):
        return call("tile", x, reps=tuple(counts)) if counts and x.rank else filled_scalar(node, x, counts)
    front = max(len(counts) - x.rank, 0)
    counts = [*[1] * (x.rank - len(counts)), *counts]
    own = [*[1] * front, *[size_at(x, a) for a in range(x.rank)]]
    between = [s for d in own for s in (1, d)]
    wide = [s for n, d in zip(counts, own, strict=True) for s in (n, d)]
    dims = [d for n, s in zip(dims_of(counts), [*[1] * front, *x.shape], strict=True) for d in (n, s)]
    ones = reshaped(x, [d for s in [*[1] * front, *x.shape] for d in (1, s)], between)
    whole = stretched(ones, dims, vector(wide))
    return reshaped(whole, list(node.shape), [_times(n, d) for n, d in zip(counts, own, strict=True)])


def _times(n: Any, d: Any) -> Any:
    return d * n if isinstance(d, Value) else n * d


def filled_scalar(node: Node, x: Value, counts: list[int]) -> Value:
    """A scalar, repeated."""
    return call("broadcast_to", x, shape=tuple(counts)) if counts else x


@converts("aten.repeat_interleave.self_int")
def repeat_interleave(node: Node, x: Value, count: int, dim: int | None = None) -> Value:
    """Each part so many times in a row."""
    if dim is None:
        return call("repeat", call("reshape", x, newshape=(-1,)), repeats=count, axis=0)
    return call("repeat", x, repeats=count, axis=axis_of(dim, x.rank))


@converts("aten.repeat_interleave.Tensor", "aten.repeat_interleave.self_Tensor")
def repeat_each(node: Node, x: Value, *rest: Any) -> Value:
    """Each part as often as its number says; of numbers alone, the places that are repeated."""
    is_of_parts = node.operator.endswith("self_Tensor")
    counts, dim = (rest[0], (*rest[1:], None)[0]) if is_of_parts else (x, None)
    part = call("reshape", x, newshape=(-1,)) if is_of_parts and dim is None else x
    axis = axis_of(dim or 0, part.rank)
    if is_of_parts and counts.shape in ((), (1,)):
        counts = call("broadcast_to", counts, shape=(part.size(axis),))
    ends = call("cumsum", cast(call("reshape", counts, newshape=(-1,)), "int64"), axis=0)
    total = call("sum", cast(counts, "int64"))
    steps = call("arange", constant(0, "int64"), total, constant(1, "int64"), dtype="int64")
    places = call("searchsorted", ends, steps, right=True, dtype="int64")
    if not is_of_parts:
        return ascribed(cast(places, node.dtype), node.shape)
    return ascribed(call("take", part, places, axis=axis), node.shape)


@converts("aten.pixel_shuffle")
def pixel_shuffle(node: Node, x: Value, factor: int) -> Value:
    """Channels as pixels: each group of `factor * factor` channels is a square."""
    return in_batch(x, lambda v: call("nn.depth_to_space", v, block_size=factor, layout="NCHW", mode="CRD"))


@converts("aten.pixel_unshuffle")
def pixel_unshuffle(node: Node, x: Value, factor: int) -> Value:
    """Pixels as channels, the inverse of `pixel_shuffle`."""
    *front, c, h, w = x.sizes()
    parts = call("reshape", x, newshape=(-1, c, h // factor, factor, w // factor, factor))
    turned = call("transpose", parts, axes=(0, 1, 3, 5, 2, 4))
    return call("reshape", turned, newshape=(*front, c * factor * factor, h // factor, w // factor))


def in_batch(x: Value, f: Callable[[Value], Value]) -> Value:
    """A function of a batch of images, on one or on several."""
    if x.rank == 4:
        return f(x)
    if x.rank == 3:
        return call("squeeze", f(call("expand_dims", x, axis=0)), axis=(0,))
    raise ValueError(f"it is of images, not of a tensor of rank {x.rank}")


@converts("aten.channel_shuffle", "aten.native_channel_shuffle")
def channel_shuffle(node: Node, x: Value, groups: int) -> Value:
    """The channels of all groups in turn."""
    n, c, *rest = x.sizes()
    parts = call("reshape", x, newshape=(n, groups, c // groups, *rest))
    order = (0, 2, 1, *range(3, parts.rank))
    return call("reshape", call("transpose", parts, axes=order), newshape=(n, c, *rest))


@converts("aten.ravel")
def ravel(node: Node, x: Value) -> Value:
    """As a vector."""
    return call("reshape", x, newshape=(-1,)) if x.rank != 1 else x
