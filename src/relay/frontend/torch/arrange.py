"""Parts, joined and taken apart, and elements in another order."""

from typing import Any

import numpy as np

from relay.frontend.slices import between, sliced
from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_row, axes_of, axis_of, repeated, size_at
from relay.frontend.value import Value, call, constant, sizes_of

AXIS_END = (1 << 63) - 1
"""What PyTorch writes for the end of an axis."""


@converts("aten.cat", "aten.concat", "aten.concatenate")
def cat(node: Node, xs: list[Value], dim: int = 0) -> Value:
    """One after another; empty vectors are left out."""
    rank = len(node.shape)
    parts = [cast(x, node.dtype) for x in xs if x.rank == rank]
    axis = axis_of(dim, rank)
    return call("concatenate", tuple(parts), axis=axis) if len(parts) > 1 else parts[0]


@converts("aten.stack")
def stack(node: Node, xs: list[Value], dim: int = 0) -> Value:
    """Along a new axis."""
    return call("stack", tuple([cast(x, node.dtype) for x in xs]), axis=axis_of(dim, xs[0].rank + 1))


@converts("aten.split.Tensor", "aten.split.int", "aten.split_copy.Tensor", "aten.unsafe_split")
def split(node: Node, x: Value, size: int, dim: int = 0) -> list[Value]:
    """Parts of one size, the last one perhaps shorter."""
    axis = axis_of(dim, x.rank)
    return in_parts(x, axis, [part.shape[axis] for part in node.traced])


@converts(
    "aten.split_with_sizes", "aten.split.sizes", "aten.split_with_sizes_copy", "aten.unsafe_split_with_sizes"
)
def split_with_sizes(node: Node, x: Value, sizes: list[Any], dim: int = 0) -> list[Value]:
    """Parts of given sizes."""
    return in_parts(x, axis_of(dim, x.rank), sizes)


@converts("aten.chunk", "aten.unsafe_chunk", "aten.tensor_split.sections", "aten.tensor_split.indices")
def chunk(node: Node, x: Value, count: Any, dim: int = 0) -> list[Value]:
    """So many parts."""
    axis = axis_of(dim, x.rank)
    return in_parts(x, axis, [part.shape[axis] for part in node.traced])


def in_parts(x: Value, axis: int, sizes: list[Any]) -> list[Value]:
    """Parts of sizes along an axis."""
    if len(sizes) == 1:
        return [x]
    if all(isinstance(s, int) for s in sizes):
        edges = np.cumsum(sizes)[:-1].tolist()
        whole = call("split", x, indices_or_sections=tuple(edges), axis=axis)
        return [whole[i] for i in range(len(sizes))]
    parts: list[Value] = []
    start: Any = 0
    for s in sizes:
        if not isinstance(s, int | Value):
            raise ValueError("the sizes of its parts are not known")
        end = start + s if isinstance(start, Value) or isinstance(s, int) else s + start
        parts.append(part_of(x, axis, start, end))
        start = end
    return parts


def part_of(x: Value, axis: int, start: Any, end: Any, step: int = 1) -> Value:
    """A part of an axis between two places, which are in order and inside."""
    if isinstance(start, int) and isinstance(end, int):
        return sliced(x, [start], [end], [axis], [step])
    places = [as_row(p) if isinstance(p, Value) else constant([p], "int64") for p in (start, end)]
    return between(x, places[0], places[1], [axis], [step])


@converts("aten.unbind.int", "aten.unbind_copy.int")
def unbind(node: Node, x: Value, dim: int = 0) -> list[Value]:
    """Each part along an axis."""
    axis = axis_of(dim, x.rank)
    return [call("take", x, constant(i, "int64"), axis=axis) for i in range(x.size(axis))]


@converts("aten.slice.Tensor", "aten.slice_copy.Tensor")
def convert_slice(
    node: Node, x: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    """A part of an axis."""
    axis = axis_of(dim, x.rank)
    start, end = (0 if start is None else start), (AXIS_END if end is None else end)
    if node.shape[axis] == x.shape[axis] and step == 1 and isinstance(start, int) and start == 0:
        return x
    found = sizes_of(end) if isinstance(end, Value) else None
    known: Any = end if found is None else found[()]
    if isinstance(start, int) and (isinstance(end, int) or known == x.shape[axis]):
        return sliced(x, [start], [known if isinstance(known, int) else AXIS_END], [axis], [step])
    return part_of(x, axis, start, end, step)


@converts("aten.narrow", "aten.narrow_copy")
def narrow(node: Node, x: Value, dim: int, start: Any, length: Any) -> Value:
    """A part of an axis by its start and length."""
    end = start + length if isinstance(start, Value) or isinstance(length, int) else length + start
    return convert_slice(node, x, dim, start, end)


@converts("aten.select.int", "aten.select_copy")
def select(node: Node, x: Value, dim: int, index: Any) -> Value:
    """One part of an axis."""
    axis = axis_of(dim, x.rank)
    size = x.shape[axis]
    if isinstance(index, int):
        if index < 0 and isinstance(size, int):
            index += size
        place = constant(index, "int64")
        return call("take", x, place, axis=axis, mode="wrap" if index < 0 else "clip")
    return call("take", x, index, axis=axis, mode="wrap")


@converts("aten.slice_scatter")
def slice_scatter(
    node: Node, x: Value, source: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    """`x` with a part of an axis replaced."""
    axis = axis_of(dim, x.rank)
    start, end = (0 if start is None else start), (AXIS_END if end is None else end)
    source = cast(source, x.dtype)
    if source.shape == x.shape and step == 1 and isinstance(start, int) and start == 0:
        return source
    size = x.shape[axis]
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        begin, stop, stride = slice(start, end, step).indices(size)
        return replaced(x, source, axis, begin, stop, stride)
    rows = slice_rows(x, axis, start, step, source)
    return scattered_rows(x, rows, source, axis)


def slice_rows(x: Value, axis: int, start: Any, step: int, source: Value) -> Value:
    """The places of a slice of which so many parts are given."""
    first = start if isinstance(start, Value) else constant(start, "int64")
    size = size_at(x, axis)
    first = call("where", call("less", first, 0), first + size, first)
    count = size_at(source, axis)
    stop = count if isinstance(count, Value) else constant(count, "int64")
    steps = call("arange", constant(0, "int64"), stop, constant(1, "int64"), dtype="int64")
    return first + steps * step


def scattered_rows(x: Value, rows: Value, source: Value, axis: int) -> Value:
    """`x` with the parts at some places of an axis replaced."""
    from relay.frontend.torch.support import moved

    whole, new = moved(x, axis, 0), moved(source, axis, 0)
    found = call("scatter_nd", whole, call("expand_dims", rows, axis=0), new, mode="update")
    return moved(found, 0, axis)


def replaced(x: Value, source: Value, axis: int, begin: int, stop: int, step: int) -> Value:
    """`x` with a part of known places replaced."""
    if step == 1:
        parts = [sliced(x, [0], [begin], [axis], [1])] if begin > 0 else []
        parts.append(source)
        size = x.size(axis)
        parts += [sliced(x, [max(stop, begin)], [size], [axis], [1])] if max(stop, begin) < size else []
        return call("concatenate", tuple(parts), axis=axis) if len(parts) > 1 else parts[0]
    return scattered_rows(x, constant(np.arange(begin, stop, step)), source, axis)


@converts("aten.select_scatter")
def select_scatter(node: Node, x: Value, source: Value, dim: int, index: Any) -> Value:
    """`x` with one part of an axis replaced."""
    axis = axis_of(dim, x.rank)
    row = call("expand_dims", cast(source, x.dtype), axis=axis)
    if isinstance(index, int):
        begin = index + x.size(axis) if index < 0 else index
        return replaced(x, row, axis, begin, begin + 1, 1)
    return scattered_rows(x, as_row(index), row, axis)


@converts("aten.flip")
def flip(node: Node, x: Value, dims: list[int]) -> Value:
    """The parts of axes in reverse."""
    for a in axes_of(dims, x.rank) if dims else ():
        x = call("reverse", x, axis=a)
    return x


@converts("aten.roll")
def roll(node: Node, x: Value, shifts: Any, dims: Any = None) -> Value:
    """The parts of axes moved on, those at the end to the front."""
    if not dims:
        flat = call("reshape", x, newshape=(-1,))
        count = repeated(shifts, 1)[0]
        return call("reshape", rolled(flat, count, 0), newshape=x.sizes())
    for shift, dim in zip(repeated(shifts, len(dims)), repeated(dims, 1), strict=True):
        x = rolled(x, shift, axis_of(dim, x.rank))
    return x


def rolled(x: Value, shift: int, axis: int) -> Value:
    """The parts of an axis moved on."""
    size = x.shape[axis]
    by = shift % size if isinstance(size, int) and size else shift
    if not by:
        return x
    tail = sliced(x, [-by], [AXIS_END], [axis], [1])
    head = sliced(x, [0], [-by], [axis], [1])
    return call("concatenate", (tail, head), axis=axis)


@converts("aten.diagonal", "aten.diagonal_copy")
def diagonal(node: Node, x: Value, offset: int = 0, a: int = 0, b: int = 1) -> Value:
    """The elements whose places along two axes are equal, or differ by a number."""
    i, j = axis_of(a, x.rank), axis_of(b, x.rank)
    others = [k for k in range(x.rank) if k not in (i, j)]
    turned = call("transpose", x, axes=(i, j, *others))
    rows, columns = x.size(i), x.size(j)
    count = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    at = np.arange(count)
    places = (constant(at + max(-offset, 0)), constant(at + max(offset, 0)))
    found = call("adv_index", (turned, *places))
    return call("transpose", found, axes=(*range(1, found.rank), 0)) if others else found


@converts("aten.unfold", "aten.unfold_copy")
def unfold(node: Node, x: Value, dim: int, size: int, step: int) -> Value:
    """Windows along an axis, their elements along a new last one."""
    if x.rank == 0:
        return call("reshape", x, newshape=(1,))
    axis = axis_of(dim, x.rank)
    count = (x.size(axis) - size) // step + 1
    places = np.arange(count)[:, None] * step + np.arange(size)
    found = call("take", x, constant(places), axis=axis)
    order = [k for k in range(found.rank) if k != axis + 1]
    return call("transpose", found, axes=(*order, axis + 1))


@converts("aten.as_strided", "aten.as_strided_copy")
def as_strided(node: Node, x: Value, sizes: list[Any], strides: list[Any], offset: Any = None) -> Value:
    """Elements of a dense tensor at places computed from strides."""
    if not all(isinstance(n, int) for n in (*sizes, *strides, offset or 0)):
        return node.fail("its sizes and strides must be numbers")
    places: Any = np.asarray(offset or 0)
    for n, stride in zip(sizes, strides, strict=True):
        places = places[..., None] + np.arange(int(n)) * int(stride)
    flat = call("reshape", x, newshape=(-1,))
    return call("take", flat, constant(places), axis=0)


@converts("aten.im2col")
def im2col(
    node: Node, x: Value, kernel: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> Value:
    """The elements of each window as a column."""
    from relay.frontend.window import Window, windows

    pads = tuple(padding)
    w = Window(tuple(kernel), tuple(stride), tuple(dilation), pads, pads)
    batch = x if x.rank == 4 else call("expand_dims", x, axis=0)
    elements, _ = windows(batch, w, 0)  # (n, c, windows, elements)
    n, c, count, k = elements.sizes()
    found = call("reshape", call("transpose", elements, axes=(0, 1, 3, 2)), newshape=(n, c * k, count))
    return found if x.rank == 4 else call("squeeze", found, axis=(0,))


@converts("aten.triu", "aten.tril")
def triangle(node: Node, x: Value, diagonal: int = 0) -> Value:
    """One triangle of each matrix, and zeros elsewhere."""
    return call("trilu", x, constant(diagonal, "int64"), upper="triu" in node.operator)


@converts("aten.tril_indices", "aten.triu_indices")
def triangle_indices(node: Node, rows: int, columns: int, offset: int = 0) -> Value:
    """The places of a triangle."""
    make = np.tril_indices if "tril" in node.operator else np.triu_indices
    return constant(np.stack(make(rows, offset, columns)), node.dtype)
