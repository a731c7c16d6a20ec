"""Partition a program into LLVM modules that are compiled in parallel.

Definitions and entry points are one module, which is optimised at the highest level: inlining and scalar
optimisations matter there.  Fused groups and kernels are loops that have already been tiled and vectorised;
they are distributed over further modules at a lower level.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

MIN_MODULE_CHARACTERS, MAX_MODULE_CHARACTERS = 8_000, 40_000
"""Bounds on the size of a module of loops, in characters of IR."""
LOOP_MODULES = 4
"""How many modules of loops a program has, unless their size falls outside these bounds."""
MAX_OPTIMIZED_CHARACTERS = 200_000
"""Characters of loops beyond which they get the minimal passes only."""
SYMBOL = re.compile(r'@("[^"]+"|[\w.$-]+)')
DATA_DEFINITION = re.compile(r'^@("[^"]+"|[\w.$-]+) =', re.MULTILINE)
FUNCTION_HEADER = re.compile(
    r"""^define\ (?P<linkage>internal\ )?(?P<convention>(?:tailcc|preserve_allcc)\ )?
    (?P<result>.*)\ @(?P<name>"[^"]+"|[\w.$-]+)\((?P<params>.*)\)\ """,
    re.MULTILINE | re.VERBOSE,
)


class Effort(Enum):
    """The level of optimisation: everything; what loops need that are tiled and vectorised already, with
    the runtime's `alwaysinline` functions; or the minimum.
    """

    ALL = "all"
    LOOPS = "loops"
    MINIMAL = "minimal"


class Module(NamedTuple):
    """LLVM IR, how far to optimise it, and the functions that it exports."""

    text: str
    effort: Effort
    exports: Collection[str]


def exported_functions(parts: Iterable[Module]) -> set[str]:
    """The functions that modules export."""
    return {name for part in parts for name in part.exports}


class ModuleBuilder:
    """A module under construction."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """`pieces` are its functions and data."""
        self.text = "\n".join(pieces)
        self.heads = {m["name"]: m for m in FUNCTION_HEADER.finditer(self.text)}
        self.names = set(SYMBOL.findall(self.text))

    def exported(self, names: Collection[str]) -> str:
        """The text, with the functions of these names exported."""
        return FUNCTION_HEADER.sub(
            lambda m: m[0].replace(" internal ", " ", 1) if m["name"] in names else m[0], self.text
        )

    def declaration(self, name: str) -> str:
        """The declaration of a function for other modules."""
        m = self.heads[name]
        kinds = ", ".join([p.rpartition(" ")[0] for p in m["params"].split(", ")])
        return f"declare {m['convention'] or ''}{m['result']} @{name}({kinds})"


def split_modules(
    shared: str, declared: Iterable[str], first: str, pieces: Sequence[str], plain: Collection[int]
) -> list[Module]:
    """The modules of a program: all contain `shared`, those that use them the `declared`, and the first one
    `first`.  `plain` are the indices of pieces that move to another module unless they refer to data of the
    first one.
    """
    data = set(
        DATA_DEFINITION.findall("\n".join([first, *[p for i, p in enumerate(pieces) if i not in plain]]))
    )
    away = [i for i in sorted(plain) if data.isdisjoint(SYMBOL.findall(pieces[i]))]
    stay = set(range(len(pieces))).difference(away)
    size = max(
        MIN_MODULE_CHARACTERS, min(MAX_MODULE_CHARACTERS, sum([len(pieces[i]) for i in away]) // LOOP_MODULES)
    )
    rows = [[first, *[p for i, p in enumerate(pieces) if i in stay]]]
    room = 0
    for i in away:
        if room <= 0:
            rows.append([])
            room = size
        rows[-1].append(pieces[i])
        room -= len(pieces[i])
    parts = [ModuleBuilder(row) for row in rows]
    owner = {name: part for part in parts for name in part.heads}
    foreign = [sorted((part.names & owner.keys()) - part.heads.keys()) for part in parts]
    exported = {name for names in foreign for name in names}
    own = {text: set(SYMBOL.findall(text)) for text in declared}
    effort = (
        Effort.MINIMAL
        if sum([len(part.text) for part in parts[1:]]) > MAX_OPTIMIZED_CHARACTERS
        else Effort.LOOPS
    )
    return [
        Module(
            "\n".join(
                [
                    shared,
                    *[text for text, names in own.items() if names & part.names],
                    *[owner[name].declaration(name) for name in names],
                    part.exported(exported),
                ]
            ),
            Effort.ALL if part is parts[0] else effort,
            part.heads.keys() & exported,
        )
        for part, names in zip(parts, foreign, strict=True)
    ]
