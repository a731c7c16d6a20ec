"""Where the time of interpreted programs goes, operator by operator, and which tensors are alive."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any
from weakref import finalize

import numpy as np

from relay.diagnostic import Span
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import is_array, is_tuple
from relay.ir.expr import Call
from relay.ir.module import IRModule

MAX_CHANGES = 1 << 18
"""Changes of memory that are kept at most."""


@dataclass(slots=True)
class Site:
    """An operator call of the program."""

    name: str
    span: Span | None
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """A tensor that is new, or gone: then its bytes are negative."""

    seconds: float
    """Since the call began."""
    bytes: int
    site: Site
    tensor: int
    """Its number."""


class ProfilingInterpreter(Interpreter):
    """An interpreter that times its operators, and notes when tensors come and go."""

    def __init__(self, mod: IRModule) -> None:
        """`mod` has the definitions."""
        self.sites: list[Site] = []
        self.changes: list[Change] = []
        self.begin = 0.0
        self.count = 0
        super().__init__(mod)

    def run(self, entry: str, args: tuple[Any, ...]) -> float:
        """Call a definition, and return how many seconds it took."""
        function = self.value_of(self.mod.get_global_var(entry))
        for site in self.sites:
            site.calls, site.seconds = 0, 0.0
        self.changes.clear()
        self.begin = perf_counter()
        result = self.apply(function, args)
        took = perf_counter() - self.begin
        del result
        return took

    def operator(self, e: Call) -> Callable[..., Any]:
        """The operator, between two looks at the clock."""
        function = super().operator(e)
        site = Site(e.attrs.name, e.span)
        self.sites.append(site)

        def timed(*args: Any) -> Any:
            start = perf_counter()
            made = function(*args)
            site.seconds += perf_counter() - start
            site.calls += 1
            self.note(made, site)
            return made

        return timed

    def note(self, made: Any, site: Site) -> None:
        """Note the tensors of a result, and when they are gone."""
        for x in made if is_tuple(made) else (made,):
            if is_array(x) and x.base is None and len(self.changes) < MAX_CHANGES:
                self.count += 1
                self.change(x.nbytes, site, self.count)
                finalize(x, self.change, -x.nbytes, site, self.count).atexit = False

    def change(self, count: int, site: Site, tensor: int) -> None:
        """Note that there are more bytes of tensors, or fewer."""
        if len(self.changes) < 2 * MAX_CHANGES:
            self.changes.append(Change(perf_counter() - self.begin, count, site, tensor))


def live_at_peak(changes: list[Change]) -> tuple[int, list[Change]]:
    """The most bytes of tensors at once, and those that were alive then, the largest first."""
    sizes = np.cumsum([0, *[c.bytes for c in changes]])
    at = int(np.argmax(sizes))
    alive: dict[int, Change] = {}
    for c in changes[:at]:
        if c.bytes >= 0:
            alive[c.tensor] = c
        else:
            alive.pop(c.tensor, None)
    return int(sizes[at]), sorted(alive.values(), key=lambda c: -c.bytes)
