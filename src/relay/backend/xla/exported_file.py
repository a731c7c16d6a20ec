"""Exported programs in files (`.rlx`).

The header of a file (`relay.backend.stored`) has the version of Relay that wrote it, the version of the form
that JAX gives code, the platforms and the number of devices that it is for, the data types, and the signature
of each entry with the numbers of its sections.  These are the code of entries as `jax.export` has it, yet to
be compiled, and large constants; what several entries have alike is there once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from relay.backend.native.memory.tensors import ALIGNMENT
from relay.backend.stored import FOR_XLA, Sections, StoredFile, decode_node, digest, encode_node, write_file
from relay.backend.xla.exported_json import Datatypes, Signature, from_json, to_json
from relay.backend.xla.exporting import ExportedEntry, outside
from relay.ir.dtype import dtype_name, to_numpy
from relay.text.files import write_atomically
from relay.version import VERSION


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """A definition in a file."""

    signature: Signature
    code: bytes
    constants: Sequence[Any]


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """What a file has."""

    name: str
    """That of the file."""
    platforms: tuple[str, ...]
    devices: int
    """How many it runs on."""
    convention: int
    """The version of JAX's form for code."""
    datatypes: Datatypes
    entries: Mapping[str, StoredEntry]


def save_exported(entries: Sequence[ExportedEntry], path: str) -> None:
    """Write a program, whole or not at all (`cannot-write`)."""
    sections = Sections()
    said: list[dict[str, Any]] = []
    for entry in entries:
        code = bytes(entry.code.serialize())
        constants: list[Any] = []
        for x in entry.constants:
            data = np.ascontiguousarray(x.astype(outside(x.dtype))).reshape(-1).view("uint8")
            number = sections.add([data], digest(data).hex(), ALIGNMENT)
            constants.append([number, dtype_name(outside(x.dtype)), list(x.shape)])
        said.append(
            {**to_json(entry), "code": sections.add([code], digest(code).hex()), "constants": constants}
        )
    datatypes = {header: data for entry in entries for header, data in entry.datatypes.items()}
    header = {
        "relay": VERSION,
        "platforms": list(entries[0].code.platforms),
        "devices": max([entry.code.nr_devices for entry in entries]),
        "convention": max([entry.code.calling_convention_version for entry in entries]),
        "types": [encode_node(data) for data in datatypes.values()],
        "entries": said,
    }

    def write(out: BinaryIO) -> None:
        write_file(out, FOR_XLA, header, sections)

    write_atomically(path, write)


def read_exported(path: str) -> StoredProgram:
    """The program in a file (`cannot-read`, `bad-artefact`)."""
    file = StoredFile(path, FOR_XLA, VERSION)
    with file.reading():
        datatypes = {data.header: data for data in map(decode_node, file.header["types"])}
        entries: dict[str, StoredEntry] = {}
        for said in file.header["entries"]:
            code = file.section(said["code"]).tobytes()
            file.demand([said["code"]], [digest(code)], "its code has")
            numbers = [number for number, _, _ in said["constants"]]
            file.demand(numbers, [digest(file.section(n)) for n in numbers], "its constants have")
            constants = [
                file.section(n).view(to_numpy(dtype)).reshape(shape) for n, dtype, shape in said["constants"]
            ]
            entries[said["name"]] = StoredEntry(from_json(said, datatypes), code, constants)
        header = file.header
        platforms = tuple(header["platforms"])
        return StoredProgram(path, platforms, header["devices"], header["convention"], datatypes, entries)
