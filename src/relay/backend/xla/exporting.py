"""Definitions as code for platforms that need not be here, by `jax.export`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from relay.backend.xla.checks import Requirement
from relay.backend.xla.data import FUNCTIONS, REFERENCES, Structure, flatten
from relay.backend.xla.layout import OneDevice
from relay.backend.xla.program import Program, first_line
from relay.backend.xla.results import Result, result_of
from relay.backend.xla.specs import WHOLE, Specs, is_size
from relay.backend.xla.trace import Trace
from relay.diagnostic import Span, fail
from relay.interpreter.arguments import convert_argument
from relay.interpreter.binding import constant_value
from relay.interpreter.machine import Interpreter
from relay.interpreter.value import Closure
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
    """Its parameters and the type of its result, without a body; None for what is no function."""
    leaves: Sequence[Any]
    """The arrays of its arguments, as JAX is told of them."""
    structure: Structure
    """That of the tuple of its arguments."""


LIKELY_SIZE = 8
"""What a size is taken for, to see whether it has to be a number."""


@dataclass(frozen=True, slots=True)
class ExportedEntry:
    """A definition as code: from large constants and the arrays of its arguments to the number of the
    requirement that failed, and the arrays of its result.
    """

    name: str
    header: Function | None
    structure: Structure
    """These are as in `Arguments`."""
    result: Result
    datatypes: Mapping[GlobalTypeVar, TypeData]
    constants: Sequence[Any]
    """Arrays of NumPy."""
    code: Any
    """The `Exported` of JAX."""

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What it requires as it runs, by number from 1 on."""
        return self.result.requirements


def export_entry(
    program: Program, machine: Interpreter, name: GlobalVar, platforms: Sequence[str], given: Given
) -> ExportedEntry:
    """A definition for platforms; `machine` knows it as it was written (`xla-unsupported`)."""
    jax = program.jax
    definition = machine.value_of(name)
    datatypes = {**machine.mod.type_definitions, **program.mod.type_definitions}
    own = Program(without_others(program.mod, name), jax, program.matmul_precision)
    constants = [constant_value(e) for e in own.constants]
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in constants]

    def arguments(specs: Specs) -> Arguments:
        if not isinstance(definition, Closure):
            return Arguments(None, [], flatten(())[1])
        return arguments_of(definition.function, name.name_hint, specs, machine.mod, given)

    specs = Specs(jax, name.name_hint, datatypes)
    taken = arguments(specs)
    tracing = Tracing(own, name, taken.structure)
    export = jax.export.export(jax.jit(tracing), platforms=platforms)
    reason = tracing.refusal(lambda: export(shapes, taken.leaves))
    if reason is None:
        parts = taken.header, taken.structure, tracing.result
        return ExportedEntry(name.name_hint, *parts, datatypes, constants, tracing.found)
    hint = WHOLE
    if specs.symbols:
        likely = arguments(Specs(jax, name.name_hint, datatypes, LIKELY_SIZE))
        again = Tracing(own, name, taken.structure)
        more = again.refusal(lambda: jax.eval_shape(again, shapes, likely.leaves))
        if more is None:
            several = [p.name_hint for p in specs.symbols]
            listing = ", ".join([f'"{s}": …' for s in several])
            hint = f"give sizes as numbers: `sizes={{{listing}}}`, or `--size {several[0]}=…`"
        else:
            reason, tracing = more, again
    message = f"`@{name.name_hint}` cannot be exported: {reason}"
    fail("xla-unsupported", message, tracing.stopped, hint=hint)


class Tracing:
    """What JAX traces of a definition: from large constants and the arrays of arguments of a structure to the
    number of the requirement that failed, and the arrays of the result.
    """

    def __init__(self, program: Program, name: GlobalVar, structure: Structure) -> None:
        """`program` has nothing but what the definition reaches."""
        self.program = program
        self.name = name
        self.structure = structure
        self.layout = OneDevice(program.jax, program.jax.devices("cpu")[0])
        self.__name__ = name.name_hint
        self.found: Any = None
        """What `refusal` did."""
        self.stopped: Span | None = None
        """Where the operator stands that has no form for XLA."""

    def __call__(self, constants: Sequence[Any], leaves: Sequence[Any]) -> Any:
        trace = Trace(self.program, constants, self.layout)
        try:
            value = run(trace.entry(self.name, self.structure(*leaves)))
        except UntraceableError:
            self.stopped = trace.refused
            raise
        found, self.result = result_of(value, trace.checks.requirements)
        return trace.np.asarray(trace.checks.failed), [trace.np.array(x) for x in found]

    def refusal(self, do: Callable[[], Any]) -> str | None:
        """Do something that traces it, which `found` is then; or say why that cannot be done."""
        jax = self.program.jax
        if self.structure.has(FUNCTIONS) or self.structure.has(REFERENCES):
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


def without_others(mod: IRModule, name: GlobalVar) -> IRModule:
    """A module with what one definition reaches."""
    used = reached(mod, [name])
    return without_definitions(mod, [v for v in mod.functions if v not in used])
