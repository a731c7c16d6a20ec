"""What a call needs to run: memory for objects, a stack, and room for arguments and results.

A program has as many contexts as calls of it have been under way at once.  The free ones are a list that
compiled code and Python take from and give back to, both while they hold the lock of Python's interpreter.
"""

import ctypes
import mmap
import struct
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from relay.backend.native.memory.layout import (
    BOTTOM_OFFSET,
    BOX_OFFSET,
    HOME_OFFSET,
    LAYOUTS_OFFSET,
    LIMIT_OFFSET,
    RESULTS_OFFSET,
    SHALLOW_OFFSET,
    SITE_OFFSET,
    STACK_GUARD_BYTES,
    STACK_OFFSET,
    THREADS_OFFSET,
)
from relay.backend.native.runtime.runtime_library import runtime_library
from relay.interpreter.limits import available_memory

STACK_BYTES = 64 << 30
"""Address space of a program's own stack; memory is taken as far as it is used."""
SMALLEST_STACK = 16 << 20
MAX_STACK_BYTES = 4 << 30
"""Bytes that a stack takes at most."""
KEPT = 64 << 20
"""Bytes of a stack that stay when a call ends; what a deeper one has used goes back to the system."""
NO_RESERVE = 0x4000

FORMATS = {
    "i1": "<?", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "half": "<e", "float": "<f",
    "double": "<d", "ptr": "<Q",
}  # fmt: skip
"""Leaves in memory."""
LEAVES = {leaf: struct.Struct(said) for leaf, said in FORMATS.items()}


class Row(NamedTuple):
    """How arguments and results lie in the box, and which results are objects."""

    given: struct.Struct
    found: struct.Struct
    pointers: tuple[int, ...]

    @classmethod
    def of(cls, given: Sequence[str], found: Sequence[str]) -> "Row":
        """For leaves, each in eight bytes."""
        pointers = tuple([i for i, leaf in enumerate(found) if leaf == "ptr"])
        return cls(in_slots(given), in_slots(found), pointers)


def in_slots(leaves: Sequence[str]) -> struct.Struct:
    """Leaves in eight bytes each."""
    parts = [FORMATS[leaf][1:] for leaf in leaves]
    return struct.Struct("<" + "".join([f"{p}{8 - struct.calcsize('<' + p)}x" for p in parts]))


def write_leaf(address: int, leaf: str, value: Any) -> None:
    """Write a leaf to memory."""
    data = LEAVES[leaf].pack(value)
    ctypes.memmove(address, data, len(data))


def read_leaf(address: int, leaf: str) -> Any:
    """Read a leaf from memory."""
    of = LEAVES[leaf]
    return of.unpack(ctypes.string_at(address, of.size))[0]


class Context:
    """The context that compiled code gets as its first argument."""

    def __init__(self, results: int, slots: int) -> None:
        """`results` leaves come back through the context at most, and `slots` go through the box."""
        self.conversion: Any = None
        """Makes values of Python of what is in the context, and the other way round."""
        self.memory = ctypes.create_string_buffer(RESULTS_OFFSET + 8 * (results + 2))
        self.address = ctypes.addressof(self.memory)
        self.stack = address_space(STACK_BYTES)
        bottom = ctypes.addressof(ctypes.c_char.from_buffer(self.stack))
        top = bottom + len(self.stack) - 64
        write_leaf(self.address + STACK_OFFSET, "ptr", top)
        end = on_page(max(bottom + STACK_GUARD_BYTES, top - min(available_memory() // 2, MAX_STACK_BYTES)))
        shallow = max(end, on_page(top - KEPT))
        for at, place in ((LIMIT_OFFSET, shallow), (SHALLOW_OFFSET, shallow), (BOTTOM_OFFSET, end)):
            write_leaf(self.address + at, "ptr", place)
        self.room = ctypes.create_string_buffer(8 * max(1, slots))
        self.box = ctypes.addressof(self.room)
        write_leaf(self.address + BOX_OFFSET, "ptr", self.box)
        self.objects = weakref.finalize(self, free_objects, self.memory)
        """Alive as long as there are the objects that calls have made."""
        self.objects.atexit = False

    def belong(self, layouts: int, home: int, threads: int) -> None:
        """Serve a program: where its layouts are, and the list of its free contexts, and how many threads its
        loops take, 0 leaves it to the process.
        """
        write_leaf(self.address + LAYOUTS_OFFSET, "ptr", layouts)
        write_leaf(self.address + HOME_OFFSET, "ptr", home)
        write_leaf(self.address + THREADS_OFFSET, "i64", threads)

    @property
    def site(self) -> int:
        """Where the program has failed."""
        return read_leaf(self.address + SITE_OFFSET, "i64")


def on_page(address: int) -> int:
    """The beginning of the next page."""
    return -(-address // mmap.PAGESIZE) * mmap.PAGESIZE


def address_space(size: int) -> mmap.mmap:
    """Memory that is taken as far as it is used, or less where so much may not even be named."""
    while True:
        try:
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
        except OSError:
            if size <= SMALLEST_STACK:
                raise
            size //= 4


def free_objects(memory: Any) -> None:
    """Give the memory of all objects of a context back."""
    runtime_library().free_memory(ctypes.addressof(memory))
