"""Compiled programs as data: object code, constants and signatures, in memory and in files.

A file begins with `MAGIC`, the version of its format, the length of its header and the header's digest.  The
header is JSON: the version that wrote the file and its target machine, the signature, and the offsets of the
sections.  Then come the object code and, aligned to a page, the constants, which are mapped into memory.
Loading a file executes nothing but its object code.
"""

import hashlib
import json
import mmap
import struct
from collections.abc import Sequence
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
FORMAT_VERSION = 5
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

    def save(self, path: str | Path) -> None:
        """Write a file, whole or not at all (`cannot-write`)."""
        write_atomically(str(path), self.write)

    def write(self, out: BinaryIO) -> None:
        """Write the bytes of a file."""
        places = self.places()
        header = json.dumps(self.header(places)).encode()
        out.write(FIXED_HEADER.pack(MAGIC, FORMAT_VERSION, len(header), digest(header)))
        out.write(header)
        at = FIXED_HEADER.size + len(header)
        base = align_up(at, ALIGNMENT)
        for (start, size), pieces in zip(
            places, (*[[code] for code in self.codes], *map(unload_image, self.constants)), strict=True
        ):
            out.write(bytes(base + start - at))
            for piece in pieces:
                out.write(piece)
            at = base + start + size

    def places(self) -> list[tuple[int, int]]:
        """Offset (from the end of the header) and size of each section in bytes."""
        found: list[tuple[int, int]] = []
        at = 0
        for code in self.codes:
            found.append((at, len(code)))
            at += len(code)
        at = align_up(at, PAGE_BYTES)
        for c in self.constants:
            found.append((at, c.nbytes))
            at = align_up(at + c.nbytes, ALIGNMENT)
        return found

    def header(self, places: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """The header of the file."""
        return {
            "relay": version(),
            "triple": jit.triple(),
            "features": jit.features(),
            "places": places,
            "codes": [digest(code).hex() for code in self.codes],
            "constants": [said.hex() for said in digests(list(map(unload_image, self.constants)))],
            "signature": self.signature.to_json(),
        }


def read_artefact(path: str | Path) -> Artefact:
    """The program that a file holds (`cannot-read`, `bad-artefact`, `other-machine`)."""
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
    check_machine(name, header)
    return read_sections(name, data, header, FIXED_HEADER.size + size)


def read_sections(name: str, data: Any, header: dict[str, Any], at: int) -> Artefact:
    """The sections of a file, verified against their digests (`bad-artefact`)."""
    base = align_up(at, ALIGNMENT)
    places: list[tuple[int, int]] = header["places"]
    end = base + max([start + size for start, size in places])
    if len(data) < end:
        fail_damaged(name, f"it should have {end} bytes and has {len(data)}")
    pieces = [data[base + start : base + start + size] for start, size in places]
    count = len(header["codes"])
    codes, constants = [piece.tobytes() for piece in pieces[:count]], pieces[count:]
    if [digest(code).hex() for code in codes] != header["codes"]:
        fail_damaged(name, "its code has been changed")
    if [said.hex() for said in digests([[c] for c in constants])] != header["constants"]:
        fail_damaged(name, "its constants have been changed")
    return Artefact(signature_from_json(header["signature"]), codes, constants)


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


def check_machine(name: str, header: dict[str, Any]) -> None:
    """Refuse code for another machine (`other-machine`)."""
    hint = f"{RECOMPILE_HINT}, on this machine"
    here = jit.triple()
    if header["triple"] != here:
        fail("other-machine", f"`{name}` is for {header['triple']}, and this machine is {here}", hint=hint)
    missing = sorted(set(header["features"]) - set(jit.features()))
    if missing:
        several = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
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
