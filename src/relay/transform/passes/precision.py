"""What operators do in mixed precision: what they say of themselves, unless a program says otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay.diagnostic import fail
from relay.op.base import Operator
from relay.op.kind import Precision
from relay.op.registry import get


@dataclass(frozen=True)
class Choices:
    """Which operators of a program are computed on which floats, and what narrow products are added up in."""

    narrow: str
    accumulation: str
    by_name: Mapping[str, Precision]

    @staticmethod
    def of(narrow: str, accumulation: str, **lists: Sequence[str]) -> "Choices":
        """From lists of names for each `Precision` (`option-type`, `unknown-operator`)."""
        for given, known in ((narrow, ("float16", "bfloat16")), (accumulation, (narrow, "float32"))):
            if given not in known:
                fail(
                    "option-type", f"mixed precision is not in `{given}`", hint=f"it is {' or '.join(known)}"
                )
        return Choices(
            narrow,
            accumulation,
            {get(name).name: Precision(kind) for kind, names in lists.items() for name in names},
        )

    def __call__(self, op: Operator) -> Precision:
        """What becomes of calls of an operator."""
        return self.by_name.get(op.name, op.precision)
