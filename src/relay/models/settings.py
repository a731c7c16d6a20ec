"""What a file says of a model, in the same words whichever file it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from relay.diagnostic import fail
from relay.models.values import Made, made

NO_WINDOW = 2**31 - 1
ACTIVATIONS = {
    "silu": "Silu", "swish": "Silu", "gelu": "Gelu", "gelu_new": "GeluTanh", "gelu_fast": "GeluTanh",
    "gelu_pytorch_tanh": "GeluTanh", "relu": "Relu",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A decoder: sizes, and which of the parts in `layers.relay` and `attention.relay` it has."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    shared_heads: int
    """Heads of keys and values."""
    head_size: int
    context: int
    """The most tokens that it was made for."""
    positions: Sequence[Made]
    """How each layer knows the order of tokens."""
    turned: int = 0
    """How many numbers of a head are turned."""
    norm: str = "RootMeanSquare"
    epsilon: float = 1e-5
    activation: str = "silu"
    is_gated: bool = True
    order: str = "InTurn"
    inputs: str = "Separate"
    windows: Sequence[int] = ()
    """Of each layer; none for layers without one."""
    scale: float | None = None
    """Of scores; `1 / sqrt(head_size)` unless given."""
    cap: float | None = None
    head_cap: float | None = None
    slopes: Any = None
    embedding_scale: float = 1.0
    experts: int = 0
    chosen: int = 0
    normalised: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Sizes that cannot be are told (`model-file`)."""
        counts = (self.vocabulary, self.width, self.layers, self.heads, self.shared_heads, self.head_size)
        if (
            min(counts) < 1
            or self.heads % self.shared_heads
            or self.turned % 2
            or self.turned > self.head_size
        ):
            fail(
                "model-file",
                f"no model has such sizes: {describe(self)}",
                hint="fetch the configuration again",
            )
        if self.activation not in ACTIVATIONS:
            unsupported(f"the activation {self.activation!r}")

    @property
    def group(self) -> int:
        """How many heads of queries a head of keys serves."""
        return self.heads // self.shared_heads

    @property
    def activates(self) -> Made:
        """The activation of the program."""
        return made(ACTIVATIONS[self.activation])


def describe(s: Settings) -> str:
    """The sizes in a line."""
    return (
        f"{s.layers} layers, {s.heads} heads of {s.head_size}, {s.shared_heads} of keys,"
        f" {s.width} numbers a token, {s.vocabulary} tokens"
    )


def unsupported(what: str) -> NoReturn:
    """The diagnostic of a model that has what no program here does (`model-unsupported`)."""
    hint = "docs/language-models.md lists the families that are"
    fail("model-unsupported", f"this model has {what}, which is not supported", hint=hint)
