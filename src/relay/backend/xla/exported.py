"""Exported programs as people hold them: read from a file, and called by the names of their entries."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from relay.analysis.sharding import Sharding
from relay.backend.stored import RECOMPILE_HINT, fail_damaged
from relay.backend.xla.data import flatten
from relay.backend.xla.entries import Entries
from relay.backend.xla.export_platforms import device_of, load_export
from relay.backend.xla.exported_file import StoredEntry, StoredProgram, read_exported
from relay.backend.xla.exported_json import Datatypes
from relay.backend.xla.exporting import outside
from relay.backend.xla.layout import Layout, OneDevice, OverMesh
from relay.backend.xla.parameters import Parameters
from relay.backend.xla.platforms import mesh_of
from relay.backend.xla.program import first_line, xla_context
from relay.backend.xla.results import host_array
from relay.backend.xla.whole import Compiled
from relay.diagnostic import fail
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure, Value
from relay.ir.dtype import dtype_name, to_numpy
from relay.ir.expr import Function, GlobalVar, Tuple, replace
from relay.ir.module import IRModule


class LoadedEntry:
    """A definition in a file that is called from Python."""

    def __init__(self, program: StoredProgram, entry: StoredEntry, jax: Any, layout: Layout) -> None:
        """`layout` says where its arrays lie (`bad-artefact`)."""
        self.jax = jax
        self.signature = entry.signature
        self.constants = entry.constants
        self.where = f"`@{entry.signature.name}` in `{program.name}`"
        self.__name__ = self.__qualname__ = entry.signature.name
        try:
            self.exported = jax.export.deserialize(bytearray(entry.code))
        except Exception as error:
            # What it raises for bytes that are not code is not documented.
            fail_damaged(program.name, f"JAX does not read its code ({first_line(error)})")
        self.layout = layout
        header = self.signature.header
        mod = IRModule(type_definitions=dict(program.datatypes))
        if header is not None:
            mod[self.signature.name] = replace(header, body=Tuple(header.params, span=None), ret_type=None)
        self.is_function = header is not None
        name = GlobalVar(self.signature.name, span=None)
        self.parameters = Parameters(jax, Interpreter(mod), name, self.layout)
        self.names = [] if header is None else [p.name_hint for p in header.params]

    @cached_property
    def compiled(self) -> Compiled:
        """What JAX compiles once for each shape of its arguments."""
        given_up = self.signature.given_up
        count = len(self.signature.leaves)

        def call(constants: Sequence[Any], given: Sequence[Any], others: Sequence[Any]) -> Any:
            given_leaves, other_leaves = iter(given), iter(others)
            leaves = [next(given_leaves if i in given_up else other_leaves) for i in range(count)]
            return self.exported.call(constants, leaves)

        return Compiled(self.jax.jit(call, donate_argnums=1), given_up)

    @cached_property
    def constants_there(self) -> Any:
        """The constants on the devices."""
        return self.layout.everywhere(list(self.constants))

    def lowered(self) -> Any:
        """What JAX has of it for arguments that are not there yet, of sizes that are numbers."""
        types = [(outside(to_numpy(dtype)), shape) for dtype, shape in self.signature.leaves]
        arguments = [self.jax.ShapeDtypeStruct(shape, dtype) for dtype, shape in types]
        leaves = self.layout.described(arguments, self.signature.structure, self.names)
        constants = [self.jax.ShapeDtypeStruct(x.shape, x.dtype) for x in self.constants]
        return self.compiled.function.lower(constants, *self.compiled.split(leaves))

    def __call__(self, /, *args: Any, **named: Any) -> Value:
        values: Sequence[Value] = ()
        on_device = False
        if self.is_function:
            definition = self.parameters.definition
            assert isinstance(definition, Closure)
            values, on_device = self.parameters.values(definition, args, named)
        result = self.signature.result
        try:
            with xla_context(self.jax, self.layout.device):
                failed, found = self.compiled(self.constants_there, self.leaves(values))
                if result.requirements and (number := int(failed)):
                    result.requirements[number - 1].fail()
            arrays = [narrow(x, dtype) for x, dtype in zip(found, self.signature.dtypes, strict=True)]
            return result(*(arrays if on_device else map(host_array, arrays)))
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
            if dtype_name(x.dtype) != dtype or not is_fit(x.shape, shape):
                text = f"{dtype_name(x.dtype)} of shape {x.shape}"
                wanted = f"{dtype} of shape ({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
                hint = "sizes with a name are at least 1" if any(isinstance(d, str) for d in shape) else ""
                fail("argument-type", f"{self.where} is for {wanted}, and an argument is {text}", hint=hint)
        wider = [x.astype(outside(x.dtype)) if outside(x.dtype) != x.dtype else x for x in leaves]
        return self.layout.arguments(wider, structure, self.names)

    def put(self, named: Mapping[str, Any]) -> tuple[Value, ...]:
        """Arguments by name on the devices (`unknown-input`, `argument-type`)."""
        return self.parameters.put(named)


def is_fit(found: Sequence[int], shape: Sequence[int | str]) -> bool:
    """Whether a shape is one that code is for, which has names for sizes that are open."""
    pairs = zip(found, shape, strict=False)
    return len(found) == len(shape) and all(n >= 1 if isinstance(d, str) else n == d for n, d in pairs)


def narrow(x: Any, dtype: str) -> Any:
    """An array of a result with the dtype that it has in the program."""
    return x if dtype_name(x.dtype) == dtype else x.astype(to_numpy(dtype))


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

    def layout_of(sharding: Sharding | None) -> Layout:
        if sharding is None:
            return OneDevice(jax, device)
        return OverMesh(jax, sharding, lambda: mesh_of(sharding, device.platform))

    entries = {
        name: LoadedEntry(program, entry, jax, layout_of(entry.signature.sharding))
        for name, entry in program.entries.items()
    }
    return ExportedModule(program, entries, device)


def check_form(jax: Any, program: StoredProgram) -> None:
    """Demand that JAX reads the form that the code of a program has (`bad-artefact`)."""
    oldest = jax.export.minimum_supported_calling_convention_version
    newest = jax.export.maximum_supported_calling_convention_version
    if not oldest <= program.convention <= newest:
        message = f"`{program.name}` has code in form {program.convention} of JAX's"
        hint = f"JAX {jax.__version__} reads forms {oldest} to {newest}: {RECOMPILE_HINT} with it"
        fail("bad-artefact", message, hint=hint)
