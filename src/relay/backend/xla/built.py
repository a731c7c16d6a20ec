"""Programs for XLA as people hold them: called by the names of their entries."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from relay.analysis.sharding import Sharding, check_marks, sharding_of
from relay.backend.xla.batching import BatchingMachine
from relay.backend.xla.data import FUNCTIONS, REFERENCES, flatten
from relay.backend.xla.device_arrays import all_on_host, is_out_of_reach
from relay.backend.xla.entries import Entries
from relay.backend.xla.hybrid import HybridMachine
from relay.backend.xla.layout import OneDevice, OverMesh
from relay.backend.xla.parameters import Parameters
from relay.backend.xla.platforms import kind_and_number, load_jax, mesh_of, named_device
from relay.backend.xla.program import MATMUL_PRECISIONS, Program
from relay.backend.xla.report import MANY_FORMS, Report
from relay.backend.xla.visible import shows_references
from relay.backend.xla.whole import FailedError, Whole
from relay.diagnostic import RelayError, did_you_mean, fail
from relay.interpreter.effects import is_repeated
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure, Value
from relay.ir.expr import GlobalVar
from relay.ir.module import IRModule
from relay.op.traced import UntraceableError
from relay.pipelines import is_batched, optimize_for_xla
from relay.transform.passes.unused_functions import reached
from relay.typecheck.infer import infer

if TYPE_CHECKING:
    from relay.backend.xla.topology import TopologyReport


class Entry:
    """A definition that is called from Python."""

    def __init__(self, source: IRModule, whole: Whole, hybrid: HybridMachine | None) -> None:
        """`source` has the program as it was written, for the diagnostics of what fails; `hybrid` runs what
        XLA does not compute as a whole, if that is allowed.
        """
        self.whole = whole
        self.hybrid = hybrid
        self.machine = Interpreter(source)
        self.parameters = Parameters(whole.program.jax, self.machine, whole.name, whole.layout)
        self.not_whole = ""
        """Why the last call was not computed as a whole; empty if it was."""
        self.calls = 0
        self.is_batched_by_form = False
        """Whether a call was batched because data that it was given may have any form."""
        self.__name__ = self.__qualname__ = whole.name.name_hint

    def __call__(self, /, *args: Any, **named: Any) -> Value:
        self.calls += 1
        definition = self.parameters.definition
        if not isinstance(definition, Closure):
            return definition
        values, on_device = self.parameters.values(definition, args, named)
        try:
            self.not_whole = ""
            self.check_form(values)
            return self.whole(values, on_device=on_device)
        except FailedError as error:
            if any(map(is_out_of_reach, values)):
                error.requirement.fail()
            return self.machine.apply(definition, tuple(map(all_on_host, values)))
        except UntraceableError as error:
            self.not_whole = str(error)
        if self.hybrid is None:
            self.refuse()
        found = self.in_segments(self.hybrid, definition, tuple(map(all_on_host, values)))
        return self.parameters.placed(found) if on_device else found

    def refuse(self) -> NoReturn:
        """Say why a call is not computed as a whole (`xla-unsupported`)."""
        hint = "`host=False` demands it" if isinstance(self.whole.layout, OneDevice) else "a mesh needs that"
        message = f"XLA does not compute `@{self.__name__}` as a whole: {self.not_whole}"
        fail("xla-unsupported", message, self.whole.stopped, hint=hint)

    def check_form(self, values: Sequence[Value]) -> None:
        """Leave to a machine that batches what would be compiled for each form of the data it is given."""
        if isinstance(self.hybrid, BatchingMachine) and self.hybrid.is_of_many_forms(values):
            self.is_batched_by_form = True
            raise UntraceableError(MANY_FORMS)

    def in_segments(self, hybrid: HybridMachine, definition: Closure, values: tuple[Value, ...]) -> Value:
        """The value where the host runs the control flow."""
        try:
            return hybrid.called(self.whole.name, values)
        except RelayError:
            _, structure = flatten(values)
            if structure.has((*FUNCTIONS, *REFERENCES)):
                raise
            token = is_repeated.set(True)
            try:
                return self.machine.apply(definition, values)
            finally:
                is_repeated.reset(token)

    def put(self, named: Mapping[str, Any], *, are_parts: bool = False) -> tuple[Value, ...]:
        """Arguments by name on the devices where calls take them; or the parts of them that this process has
        (`unknown-input`, `argument-type`).
        """
        return self.parameters.put(named, are_parts=are_parts)


class XlaModule(Entries[Entry]):
    """A program for XLA: `built(…)` calls `@main`, or its only entry, and `built["f"]` is the entry `@f`.

    Entries take what those of a compiled program take, and arrays of JAX, which stay on the device; they give
    values of the interpreter, or arrays of JAX with `on_device=True`.  A definition is compiled when it is
    called, for each shape and structure of its arguments.
    """

    def __init__(self, entries: dict[str, Entry]) -> None:
        """Use `build_for_xla`."""
        super().__init__(entries)

    def export_library(
        self,
        file_name: str | Path,
        platforms: Sequence[str] | str | None = None,
        *,
        sizes: Mapping[str, int] | None = None,
        example: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a file that `relay.load_module` loads, and `relay run` runs (`cannot-write`).

        It has the program for `platforms`, of "cuda", "tpu", "rocm" and "cpu", of which none has to be here;
        by default for that of this program's device.  A size that is a type parameter stays open, unless
        `sizes` has a number for its name.  `example` has values for parameters, by name, whose types do not
        tell the structure of the data: the file is for data of that structure, and of these sizes.

        Raises `xla-unsupported` where XLA does not compute an entry as a whole, or needs sizes as numbers;
        `unknown-target`, `unknown-dimension`, `unknown-input`, `argument-type`, `no-xla`.
        """
        from relay.backend.xla.export import exported_entries
        from relay.backend.xla.exported_file import save_exported

        save_exported(exported_entries(self, platforms, sizes or {}, example or {}), str(file_name))

    def report_for(
        self,
        topology: str,
        *,
        sizes: Mapping[str, int] | None = None,
        example: Mapping[str, Any] | None = None,
    ) -> "TopologyReport":
        """What becomes of the entries on TPUs that are not here, such as `v5e:16x16`: what their devices send
        each other, and what they need; `print` shows it.  It takes the package libtpu.

        `sizes` and `example` are as for `export_library`; all sizes have to be numbers.

        Raises `no-xla`, `unknown-target`, `bad-mesh`, and what `export_library` raises.
        """
        from relay.backend.xla.export import exported_entries
        from relay.backend.xla.topology import compile_for_topology

        return compile_for_topology(exported_entries(self, "tpu", sizes or {}, example or {}), topology)

    def put_local(self, **named: Any) -> Any:
        """Arguments on the devices, as by `put`, of which each process has a part: the rows of a batch that
        it has read, say.
        """
        found = self.by_name[self.default()].put(named, are_parts=True)
        return found[0] if len(found) == 1 else found

    def report(self) -> Report:
        """What XLA has computed as a whole of the calls so far, what in segments, what the host, and why."""
        return Report.of(self.by_name.values())

    def __repr__(self) -> str:
        places = dict.fromkeys([str(e.whole.layout) for e in self.by_name.values()])
        return f"<for {', '.join(places)}: {', '.join([f'@{n}' for n in self.entries])}>"


def build_for_xla(
    mod: IRModule,
    target: object,
    entries: Sequence[str],
    level: int | None = None,
    precision: str | None = None,
    *,
    host: bool = True,
    matmul_precision: str = "highest",
) -> XlaModule:
    """A program for devices that XLA compiles for; the `host` may compute what XLA does not, except on a mesh
    (`no-xla`, `unknown-target`, `unknown-precision`, `bad-mesh`, `bad-sharding`, `donated`).
    """
    kind, number = kind_and_number(target)
    if matmul_precision not in MATMUL_PRECISIONS:
        hint = did_you_mean(str(matmul_precision), MATMUL_PRECISIONS) or 'it is "highest" or "fast"'
        fail("unknown-precision", f"`matmul_precision` cannot be {matmul_precision!r}", hint=hint)
    source = mod.copy()  # the program stays what it is, whatever becomes of the module
    typed = infer(mod)
    shardings = {name: sharding_of(typed, name) for name in entries}
    if number is not None and any(shardings.values()):
        fail("bad-mesh", f"`{target}` is one device", hint=f"a mesh is over several: the target `xla {kind}`")
    program = Program(optimize_for_xla(mod, entries, level, precision), load_jax(), matmul_precision)
    device = named_device(target)
    moves = not shows_references(program.mod, program.types, entries)
    hybrid = HybridMachine(program, device)
    batching = BatchingMachine(program, device, moves=moves)
    made: dict[str, Entry] = {}
    for name, sharding in shardings.items():
        layout = layout_of(program, name, sharding, kind) if sharding else OneDevice(program.jax, device)
        whole = Whole(program, GlobalVar(name), layout)
        machine = batching if is_batched(program.mod.functions[whole.name]) else hybrid
        made[name] = Entry(source, whole, machine if host and not sharding else None)
    return XlaModule(made)


def layout_of(program: Program, name: str, sharding: Sharding, kind: str | None) -> OverMesh:
    """The devices of an entry's mesh, which are looked for when it is called (`bad-sharding`)."""
    mod = program.mod
    check_marks([mod.functions[v] for v in reached(mod, [mod.get_global_var(name)])], sharding, program.types)
    return OverMesh(program.jax, sharding, lambda: mesh_of(sharding, kind))
