"""Files that users name: read and written with a diagnostic for everything that can be wrong."""

import sys
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO

from relay.diagnostic import Report, fail
from relay.ir.expr import RelayExpr
from relay.ir.module import IRModule
from relay.text.files import as_text, read_file, read_up_to, write_atomically

STDIN = "-"
COMPILED = ".rlo"
"""What the names of compiled programs end in."""
FOR_XLA = ".rlx"
"""What the names of programs end in that XLA compiles."""
PROGRAMS = (".relay", ".rly")
"""What the names of programs in text end in."""


def programs(names: Sequence[str], kinds: tuple[str, ...] = PROGRAMS) -> list[str]:
    """The files that names stand for: a folder stands for all programs in it and below, or all files whose
    names end in one of `kinds` (`cannot-read`).
    """
    found: list[str] = []
    for name in names:
        if name == STDIN or not Path(name).is_dir():
            found.append(name)
            continue
        inside = sorted(p for p in Path(name).rglob("*") if p.suffix in kinds and p.is_file())
        inside = [p for p in inside if not any(part.startswith(".") for part in p.relative_to(name).parts)]
        if not inside:
            fail("cannot-read", f"the folder `{name}` has no programs", hint="their names end in .relay")
        found += map(str, inside)
    return found


def read_bytes(name: str, most: int | None = None) -> bytes:
    """The whole of a file, or of standard input for `-`, or at most so many bytes of it (`cannot-read`)."""
    if name == STDIN:
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] (it was closed: `<&-`)
            fail("cannot-read", "there is no standard input", hint="name a file, or pipe something in")
        return sys.stdin.buffer.read() if most is None else read_up_to(sys.stdin.buffer, most)
    return read_file(name, most)


def mapped_bytes(name: str) -> memoryview:
    """The bytes of a file, which are read as they are used; those of a pipe are read now (`cannot-read`)."""
    path = Path(name)
    if name == STDIN or not path.is_file() or not path.stat().st_size:
        return memoryview(read_bytes(name))
    read_bytes(name, 0)
    with path.open("rb") as file:
        return memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))


def read_text(name: str) -> str:
    """A file (or standard input) as UTF-8 text (`not-text`)."""
    return as_text(read_bytes(name), display_name(name))


def write_bytes(name: str, data: bytes) -> None:
    """Give a file new content, whole or not at all (`cannot-write`)."""

    def write(out: BinaryIO) -> None:
        out.write(data)

    write_atomically(name, write)


def display_name(name: str) -> str:
    """What a file is called in messages."""
    return "<stdin>" if name == STDIN else name


def read_module(name: str, warnings: Report | None = None) -> IRModule:
    """The program in a file: text, with its weights file if there is one beside it, or JSON (`.json`)."""
    from relay.text.weights import read_program

    if name.endswith(".json"):
        return from_json(read_text(name), name)
    return read_program(read_text(name), display_name(name), None if name == STDIN else Path(name), warnings)


def from_json(text: str, name: str) -> IRModule:
    """The module of a program in the JSON of older versions (`bad-json`)."""
    from relay.text.json_format import load_json

    found = load_json(text)
    if isinstance(found, RelayExpr):
        return IRModule.from_expr(found)  # pyright: ignore[reportArgumentType]
    if not isinstance(found, IRModule):
        fail("bad-json", f"`{name}` holds no program", hint="a module or an expression can be run")
    return found
