"""A definition as one program of XLA for each structure of its arguments."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import Any, NoReturn

from relay.analysis.donation import donated_params
from relay.backend.xla.checks import Requirement
from relay.backend.xla.data import FUNCTIONS, REFERENCES, Structure, flatten
from relay.backend.xla.layout import Layout, paths_of
from relay.backend.xla.processes import wait_for_loss
from relay.backend.xla.program import Program, first_line
from relay.backend.xla.results import host_array, result_of
from relay.backend.xla.shapes import shape_of
from relay.backend.xla.trace import Trace
from relay.diagnostic import Span
from relay.ir.collector import paused
from relay.ir.expr import Function, GlobalVar
from relay.ir.walk import run
from relay.op.traced import UntraceableError

MAX_STRUCTURES = 16
"""For how many structures of its arguments a definition is compiled."""

MAX_REFUSALS = 4
"""For how many shapes it is tried to compile a definition for a structure that it was refused for."""


class FailedError(Exception):
    """Something that the program requires does not hold."""

    def __init__(self, requirement: Requirement) -> None:
        """What that is, as far as it is known without the arguments."""
        super().__init__(requirement.message)
        self.requirement = requirement


@dataclass(frozen=True, slots=True)
class Compiled:
    """A definition for arguments of one structure: a function of JAX on constants, on the leaves that its
    caller gives up, and on all others.
    """

    function: Any
    given_up: frozenset[int]

    def __call__(self, constants: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """The number of the requirement that failed, and the result."""
        return self.function(constants, *self.split(leaves))

    def split(self, leaves: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The leaves that are given up, and the others."""
        if not self.given_up:
            return [], list(leaves)
        given = [x for i, x in enumerate(leaves) if i in self.given_up]
        return given, [x for i, x in enumerate(leaves) if i not in self.given_up]


class Whole:
    """A definition that XLA computes.  Calls take and give values of the interpreter."""

    def __init__(self, program: Program, name: GlobalVar, layout: Layout) -> None:
        """`layout` says where its arrays lie."""
        self.program = program
        self.name = name
        self.layout = layout
        definition = program.mod.functions[name]
        params = definition.params if isinstance(definition, Function) else ()
        self.params = tuple([p.name_hint for p in params])
        self.donated = frozenset(donated_params(definition))
        """The numbers of the parameters whose arrays calls may overwrite."""
        self.kept: dict[Structure, Compiled] = {}
        self.refused: dict[Structure, dict[Any, str]] = {}
        """Why it is not compiled for some structures of arguments, by their shapes."""
        self.stopped: Span | None = None
        """Where that was that was refused last."""
        self.called: dict[Structure, Any] = {}
        """The types and places of the leaves of the first call, by structure."""
        self.operators = 0
        """How many operators were traced last."""
        self.lock = Lock()

    def __call__(self, args: Sequence[Any], *, on_device: bool = False) -> Any:
        """The value on arguments, its tensors arrays of JAX if they are to stay on the device.

        Raises `UntraceableError` where it has no form for XLA, `FailedError` where it fails.
        """
        leaves, structure = flatten(tuple(args))
        known = self.refused.get(structure)
        if known is not None:
            reason = known.get(tuple(map(shape_of, leaves)))
            if reason is not None or len(known) == MAX_REFUSALS:
                raise UntraceableError(reason or next(iter(known.values())))
        jax = self.program.jax
        try:
            with self.program.context(self.layout.device):
                there = self.layout.arguments(leaves, structure, self.params)
                is_first = structure not in self.called
                if is_first:
                    self.called[structure] = list(map(self.type_of, there))
                with paused() if is_first else nullcontext():
                    failed, found = self.compiled(structure)(self.program.placed(self.layout), there)
                self.layout.settle(found)
                requirements = found.func.requirements
                if requirements and (number := int(failed)):
                    raise FailedError(requirements[number - 1])
            return found.func(*(found.args if on_device else map(host_array, found.args)))
        except UntraceableError as error:
            self.refuse(structure, leaves, str(error))
        except RecursionError:
            self.refuse(
                structure, leaves, "branches on computed values nest deeper than Python's stack allows"
            )
        except jax.errors.JaxRuntimeError as error:
            if jax.process_count() > 1:
                wait_for_loss(error)
            self.refuse(structure, leaves, f"XLA: {first_line(error)}")

    def type_of(self, x: Any) -> Any:
        """The shape and dtype of an array, and where it lies."""
        place = getattr(x, "sharding", None)
        return self.program.jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place)

    def lowered(self, structure: Structure) -> Any:
        """What JAX has of the definition, for the arguments of a structure that it was called with first."""
        with self.program.context(self.layout.device):
            constants = list(map(self.type_of, self.program.placed(self.layout)))
            code = self.compiled(structure)
            return code.function.lower(constants, *code.split(self.called[structure]))

    def refuse(self, structure: Structure, leaves: Sequence[Any], reason: str) -> NoReturn:
        """Keep in mind that there is no form for arguments of a structure and of shapes, and why."""
        self.refused.setdefault(structure, {})[tuple(map(shape_of, leaves))] = reason
        raise UntraceableError(reason) from None

    def compiled(self, structure: Structure) -> Compiled:
        """The function of JAX for arguments of a structure."""
        with self.lock:
            if structure not in self.kept:
                if len(self.kept) == MAX_STRUCTURES:
                    message = f"it is compiled for {MAX_STRUCTURES} structures of its arguments already"
                    raise UntraceableError(message)
                self.kept[structure] = self.traced_on(structure)
            return self.kept[structure]

    def traced_on(self, structure: Structure) -> Compiled:
        """What JAX compiles: from constants and the leaves of arguments to the number of the requirement that
        failed, and the result.
        """
        if structure.has(FUNCTIONS):
            raise UntraceableError("it takes functions from outside")
        if structure.has(REFERENCES):
            raise UntraceableError("it takes references from outside")
        jax = self.program.jax
        paths = paths_of(structure, [str(i) for i in range(len(self.params))], 1)
        given_up = frozenset([i for i, (param,) in enumerate(paths) if int(param) in self.donated])

        def call(constants: Sequence[Any], given: Sequence[Any], others: Sequence[Any]) -> Any:
            trace = Trace(self.program, constants, self.layout)
            given_leaves, other_leaves = iter(given), iter(others)
            leaves = [next(given_leaves if i in given_up else other_leaves) for i in range(len(paths))]
            try:
                value = run(trace.entry(self.name, structure(*leaves)))
            except UntraceableError:
                self.stopped = trace.refused
                raise
            self.operators = trace.count
            found, result = result_of(value, trace.checks.requirements)
            return trace.np.asarray(trace.checks.failed), jax.tree_util.Partial(
                result, *[trace.np.array(x) for x in found]
            )

        return Compiled(jax.jit(call, donate_argnums=1), given_up)
