"""Compiled programs as data: object code, constants, and what is needed to call them; in memory and in files.

A file begins with `MAGIC`, the number of its format, the length of its header and the header's digest.  The
header is JSON: who made the file and for which machine, the signature, and where the parts are.  Then come
the object code and, from a multiple of the page size on, the constants, which are mapped into memory.
Reading one runs nothing but the object code.
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

from relay.backend.native.host.signature import Signature, from_plain
from relay.backend.native.llvm import jit
from relay.backend.native.memory.tensors import ALIGNMENT, room, stored
from relay.backend.native.runtime.digests import digests
from relay.backend.native.runtime.runtime_library import compiled_runtime
from relay.diagnostic import fail
from relay.text.files import write_atomically
from relay.version import VERSION

MAGIC = b"RELAYRLO"
FORMAT = 4
START = struct.Struct("<8sIQ32s")
"""Magic, format, bytes of the header, digest of the header."""
PAGE = 4096
MEND = "compile the program again"


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
        out.write(START.pack(MAGIC, FORMAT, len(header), digest(header)))
        out.write(header)
        at = START.size + len(header)
        base = aligned(at, ALIGNMENT)
        for (start, size), pieces in zip(
            places, (*[[code] for code in self.codes], *map(stored, self.constants)), strict=True
        ):
            out.write(bytes(base + start - at))
            for piece in pieces:
                out.write(piece)
            at = base + start + size

    def places(self) -> list[tuple[int, int]]:
        """Where the code and the constants are, in bytes after the header, and how long."""
        found: list[tuple[int, int]] = []
        at = 0
        for code in self.codes:
            found.append((at, len(code)))
            at += len(code)
        at = aligned(at, PAGE)
        for c in self.constants:
            found.append((at, c.nbytes))
            at = aligned(at + c.nbytes, ALIGNMENT)
        return found

    def header(self, places: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """What a file says of itself."""
        return {
            "relay": version(),
            "triple": jit.triple(),
            "features": jit.features(),
            "places": places,
            "codes": [digest(code).hex() for code in self.codes],
            "constants": [said.hex() for said in digests(list(map(stored, self.constants)))],
            "signature": self.signature.plain(),
        }


def read(path: str | Path) -> Artefact:
    """The program that a file holds (`cannot-read`, `bad-artefact`, `other-machine`)."""
    name = str(path)
    data = mapped(name)
    if data[: len(MAGIC)].tobytes() != MAGIC:
        fail(
            "bad-artefact", f"`{name}` is no compiled program", hint="`relay compile` makes one of a program"
        )
    if len(data) < START.size:
        broken(name, "it ends in its first line")
    _, form, size, said = START.unpack(data[: START.size].tobytes())
    if form != FORMAT:
        old(name, f"format {form}", f"format {FORMAT}")
    text = data[START.size : START.size + size].tobytes()
    if len(text) < size:
        broken(name, "it ends within its header")
    if digest(text) != said:
        broken(name, "its header has been changed")
    header = cast("dict[str, Any]", json.loads(text))
    if header["relay"] != version():
        old(name, header["relay"], version())
    for_this_machine(name, header)
    return parts(name, data, header, START.size + size)


def parts(name: str, data: Any, header: dict[str, Any], at: int) -> Artefact:
    """The parts of a file, which are whole (`bad-artefact`)."""
    base = aligned(at, ALIGNMENT)
    places: list[tuple[int, int]] = header["places"]
    end = base + max([start + size for start, size in places])
    if len(data) < end:
        broken(name, f"it should have {end} bytes and has {len(data)}")
    pieces = [data[base + start : base + start + size] for start, size in places]
    count = len(header["codes"])
    codes, constants = [piece.tobytes() for piece in pieces[:count]], pieces[count:]
    if [digest(code).hex() for code in codes] != header["codes"]:
        broken(name, "its code has been changed")
    if [said.hex() for said in digests([[c] for c in constants])] != header["constants"]:
        broken(name, "its constants have been changed")
    return Artefact(from_plain(header["signature"]), codes, constants)


def mapped(name: str) -> Any:
    """A file in memory, of which changes are private (`cannot-read`)."""
    from relay.text.files import read_file

    try:
        with Path(name).open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), "uint8")
    except (OSError, ValueError):  # nothing that can be mapped
        data = read_file(name)
        whole = room(len(data))
        whole[:] = np.frombuffer(data, "uint8")
        return whole


def for_this_machine(name: str, header: dict[str, Any]) -> None:
    """Whether this machine can run the code (`other-machine`)."""
    hint = f"{MEND}, on this machine"
    here = jit.triple()
    if header["triple"] != here:
        fail("other-machine", f"`{name}` is for {header['triple']}, and this machine is {here}", hint=hint)
    missing = sorted(set(header["features"]) - set(jit.features()))
    if missing:
        several = ", ".join(missing[:4]) + (", …" if len(missing) > 4 else "")
        fail("other-machine", f"`{name}` needs what this processor does not have: {several}", hint=hint)


def broken(name: str, why: str) -> NoReturn:
    """Report a file that is not as it was written."""
    fail("bad-artefact", f"`{name}` is damaged: {why}", hint=f"copy it again, or {MEND}")


def old(name: str, theirs: str, ours: str) -> NoReturn:
    """Report a file of another version."""
    fail(
        "bad-artefact", f"`{name}` was compiled by another version of Relay: {theirs}, not {ours}", hint=MEND
    )


def version() -> str:
    """The version of what the code relies on."""
    return f"{VERSION}-{compiled_runtime()[0]}"


def digest(data: bytes) -> bytes:
    """32 bytes that tell whether data have changed."""
    return hashlib.blake2b(data, digest_size=32).digest()


def aligned(n: int, to: int) -> int:
    """The next multiple."""
    return -(-n // to) * to
