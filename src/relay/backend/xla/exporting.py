"""Definitions as code for platforms that need not be here, by `jax.export`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from relay.analysis.donation import donated_params
from relay.analysis.sharding import Sharding
from relay.backend.xla.data import FUNCTIONS, REFERENCES, Structure, flatten
from relay.backend.xla.layout import Layout, OneDevice, OverMesh, paths_of
from relay.backend.xla.program import Program, first_line
from relay.backend.xla.results import Result, result_of
from relay.backend.xla.specs import WHOLE, Specs, is_size
from relay.backend.xla.trace import Trace
from relay.diagnostic import Span, fail
from relay.interpreter.arguments import convert_argument
from relay.interpreter.binding import constant_value
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure
from relay.ir.dtype import to_numpy
from relay.ir.expr import Function, GlobalVar, Tuple, replace
from relay.ir.module import IRModule, TypeData
from relay.ir.subst import substitute_type
from relay.ir.type import GlobalTypeVar, TypeVar
from relay.ir.walk import run
from relay.op.traced import UntraceableError
from relay.transform.passes.unused_functions import reached
from relay.transform.rewriting.definitions import without_definitions


class Given(NamedTuple):
    """What is said of the arguments of all entries, by name: sizes as numbers, and examples."""

    sizes: Mapping[str, int]
    examples: Mapping[str, Any]


class Arguments(NamedTuple):
    """What a definition takes."""

    header: Function | None
    """Its parameters and the type of its result, without a body; None where it is not a function."""
    leaves: Sequence[Any]
    """The arrays of its arguments, as JAX is told of them."""
    structure: Structure
    """That of the tuple of its arguments."""

    @property
    def params(self) -> list[str]:
        """The names of its parameters."""
        return [] if self.header is None else [p.name_hint for p in self.header.params]


WIDER = {to_numpy("int2"): to_numpy("int8"), to_numpy("uint2"): to_numpy("uint8")}
"""The dtypes that the code of `jax.export` takes and gives for those that it does not have."""
LIKELY_SIZE = 8
"""What a size is taken for, to see whether it has to be a number."""


@dataclass(frozen=True, slots=True)
class ExportedEntry:
    """A definition as code: from large constants and the arrays of its arguments to the number of the
    requirement that failed, and the arrays of its result.  Dtypes that such code does not have are wider.
    """

    name: str
    taken: Arguments
    result: Result
    dtypes: Sequence[Any]
    """Those of the arrays of its result."""
    datatypes: Mapping[GlobalTypeVar, TypeData]
    constants: Sequence[Any]
    """Arrays of NumPy."""
    code: Any
    """The `Exported` of JAX."""
    given_up: Sequence[int]
    """The numbers of the arrays of its arguments that callers give up."""
    sharding: Sharding | None
    """The devices that it is spread over, if there are several."""


class Exporter:
    """Definitions of a program, exported for platforms."""

    def __init__(self, program: Program, platforms: Sequence[str], given: Given) -> None:
        """`given` is what is said of arguments."""
        self.program = program
        self.jax = program.jax
        self.platforms = platforms
        self.given = given

    def entry(self, machine: Interpreter, name: GlobalVar, sharding: Sharding | None) -> ExportedEntry:
        """A definition, on one device or spread over a mesh; `machine` knows it as it was written
        (`xla-unsupported`, `bad-sharding`).
        """
        jax = self.jax
        definition = machine.value_of(name)
        datatypes = {**machine.mod.type_definitions, **self.program.mod.type_definitions}
        own = Program(without_others(self.program.mod, name), jax, self.program.matmul_precision)

        def arguments(specs: Specs) -> Arguments:
            if not isinstance(definition, Closure):
                return Arguments(None, [], flatten(())[1])
            return arguments_of(definition.function, name.name_hint, specs, machine.mod, self.given)

        specs = Specs(jax, name.name_hint, datatypes)
        taken = arguments(specs)
        tracing = Tracing(own, name, taken, layout_of_export(jax, sharding))
        export = jax.export.export(jax.jit(tracing), platforms=self.platforms)
        reason = tracing.refusal(lambda: export(*tracing.inputs()))
        if reason is None:
            paths = paths_of(taken.structure, list(map(str, range(len(taken.params)))), 1)
            donated = donated_params(own.mod.functions[name])
            given_up = [i for i, (param,) in enumerate(paths) if int(param) in donated]
            found = taken, tracing.result, tracing.dtypes, datatypes, tracing.constants, tracing.found
            return ExportedEntry(name.name_hint, *found, given_up, sharding)
        hint = WHOLE
        if specs.symbols:
            likely = arguments(Specs(jax, name.name_hint, datatypes, LIKELY_SIZE))
            again = Tracing(own, name, likely, tracing.layout)
            more = again.refusal(lambda: jax.eval_shape(again, *again.inputs()))
            if more is None:
                several = [p.name_hint for p in specs.symbols]
                listing = ", ".join([f'"{s}": …' for s in several])
                hint = f"give sizes as numbers: `sizes={{{listing}}}`, or `--size {several[0]}=…`"
            else:
                reason, tracing = more, again
        message = f"`@{name.name_hint}` cannot be exported: {reason}"
        fail("xla-unsupported", message, tracing.stopped, hint=hint)


def layout_of_export(jax: Any, sharding: Sharding | None) -> Layout:
    """Where arrays of what is exported lie: on a device, or split over a mesh of devices yet to be named."""
    if sharding is None:
        return OneDevice(jax, jax.devices("cpu")[0])
    sizes, names = tuple(sharding.mesh.values()), tuple(sharding.mesh)
    types = (jax.sharding.AxisType.Auto,) * len(names)
    return OverMesh(jax, sharding, lambda: jax.sharding.AbstractMesh(sizes, names, axis_types=types))


class Tracing:
    """What JAX traces of a definition: from large constants and the arrays of its arguments to the number of
    the requirement that failed, and the arrays of the result.
    """

    def __init__(self, program: Program, name: GlobalVar, taken: Arguments, layout: Layout) -> None:
        """`program` has nothing but what the definition reaches."""
        self.program = program
        self.name = name
        self.taken = taken
        self.layout = layout
        self.constants = [constant_value(e) for e in program.constants]
        self.__name__ = name.name_hint
        self.found: Any = None
        """What `refusal` did."""
        self.stopped: Span | None = None
        """Where the operator stands that has no form for XLA."""

    def inputs(self) -> tuple[list[Any], list[Any]]:
        """What JAX is told of constants and arguments."""
        wider = [self.wider(x) for x in self.taken.leaves]
        return list(map(self.wider, self.constants)), self.layout.described(
            wider, self.taken.structure, self.taken.params
        )

    def wider(self, x: Any) -> Any:
        """What JAX is told of an array that comes from outside."""
        return self.program.jax.ShapeDtypeStruct(x.shape, outside(x.dtype))

    def __call__(self, constants: Sequence[Any], leaves: Sequence[Any]) -> Any:
        trace = Trace(self.program, list(map(as_inside, constants, self.constants)), self.layout)
        inside = map(as_inside, leaves, self.taken.leaves)
        try:
            value = run(trace.entry(self.name, self.taken.structure(*inside)))
        except UntraceableError:
            self.stopped = trace.refused
            raise
        found, self.result = result_of(value, trace.checks.requirements)
        arrays = [trace.np.array(x) for x in found]
        self.dtypes = [np.dtype(x.dtype) for x in arrays]
        return trace.np.asarray(trace.checks.failed), [x.astype(outside(x.dtype)) for x in arrays]

    def refusal(self, do: Callable[[], Any]) -> str | None:
        """Do something that traces it, which `found` is then; or say why that cannot be done."""
        jax = self.program.jax
        if self.taken.structure.has((*FUNCTIONS, *REFERENCES)):
            return "it takes functions or references from outside"
        try:
            with self.program.context(self.layout.device):
                self.found = do()
        except UntraceableError as error:
            return str(error)
        except RecursionError:
            return "branches on computed values nest deeper than Python's stack allows"
        except (TypeError, ValueError, NotImplementedError, jax.errors.JaxRuntimeError) as error:
            return f"JAX: {first_line(error)}"
        return None


def arguments_of(fn: Function, name: str, specs: Specs, mod: IRModule, given: Given) -> Arguments:
    """What a function takes where some sizes and examples are given (`argument-type`, `xla-unsupported`)."""
    sizes: dict[Any, Any] = {
        p: given.sizes[p.name_hint] for p in fn.type_params if p.name_hint in given.sizes
    }
    shown = {
        p: convert_argument(f"@{name}", p, given.examples[p.name_hint], sizes, mod)
        for p in fn.params
        if p.name_hint in given.examples
    }
    known: dict[Any, Any] = {p: n for p, n in sizes.items() if isinstance(p, TypeVar) and is_size(p)}
    params = tuple([replace(p, type_annotation=substitute_type(p.type_annotation, known)) for p in fn.params])
    leaves: list[Any] = []
    parts: list[Any] = [len(params)]
    for old, p in zip(fn.params, params, strict=True):
        if old in shown:
            more, structure = specs.of_value(shown[old])
        else:
            more, structure = specs.of_type(p.type_annotation, p.name_hint, p.span)
        leaves += more
        parts += structure.parts
    header = replace(
        fn,
        params=params,
        body=Tuple((), span=None),
        ret_type=substitute_type(fn.ret_type, known),
        type_params=tuple([p for p in fn.type_params if p not in known]),
        constraints=tuple([substitute_type(c, known) for c in fn.constraints]),
        attrs={},
    )
    return Arguments(header, leaves, Structure(tuple(parts)))


def outside(dtype: Any) -> Any:
    """The dtype of arrays of code that stand for those of a dtype."""
    return WIDER.get(np.dtype(dtype), dtype)


def as_inside(x: Any, like: Any) -> Any:
    """An array from outside, with the dtype that it has in the program."""
    return x if x.dtype == like.dtype else x.astype(like.dtype)


def without_others(mod: IRModule, name: GlobalVar) -> IRModule:
    """A module with what one definition reaches."""
    used = reached(mod, [name])
    return without_definitions(mod, [v for v in mod.functions if v not in used])
