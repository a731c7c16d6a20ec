"""Complex numbers: a value for the real parts and one for the imaginary parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relay.frontend.value import Value, call, constant, fields

Rule = Callable[..., Any]
PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
"""The dtypes of parts, by PyTorch's names of the dtypes of complex numbers."""

by_parts: set[str] = set()
"""Operators that do with complex numbers what they do with both parts."""
on_complex: dict[str, Rule] = {}
"""What converts operators with a complex operand, by name as `registry.converters` has it."""


def converts_complex(*names: str) -> Callable[[Rule], Rule]:
    """Register what converts operators that have a complex operand."""

    def register(rule: Rule) -> Rule:
        on_complex.update(dict.fromkeys(names, rule))
        return rule

    return register


@dataclass(frozen=True)
class Complex:
    """A tensor of complex numbers."""

    real: Value
    imaginary: Value

    @staticmethod
    def of(pairs: Value) -> "Complex":
        """Complex numbers from pairs, which are the last axis."""
        return Complex(*fields(call("view_as_complex", pairs)))

    @property
    def pairs(self) -> Value:
        """As pairs."""
        return call("view_as_real", self.real, self.imaginary)

    def map(self, rule: Callable[[Value], Value]) -> "Complex":
        """A function of both parts."""
        return Complex(rule(self.real), rule(self.imaginary))


def is_complex(tensor: Any) -> bool:
    """Whether a tensor of PyTorch, or what it traced, is of complex numbers."""
    return str(getattr(tensor, "dtype", "")).removeprefix("torch.") in PARTS


def has_complex(operands: Sequence[Any]) -> bool:
    """Whether complex numbers are among operands, and among lists of them."""
    return any(
        isinstance(x, Complex | complex) or (isinstance(x, list | tuple) and has_complex(x))  # pyright: ignore[reportUnknownArgumentType]
        for x in operands
    )


def converter_of_complex(name: str, rule: Rule | None) -> Rule | None:
    """What converts an operator with a complex operand, where `rule` converts it for real ones."""
    packet = name.rpartition(".")[0]
    found = on_complex.get(name) or on_complex.get(packet)
    if found is not None or rule is None or by_parts.isdisjoint((name, packet)):
        return found

    def convert(node: Any, *operands: Any) -> Any:
        real, imaginary = (rule(node, *[complex_part(x, k) for x in operands]) for k in (0, 1))
        if isinstance(real, Value):
            return Complex(real, imaginary)
        return [Complex(a, b) for a, b in zip(real, imaginary, strict=True)]

    return convert


def complex_part(x: Any, k: int) -> Any:
    """The real or the imaginary part of an operand; of others they themselves."""
    if isinstance(x, Complex):
        return (x.real, x.imaginary)[k]
    if isinstance(x, list | tuple):
        mixed = has_complex(x)  # pyright: ignore[reportUnknownArgumentType]
        return [complex_part(as_complex(v) if mixed else v, k) for v in x]  # pyright: ignore[reportUnknownVariableType]
    return x


def as_complex(x: Any) -> Complex:
    """A value or a number as a complex one."""
    if isinstance(x, Complex):
        return x
    if isinstance(x, Value):
        return Complex(x, call("zeros_like", x))
    return Complex(constant(complex(x).real, "float64"), constant(complex(x).imag, "float64"))
