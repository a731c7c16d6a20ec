"""Object files of macOS for 64-bit Arm: what they show and need, and what they are in memory, at an address.

The format is that of `<mach-o/loader.h>`, `<mach-o/nlist.h>` and `<mach-o/arm64/reloc.h>`.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

MAGIC, ARM64, OBJECT, EXECUTABLE = 0xFEEDFACF, 0x0100000C, 1, 2
SEGMENT, SYMBOL_TABLE, BUILD_VERSION = 0x19, 2, 0x32
MACOS = 1
HEADER_BYTES, SEGMENT_BYTES, SECTION_BYTES, SYMBOL_BYTES = 32, 72, 80, 16
IS_ZEROS = 1
"""The kind of a section that the file has no bytes of."""
POINTER, BRANCH, PAGE, IN_PAGE, ADDEND = 0, 2, 3, 4, 10
"""Kinds of relocations."""
PAGE_BITS = 12
SLOT_BYTES = 8


@dataclass(frozen=True)
class Section:
    """A part of the object: where it is in memory and in the file, and the relocations of it."""

    address: int
    size: int
    offset: int
    relocations_at: int
    relocations: int
    flags: int


@dataclass(frozen=True)
class Symbol:
    """A name, without the `_` before it, and its address; None if the object needs it."""

    name: str
    address: int | None
    is_external: bool


@dataclass
class ObjectFile:
    """What an object file says."""

    code: bytes
    sections: list[Section] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    minimum: int = 0
    """The version of macOS that it is for."""

    @property
    def shown(self) -> dict[str, int]:
        """What it shows, with addresses."""
        return {s.name: s.address for s in self.symbols if s.is_external and s.address is not None}

    @property
    def needed(self) -> list[str]:
        """What it needs."""
        return [s.name for s in self.symbols if s.address is None]


def read(code: bytes) -> ObjectFile:
    """Read an object file."""
    magic, machine, _, kind, commands = struct.unpack_from("<5I", code)
    assert (magic, machine, kind) == (MAGIC, ARM64, OBJECT)
    found = ObjectFile(code)
    at = HEADER_BYTES
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", code, at)
        if command == SEGMENT:
            (count,) = struct.unpack_from("<I", code, at + 64)
            for i in range(count):
                start = at + SEGMENT_BYTES + SECTION_BYTES * i + 32
                address, length, offset, _, *rest = struct.unpack_from("<2Q5I", code, start)
                found.sections.append(Section(address, length, offset, *rest))
        elif command == SYMBOL_TABLE:
            found.symbols += symbols(code, *struct.unpack_from("<3I", code, at + 8))
        elif command == BUILD_VERSION:
            platform, version = struct.unpack_from("<2I", code, at + 8)
            assert platform == MACOS
            found.minimum = version >> 16
        at += size
    return found


def symbols(code: bytes, start: int, count: int, texts: int) -> Iterator[Symbol]:
    """The table of symbols."""
    for i in range(count):
        text, flags, _, _, value = struct.unpack_from("<IBBHQ", code, start + SYMBOL_BYTES * i)
        name = code[texts + text : code.index(0, texts + text)].decode().removeprefix("_")
        yield Symbol(name, value if flags & 0x0E else None, bool(flags & 1))


class Placed:
    """An object in memory, at an address: `image` are its bytes.  Of each function that it needs, the address
    goes to a slot; `slots` and `shown` say where slots are, and what the object shows.
    """

    def __init__(self, file: ObjectFile, base: int) -> None:
        self.base = base
        self.image = bytearray(max(s.address + s.size for s in file.sections))
        for s in file.sections:
            if s.flags & 0xFF != IS_ZEROS:
                self.image[s.address : s.address + s.size] = file.code[s.offset : s.offset + s.size]
        self.image += bytes(-len(self.image) % 16)
        self.slots = {name: base + len(self.image) + SLOT_BYTES * i for i, name in enumerate(file.needed)}
        self.image += bytes(SLOT_BYTES * len(self.slots) + len(self.slots) % 2 * SLOT_BYTES)
        self.stubs = {name: self.stub(slot) for name, slot in self.slots.items()}
        self.shown = {name: base + address for name, address in file.shown.items()}
        for s in file.sections:
            self.relocate(s, file)

    def stub(self, slot: int) -> int:
        """The address of code that goes on where a slot says."""
        at = len(self.image)
        self.image += struct.pack("<4I", 0x90000010, 0xF9400210, 0xD61F0200, 0)  # adrp, ldr, br x16
        self.set_page(at, slot)
        self.set_in_page(at + 4, slot)
        return self.base + at

    def relocate(self, section: Section, file: ObjectFile) -> None:
        """Fill in the addresses of a section."""
        addend = 0
        for i in range(section.relocations):
            where, about = struct.unpack_from("<iI", file.code, section.relocations_at + 8 * i)
            at, number, kind = section.address + where, about & 0xFFFFFF, about >> 28
            if kind == ADDEND:
                addend = number - (number >> 23 << 24)
                continue
            is_symbol = about >> 27 & 1
            symbol = file.symbols[number] if is_symbol else None
            if kind == POINTER:
                stored = struct.unpack_from("<Q", self.image, at)[0]
                struct.pack_into("<Q", self.image, at, self.address_of(symbol) + stored)
            elif kind == BRANCH:
                target = self.address_of(symbol) + addend
                self.set_bits(at, 0, 26, target - self.base - at >> 2)
            elif kind == PAGE:
                self.set_page(at, self.address_of(symbol) + addend)
            else:
                assert kind == IN_PAGE, kind
                self.set_in_page(at, self.address_of(symbol) + addend)
            addend = 0

    def address_of(self, symbol: Symbol | None) -> int:
        """Where a symbol is; the image itself without one."""
        if symbol is None:
            return self.base
        return self.stubs[symbol.name] if symbol.address is None else self.base + symbol.address

    def set_page(self, at: int, target: int) -> None:
        """The pages from an instruction to a target (ADRP)."""
        pages = (target >> PAGE_BITS) - (self.base + at >> PAGE_BITS)
        self.set_bits(at, 29, 2, pages)
        self.set_bits(at, 5, 19, pages >> 2)

    def set_in_page(self, at: int, target: int) -> None:
        """The place of a target in its page, in units of what is read or written."""
        (word,) = struct.unpack_from("<I", self.image, at)
        units = 0
        if word & 0x3B000000 == 0x39000000:  # a load or store
            is_vector = word & 0x04800000 == 0x04800000
            units = 4 if is_vector and word >> 30 == 0 else word >> 30
        place = target & (1 << PAGE_BITS) - 1
        assert place % (1 << units) == 0
        self.set_bits(at, 10, 12, place >> units)

    def set_bits(self, at: int, first: int, count: int, value: int) -> None:
        """Some bits of an instruction."""
        (word,) = struct.unpack_from("<I", self.image, at)
        mask = (1 << count) - 1
        struct.pack_into("<I", self.image, at, word & ~(mask << first) | (value & mask) << first)
