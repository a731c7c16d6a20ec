"""Who watches passes: timing, printing, verification."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from relay.analysis.well_formedness import faults
from relay.diagnostic import Diagnostic, Note, RelayError
from relay.ir.module import IRModule
from relay.transform.rewriting.context import PassInfo, PassInstrument, canonical
from relay.transform.rewriting.pipeline import Pass
from relay.transform.rewriting.registry import registry
from relay.typecheck.check import check

LONGEST_INPUT = 20_000
"""Characters of a failed pass's input that its report shows."""


class PassTimingInstrument(PassInstrument):
    """Measures how long each pass takes; a pass that runs others counts their time too."""

    def __init__(self) -> None:
        """Nothing is measured yet."""
        self.rows: list[tuple[int, str, float]] = []
        """For each run its depth, the pass and its seconds, in the order in which they began."""
        self._open: list[tuple[int, float]] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Start the clock."""
        self._open.append((len(self.rows), time.perf_counter()))
        self.rows.append((len(self._open) - 1, info.name, 0.0))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Stop it."""
        at, start = self._open.pop()
        depth, name, _ = self.rows[at]
        self.rows[at] = (depth, name, time.perf_counter() - start)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        """Stop it."""
        self.run_after_pass(mod, info)

    def render(self) -> str:
        """The measurements as a table, in milliseconds."""
        total = sum(seconds for depth, _, seconds in self.rows if depth == 0)
        width = max([2 * depth + len(name) for depth, name, _ in self.rows], default=5)
        lines = [f"{'  ' * d + name:{width}} {1000 * s:10.2f} ms" for d, name, s in self.rows]
        return "\n".join([*lines, f"{'total':{width}} {1000 * total:10.2f} ms"])


def pass_instrument(cls: type[Any]) -> type[Any]:
    """Make an instrument of a class that has some methods of one: `@pass_instrument` stands above it."""
    if issubclass(cls, PassInstrument):
        return cls
    return type(cls.__name__, (cls, PassInstrument), {"__doc__": cls.__doc__, "__module__": cls.__module__})


class PrintIR(Pass):
    """A pass that prints the module, below a heading, and leaves it as it is."""

    def __init__(self, header: str = "", show_meta_data: bool = False) -> None:
        """To stand between the passes of a `Sequential`."""

        def run(mod: IRModule) -> IRModule:
            print(header, mod.astext(show_meta_data=show_meta_data), sep="\n" if header else "")
            return mod

        super().__init__(PassInfo("print_ir"), run)


class PrintAfter(PassInstrument):
    """Prints what passes make: all of them, or those that are named."""

    def __init__(self, names: Sequence[str] | None = None, out: TextIO | None = None) -> None:
        """`out` is standard error unless it says else."""
        self.names = None if names is None else {canonical(name) for name in names}
        self.out = out

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Print the module."""
        if self.names is None or canonical(info.name) in self.names:
            print(f"// after {canonical(info.name)}\n{mod}", file=self.out or sys.stderr)


class Verify(PassInstrument):
    """Demands of each pass that what it makes is well-formed, well-typed and in the form that it promises.

    Raises `pass-failed`, with the pass's name and its input, where that is not so, or where a pass breaks.
    """

    def __init__(self) -> None:
        """Nothing has run yet."""
        self._inputs: list[IRModule] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Keep the input for the report."""
        self._inputs.append(mod)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Look at the result."""
        given = self._inputs.pop()
        wrong = faults(mod) or diagnostics_of(lambda: check(mod))
        if wrong:
            raise failure(info.name, "made an ill-formed module", wrong, given)
        rule = registry.get(canonical(info.name))
        for form in rule.gives if rule is not None else ():
            bad = [v.name_hint for v, e in mod.functions.items() if not form.holds(e)]
            if bad:
                raise failure(info.name, f"left `@{bad[0]}` not in {form.name} form", [], given)

    def pass_failed(self, mod: IRModule, info: PassInfo, error: Exception) -> None:
        """Report what broke."""
        raise failure(info.name, f"broke: {type(error).__name__}: {error}", [], self._inputs.pop()) from error


def diagnostics_of(run: Callable[[], Any]) -> list[Diagnostic]:
    """The diagnostics that `run` raises."""
    try:
        run()
    except RelayError as error:
        return list(error.diagnostics)
    return []


def failure(name: str, what: str, wrong: Sequence[Diagnostic], given: IRModule) -> RelayError:
    """The report of a pass that is wrong."""
    text = str(given)
    shown = text if len(text) <= LONGEST_INPUT else text[:LONGEST_INPUT] + "…"
    notes = [Note(f"{d.code}: {d.message}", d.span) for d in wrong]
    return RelayError(
        Diagnostic(
            "pass-failed",
            f"the pass `{canonical(name)}` {what}",
            notes=(*notes, Note(f"its input was\n{shown.rstrip()}")),
            hint="this is a mistake of the pass, not of the program",
        )
    )
