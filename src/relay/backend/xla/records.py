"""What is recorded of a segment's call: its operands, and the tensors that it computes later."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from relay.backend.xla.data import Structure, flatten
from relay.backend.xla.later import Later, RowType, RowTypes
from relay.backend.xla.segments import Step


@dataclass(eq=False, slots=True)
class Signature:
    """Steps on operands of certain types: calls with equal ones can be made together."""

    call: Callable[[Sequence[Any]], tuple[Any, Any]]
    """What JAX traces: from operands to the number of the requirement that failed, and the results."""
    structure: Structure
    """Of the tuple of the operands."""
    types: tuple[RowType, ...]
    """Of the tensors in the operands."""
    result: Structure
    """Of the tuple of the results."""
    out_types: tuple[RowType, ...]
    """Of the tensors in the results."""
    is_checked: bool
    """Whether it may fail."""
    is_sum: bool
    """Whether it adds two tensors of one type."""
    programs: dict[Any, Any] = field(default_factory=dict[Any, Any])
    """The programs of XLA for many calls, by how these find their operands."""

    out_bytes: int = 0
    """How large the results are."""
    is_flat: bool = False
    """Whether each result is a tensor."""

    def __post_init__(self) -> None:
        self.out_bytes = sum([t.bytes for t in self.out_types])
        self.is_flat = len(self.result.parts) == len(self.out_types) + 1

    def flat(self, *leaves: Any) -> tuple[Any, list[Any]]:
        """What failed, and the tensors in the results, of those in the operands."""
        failed, found = self.call(self.structure(*leaves))
        return failed, flatten(tuple(found))[0]


class Recordable:
    """Steps as a program of XLA, whose calls may be recorded too."""

    def __init__(self, call: Callable[..., Any], compiled: Callable[..., Any], *, is_sum: bool) -> None:
        """`compiled` computes what `call` says to JAX; it `is_sum` if that is the sum of two operands."""
        self.call = call
        self.compiled = compiled
        self.is_sum = is_sum
        self.signatures: dict[Any, Signature] = {}

    def __call__(self, inputs: Sequence[Any]) -> tuple[Any, Any]:
        return self.compiled(inputs)

    def signed(
        self, jax: Any, known: RowTypes, operands: Sequence[Any], types: Sequence[RowType]
    ) -> Signature:
        """The signature of operands that have tensors of some types (`StepRefusedError`)."""
        _, structure = flatten(tuple(operands))
        shapes = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types]
        failed, results = jax.eval_shape(self.call, list(structure(*shapes)))
        leaves, result = flatten(tuple(results))
        outs = tuple([known[x.shape, x.dtype] for x in leaves])
        is_sum = self.is_sum and {*types} == {*outs}
        return Signature(self.call, structure, tuple(types), result, outs, failed is not None, is_sum)


class Record:
    """A call that has not been made yet."""

    __slots__ = ("__weakref__", "is_made", "leaves", "number", "outs", "segment", "signature", "steps")

    def __init__(
        self, number: int, signature: Signature, leaves: list[Any], segment: Any, steps: Sequence[Step]
    ) -> None:
        """The call of some steps of a segment on the tensors in `leaves`, the `number`th of a run."""
        self.number = number
        self.signature = signature
        self.leaves = leaves
        self.segment = segment
        self.steps = steps
        self.outs: list[ref[Later]] = []
        self.is_made = False


def maker(x: Any) -> Record | None:
    """The record that is to compute an operand; None if that is known."""
    return x.record if type(x) is Later else None
