"""What a thread needs to run a program: memory for objects, a stack, and room for arguments and results."""

import ctypes
import mmap
import struct
from typing import Any

from relay.backend.native.memory import BOX, RESULTS, SITE, STACK

STACK_BYTES = 64 << 30
"""Address space of a program's own stack; memory is taken as far as it is used."""
NO_RESERVE = 0x4000

FORMATS = {
    "i1": "<?", "i8": "<b", "i16": "<h", "i32": "<i", "i64": "<q", "half": "<e", "float": "<f",
    "double": "<d", "ptr": "<Q",
}  # fmt: skip
"""Leaves in memory."""


def put(address: int, leaf: str, value: Any) -> None:
    """Write a leaf to memory."""
    data = struct.pack(FORMATS[leaf], value)
    ctypes.memmove(address, data, len(data))


def get(address: int, leaf: str) -> Any:
    """Read a leaf from memory."""
    (found,) = struct.unpack(FORMATS[leaf], ctypes.string_at(address, struct.calcsize(FORMATS[leaf])))
    return found


class Context:
    """The context that compiled code gets as its first argument."""

    def __init__(self, results: int, slots: int) -> None:
        """`results` leaves come back through the context at most, and `slots` go through the box."""
        self.memory = ctypes.create_string_buffer(RESULTS + 8 * (results + 2))
        self.address = ctypes.addressof(self.memory)
        self.stack = mmap.mmap(-1, STACK_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE)
        top = ctypes.addressof(ctypes.c_char.from_buffer(self.stack)) + STACK_BYTES - 64
        put(self.address + STACK, "ptr", top)
        self.room = ctypes.create_string_buffer(8 * max(1, slots))
        self.box = ctypes.addressof(self.room)
        put(self.address + BOX, "ptr", self.box)

    @property
    def site(self) -> int:
        """Where the program has failed."""
        return get(self.address + SITE, "i64")

    def slot(self, i: int) -> int:
        """The address of a leaf in the box."""
        return self.box + 8 * i
