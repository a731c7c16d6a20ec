"""What operators do in mixed precision: which gain by narrow floats, which go along, and which lose."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from relay.diagnostic import fail
from relay.op.base import Injective, Operator, get, registry
from relay.op.column import Column
from relay.op.nn.adaptive_pool import AdaptiveAvgPool, AdaptiveMaxPool
from relay.op.nn.conv import ForwardConvolution
from relay.op.nn.conv_transpose import TransposedConvolution
from relay.op.nn.global_pool import GlobalPool
from relay.op.nn.pool import AvgPool, MaxPool


class Precision(Enum):
    """What becomes of a call in mixed precision."""

    ALWAYS = "always"
    """Computed on narrow floats: what takes the time, and adds up in wide ones."""
    FOLLOW = "follow"
    """Computed on narrow floats where its operands are such already."""
    NEVER = "never"
    """Computed on wide floats: what loses digits in narrow ones, or leaves their range."""


precision = Column[Precision](default=Precision.NEVER)
"""By operator; one's own operators get an entry, or are computed on wide floats."""

for family in (ForwardConvolution, TransposedConvolution):
    precision[family] = Precision.ALWAYS
for family in (Injective, MaxPool, AvgPool, AdaptiveMaxPool, AdaptiveAvgPool, GlobalPool):
    precision[family] = Precision.FOLLOW
for name in ("nn.dense", "nn.matmul", "nn.batch_matmul"):
    precision[registry[name]] = Precision.ALWAYS
for name in (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "negative", "abs", "copy", "clip", "where",
    "sigmoid", "tanh", "nn.relu", "nn.leaky_relu", "nn.prelu", "nn.bias_add", "nn.batch_norm", "nn.dropout",
    "zeros_like", "ones_like",
):  # fmt: skip
    precision[registry[name]] = Precision.FOLLOW


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
        return self.by_name.get(op.name, precision[op])
