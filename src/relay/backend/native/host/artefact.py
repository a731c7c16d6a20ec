"""Compiled programs as data: object code, constants and signatures, in memory and in files.

The header of a file (`relay.backend.stored`) has the version that wrote it, the kind of machine, and the same
program for one or more processors, each with what the processor has to have, a signature, and the numbers of
its sections.  These are object code and, aligned, constants, which are mapped into memory; what several
programs have alike is there once.  Loading a file executes nothing but the object code for this processor.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from relay.backend.native.host.signature import Signature, signature_from_json
from relay.backend.native.llvm import jit
from relay.backend.native.memory.objects import ROUTINES
from relay.backend.native.memory.tensors import ALIGNMENT, unload_image
from relay.backend.native.runtime.digests import digests
from relay.backend.native.runtime.runtime_library import compiled_runtime
from relay.backend.stored import (
    MACHINE_CODE,
    RECOMPILE_HINT,
    Sections,
    StoredFile,
    align_up,
    digest,
    fail_damaged,
    write_file,
)
from relay.diagnostic import fail
from relay.text.files import write_atomically
from relay.version import VERSION

PAGE_BYTES = 4096
TABLES = ("relay.constants", ROUTINES)
"""Tables that each program has, by the names of their symbols."""


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
        arrays: list[Any] = []
        signature = made.signature.to_json(arrays)
        kinds = [[t, list(shape), sections.add([x], digest(x).hex(), ALIGNMENT)] for t, shape, x in arrays]
        programs.append({
            "features": list(made.features), "codes": numbers, "constants": constants, "arrays": kinds,
            "signature": signature,
        })  # fmt: skip
    write_file(
        out, MACHINE_CODE, {"relay": version(), "triple": jit.triple(), "programs": programs}, sections
    )


def read_artefact(path: str | Path, features: Collection[str] | None = None) -> Artefact:
    """The program that a file holds for a processor that can do so much, by default this one (`cannot-read`,
    `bad-artefact`, `other-machine`).
    """
    file = StoredFile(str(path), MACHINE_CODE, version())
    with file.reading():
        program = program_for(file.name, file.header, features)
        codes = [file.section(n).tobytes() for n in program["codes"]]
        constants = [file.section(n) for n in program["constants"]]
        file.demand(program["codes"], list(map(digest, codes)), "its code has")
        file.demand(program["constants"], digests([[c] for c in constants]), "its constants have")
        arrays = [(t, tuple(shape), file.section(n).tobytes()) for t, shape, n in program["arrays"]]
        numbers = [n for _, _, n in program["arrays"]]
        file.demand(numbers, [digest(x) for _, _, x in arrays], "its constants have")
        signature = signature_from_json(program["signature"], arrays)
        artefact = Artefact(signature, codes, constants, program["features"])
    if not jit.is_object_code(codes, [*TABLES, *symbols_of(signature)]):
        fail_damaged(file.name, "its code is not that of the program")
    return artefact


def symbols_of(signature: Signature) -> list[str]:
    """Return the names of the functions that Python looks up in the code of a program."""
    entries = [name for entry in signature.entries.values() for name in (entry.start, entry.direct)]
    return [name for name in (*entries, *signature.functions.values()) if name]


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


def version() -> str:
    """The version of Relay and of the runtime that the code is linked with."""
    return f"{VERSION}-{compiled_runtime()[0]}"
