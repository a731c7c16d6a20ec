"""Exported programs as people hold them: read from a file, and called by the names of their entries."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from relay.backend.stored import RECOMPILE_HINT, fail_damaged
from relay.backend.xla.data import flatten
from relay.backend.xla.device_arrays import placed, put_back, stand_ins
from relay.backend.xla.entries import Entries
from relay.backend.xla.export_platforms import device_of, load_export
from relay.backend.xla.exported_file import StoredEntry, StoredProgram, read_exported
from relay.backend.xla.exported_json import Datatypes
from relay.backend.xla.layout import OneDevice
from relay.backend.xla.program import first_line, xla_context
from relay.backend.xla.results import host_array
from relay.diagnostic import did_you_mean, fail
from relay.interpreter.arguments import arrange, convert_argument, convert_arguments, inputs
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure, Value
from relay.ir.dtype import dtype_name
from relay.ir.expr import Function, GlobalVar, Tuple, replace
from relay.ir.module import IRModule

ON_DEVICE = "on_device"
"""The argument of a call that leaves its results on the device."""


class LoadedEntry:
    """A definition in a file that is called from Python."""

    def __init__(self, program: StoredProgram, entry: StoredEntry, jax: Any, layout: OneDevice) -> None:
        """`layout` says where its arrays lie (`bad-artefact`)."""
        self.jax = jax
        self.layout = layout
        self.signature = entry.signature
        self.constants = entry.constants
        self.where = f"`@{entry.signature.name}` in `{program.name}`"
        self.__name__ = self.__qualname__ = entry.signature.name
        try:
            self.exported = jax.export.deserialize(bytearray(entry.code))
        except Exception as error:
            # What it raises of code that is none is not said anywhere.
            fail_damaged(program.name, f"JAX does not read its code ({first_line(error)})")
        header = self.signature.header
        mod = IRModule(type_definitions=dict(program.datatypes))
        if header is not None:
            mod[self.signature.name] = replace(header, body=Tuple(header.params, span=None), ret_type=None)
        self.machine = Interpreter(mod)

    @cached_property
    def function(self) -> Any:
        """What JAX compiles once for each shape of its arguments."""
        return self.jax.jit(self.exported.call)

    @cached_property
    def on_device(self) -> Any:
        """The constants on the device."""
        return self.layout.everywhere(list(self.constants))

    @property
    def definition(self) -> Closure | None:
        """A function that has its parameters, if it is a function."""
        if self.signature.header is None:
            return None
        found = self.machine.value_of(GlobalVar(self.signature.name, span=None))
        assert isinstance(found, Closure)
        return found

    def __call__(self, /, *args: Any, **named: Any) -> Value:
        definition, values, on_device = self.definition, list[Any](), False
        if definition is not None:
            code = definition.code
            if ON_DEVICE in named and all(p.name != ON_DEVICE for p in code.function.params):
                on_device = bool(named.pop(ON_DEVICE))
            given = [stand_ins(x) for x in arrange(code, *inputs(args, named))]
            values, _ = convert_arguments(code, [x for x, _ in given], self.machine)
            values = [put_back(v, there) for v, (_, there) in zip(values, given, strict=True)]
        leaves = self.leaves(values)
        try:
            with xla_context(self.jax, self.layout.device):
                failed, found = self.function(self.on_device, leaves)
                requirements = self.signature.result.requirements
                if requirements and int(failed):
                    requirements[int(failed) - 1].fail()
            return self.signature.result(*(found if on_device else map(host_array, found)))
        except ValueError as error:  # sizes that do not go together, such as those of a product
            fail("argument-type", f"{self.where} is not for arguments of these sizes: {first_line(error)}")
        except self.jax.errors.JaxRuntimeError as error:
            fail("xla-unsupported", f"{self.where}: XLA says: {first_line(error)}", hint=RECOMPILE_HINT)

    def leaves(self, values: Sequence[Value]) -> list[Any]:
        """The arrays of arguments, which have the structure and shapes that the code is for
        (`argument-type`).
        """
        leaves, structure = flatten(tuple(values))
        if structure != self.signature.structure:
            hint = "export the program with such values as examples"
            fail("argument-type", f"{self.where} is not for arguments of this structure", hint=hint)
        for x, (dtype, shape) in zip(leaves, self.signature.leaves, strict=True):
            fits = [
                size >= 1 if isinstance(d, str) else size == d
                for size, d in zip(x.shape, shape, strict=False)
            ]
            if not all(fits) or len(x.shape) != len(shape) or dtype_name(x.dtype) != dtype:
                text = f"{dtype_name(x.dtype)} of shape {x.shape}"
                wanted = f"{dtype} of shape ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
                hint = "sizes with a name are at least 1" if any(isinstance(d, str) for d in shape) else ""
                fail("argument-type", f"{self.where} is for {wanted}, and an argument is {text}", hint=hint)
        header = self.signature.header
        names = [] if header is None else [p.name_hint for p in header.params]
        return self.layout.arguments(leaves, structure, names)

    def put(self, named: Mapping[str, Any]) -> tuple[Value, ...]:
        """Arguments by name on the device (`unknown-input`, `argument-type`)."""
        header = self.signature.header
        params = {p.name: p for p in header.params} if header is not None else {}
        sizes: dict[Any, Any] = {}
        values: list[Value] = []
        for name, x in named.items():
            if name not in params:
                names = ", ".join([f"`{p}`" for p in list(params)[:8]])
                hint = did_you_mean(name, params) or (
                    f"its parameters are {names}" if params else "it has none"
                )
                fail("unknown-input", f"the program has no parameter `{name}`", hint=hint)
            given, there = stand_ins(x)
            value = convert_argument(f"@{self.__name__}", params[name], given, sizes, self.machine.mod)
            with xla_context(self.jax, self.layout.device):
                values.append(placed(self.layout, put_back(value, there), name))
        return tuple(values)


class ExportedModule(Entries[LoadedEntry]):
    """A program from a file, for one device: `built(…)` calls `@main`, or its only entry, and `built["f"]` is
    the entry `@f`.

    Entries take and give what those of an `XlaModule` do.  They are compiled when they are called, for each
    shape of their arguments.
    """

    def __init__(self, program: StoredProgram, entries: Mapping[str, LoadedEntry], device: Any) -> None:
        """Use `relay.load_module`."""
        super().__init__(entries)
        self.program = program
        self.device = device

    @property
    def platforms(self) -> tuple[str, ...]:
        """What the file is for."""
        return self.program.platforms

    @property
    def datatypes(self) -> Datatypes:
        """The data types of the program."""
        return self.program.datatypes

    def header(self, name: str) -> Function:
        """The parameters and the type of an entry (`unknown-global`)."""
        assert self[name] is not None
        found = self.by_name[name.removeprefix("@")].signature.header
        return Function((), Tuple((), span=None), span=None) if found is None else found

    def evaluate(self, name: str, *values: Value) -> Value:
        """The value of an entry on values, a value of the interpreter."""
        return self[name](*values)

    def __repr__(self) -> str:
        return f"<for {self.device}, of `{self.program.name}`: {', '.join([f'@{n}' for n in self.entries])}>"


def load_exported(path: str | Path) -> ExportedModule:
    """A program from a file (`cannot-read`, `bad-artefact`, `other-machine`, `no-xla`)."""
    program = read_exported(str(path))
    jax = load_export()
    check_form(jax, program)
    device = device_of(program.platforms)
    if device is None:
        several = ", ".join(program.platforms)
        hint = f"{RECOMPILE_HINT}: `--platform cpu` is for any machine"
        fail(
            "other-machine",
            f"`{program.name}` is for {several}, and JAX finds no such device here",
            hint=hint,
        )
    there = len(jax.devices(device.platform))
    if program.devices > there:
        message = f"`{program.name}` is for {program.devices} devices, and JAX finds {there}"
        fail("other-machine", message, hint="a mesh of as many devices as there are can be built here")
    layout = OneDevice(jax, device)
    entries = {name: LoadedEntry(program, entry, jax, layout) for name, entry in program.entries.items()}
    return ExportedModule(program, entries, device)


def check_form(jax: Any, program: StoredProgram) -> None:
    """Demand that JAX reads the form that the code of a program has (`bad-artefact`)."""
    oldest = jax.export.minimum_supported_calling_convention_version
    newest = jax.export.maximum_supported_calling_convention_version
    if not oldest <= program.convention <= newest:
        message = f"`{program.name}` has code in form {program.convention} of JAX's"
        hint = f"JAX {jax.__version__} reads forms {oldest} to {newest}: {RECOMPILE_HINT} with it"
        fail("bad-artefact", message, hint=hint)
