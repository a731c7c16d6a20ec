"""How a program is to be quantised."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from relay.diagnostic import did_you_mean, fail
from relay.quantize.ranges import METHODS, Method
from relay.quantize.sites import OPERATORS


@dataclass(frozen=True)
class Static:
    """Quantisation of activations and weights with scales that calibration chooses.

    `method` chooses the range of activations: their extremes, `percentile` percent of them, the range of
    least divergence (`entropy`) or of least squared error (`mse`).  `activations` is their dtype, and
    `symmetric` puts 0 in the middle of it.  Weights are int8 around 0, one scale for each output channel or
    one for all, by `weight_scale`.

    `operators` are those that are quantised; `skip` names sites (`"dense_0"`), operators (`"nn.dense"`) and
    definitions (`"@head"`) that are left alone.  `smooth` is the strength of SmoothQuant from 0 to 1 (None:
    none), `bias_correction` takes the mean error of each channel out of the bias.  With `global_scale` every
    activation is from `-global_scale` to it, without calibration.
    """

    method: Method = "minmax"
    percentile: float = 99.99
    activations: Literal["int8", "uint8"] = "uint8"
    symmetric: bool = False
    per_channel: bool = True
    weight_scale: Literal["max", "power2", "mse"] = "max"
    operators: tuple[str, ...] = OPERATORS
    skip: tuple[str, ...] = ()
    smooth: float | None = None
    bias_correction: bool = False
    global_scale: float | None = None

    def __post_init__(self) -> None:
        keep_names(self, "operators", "skip")
        among(self, "method", METHODS)
        among(self, "activations", ("int8", "uint8"))
        among(self, "weight_scale", ("max", "power2", "mse"))
        within(self, "percentile", 50, 100)
        within(self, "smooth", 0, 1)


def config_for(method: str | None, options: dict[str, Any]) -> Static:
    """The configuration of a method with some options (`quantize-option`)."""
    known = {f.name for f in fields(Static)}
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known) or f"it takes {', '.join(sorted(known))}"
            fail("quantize-option", f"quantisation has no option `{name}`", hint=hint)
    given: dict[str, Any] = options if method is None else {**options, "method": method}
    return Static(**given)


def keep_names(config: Any, *names: str) -> None:
    """Keep lists of names as tuples; one name stands for a list of it."""
    for name in names:
        given: Any = getattr(config, name)
        object.__setattr__(config, name, (given,) if isinstance(given, str) else tuple(given))


def among(config: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Demand one of some values (`quantize-option`)."""
    if getattr(config, name) not in allowed:
        wrong_option(name, getattr(config, name), allowed)


def within(config: Any, name: str, low: float, high: float) -> None:
    """Demand a number between two, or None where that is the default (`quantize-option`)."""
    given = getattr(config, name)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is None or (is_number and low <= given <= high):
        return
    fail("quantize-option", f"`{name}` is a number from {low} to {high}, not {given!r}")


def wrong_option(name: str, given: object, allowed: tuple[Any, ...]) -> None:
    """Say what an option may be (`quantize-option`)."""
    choices = ", ".join([repr(a) for a in allowed])
    near = did_you_mean(given, allowed) if isinstance(given, str) else ""
    fail("quantize-option", f"`{name}` cannot be {given!r}", hint=near or f"it is one of {choices}")
