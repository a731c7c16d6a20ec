"""What functions of `register_infer_correct_layout` give, by the module name that people know."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["InferCorrectLayoutOutput"]


@dataclass(frozen=True)
class InferCorrectLayoutOutput:
    """In which layouts a call takes its operands, in which its results are, and its attributes then."""

    input_layouts: Sequence[str]
    output_layouts: Sequence[str]
    attrs: Any
