"""A program's code as several modules of LLVM, which are compiled side by side.

Definitions and what Python calls are one module, which LLVM works hard on: it brings numbers and calls
together.  Groups and kernels are loops that are already cut, vectors and all, into what the processor does;
they are spread over more modules, and need less.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from typing import NamedTuple

LEAST, MOST = 8_000, 40_000
"""Letters of code that a module is worth, and those that are enough for one."""
MODULES = 4
"""Modules at least that groups and kernels are spread over, if there is enough for them."""
LARGE = 200_000
"""Letters of groups and kernels from which on LLVM does only what no loop can be without."""
NAME = re.compile(r'@("[^"]+"|[\w.$-]+)')
DATA = re.compile(r'^@("[^"]+"|[\w.$-]+) =', re.MULTILINE)
HEAD = re.compile(
    r"""^define\ (?P<linkage>internal\ )?(?P<convention>(?:tailcc|preserve_allcc)\ )?
    (?P<result>.*)\ @(?P<name>"[^"]+"|[\w.$-]+)\((?P<params>.*)\)\ """,
    re.MULTILINE | re.VERBOSE,
)


class Effort(Enum):
    """How much LLVM does about code: all that it can; what loops need that are as they should be, with only
    functions of the runtime to bring in; or the least.
    """

    ALL = "all"
    LOOPS = "loops"
    LEAST = "least"


class Module(NamedTuple):
    """LLVM IR, what LLVM is to do about it, and what it has that others may call."""

    text: str
    effort: Effort
    functions: Collection[str]


def functions(parts: Iterable[Module]) -> set[str]:
    """What some modules have that others may call."""
    return {name for part in parts for name in part.functions}


class Part:
    """A module in the making."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """`pieces` are its functions and data."""
        self.text = "\n".join(pieces)
        self.heads = {m["name"]: m for m in HEAD.finditer(self.text)}
        self.names = set(NAME.findall(self.text))

    def exported(self, names: Collection[str]) -> str:
        """The text; functions of some names are seen by other modules."""
        return HEAD.sub(
            lambda m: m[0].replace(" internal ", " ", 1) if m["name"] in names else m[0], self.text
        )

    def declaration(self, name: str) -> str:
        """What other modules say of a function."""
        m = self.heads[name]
        kinds = ", ".join([p.rpartition(" ")[0] for p in m["params"].split(", ")])
        return f"declare {m['convention'] or ''}{m['result']} @{name}({kinds})"


def modules(
    shared: str, declared: Iterable[str], first: str, pieces: Sequence[str], plain: Collection[int]
) -> list[Module]:
    """The modules of a program: `shared` is in all of them, `declared` where it is needed, `first` only in
    that of the definitions; `plain` are the numbers of the pieces that go elsewhere if they
    do not name its data.
    """
    data = set(DATA.findall("\n".join([first, *[p for i, p in enumerate(pieces) if i not in plain]])))
    away = [i for i in sorted(plain) if data.isdisjoint(NAME.findall(pieces[i]))]
    stay = set(range(len(pieces))).difference(away)
    size = max(LEAST, min(MOST, sum([len(pieces[i]) for i in away]) // MODULES))
    rows = [[first, *[p for i, p in enumerate(pieces) if i in stay]]]
    room = 0
    for i in away:
        if room <= 0:
            rows.append([])
            room = size
        rows[-1].append(pieces[i])
        room -= len(pieces[i])
    parts = [Part(row) for row in rows]
    owner = {name: part for part in parts for name in part.heads}
    foreign = [sorted((part.names & owner.keys()) - part.heads.keys()) for part in parts]
    exported = {name for names in foreign for name in names}
    own = {text: set(NAME.findall(text)) for text in declared}
    effort = Effort.LEAST if sum([len(part.text) for part in parts[1:]]) > LARGE else Effort.LOOPS
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
