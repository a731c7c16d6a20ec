"""Tensors of rank 1 and more: objects with their sizes and their elements, row-major.

A tensor is an object whose words after the header are the address of its elements, the bytes of the whole
object, and its sizes.  The elements follow, from the next multiple of 64 bytes.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from relay.backend.native.llvm.builder import CONTEXT, Code, Value, integer
from relay.backend.native.llvm.vectors import Run, element_of, vector_of
from relay.backend.native.memory.layout import (
    ENDLESS_BYTES,
    OUTPUTS_OFFSET,
    TENSOR_BYTES_OFFSET,
    TENSOR_DATA_OFFSET,
    TENSOR_SIZES_OFFSET,
)
from relay.backend.native.memory.objects import DONATED, Layout, Layouts, header, of_memory, read_leaf
from relay.backend.native.memory.representation import POINTER, SIZES, memory, scalar
from relay.backend.native.memory.strings import lay_out, texts_of
from relay.ir.dtype import to_numpy
from relay.ir.type import TensorType

ALIGNMENT = 64
MAX_LOADED_STRIDE = 4
"""Steps between elements up to which all that lie between are loaded too."""
TEXTS = 2
"""The tag of an image whose elements are strings, which follow them."""
TENSOR = Layout((), 0, ())
"""The layout of all tensors; size 0 says that the object knows how large it is."""


def elements_at(rank: int) -> int:
    """Where the elements begin, in bytes from the start of the object."""
    return -(-(TENSOR_SIZES_OFFSET + 8 * rank) // ALIGNMENT) * ALIGNMENT


def element_size(t: TensorType) -> int:
    """Bytes of one element in memory."""
    return SIZES[scalar(t.dtype)]


def new_tensor(code: Code, layouts: Layouts, t: TensorType, dims: Sequence[Value]) -> Value:
    """A new tensor, its elements not yet written."""
    start = elements_at(len(dims))
    known = element_size(t) * prod([int(d.ref) for d in dims if is_constant(d)])
    size = integer(min(known, ENDLESS_BYTES))
    for d in dims:
        if not is_constant(d):
            size = code.set("i64", f"call i64 @relay.times({size}, {d})")
    size = integer(int(size.ref) + start) if is_constant(size) else code.op("add", size, integer(start))
    p = code.call(POINTER, "@relay.allocate_bytes", [size], convention="")
    assert p is not None
    code.store(integer(header(layouts.number(TENSOR))), p)
    code.store(code.at(p, start), code.at(p, TENSOR_DATA_OFFSET))
    for i, d in enumerate(dims):
        code.store(d, code.at(p, TENSOR_SIZES_OFFSET + 8 * i))
    return p


def tensor_in_place(
    code: Code,
    layouts: Layouts,
    t: TensorType,
    dims: Sequence[Value],
    places: Sequence[tuple[Value, Sequence[int], bool]],
    array: tuple[int, Sequence[int]] | None = None,
) -> Value:
    """A new tensor; or the caller's from a slot of the context; or the first of some others that nobody else
    has and that has the new one's sizes along some axes, or is given them, with one more reference.
    """
    if not places and array is None:
        return new_tensor(code, layouts, t, dims)
    own, end = header(layouts.number(TENSOR)), code.label()
    arrivals: list[tuple[list[Value], str]] = []
    if array is not None:
        arrivals.append(([callers_tensor(code, dims, *array)], code.here))
        other = code.label()
        code.branch(code.compare("icmp ne", arrivals[0][0][0], Value(POINTER, "null")), end, other)
        code.block(other)
    for p, axes, is_reshaped in places:
        fits, other = code.label(), code.label()
        may_take = is_own_tensor(code, p, own, with_donated=not is_reshaped)
        for i in axes:
            size = code.load("i64", code.at(p, TENSOR_SIZES_OFFSET + 8 * i))
            may_take = code.op("and", may_take, code.compare("icmp eq", size, dims[i]))
        code.branch(may_take, fits, other)
        code.block(fits)
        code.store(integer(2, 32), p)
        for i, d in enumerate(dims if is_reshaped else ()):
            code.store(d, code.at(p, TENSOR_SIZES_OFFSET + 8 * i))
        arrivals.append(([p], code.here))
        code.jump(end)
        code.block(other)
    arrivals.append(([new_tensor(code, layouts, t, dims)], code.here))
    code.jump(end)
    code.block(end)
    return code.join(arrivals)[0]


def is_own_tensor(code: Code, p: Value, own: int, with_donated: bool) -> Value:
    """Return whether a tensor has the header of a new one, `own`, so that nobody else has it; `with_donated`,
    or that of one that the caller gives up.

    The count is read by itself, as it is written: a processor that reads more bytes than it has just written
    waits until these are in memory.
    """
    count = code.compare("icmp eq", code.load("i32", p), integer(own & 0xFFFFFFFF, 32))
    rest = code.load("i32", code.at(p, 4))
    if with_donated:
        rest = code.op("and", rest, integer(~(DONATED << 16), 32))
    return code.op("and", count, code.compare("icmp eq", rest, integer(own >> 32, 32)))


def callers_tensor(code: Code, dims: Sequence[Value], slot: int, axes: Sequence[int]) -> Value:
    """The tensor that the caller has left in a slot of the context, which has none afterwards; null if it has
    none, or one of other sizes along some axes.
    """
    null, end = Value(POINTER, "null"), code.label()
    at = code.at(CONTEXT, OUTPUTS_OFFSET + 8 * slot)
    p = code.load(POINTER, at)
    arrivals: list[tuple[list[Value], str]] = [([null], code.here)]
    there = code.label()
    code.branch(code.compare("icmp ne", p, null), there, end, likely=False)
    code.block(there)
    for i in axes:
        size, fits = code.load("i64", code.at(p, TENSOR_SIZES_OFFSET + 8 * i)), code.label()
        arrivals.append(([null], code.here))
        code.branch(code.compare("icmp eq", size, dims[i]), fits, end)
        code.block(fits)
    code.store(null, at)
    arrivals.append(([p], code.here))
    code.jump(end)
    code.block(end)
    return code.join(arrivals)[0]


def is_constant(v: Value) -> bool:
    """Whether a value is written as a number."""
    return v.ref.lstrip("-").isdigit()


def element(code: Code, data: Value, leaf: str, number: Value) -> Value:
    """An element of a tensor."""
    kind = memory(leaf)
    return read_leaf(code, code.set(POINTER, f"getelementptr inbounds {kind}, {data}, {number}"), leaf)


def set_element(code: Code, data: Value, number: Value, v: Value) -> None:
    """Write an element of a tensor."""
    kind = memory(v.type)
    code.store(
        code.cast("zext", v, kind), code.set(POINTER, f"getelementptr inbounds {kind}, {data}, {number}")
    )


def loop(
    code: Code, n: Value, carried: Sequence[Value], body: Callable[[Value, list[Value]], Sequence[Value]]
) -> list[Value]:
    """Run `body(i, values)` for `i` from 0 to `n`; the values that it returns go into the next round."""
    start, head, inside, after = code.here, code.label(), code.label(), code.label()
    code.jump(head)
    code.block(head)
    at = len(code.lines)
    i = code.later("i64")
    values = [code.later(v.type) for v in carried]
    more = code.compare("icmp ult", i, n)
    code.branch(more, inside, after)
    code.block(inside)
    new = body(i, values)
    one = code.op("add", i, integer(1))
    end = code.here
    code.again(head)
    phis = [f"  {i.ref} = phi i64 [0, %{start}], [{one.ref}, %{end}]"]
    for v, first, then in zip(values, carried, new, strict=True):
        phis.append(f"  {v.ref} = phi {v.type} [{first.ref}, %{start}], [{then.ref}, %{end}]")
    code.lines[at:at] = phis
    code.block(after)
    return values


def elements(code: Code, data: Value, leaf: str, at: Value | Run) -> Value:
    """Elements of a tensor, one for each lane."""
    kind, lanes = memory(leaf), code.lanes
    if isinstance(at, Run) and at.step in (1, -1):
        back = at.step < 0
        p = place_of(code, data, kind, first_of(code, at))
        found = code.load_lanes(kind, p, back)
    elif isinstance(at, Run) and 1 < at.step <= MAX_LOADED_STRIDE:
        found = load_strided(code, kind, place_of(code, data, kind, first_of(code, at)), at.step)
    else:
        where = at.vector() if isinstance(at, Run) else at
        found = code.gather(
            kind, code.set(vector_of(POINTER, lanes), f"getelementptr {kind}, {data}, {where}")
        )
    return of_memory(code, found, leaf)


def load_strided(code: Code, kind: str, p: Value, step: int) -> Value:
    """Elements of memory that are some steps apart, one for each lane: all are loaded, and some taken."""
    lanes, mask = code.lanes, code.mask
    order = [i * step for i in range(lanes)]
    wide = lanes * step
    inside = ", ".join([f"i1 {str(i <= order[-1]).lower()}" for i in range(wide)])
    with code.in_lanes(wide):
        code.mask = Value(f"<{wide} x i1>", f"<{inside}>")
        if mask is not None:
            code.mask = code.op("and", code.shuffled(mask, mask, [i // step for i in range(wide)]), code.mask)
        found = code.load_lanes(kind, p)
    return code.shuffled(found, found, order)


def set_elements(code: Code, data: Value, at: Run, v: Value) -> None:
    """Write elements of a tensor from the lanes."""
    assert at.step == 1, "lanes are written side by side"
    v = code.spread(v)
    kind = memory(element_of(v.type))
    code.store_lanes(code.cast("zext", v, kind), place_of(code, data, kind, first_of(code, at)))


def first_of(code: Code, at: Run) -> Value:
    """The place in memory where a run begins."""
    first = at.first if isinstance(at.first, Value) else integer(at.first)
    return first if at.step > 0 else code.op("sub", first, integer(code.lanes - 1))


def place_of(code: Code, data: Value, kind: str, number: Value) -> Value:
    """The address of an element; it need not be there if its lane does not count."""
    return code.set(POINTER, f"getelementptr {kind}, {data}, {number}")


SUBBYTE_STORAGE = {to_numpy(f"{sign}int{n}"): np.dtype(f"{sign}int8") for n in (2, 4) for sign in ("", "u")}
"""What integers of 2 and 4 bits are kept in: arrays of theirs may have anything in the other bits."""


def storage_array(array: Any) -> Any:
    """An array as machine code holds its elements."""
    to = SUBBYTE_STORAGE.get(array.dtype)
    return array if to is None else array.astype(to)


def aligned_bytes(size: int) -> Any:
    """Bytes in memory, the first of them aligned as a tensor is."""
    whole = np.zeros(size + ALIGNMENT, "uint8")
    shift = -whole.ctypes.data % ALIGNMENT
    return whole[shift : shift + size]


def image(array: Any, number: int) -> Any:
    """An array as the bytes of a tensor that is never freed, with its strings; until it is loaded, addresses
    count from the object.
    """
    array = storage_array(array)
    start, texts, tag = elements_at(array.ndim), b"", 0
    if array.dtype == object:
        places, texts = lay_out(texts_of(array), start + array.nbytes)
        array, tag = np.asarray(places, "int64").reshape(array.shape), TEXTS
    end = start + array.nbytes
    whole = aligned_bytes(end + len(texts))
    words = [header(number, tag, count=0), start, end, *array.shape]
    whole[: 8 * len(words)] = np.asarray(words, "uint64").view("uint8")
    whole[start:end].view(array.dtype).reshape(array.shape)[...] = array
    whole[end:] = np.frombuffer(texts, "uint8")
    return whole


def relocate(whole: Any) -> int:
    """Where an image is in memory, from now on with addresses that are true."""
    p = whole.ctypes.data
    if not is_settled(whole):
        for words in relocations(
            whole, int(whole[:TENSOR_SIZES_OFFSET].view("uint64")[TENSOR_DATA_OFFSET // 8])
        ):
            words += p
    return p


def unload_image(whole: Any) -> list[Any]:
    """An image as it was before it was loaded, in pieces."""
    if not is_settled(whole):
        return [memoryview(whole)]
    p = whole.ctypes.data
    start = int(whole[:TENSOR_SIZES_OFFSET].view("uint64")[TENSOR_DATA_OFFSET // 8]) - p
    last = relocations(whole, start)[-1]
    first = whole[: last.ctypes.data + last.nbytes - p].copy()
    for words in relocations(first, start):
        words -= p
    return [memoryview(first), memoryview(whole[len(first) :])]


def is_settled(whole: Any) -> bool:
    """Whether the addresses in an image are true."""
    return int(whole[:TENSOR_SIZES_OFFSET].view("uint64")[TENSOR_DATA_OFFSET // 8]) >= whole.ctypes.data


def relocations(whole: Any, start: int) -> list[Any]:
    """The words of an image that are addresses, given where its elements begin: of these, and of strings."""
    words = whole[:TENSOR_SIZES_OFFSET].view("uint64")
    found = [whole[TENSOR_DATA_OFFSET : TENSOR_DATA_OFFSET + 8].view("uint64")]
    if int(words[0]) >> 48 == TEXTS:
        found.append(whole[start : int(words[TENSOR_BYTES_OFFSET // 8])].view("uint64"))
    return found
