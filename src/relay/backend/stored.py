"""What files of compiled programs have alike: how they begin, digests, and signatures as JSON.

A file begins with eight bytes that say its kind, the version of its format, the length of its header and the
header's digest.  The header is JSON; sections of data come behind it.  Reading one runs nothing.
"""

import base64
import hashlib
import json
import mmap
import struct
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

import numpy as np

from relay.backend.native.memory.tensors import ALIGNMENT, aligned_bytes
from relay.diagnostic import Span, fail
from relay.ir.expr import Var
from relay.text.files import read_file

FIXED_HEADER = struct.Struct("<8sIQ32s")
"""Kind of the file, version of the format, bytes of the header, digest of the header."""
RECOMPILE_HINT = "compile the program again"


class FileKind(NamedTuple):
    """A kind of files of compiled programs."""

    magic: bytes
    """How they begin, 8 bytes."""
    version: int
    """The version of their format."""


MACHINE_CODE = FileKind(b"RELAYRLO", 8)
FOR_XLA = FileKind(b"RELAYRLX", 1)


class Site(NamedTuple):
    """A place where a program may fail."""

    code: str
    message: str
    span: Span | None
    hint: str


class Sections:
    """The sections of a file: where they begin, those that are alike once."""

    def __init__(self) -> None:
        """None."""
        self.pieces: list[Sequence[Any]] = []
        """What each is made of."""
        self.places: list[tuple[int, int]] = []
        """Offset (from the first section) and size of each in bytes."""
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


# --- files


def map_file(name: str) -> Any:
    """The bytes of a file mapped copy-on-write, an array of uint8 (`cannot-read`)."""
    try:
        with Path(name).open("rb") as file:
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), "uint8")
    except (OSError, ValueError):  # nothing that can be mapped
        data = read_file(name)
        whole = aligned_bytes(len(data))
        whole[:] = np.frombuffer(data, "uint8")
        return whole


def is_of_kind(path: str | Path, kind: FileKind) -> bool:
    """Whether a file can be read and begins as those of a kind do."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(kind.magic)) == kind.magic
    except (OSError, ValueError):
        return False


def write_file(out: BinaryIO, kind: FileKind, said: Mapping[str, Any], sections: Sections) -> None:
    """Write a file of a kind: its header, and sections of data."""
    whole = {**said, "places": sections.places, "digests": sections.digests}
    header = json.dumps(whole).encode()
    out.write(FIXED_HEADER.pack(*kind, len(header), digest(header)))
    out.write(header)
    at = FIXED_HEADER.size + len(header)
    base = align_up(at, ALIGNMENT)
    for (start, size), pieces in zip(sections.places, sections.pieces, strict=True):
        out.write(bytes(base + start - at))
        for piece in pieces:
            out.write(piece)
        at = base + start + size


class StoredFile:
    """A file of a compiled program: its header, and its sections by number."""

    def __init__(self, name: str, kind: FileKind, version: str) -> None:
        """The file has to be whole and of a kind, and `version` of Relay has to have written it
        (`cannot-read`, `bad-artefact`).
        """
        self.name = name
        self.data = map_file(name)
        self.header, at = read_header(name, self.data, kind, version)
        self.base = align_up(at, ALIGNMENT)
        with self.reading():
            self.places: list[tuple[int, int]] = self.header["places"]
            self.digests: list[str] = self.header["digests"]
            end = self.base + max([start + size for start, size in self.places], default=0)
        if len(self.data) < end:
            fail_damaged(name, f"it should have {end} bytes and has {len(self.data)}")

    @contextmanager
    def reading(self) -> Generator[None, None, None]:
        """Report contents that do not have the form of a program, though their digests are right
        (`bad-artefact`).
        """
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            fail_damaged(self.name, f"its header does not describe a program ({type(error).__name__})")

    def section(self, number: int) -> Any:
        """The bytes of a section, an array of uint8."""
        start, size = self.places[number]
        return self.data[self.base + start : self.base + start + size]

    def demand(self, numbers: Sequence[int], found: Sequence[bytes], what: str) -> None:
        """Demand that sections have the digests that the header says (`bad-artefact`)."""
        if [d.hex() for d in found] != [self.digests[n] for n in numbers]:
            fail_damaged(self.name, f"{what} been changed")


def read_header(name: str, data: Any, kind: FileKind, version: str) -> tuple[dict[str, Any], int]:
    """The header of a file of a kind, which `version` of Relay has written, and where it ends
    (`bad-artefact`).
    """
    if data[: len(kind.magic)].tobytes() != kind.magic:
        fail(
            "bad-artefact",
            f"`{name}` is not a compiled program",
            hint="`relay compile` makes one of a program",
        )
    if len(data) < FIXED_HEADER.size:
        fail_damaged(name, "it ends in its first line")
    _, form, size, said = FIXED_HEADER.unpack(data[: FIXED_HEADER.size].tobytes())
    if form != kind.version:
        fail_version(name, f"format {form}", f"format {kind.version}")
    text = data[FIXED_HEADER.size : FIXED_HEADER.size + size].tobytes()
    if len(text) < size:
        fail_damaged(name, "it ends within its header")
    if digest(text) != said:
        fail_damaged(name, "its header has been changed")
    try:
        header = cast("dict[str, Any]", json.loads(text))
        theirs = header["relay"]
    except (ValueError, LookupError, TypeError):
        fail_damaged(name, "its header is not that of a program")
    if theirs != version:
        fail_version(name, theirs, version)
    return header, FIXED_HEADER.size + size


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


def digest(data: Any) -> bytes:
    """The digest of data, 32 bytes."""
    return hashlib.blake2b(data, digest_size=32).digest()


def align_up(n: int, to: int) -> int:
    """`n` rounded up to a multiple of `to`."""
    return -(-n // to) * to


# --- nodes


def encode_node(node: Any, arrays: list[Any] | None = None) -> list[Any]:
    """A node as its graph, with its spans; the dtypes, shapes and bytes of its constants are added to
    `arrays`, and without these it has none.
    """
    _, (text, constants, sources, spans) = node.__reduce__()
    assert arrays is not None or not constants, "headers have no constants"
    if arrays is not None:
        arrays += constants
    return [text, sources, base64.b64encode(spans).decode()]


def decode_node(said: list[Any], arrays: Sequence[Any] = ()) -> Any:
    """The inverse of `encode_node`."""
    from relay.text.pickling import load_node

    text, sources, spans = said
    return load_node(text, list(arrays), [tuple(s) for s in sources], base64.b64decode(spans))


def encode_sites(sites: Sequence[Site]) -> tuple[list[Any], list[list[str]]]:
    """Places as nodes, which have their spans, and what is said there."""
    return [Var("site", span=s.span) for s in sites], [[s.code, s.message, s.hint] for s in sites]


def decode_sites(places: Sequence[Any], said: Sequence[Sequence[str]]) -> list[Site]:
    """The inverse of `encode_sites`."""
    return [
        Site(code, message, at.span, hint) for at, (code, message, hint) in zip(places, said, strict=True)
    ]
