"""The code of calls from CPython whose arguments may be overwritten: see `donation`."""

from collections.abc import Callable, Sequence

from relay.backend.native.host.python_objects import (
    ARRAY_BASE,
    ARRAY_DATA,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    OWNS,
    TYPE_AT,
    WRITEABLE,
)
from relay.backend.native.llvm.builder import POINTER, Code, Value, integer
from relay.backend.native.memory.layout import (
    OUT_OF_MEMORY,
    SITE_OFFSET,
    TENSOR_DATA_OFFSET,
    TENSOR_SIZES_OFFSET,
)
from relay.backend.native.memory.objects import DONATED, EXTERNAL, header, tag_of
from relay.backend.native.memory.tensors import elements_at
from relay.ir.dtype import to_numpy
from relay.ir.type import TensorType

MAX_PAIRS = 64
"""Pairs of arguments that are compared here, at most: the code grows with them."""


def bytes_of(code: Code, x: Value, t: TensorType) -> tuple[Value, Value]:
    """Where the elements of an array begin and end."""
    size, shape = integer(to_numpy(str(t.dtype)).itemsize), t.shape
    assert isinstance(shape, tuple)
    dims = code.load(POINTER, code.at(x, ARRAY_DIMS))
    for i, d in enumerate(shape):
        size = code.op(
            "mul", size, integer(d) if isinstance(d, int) else code.load("i64", code.at(dims, 8 * i))
        )
    begin = code.load("i64", code.at(x, ARRAY_DATA))
    return begin, code.op("add", begin, size)


def expect_apart(
    code: Code,
    given: Sequence[tuple[Value, TensorType]],
    donated: Sequence[int],
    expect: Callable[[Value], None],
) -> None:
    """Go on as long as no array that may be overwritten shares memory with another."""
    ranges = {i: bytes_of(code, x, t) for i, (x, t) in enumerate(given) if t.shape != ()}
    for i in donated:
        for j in ranges:
            if j != i and not (j in donated and j < i):
                (a, a_end), (b, b_end) = ranges[i], ranges[j]
                before, behind = code.compare("icmp ule", a_end, b), code.compare("icmp ule", b_end, a)
                expect(code.op("or", before, behind))


def donated_array(code: Code, context: Value, x: Value, t: TensorType, tensor: int, capsule: Value) -> Value:
    """An object around the elements of an array, which may be overwritten if the array has them to itself."""
    shape = t.shape
    assert isinstance(shape, tuple)
    flags = code.load("i32", code.at(x, ARRAY_FLAGS))
    p = code.set(POINTER, f"call ptr @relay_new_tensor({context}, i64 {elements_at(len(shape))})")
    lost, made = code.label(), code.label()
    code.branch(code.compare("icmp ne", p, Value(POINTER, "null")), made, lost, likely=True)
    code.block(lost)
    code.store(integer(OUT_OF_MEMORY), code.at(context, SITE_OFFSET))
    code.jump("failed")
    code.block(made)
    base = code.load(POINTER, code.at(x, ARRAY_BASE))
    none = code.compare("icmp eq", base, Value(POINTER, "null"))
    kind = code.load(POINTER, code.at(code.select(none, x, base), TYPE_AT))
    owned = code.compare("icmp ne", code.op("and", flags, integer(OWNS, 32)), integer(0, 32))
    owned = code.op("or", owned, code.compare("icmp eq", kind, capsule))
    written = code.compare("icmp ne", code.op("and", flags, integer(WRITEABLE, 32)), integer(0, 32))
    heads = integer(header(tensor, DONATED)), integer(header(tensor, EXTERNAL, 0))
    code.store(code.select(code.op("and", owned, written), *heads), p)
    code.store(code.load(POINTER, code.at(x, ARRAY_DATA)), code.at(p, TENSOR_DATA_OFFSET))
    dims = code.load(POINTER, code.at(x, ARRAY_DIMS))
    for i, d in enumerate(shape):
        size = integer(d) if isinstance(d, int) else code.load("i64", code.at(dims, 8 * i))
        code.store(size, code.at(p, TENSOR_SIZES_OFFSET + 8 * i))
    return p


def returned_arrays(
    code: Code, p: Value, arrays: Sequence[tuple[Value, Value]], otherwise: Callable[[], Value]
) -> Value:
    """The array whose elements a tensor has, among those that may be overwritten; else another one."""
    end, arrivals = code.label(), list[tuple[list[Value], str]]()
    for q, x in arrays:
        same, other = code.label(), code.label()
        # The object may be gone, and its place another tensor's.
        is_donated = code.compare("icmp eq", tag_of(code, p), integer(DONATED, 16))
        code.branch(code.op("and", code.compare("icmp eq", p, q), is_donated), same, other)
        code.block(same)
        code.do(f"call void @Py_IncRef({x})")
        arrivals.append(([x], code.here))
        code.jump(end)
        code.block(other)
    if not arrays:
        return otherwise()
    arrivals.append(([otherwise()], code.here))
    code.jump(end)
    code.block(end)
    return code.join(arrivals)[0]
