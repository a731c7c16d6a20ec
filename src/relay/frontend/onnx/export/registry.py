"""Which function writes which operator of Relay as nodes of ONNX."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from relay.op.base import Operator

Writer = Callable[..., Any]
"""`(graph, operator, *operands)` to the name of the result, or a tuple of names."""
Fits = Callable[[Any], bool]
F = TypeVar("F", bound=Writer)

OPSET = 21
"""The version of ONNX's operators that models are written in."""
FAMILIES = (
    "elementwise",
    "indexing",
    "joining",
    "normalization",
    "products",
    "reductions",
    "shapes",
    "windows",
    "quantization",
)

writers: dict[str, tuple[Writer, Fits | None]] = {}


def exports(*names: str, fits: Fits | None = None) -> Callable[[F], F]:
    """Register what writes operators; `fits` says of which attributes, where not of all.

    A composite operator that has no writer, or one that does not fit, is written as what it is composed of.
    """

    def register(rule: F) -> F:
        for name in names:
            writers[name] = (rule, fits)
        return rule

    return register


def load_families() -> None:
    """Register every writer."""
    for family in FAMILIES:
        import_module(f"relay.frontend.onnx.export.{family}")


def writer_of(op: Operator) -> Writer | None:
    """What writes an operator with its attributes, if anything does."""
    rule, fits = writers.get(op.name, (None, None))
    return rule if fits is None or fits(op) else None
