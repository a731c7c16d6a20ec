"""Partition a program into LLVM modules that are compiled in parallel.

Definitions and entry points are one module, which is optimised at the highest level: inlining and scalar
optimisations matter there.  Fused groups are loops that have already been tiled and vectorised; they are
distributed over further modules at a lower level.  Each kernel is a module of its own, whose object code
other programs use too.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

MIN_MODULE_CHARACTERS, MAX_MODULE_CHARACTERS = 8_000, 40_000
"""Bounds on the size of a module of loops, in characters of IR."""
LOOP_MODULES = 4
"""How many modules of loops a program has, unless their size falls outside these bounds."""
MAX_OPTIMIZED_CHARACTERS = 200_000
"""Characters of loops beyond which they get the minimal passes only."""


class Effort(Enum):
    """The level of optimisation: everything; what loops need that are tiled and vectorised already, with
    the runtime's `alwaysinline` functions; or the minimum.
    """

    ALL = "all"
    LOOPS = "loops"
    MINIMAL = "minimal"


class Piece(NamedTuple):
    """Functions and data as LLVM IR, with what a module must know to contain them."""

    text: str
    functions: Collection[str] = ()
    """The symbols of the functions that it defines."""
    symbols: Mapping[str, str] = {}
    """Symbols of the program that it refers to, with their declarations for other modules; data have none."""
    declarations: Collection[str] = ()
    """Declarations and tables that its module needs."""

    @property
    def refers_to_data(self) -> bool:
        """Whether it must be in the module that has the data of the program."""
        return not all(self.symbols.values())


class Module(NamedTuple):
    """LLVM IR, how far to optimise it, and the symbols of the functions that it exports."""

    text: str
    effort: Effort
    exports: Collection[str]


def exported_functions(parts: Iterable[Module]) -> set[str]:
    """The symbols of the functions that modules export."""
    return {name for part in parts for name in part.exports}


def lone_module(shared: str, piece: Piece) -> Module:
    """A module of a function that refers to nothing else of the program, and contains `shared`."""
    text = "\n".join([shared, *piece.declarations, piece.text])
    return Module(text, Effort.MINIMAL, piece.functions)


def split_modules(
    shared: str,
    first: Sequence[Piece],
    pieces: Sequence[Piece],
    plain: Collection[int],
    elsewhere: Iterable[str],
) -> list[Module]:
    """The modules of a program: all contain `shared`, and the first one `first`.  `plain` are the indices of
    pieces that move to another module unless they refer to data; `elsewhere` are the symbols of functions
    that other modules define.
    """
    away = [pieces[i] for i in sorted(plain) if not pieces[i].refers_to_data]
    stay = [p for i, p in enumerate(pieces) if i not in plain or p.refers_to_data]
    total = sum([len(p.text) for p in away])
    size = max(MIN_MODULE_CHARACTERS, min(MAX_MODULE_CHARACTERS, total // LOOP_MODULES))
    rows = [[*first, *stay]]
    room = 0
    for p in away:
        if room <= 0:
            rows.append([])
            room = size
        rows[-1].append(p)
        room -= len(p.text)
    owner = dict.fromkeys(elsewhere, len(rows))
    owner |= {f: i for i, row in enumerate(rows) for p in row for f in p.functions}
    foreign = [
        {f: text for p in row for f, text in p.symbols.items() if owner.get(f, i) != i}
        for i, row in enumerate(rows)
    ]
    exported = {f for declarations in foreign for f in declarations}
    effort = Effort.MINIMAL if total > MAX_OPTIMIZED_CHARACTERS else Effort.LOOPS
    return [
        Module(
            "\n".join(
                [
                    shared,
                    *dict.fromkeys([text for p in row for text in p.declarations]),
                    *declarations.values(),
                    *[p.text for p in row],
                ]
            ),
            Effort.ALL if i == 0 else effort,
            {f for p in row for f in p.functions if f in exported},
        )
        for i, (row, declarations) in enumerate(zip(rows, foreign, strict=True))
    ]
