"""Programs whose control flow the host runs, and whose operators XLA computes, a segment at a time."""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from relay.backend.xla.arranged import arrange
from relay.backend.xla.checks import Checks
from relay.backend.xla.data import Known, Structure, flatten
from relay.backend.xla.host_operators import HOST_ELEMENTS, HostOperator, on_host
from relay.backend.xla.namespace import Namespace
from relay.backend.xla.operators import applied_operator, static_size
from relay.backend.xla.program import Program, first_line
from relay.backend.xla.segment import Compiled, Segment, StepRefusedError
from relay.backend.xla.segments import Step
from relay.interpreter.code import Code, Draft, Register
from relay.interpreter.conversion import PythonFunction
from relay.interpreter.functions import OperatorValue
from relay.interpreter.machine import Interpreter, quiet, thawed
from relay.interpreter.operators import operator_function, operator_value
from relay.interpreter.unit import Unit
from relay.interpreter.value import Closure, FunctionValue, RefValue, is_array
from relay.ir.dtype import is_integer
from relay.ir.expr import Call, GlobalVar, Op
from relay.ir.tensor_parts import tensor_parts
from relay.ir.type import HAS_ANY, HAS_VAR
from relay.op.debugging import Assert, CheckNan, Effect
from relay.op.registry import instance
from relay.op.traced import UntraceableError


class HybridMachine(Interpreter):
    """The interpreter, whose operators on more than a few elements XLA computes."""

    def __init__(self, program: Program, device: Any) -> None:
        """`device` is where these run."""
        self.program = program
        self.jax = program.jax
        self.device = device
        self.known: dict[Any, Any] = {}
        """The programs of XLA by what they compute."""
        self.constants: dict[int, tuple[Any, Any]] = {}
        """Constants on the device, by the identity of those in the program."""
        self.refused: dict[str, str] = {}
        """Why the host computes some operators, by name."""
        self.dispatches = 0
        """How many times programs of XLA ran."""
        self.calls = 0
        """How many calls of segments these have made."""
        self.lock = Lock()
        super().__init__(program.mod)

    # --- what lowering asks

    def operator(self, e: Call) -> Callable[..., Any]:
        """What to apply to the operands of an operator call."""
        t = self.type_of(e)
        is_small = t is not None and not t.flags & (HAS_ANY | HAS_VAR) and static_size(t) <= HOST_ELEMENTS
        of = [part for a in e.args for _, part in tensor_parts(self.type_of(a))]
        has_form = not acts(e.attrs) and all(part.dtype != "string" for part in of)
        decides = is_small and all(decides_by(p.dtype) for _, p in tensor_parts(t))
        does = operator_function(self, e)
        return HostOperator(e.attrs, does, is_small=is_small, decides=decides, has_form=has_form)

    def operator_value(self, op: Op) -> OperatorValue:
        """An operator as a first-class value, which the host applies."""
        value = operator_value(op)
        return OperatorValue(op, HostOperator(instance(op.name, {}), value.apply))

    def arrange(self, unit: Unit) -> None:
        """Put segments in the place of runs of operators, and large constants on the device."""
        draft = unit.draft
        for register, value in draft.constants.items():
            draft.constants[register] = self.placed_constant(value)
        self.arrange_segments(draft)

    def arrange_segments(self, draft: Draft) -> None:
        """Put segments in the place of runs of operators."""
        arrange(draft, self.segment)

    def segment(self, steps: Sequence[Step], results: Sequence[Register], constants: Any) -> Segment:
        """What computes a run of operators."""
        return Segment(self, steps, results, constants)

    def placed_constant(self, value: Any) -> Any:
        """A constant on the device if it is large."""
        if not is_array(value) or value.size <= HOST_ELEMENTS or value.dtype == object:
            return value
        if id(value) not in self.constants:
            self.constants[id(value)] = (value, self.placed(value))
        return self.constants[id(value)][1]

    # --- what segments ask

    def compiled(self, steps: Sequence[Step], outs: Sequence[Register], constants: Any) -> Compiled:
        """Steps as a program of XLA, the same for the same steps."""
        places: dict[Register, int] = {}
        made = {s.out for s in steps}
        known = {r: x for r, x in constants.items() if flatten(x)[0] and x.size <= HOST_ELEMENTS}
        reads = tuple(dict.fromkeys([r for s in steps for r in s.reads if r not in made and r not in known]))
        for r in (*reads, *known, *[s.out for s in steps]):
            places.setdefault(r, len(places))
        key = (
            tuple([(operator_of(s), *[places[r] for r in s.reads]) for s in steps]),
            len(reads),
            tuple([(x.dtype, x.shape, x.tobytes()) for x in known.values()]),
            tuple([places[r] for r in outs]),
        )
        if key not in self.known:
            self.known[key] = self.function(steps, reads, tuple(outs), known)
        return Compiled(self.known[key], reads, tuple(outs))

    def dispatched(self, calls: int) -> None:
        """Note that a program of XLA runs, and makes some calls of segments."""
        with self.lock:
            self.dispatches += 1
            self.calls += calls

    def refuse(self, step: Step, reason: str) -> None:
        """Note why the host does a step."""
        if isinstance(step.does, HostOperator):
            self.refused[step.does.op.name] = reason

    def function(
        self, steps: Sequence[Step], reads: Sequence[Register], outs: Sequence[Register], known: Any
    ) -> Callable[[Sequence[Any]], tuple[Any, Any]]:
        """From the values that are read to the number of the requirement that failed, None if there are no
        requirements, and the values that are wanted.
        """
        return self.compiled_function(self.traceable(steps, reads, outs, known))

    def traceable(
        self, steps: Sequence[Step], reads: Sequence[Register], outs: Sequence[Register], known: Any
    ) -> Callable[[Sequence[Any]], tuple[Any, Any]]:
        """That function as JAX traces it."""

        def call(inputs: Sequence[Any]) -> tuple[Any, Any]:
            np = Namespace(self.program.jax, Checks(self.program.jax))
            values = {**known, **dict(zip(reads, inputs, strict=True))}
            for at, s in enumerate(steps):
                operands = [values[r] for r in s.reads]
                if isinstance(s.does, HostOperator):
                    try:
                        values[s.out] = applied_operator(np, s.does.op, operands)
                    except UntraceableError as error:
                        raise StepRefusedError(at, str(error)) from None
                else:
                    values[s.out] = tuple(operands) if s.does is None else operands[0][s.does]
            failed = np.array(np.checks.failed) if np.checks.requirements else None
            return failed, [on_device(np, values[r]) for r in outs]

        return call

    def compiled_function(self, call: Callable[..., Any]) -> Callable[[Sequence[Any]], tuple[Any, Any]]:
        """A function that JAX traces, compiled."""
        jax = self.jax
        compiled = jax.jit(call)

        def function(inputs: Sequence[Any]) -> tuple[Any, Any]:
            self.dispatched(1)
            try:
                return compiled(inputs)
            except jax.errors.JaxRuntimeError as error:
                raise StepRefusedError(None, f"XLA: {first_line(error)}") from None

        return function

    # --- runs

    def called(self, name: GlobalVar, values: Sequence[Any]) -> Any:
        """The value of a definition on arguments that have been converted."""
        definition = self.value_of(name)
        assert isinstance(definition, Closure)
        with quiet():
            return thawed(self._run(definition.code, [*values, *definition.env]))

    def placed(self, x: Any) -> Any:
        """A large array on the device; any other value as it is."""
        if is_array(x) and x.size > HOST_ELEMENTS and x.dtype != object:
            return self.program.jax.device_put(x, self.device)
        return x

    def _run(self, code: Code, frame: list[Any]) -> Any:
        with self.program.context(self.device):
            return brought_back(super()._run(code, [placed_in(self.placed, x) for x in frame]))


def acts(op: Any) -> bool:
    """Whether an operator does something that is seen outside, and does not fail alone."""
    return isinstance(op, Effect) and not isinstance(op, Assert | CheckNan)


def decides_by(dtype: object) -> bool:
    """Whether numbers of a dtype are integers or truth values: indices, conditions, counters."""
    return isinstance(dtype, str) and (dtype == "bool" or is_integer(dtype))


def operator_of(s: Step) -> Any:
    """What a step does, as part of a key."""
    return s.does.op if isinstance(s.does, HostOperator) else s.does


def on_device(np: Namespace, value: Any) -> Any:
    """A value of a segment as JAX gives it to the outside."""
    leaves, structure = flatten(value)
    return structure(*map(np.array, leaves))


class OutsideFunction(FunctionValue):
    """A function of Python that takes arrays of NumPy, wherever those of the program are."""

    __slots__ = ("function",)

    def __init__(self, function: PythonFunction) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*[host_form(x)[0] for x in args])


def placed_in(place: Callable[[Any], Any], value: Any) -> Any:
    """A value with its arrays placed, and functions of Python in it that take arrays of NumPy."""
    leaves, structure = flatten(value)
    if structure.has((PythonFunction,)):
        parts = [Known(OutsideFunction(p.value)) if is_outside(p) else p for p in structure.parts]
        structure = Structure(tuple(parts))
    return structure(*map(place, leaves))


def is_outside(part: Any) -> bool:
    """Whether a part of a structure is a function of Python."""
    return isinstance(part, Known) and isinstance(part.value, PythonFunction)


def brought_back(value: Any) -> Any:
    """A value with its arrays as NumPy's, what references hold too."""
    result, pending = host_form(value)
    seen: set[int] = set()
    while pending:
        reference = pending.pop()
        if id(reference) not in seen:
            seen.add(id(reference))
            reference.value, more = host_form(reference.value)
            pending += more
    return result


def host_form(value: Any) -> tuple[Any, list[RefValue]]:
    """A value with its arrays as NumPy's, and the references in it."""
    leaves, structure = flatten(value)
    references = [p.value for p in structure.parts if isinstance(p, Known) and isinstance(p.value, RefValue)]
    return structure(*map(on_host, leaves)), references
