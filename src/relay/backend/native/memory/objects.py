"""Objects: how they lie in memory, and the LLVM IR that makes, reads and shares them.

An object begins with eight bytes: its count of references (32 bits; 0 says that it is never freed), the
number of its layout (16 bits) and its tag (16 bits).  Layouts say which of its words are pointers to
objects.  Where objects come from and how they go say `heap` and `disposal`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from relay.backend.native.llvm.builder import CONTEXT, Code, Value, integer
from relay.backend.native.memory.representation import POINTER, SIZES, memory

HEADER = 8
"""Bytes before the contents of an object."""
GRAIN, LARGEST = 16, 512
"""Sizes of objects are multiples of the one, and from beyond the other they come from the C library."""

SAVED, STACK, SITE, BUMP, BUMP_END, CHUNKS, BOX = 0, 8, 16, 24, 32, 40, 48
"""Offsets in the context: the saved stack pointer, the top of the program's own stack, the site of a failure,
memory for new objects and where it ends, the memory taken so far, and the box of arguments and results."""
SPARE, NEXT, LIMIT, THREAD, LARGE, TAKEN, BOTTOM, OUTER = 56, 64, 72, 80, 88, 96, 104, 112
"""More of them: memory to take again, the next context that is free, how far the stack may grow, the state of
Python's thread while others may run, the list of large objects, whether memory has been taken since the
context was last cleared, the limit when nothing interrupts, and the call that goes on after this one."""
THREADS, LAYOUTS, HOME, HELD, IDLE, PEAK, CALL = 120, 128, 136, 144, 152, 160, 168
"""And more: how many threads parallel loops take (0 leaves it to the process), the table of layouts, where
free contexts are listed, the bytes of large objects: of those there are, of those to take again, and the
most that there were; and the row of a call of a function of Python."""
SHALLOW, DEEP, TURN = 176, 184, 192
"""And last: how far the stack may grow before this is noted, whether it has grown further, and whether the
last weight that no cache holds was read from its end.
"""
ENDLESS = 1 << 62
"""Bytes that no machine has: in the place of every larger product of sizes."""
GUARD = 1 << 20
"""Bytes at the end of the stack for what does not look how far it has grown."""
OUT_OF_MEMORY, INTERRUPTED, TOO_DEEP, RAISED = -1, -2, -3, -4
"""The sites of failures that may be anywhere; Python knows what has interrupted, and what it has raised."""
EXTERNAL = 1
"""The tag of a tensor whose elements belong to a Python object, which outlives the call."""
FREE = 208
"""Offset of the free lists of small objects."""
CLASSES = FREE + 8 * (LARGEST // GRAIN + 1)
"""Offset of the lists of large ones to take again: from 512 bytes on, eight sizes between powers of 2."""
LEAST, MOST = 9, 46
"""The powers of 2 where these begin and where the last of them begin."""
RESULTS = CLASSES + 8 * 8 * (MOST - LEAST + 1)
"""Offset of the area through which results of more than two leaves come back."""


LAYOUT = "{ i32, i32, ptr }"


@dataclass(frozen=True)
class Layout:
    """Where the leaves of an object are: offsets in bytes, the whole size, and which words are pointers."""

    offsets: tuple[int, ...]
    size: int
    pointers: tuple[int, ...]


def layout(leaves: Sequence[str], start: int = HEADER) -> Layout:
    """Leaves one after the other, each at a multiple of its size; pointers last, in their order."""
    offsets = [0] * len(leaves)
    at = start
    order = sorted(range(len(leaves)), key=lambda i: (leaves[i] == POINTER, 0))
    for i in order:
        n = SIZES[leaves[i]]
        at = -(-at // n) * n
        offsets[i] = at
        at += n
    size = max(GRAIN, -(-at // GRAIN) * GRAIN)
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


def make(code: Code, layouts: Layouts, of: Layout, leaves: Sequence[Value], tag: int = 0) -> Value:
    """A new object with these leaves."""
    p = code.call("ptr", "@relay.allocate", [integer(of.size)], "call")
    assert p is not None
    code.store(integer(header(layouts.number(of), tag)), p)
    write(code, of, p, leaves)
    return p


def write(code: Code, of: Layout, p: Value, leaves: Sequence[Value]) -> None:
    """Put leaves into an object."""
    for v, offset in zip(leaves, of.offsets, strict=True):
        code.store(code.cast("zext", v, memory(v.type)), code.at(p, offset))


def read(code: Code, of: Layout, p: Value, leaves: Sequence[str]) -> list[Value]:
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


def release(code: Code, leaves: Sequence[Value]) -> None:
    """One reference less to each object."""
    for v in leaves:
        if v.type == POINTER:
            code.do(f"call void @{code.runtime}release({CONTEXT}, {v})")
