"""Which function converts which operator of PyTorch."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Converter = Callable[..., Any]
"""`(node, *arguments)`: the positional arguments of the operator's schema, those left out by their defaults:
values for tensors, `Size`s for symbolic numbers, lists, numbers, None; to a value or a tuple of them."""
F = TypeVar("F", bound=Converter)

FAMILIES = (
    "arithmetic", "arrange", "attention", "backward", "complex_numbers", "control", "convolution", "create",
    "elementwise", "factors", "fourier", "frequencies", "index", "linear", "normalization", "pad", "pooling",
    "quantization", "recurrent", "reduction", "resize", "scan", "scatter", "shape", "sizes", "sorting",
    "unused",
)  # fmt: skip

converters: dict[str, Converter] = {}
"""By name: `aten.add.Tensor`, or `aten.add` for all overloads."""


def converts(*names: str) -> Callable[[F], F]:
    """Register what converts operators: `aten.add.Tensor`, or `aten.add` for every overload of it."""

    def register(rule: F) -> F:
        for name in names:
            converters[name] = rule
        return rule

    return register


def load_families() -> None:
    """Register every converter that comes with Relay."""
    for family in FAMILIES:
        import_module(f"relay.frontend.torch.{family}")


def name_of(target: Any) -> str:
    """An operator as the registry knows it: `aten.add.Tensor`, `cond`, `operator.mul`, `torch.sym_max`."""
    schema = getattr(target, "_schema", None)
    if schema is not None:
        overload = schema.overload_name or "default"
        return f"{schema.name.replace('::', '.')}.{overload}"
    name = getattr(target, "__name__", str(target))
    module = getattr(target, "__module__", "")
    if module in ("_operator", "math"):
        return f"{module.strip('_')}.{name}"
    return f"torch.{name}" if module == "torch" or module.startswith("torch.fx") else name


def find_in_place(target: Any) -> Converter | None:
    """What converts an operator without its writing to an operand: `aten.relu` for `aten.relu_`."""
    packet, _, overload = name_of(target).rpartition(".")
    if not packet.endswith("_") or packet.endswith("__"):
        return None
    return converters.get(f"{packet[:-1]}.{overload}") or converters.get(packet[:-1])


def find(target: Any) -> Converter | None:
    """What converts an operator, if anything does."""
    name = name_of(target)
    return converters.get(name) or converters.get(name.rpartition(".")[0])
