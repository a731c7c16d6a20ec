"""Compiled programs as people hold them: called, measured, stored."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from relay.backend.native.host.artefact import Artefact, save_artefacts
from relay.backend.native.host.native_program import NativeProgram
from relay.diagnostic import did_you_mean, fail
from relay.interpreter.value import Value
from relay.ir.expr import Function
from relay.ir.module import IRModule, TypeData
from relay.ir.type import GlobalTypeVar

if TYPE_CHECKING:
    from relay.backend.native.host.launches import Launches
    from relay.backend.native.host.profile import InstrumentedProgram, Profile
    from relay.backend.native.host.timing import BenchmarkResult
    from relay.transform.passes.precision_report import PrecisionReport


class CompiledModule:
    """A compiled program: `built(…)` calls `@main`, or its only entry, and `built["f"]` is the entry `@f`.

    Entries take NumPy arrays, arrays of other libraries (DLPack), Python numbers, lists, tuples and instances
    of data types, by position or name, or all by name in one dict.  Tensors come back as NumPy arrays and
    numbers as its scalars; or, where an argument is an array of PyTorch or JAX, both as its arrays.
    """

    def __init__(
        self,
        artefact: Artefact,
        threads: int | None = None,
        source: IRModule | None = None,
        again: "Callable[[], InstrumentedProgram] | None" = None,
        explain: "Callable[[], PrecisionReport] | None" = None,
        others: Sequence[Artefact] = (),
    ) -> None:
        """Use `callable_module`, which makes the module itself something to call; `again` compiles it so
        that it notes where its time goes, and `explain` says what became of it in its precision.  `others`
        are the same program for other processors.
        """
        self.artefact = artefact
        self.others = others
        self.threads = threads
        self.again = again
        self.explain = explain
        self.program = NativeProgram.of(artefact, threads, source)
        self.functions: dict[str, Callable[..., Any]] = {}

    @property
    def entries(self) -> tuple[str, ...]:
        """The names of the definitions that can be called."""
        return tuple(self.program.entries)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """An entry (`unknown-global`); to keep it is the quickest way to call it often."""
        name = name.removeprefix("@")
        if name not in self.program.entries:
            self.unknown(name)
        if name not in self.functions:
            self.functions[name] = self.program.function(name)
        return self.functions[name]

    def __getattr__(self, name: str) -> NoReturn:
        is_entry = not name.startswith("_") and name in self.entries
        where = f'; its entry `@{name}` is `built["{name}"]`' if is_entry else ""
        raise AttributeError(f"a compiled program has no attribute `{name}`{where}")

    def unknown(self, name: str) -> NoReturn:
        """Report a name that no entry has."""
        listing = ", ".join([f"`@{n}`" for n in self.entries])
        fail(
            "unknown-global",
            f"the compiled program has no entry `@{name}`",
            hint=did_you_mean(name, self.entries) or f"it has {listing}; `entries=` chooses them",
        )

    def header(self, name: str) -> Function:
        """The parameters and the type of an entry."""
        assert self[name] is not None
        return self.program.entries[name].header

    @property
    def datatypes(self) -> Mapping[GlobalTypeVar, TypeData]:
        """The data types of the program."""
        return self.program.signature.definitions

    def evaluate(self, name: str, *values: Value) -> Value:
        """The value of an entry on values, a value of the interpreter."""
        return self.program.evaluate(name, *values)

    def benchmark(
        self,
        *args: Any,
        entry: str | None = None,
        repeat: int = 20,
        number: int | None = None,
        min_repeat_ms: float = 2.0,
    ) -> "BenchmarkResult":
        """Time calls of an entry on `args`: `repeat` times `number` of them, or as many as take so long."""
        from relay.backend.native.host.timing import measure

        function = self[entry or self.default()]
        return measure(lambda: function(*args), repeat, number, min_repeat_ms)

    def profile(self, *args: Any, entry: str | None = None, repeat: int = 20) -> "Profile":
        """Where the time of a call goes: `print` shows a table, `save_trace` writes a trace for Chrome,
        and `save_html` a page with a flame graph.

        The program is compiled once more for it, with clocks between its groups of operators.  One that
        was read from a file has no source to compile: its calls are timed as a whole.
        """
        from relay.backend.native.host.profile import InstrumentedProgram, run_profiled

        name = (entry or self.default()).removeprefix("@")
        if name not in self.program.entries:
            self.unknown(name)
        if self.again is None:
            return run_profiled(InstrumentedProgram(self.artefact, ()), name, args, repeat, self.threads)
        return run_profiled(self.again(), name, args, repeat, self.threads, self.program.source)

    def report(self) -> "PrecisionReport":
        """What became of the program in its precision: which products are computed on narrow numbers, and
        what stays in float32 and why.  `print` shows counts and the first places, and `full()` all of them.

        One that was read from a file does not say.
        """
        from relay.transform.passes.precision_report import PrecisionReport

        return self.explain() if self.explain else PrecisionReport(note="a compiled file does not say")

    def launches(self) -> "Launches":
        """How many calls of blocks of operators became how many launches, since this was last asked; for a
        program built with `batch="dynamic"`.  `print` shows a table.
        """
        from relay.backend.native.host.launches import take_launches

        return take_launches(self.program)

    def default(self) -> str:
        """The entry that is called without a name."""
        return "main" if "main" in self.entries else self.entries[0]

    def export_library(self, file_name: str | Path) -> None:
        """Write a file that `relay.load_module` loads, and `relay run` runs (`cannot-write`).

        It has the program for each processor that it was built for, and a machine that loads it takes the
        one for the most that its processor can do.
        """
        several = sorted([self.artefact, *self.others], key=lambda made: -len(made.features))
        save_artefacts(several, file_name)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a compiled program is machine code, which is not pickled; `export_library(path)` writes a file "
            "that `relay.load_module(path)` loads in any process"
        )

    def __repr__(self) -> str:
        return f"<compiled {', '.join([f'@{n}' for n in self.entries])}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from relay.text.notebook import shown

        lines = [signature_text(name, self.header(name)) for name in self.entries]
        return {**shown("\n".join(lines)), "text/plain": repr(self)}


def signature_text(name: str, header: Function) -> str:
    """`def @f(%x: Tensor[(2,), float32]) -> float32`."""
    params = ", ".join([f"%{p.name_hint}: {p.type_annotation}" for p in header.params])
    return f"def @{name}({params}) -> {header.ret_type}"


def callable_module(
    artefact: Artefact,
    threads: int | None = None,
    source: IRModule | None = None,
    again: "Callable[[], InstrumentedProgram] | None" = None,
    explain: "Callable[[], PrecisionReport] | None" = None,
    others: Sequence[Artefact] = (),
) -> CompiledModule:
    """A compiled program, and how many threads its loops take (`thread-count`); `again` compiles it with
    clocks, and `explain` reports on its precision.  `others` are the same program for other processors.

    `source` is what it was made of, if that is at hand: failures show the calls that led to them.

    It is of a class of its own, so that calling it leads to the code and not through a method of Python.
    """
    made = CompiledModule(artefact, threads, source, again, explain, others)
    call: Any = made[made.default()]
    call = call if isinstance(call, BuiltinFunctionType) else staticmethod(call)
    made.__class__ = type("CompiledModule", (CompiledModule,), {"__call__": call})
    return made


def own_entries(names: Sequence[str], chosen: Sequence[str] | str | None) -> tuple[str, ...]:
    """The entry functions: those that were chosen, else `@main`, else all that the module defines itself."""
    if isinstance(chosen, str):
        chosen = (chosen,)
    if chosen is not None:
        return tuple([n.removeprefix("@") for n in chosen])
    return ("main",) if "main" in names else tuple(names)
