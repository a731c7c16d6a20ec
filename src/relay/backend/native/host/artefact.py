"""Compiled programs as data: object code, constants and signatures, in memory and in files.

A file begins with `MAGIC`, the version of its format, the length of its header and the header's digest.  The
header is JSON: the version that wrote the file, the kind of machine, and the same program for one or more
processors, each with what the processor has to have, a signature, and the numbers of its sections.  Then come
the sections: object code and, aligned, constants, which are mapped into memory; what several programs have
alike is there once.  Loading a file executes nothing but the object code for this processor.
"""

import hashlib
import json
import mmap
import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, cast

import numpy as np

from relay.backend.native.host.signature import Signature, signature_from_json
from relay.backend.native.llvm import jit
from relay.backend.native.memory.tensors import ALIGNMENT, aligned_bytes, unload_image
from relay.backend.native.runtime.digests import digests
from relay.backend.native.runtime.runtime_library import compiled_runtime
from relay.diagnostic import fail
from relay.text.files import write_atomically
from relay.version import VERSION

MAGIC = b"RELAYRLO"
FORMAT_VERSION = 7
FIXED_HEADER = struct.Struct("<8sIQ32s")
"""Magic, version of the format, bytes of the header, digest of the header."""
PAGE_BYTES = 4096
RECOMPILE_HINT = "compile the program again"


@dataclass(frozen=True, slots=True)
class Artefact:
    """A compiled program."""

    signature: Signature
    codes: Sequence[bytes]
    """Object code, in one or more parts."""
    constants: Sequence[Any]
    """Tensors as bytes, as `tensors.image` makes them."""
    features: Sequence[str]
    """What the processor that it is for can do, as LLVM names it."""

    @property
    def is_for_this_processor(self) -> bool:
        """Whether this processor can run it."""
        return set(self.features) <= set(jit.features())


class Sections:
    """The sections of a file: where they begin, those that are alike once."""

    def __init__(self) -> None:
        """None."""
        self.pieces: list[Sequence[Any]] = []
        """What each is made of."""
        self.places: list[tuple[int, int]] = []
        """Offset (from the end of the header) and size of each in bytes."""
        self.digests: list[str] = []
        self.numbers: dict[str, int] = {}
        self.end = 0

    def add(self, pieces: Sequence[Any], said: str, alignment: int = 1) -> int:
        """The number of a section with these pieces, whose digest is given."""
        if said not in self.numbers:
            size = sum([memoryview(p).nbytes for p in pieces])
            start = align_up(self.end, alignment)
            self.numbers[said] = len(self.pieces)
            self.pieces.append(pieces)
            self.places.append((start, size))
            self.digests.append(said)
            self.end = start + size
        return self.numbers[said]


def save_artefacts(several: Sequence[Artefact], path: str | Path) -> None:
    """Write a program, compiled for one or more processors, whole or not at all (`cannot-write`)."""
    write_atomically(str(path), lambda out: write_artefacts(several, out))


def write_artefacts(several: Sequence[Artefact], out: BinaryIO) -> None:
    """Write the bytes of a file."""
    sections = Sections()
    codes = [[sections.add([c], digest(c).hex()) for c in made.codes] for made in several]
    sections.end = align_up(sections.end, PAGE_BYTES)
    programs: list[dict[str, Any]] = []
    for made, numbers in zip(several, codes, strict=True):
        images = list(map(unload_image, made.constants))
        said = digests(images)
        constants = [sections.add(pieces, d.hex(), ALIGNMENT) for pieces, d in zip(images, said, strict=True)]
        programs.append({
            "features": list(made.features), "codes": numbers, "constants": constants,
            "signature": made.signature.to_json(),
        })  # fmt: skip
    whole = {
        "relay": version(), "triple": jit.triple(), "places": sections.places, "digests": sections.digests,
        "programs": programs,
    }  # fmt: skip
    header = json.dumps(whole).encode()
    out.write(FIXED_HEADER.pack(MAGIC, FORMAT_VERSION, len(header), digest(header)))
    out.write(header)
    at = FIXED_HEADER.size + len(header)
    base = align_up(at, ALIGNMENT)
    for (start, size), pieces in zip(sections.places, sections.pieces, strict=True):
        out.write(bytes(base + start - at))
        for piece in pieces:
            out.write(piece)
        at = base + start + size


def read_artefact(path: str | Path, features: Collection[str] | None = None) -> Artefact:
    """The program that a file holds for a processor that can do so much, by default this one (`cannot-read`,
    `bad-artefact`, `other-machine`).
    """
    name = str(path)
    data = map_file(name)
    if data[: len(MAGIC)].tobytes() != MAGIC:
        fail(
            "bad-artefact", f"`{name}` is no compiled program", hint="`relay compile` makes one of a program"
        )
    if len(data) < FIXED_HEADER.size:
        fail_damaged(name, "it ends in its first line")
    _, form, size, said = FIXED_HEADER.unpack(data[: FIXED_HEADER.size].tobytes())
    if form != FORMAT_VERSION:
        fail_version(name, f"format {form}", f"format {FORMAT_VERSION}")
    text = data[FIXED_HEADER.size : FIXED_HEADER.size + size].tobytes()
    if len(text) < size:
        fail_damaged(name, "it ends within its header")
    if digest(text) != said:
        fail_damaged(name, "its header has been changed")
    header = cast("dict[str, Any]", json.loads(text))
    if header["relay"] != version():
        fail_version(name, header["relay"], version())
    return read_sections(name, data, header, program_for(name, header, features), FIXED_HEADER.size + size)


def read_sections(name: str, data: Any, header: dict[str, Any], program: dict[str, Any], at: int) -> Artefact:
    """A program of a file, its sections verified against their digests (`bad-artefact`)."""
    base = align_up(at, ALIGNMENT)
    places: list[tuple[int, int]] = header["places"]
    end = base + max([start + size for start, size in places])
    if len(data) < end:
        fail_damaged(name, f"it should have {end} bytes and has {len(data)}")

    def section(number: int) -> Any:
        start, size = places[number]
        return data[base + start : base + start + size]

    said: list[str] = header["digests"]
    codes = [section(n).tobytes() for n in program["codes"]]
    constants = [section(n) for n in program["constants"]]
    if [digest(code).hex() for code in codes] != [said[n] for n in program["codes"]]:
        fail_damaged(name, "its code has been changed")
    if [d.hex() for d in digests([[c] for c in constants])] != [said[n] for n in program["constants"]]:
        fail_damaged(name, "its constants have been changed")
    return Artefact(signature_from_json(program["signature"]), codes, constants, program["features"])


def map_file(name: str) -> Any:
    """A file mapped copy-on-write (`cannot-read`)."""
    from relay.text.files import read_file

    try:
        with Path(name).open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), "uint8")
    except (OSError, ValueError):  # nothing that can be mapped
        data = read_file(name)
        whole = aligned_bytes(len(data))
        whole[:] = np.frombuffer(data, "uint8")
        return whole


def program_for(name: str, header: dict[str, Any], features: Collection[str] | None) -> dict[str, Any]:
    """The first of a file's programs that a processor can run (`other-machine`)."""
    hint = f"{RECOMPILE_HINT}, on this machine"
    here = jit.triple()
    if header["triple"] != here:
        fail("other-machine", f"`{name}` is for {header['triple']}, and this machine is {here}", hint=hint)
    there = set(jit.features() if features is None else features)
    missing: list[str] = []
    for program in header["programs"]:
        missing = sorted(set(program["features"]) - there)
        if not missing:
            return program
    several = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
    hint += ', or for `target="x86-64-v3"`' if here.startswith("x86_64") else ""
    fail("other-machine", f"`{name}` needs what this processor does not have: {several}", hint=hint)


def fail_damaged(name: str, why: str) -> NoReturn:
    """Report a damaged file."""
    fail("bad-artefact", f"`{name}` is damaged: {why}", hint=f"copy it again, or {RECOMPILE_HINT}")


def fail_version(name: str, theirs: str, ours: str) -> NoReturn:
    """Report a file of another version of the format or of Relay."""
    fail(
        "bad-artefact",
        f"`{name}` was compiled by another version of Relay: {theirs}, not {ours}",
        hint=RECOMPILE_HINT,
    )


def version() -> str:
    """The version of Relay and of the runtime that the code is linked with."""
    return f"{VERSION}-{compiled_runtime()[0]}"


def digest(data: bytes) -> bytes:
    """The digest of data, 32 bytes."""
    return hashlib.blake2b(data, digest_size=32).digest()


def align_up(n: int, to: int) -> int:
    """`n` rounded up to a multiple of `to`."""
    return -(-n // to) * to
