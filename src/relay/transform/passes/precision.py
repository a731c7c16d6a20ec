"""What operators do in mixed precision: what they say of themselves, unless a program says otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, Tuple, TupleGetItem
from relay.ir.type import TensorType, TupleType, Type
from relay.op.kind import Precision
from relay.op.op_attributes import OpAttributes, columns
from relay.op.registry import get

WIDE_DTYPE = "float32"
KEY = "FTVMMixedPrecisionConversionType"
BY_NUMBER = {0: Precision.ALWAYS, 1: Precision.FOLLOW, 2: Precision.NEVER}
"""What functions of users give as numbers."""
FEW_ROWS = 8
"""Rows of a product that do not repay the conversion of its matrix at each call."""
ATTENTION = "attention is one kernel, on float32: its scores never leave the cache"
THIN = "few rows times a matrix that is an argument: to convert that takes longer than the product"


@dataclass(frozen=True)
class Choices:
    """Which operators of a program are computed on which floats, and what narrow products are added up in."""

    narrow: str
    accumulation: str
    by_name: Mapping[str, Precision]
    keeps_thin: bool = False
    """Whether products stay as they are that would not be quicker: of a few rows with a matrix that is a
    parameter, and of attention.
    """

    @staticmethod
    def of(narrow: str, accumulation: str, *, keeps_thin: bool = False, **lists: Sequence[str]) -> "Choices":
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
            keeps_thin,
        )

    def __call__(self, e: Call) -> Precision:
        """What becomes of a call of an operator: as the program, a user's function or its class says."""
        named = self.by_name.get(e.attrs.name)
        said = said_by_user(e, self.narrow) if named is None else None
        return named or (e.attrs.precision if said is None else said[0])

    def accumulation_of(self, e: Call) -> str:
        """What a narrow call adds up in."""
        said = None if e.attrs.name in self.by_name else said_by_user(e, self.narrow)
        return self.accumulation if said is None else said[1]


def said_by_user(e: Call, narrow: str) -> tuple[Precision, str] | None:
    """What a function that is registered for the operator says of a call, and what it adds up in; None
    without one (`operator-rule`).
    """
    function = OpAttributes(e.attrs.name).get(KEY) if KEY in columns else None
    if function is None:
        return None
    said: Any = function(e, narrow)
    try:
        kind, accumulation, _ = said
        return BY_NUMBER[kind], {narrow: narrow, WIDE_DTYPE: WIDE_DTYPE}[accumulation]
    except (TypeError, ValueError, KeyError):
        hint = f'return [kind, "{WIDE_DTYPE}", "{narrow}"]: 0 is always, 1 follows its operands, 2 is never'
        message = f"the mixed precision of `{e.attrs.name}` cannot be {said!r:.80}"
        fail("operator-rule", message, e.span, hint=hint)


def has_few_rows(out: TensorType, matrix: TensorType) -> bool:
    """Whether a product has, as far as is known, few rows for each matrix of its second operand."""
    sizes = [d for t in (out, matrix) for d in (t.shape if isinstance(t.shape, tuple) else (None,))]
    if not all(isinstance(d, int) for d in sizes) or len(matrix.concrete_shape) < 2:
        return False
    rows, columns = matrix.concrete_shape[-2:]
    found = prod(out.concrete_shape) * rows * columns
    return found < FEW_ROWS * prod(matrix.concrete_shape) * (out.concrete_shape or (1,))[-1]


def field_of(e: Expr, index: int) -> Expr:
    """A field of a tuple, which is there if the tuple is one that was just made."""
    return e.fields[index] if isinstance(e, Tuple) else TupleGetItem(e, index, span=e.span)


def fields_of(t: Type) -> list[TensorType]:
    """The tensors of an operand, which is one or a tuple of some."""
    several = t.fields if isinstance(t, TupleType) else (t,)
    return [f for f in several if isinstance(f, TensorType)]
