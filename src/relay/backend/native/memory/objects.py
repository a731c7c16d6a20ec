"""Objects: how they lie in memory, and the LLVM IR that makes, reads and shares them.

An object begins with eight bytes: its count of references (32 bits; 0 says that it is never freed), the
number of its layout (16 bits) and its tag (16 bits).  Layouts say which of its words are pointers to
objects.  Where objects come from and how they go is the runtime's part (`allocator.c`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from relay.backend.native.llvm.builder import CONTEXT, Code, Value, integer
from relay.backend.native.memory.layout import OBJECT_GRAIN_BYTES, OBJECT_HEADER_BYTES
from relay.backend.native.memory.representation import POINTER, SIZES, memory

EXTERNAL = 1
"""The tag of a tensor whose elements belong to a Python object, which outlives the call."""
DONATED = 4
"""The tag of a tensor whose elements are in an array that the caller gives up: they may be overwritten."""
LAYOUT = "{ i32, i32, ptr }"
REFERENCES = "relay.references"
"""The table of the functions of Python that compute operators without native code."""
REGIONS = "relay.regions"
"""The table of the functions of C that other compilers have made, at the places of those of Python that stand
for them; empty where there is none of C."""
ROUTINES = "relay.routines"
"""The table of the routines of LAPACK, empty where there is no LAPACK."""


@dataclass(frozen=True)
class Layout:
    """Where the leaves of an object are: offsets in bytes, the whole size, and which words are pointers."""

    offsets: tuple[int, ...]
    size: int
    pointers: tuple[int, ...]


def layout(leaves: Sequence[str], start: int = OBJECT_HEADER_BYTES) -> Layout:
    """Leaves one after the other, each at a multiple of its size; pointers last, in their order."""
    offsets = [0] * len(leaves)
    at = start
    order = sorted(range(len(leaves)), key=lambda i: (leaves[i] == POINTER, 0))
    for i in order:
        n = SIZES[leaves[i]]
        at = -(-at // n) * n
        offsets[i] = at
        at += n
    size = max(OBJECT_GRAIN_BYTES, -(-at // OBJECT_GRAIN_BYTES) * OBJECT_GRAIN_BYTES)
    return Layout(
        tuple(offsets), size, tuple([o for o, t in zip(offsets, leaves, strict=True) if t == POINTER])
    )


class Layouts:
    """The layouts of a program's objects, numbered."""

    def __init__(self) -> None:
        """None so far."""
        self.numbers: dict[tuple[int, tuple[int, ...]], int] = {}

    def number(self, of: Layout) -> int:
        """The number of a layout."""
        return self.numbers.setdefault((of.size, of.pointers), len(self.numbers))

    def text(self) -> str:
        """The table of layouts: of each the size, how many pointers there are, and where."""
        lines: list[str] = []
        rows: list[str] = []
        for (size, pointers), i in self.numbers.items():
            offsets = ", ".join([f"i32 {p}" for p in pointers])
            lines.append(f"@relay.offsets.{i} = internal constant [{len(pointers)} x i32] [{offsets}]")
            rows.append(f"{LAYOUT} {{ i32 {size}, i32 {len(pointers)}, ptr @relay.offsets.{i} }}")
        rows = rows or [f"{LAYOUT} zeroinitializer"]
        lines.append(f"@relay.layouts = constant [{len(rows)} x {LAYOUT}] [{', '.join(rows)}]")
        return "\n".join(lines)


def header(number: int, tag: int = 0, count: int = 1) -> int:
    """The first eight bytes of an object."""
    return count | number << 32 | tag << 48


def new_object(code: Code, layouts: Layouts, of: Layout, leaves: Sequence[Value], tag: int = 0) -> Value:
    """A new object with these leaves."""
    p = code.call("ptr", "@relay.allocate", [integer(of.size)], convention="")
    assert p is not None
    code.store(integer(header(layouts.number(of), tag)), p)
    write_object(code, of, p, leaves)
    return p


def write_object(code: Code, of: Layout, p: Value, leaves: Sequence[Value]) -> None:
    """Put leaves into an object."""
    for v, offset in zip(leaves, of.offsets, strict=True):
        code.store(code.cast("zext", v, memory(v.type)), code.at(p, offset))


def read_object(code: Code, of: Layout, p: Value, leaves: Sequence[str]) -> list[Value]:
    """The leaves of an object."""
    return [read_leaf(code, code.at(p, offset), t) for t, offset in zip(leaves, of.offsets, strict=True)]


def read_leaf(code: Code, p: Value, leaf: str) -> Value:
    """One leaf in memory."""
    return of_memory(code, code.load(memory(leaf), p), leaf)


def of_memory(code: Code, found: Value, leaf: str) -> Value:
    """A leaf, or one for each lane, as it was found in memory: every byte but 0 is true, as NumPy has it."""
    return code.compare("icmp ne", found, integer(0, 8)) if leaf == "i1" else found


def tag_of(code: Code, p: Value) -> Value:
    """The tag of an object, 16 bits."""
    return code.load("i16", code.at(p, 6))


def retain(code: Code, leaves: Sequence[Value]) -> None:
    """One more reference to each object."""
    for v in leaves:
        if v.type == POINTER:
            code.do(f"call void @{code.runtime}retain({v})")


def cancel_retain(code: Code, v: Value) -> bool:
    """Take back that an object has one more reference, and return True, if nothing has been done since but to
    compute values, to count others, and to read memory other than the count.
    """
    retains = f"call void @{code.runtime}retain("
    return code.undo(f"{retains}{v})", retains, v)


def release(code: Code, leaves: Sequence[Value]) -> None:
    """One reference less to each object; one that was more just before is not counted at all."""
    for v in leaves:
        if v.type == POINTER and not cancel_retain(code, v):
            code.do(f"call void @{code.runtime}release({CONTEXT}, {v})")


def take_apart(code: Code, of: Layout, p: Value, kept: Sequence[Value], lost: Sequence[Value] = ()) -> None:
    """Release an object but for leaves that are `kept`; the others that it holds are `lost`.

    If its reference count is 1, its memory is freed at once and the leaves keep their references (Reinking,
    Xie, de Moura and Leijen, 2021).
    """
    mine, others, end = code.label(), code.label(), code.label()
    code.branch(code.compare("icmp eq", code.load("i32", p), integer(1, 32)), mine, others)
    code.block(mine)
    release(code, lost)
    code.do(f"call void @relay.shell({CONTEXT}, {p}, i64 {of.size})")
    code.jump(end)
    code.block(others)
    retain(code, kept)
    release(code, [p])
    code.jump(end)
    code.block(end)
