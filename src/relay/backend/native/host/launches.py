"""How many calls of blocks became how many launches, in a program whose calls are batched as it runs."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from relay.backend.native.host.native_program import NativeProgram
from relay.backend.native.program.recording import LAUNCHES


@dataclass(frozen=True, slots=True)
class BlockLaunches:
    """A block: its operators, how often it was called, and in how many launches these calls were made."""

    operators: str
    calls: int
    launches: int


@dataclass(frozen=True, slots=True)
class Launches:
    """The blocks of a program, since it was loaded or the counts were last taken; as text, a table."""

    rows: Sequence[BlockLaunches]

    @property
    def calls(self) -> int:
        """Calls of all blocks."""
        return sum([row.calls for row in self.rows])

    @property
    def launches(self) -> int:
        """Launches of all blocks."""
        return sum([row.launches for row in self.rows])

    def __str__(self) -> str:
        if not self.rows:
            return 'no calls are recorded: build the program with batch="dynamic"'
        lines = ["   calls  launches  block"]
        lines += [f"{row.calls:8,}  {row.launches:8,}  {row.operators}" for row in self.rows if row.calls]
        return "\n".join([*lines, f"{self.calls:8,}  {self.launches:8,}  in all"])


def take_launches(program: NativeProgram) -> Launches:
    """The counts of a program, which begin anew."""
    names = program.signature.parts.blocks
    address = program.code.global_address(LAUNCHES)
    table = (ctypes.c_int64 * (2 * len(names))).from_address(address)
    rows = [BlockLaunches(name, table[2 * i], table[2 * i + 1]) for i, name in enumerate(names)]
    ctypes.memset(address, 0, 16 * len(names))
    return Launches(sorted(rows, key=lambda row: -row.calls))
