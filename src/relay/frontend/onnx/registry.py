"""Which function converts which operator of ONNX, from which version of its operator set on."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

Converter = Callable[..., Any]
"""`(node, *operands)`: values, None for an operand that is left out; to a value or a tuple of them."""
F = TypeVar("F", bound=Converter)

ML = "ai.onnx.ml"
TRAINING = "ai.onnx.preview.training"
CONTRIBUTED = "com.microsoft"
FAMILIES = (
    "activations", "arithmetic", "arrange", "classic", "contributed", "contributed_attention",
    "contributed_early", "contributed_fused", "contributed_norm", "contributed_sparse", "contributed_states",
    "contributed_weights", "control", "convolution", "create",
    "experts", "grams", "grouped_attention", "index", "linear", "normalization", "optionals", "pooling",
    "quantization", "recurrent", "reduction", "resize", "sequences", "shape", "signal", "training", "vision",
)  # fmt: skip

converters: dict[tuple[str, str], list[tuple[int, Converter]]] = {}
"""By domain and name, the latest version first."""


def converts(*names: str, since: int = 1, domain: str = "") -> Callable[[F], F]:
    """Register what converts operators, from a version of their domain's operator set on."""

    def register(rule: F) -> F:
        for name in names:
            rules = converters.setdefault((domain, name), [])
            rules.append((since, rule))
            rules.sort(key=lambda r: -r[0])
        return rule

    return register


def load_families() -> None:
    """Register every converter that comes with Relay."""
    for family in FAMILIES:
        import_module(f"relay.frontend.onnx.{family}")


def find(domain: str, name: str, version: int) -> Converter | None:
    """What converts an operator of that version, if anything does."""
    for since, rule in converters.get((domain, name), ()):
        if since <= version:
            return rule
    return None
