"""A definition as one program of XLA for each structure of its arguments."""

from collections.abc import Sequence
from threading import Lock
from typing import Any, NoReturn

from relay.backend.xla.data import FUNCTIONS, REFERENCES, Structure, flatten
from relay.backend.xla.host_operators import is_on_device
from relay.backend.xla.program import Program, first_line, xla_context
from relay.backend.xla.results import host_array, result_of
from relay.backend.xla.shapes import shape_of
from relay.backend.xla.trace import Trace
from relay.ir.expr import GlobalVar
from relay.ir.walk import run
from relay.op.traced import UntraceableError

MAX_STRUCTURES = 16
"""For how many structures of its arguments a definition is compiled."""

MAX_REFUSALS = 4
"""For how many shapes it is tried to compile a definition for a structure that it was refused for."""


class FailedError(Exception):
    """Something that the program requires does not hold."""


class Whole:
    """A definition that XLA computes.  Calls take and give values of the interpreter."""

    def __init__(self, program: Program, name: GlobalVar, device: Any) -> None:
        """`device` is where it runs."""
        self.program = program
        self.name = name
        self.device = device
        self.kept: dict[Structure, Any] = {}
        self.refused: dict[Structure, dict[Any, str]] = {}
        """Why it is not compiled for some structures of arguments, by their shapes."""
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
            with xla_context(jax, self.device):
                failed, found = self.compiled(structure)(self.program.placed(self.device), self.here(leaves))
                if found.func.requirements and int(failed):
                    raise FailedError
            return found.func(*(found.args if on_device else map(host_array, found.args)))
        except UntraceableError as error:
            self.refuse(structure, leaves, str(error))
        except RecursionError:
            self.refuse(
                structure, leaves, "branches on computed values nest deeper than Python's stack allows"
            )
        except jax.errors.JaxRuntimeError as error:
            self.refuse(structure, leaves, f"XLA: {first_line(error)}")

    def refuse(self, structure: Structure, leaves: Sequence[Any], reason: str) -> NoReturn:
        """Keep in mind that there is no form for arguments of a structure and of shapes, and why."""
        self.refused.setdefault(structure, {})[tuple(map(shape_of, leaves))] = reason
        raise UntraceableError(reason) from None

    def here(self, leaves: Sequence[Any]) -> list[Any]:
        """Arguments of which none lies on another device."""
        return [self.program.jax.device_put(x, self.device) if is_on_device(x) else x for x in leaves]

    def compiled(self, structure: Structure) -> Any:
        """The function of JAX for arguments of a structure."""
        with self.lock:
            if structure not in self.kept:
                if len(self.kept) == MAX_STRUCTURES:
                    message = f"it is compiled for {MAX_STRUCTURES} structures of its arguments already"
                    raise UntraceableError(message)
                self.kept[structure] = self.program.jax.jit(self.traced_on(structure))
            return self.kept[structure]

    def traced_on(self, structure: Structure) -> Any:
        """What JAX traces: from constants and the leaves of arguments to the number of the requirement that
        failed, and the result.
        """
        if structure.has(FUNCTIONS):
            raise UntraceableError("it takes functions from outside")
        if structure.has(REFERENCES):
            raise UntraceableError("it takes references from outside")

        def call(constants: Sequence[Any], leaves: Sequence[Any]) -> Any:
            trace = Trace(self.program, constants)
            value = run(trace.entry(self.name, structure(*leaves)))
            self.operators = trace.count
            found, result = result_of(value, trace.checks.requirements)
            jax = self.program.jax
            return trace.np.asarray(trace.checks.failed), jax.tree_util.Partial(
                result, *[trace.np.array(x) for x in found]
            )

        return call
