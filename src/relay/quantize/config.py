"""How a program is to be quantised."""

from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast

import numpy as np

from relay.diagnostic import did_you_mean, fail
from relay.op.registry import registry
from relay.quantize.ranges import METHODS, Method
from relay.quantize.sites import OPERATORS

WEIGHT_ONLY = ("rtn", "gptq", "awq")
"""The methods that quantise weights alone."""
LEAST_GLOBAL_SCALE = 1e-30
"""Steps of a smaller range would not be normal float32 numbers."""


@dataclass(frozen=True)
class Static:
    """Quantisation of activations and weights with scales that calibration chooses.

    `method` chooses the range of activations: their extremes, `percentile` percent of them, the range of
    least divergence (`entropy`) or of least squared error (`mse`).  `activations` is their dtype, and
    `symmetric` puts 0 in the middle of it.  Weights are int8 around 0, one scale for each output channel or
    one for all, by `weight_scale`; with `reduce_range` they go from -64 to 64, so that what adds pairs of
    products in 16 bits does not saturate, as other runtimes do on processors without VNNI.

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
    reduce_range: bool = False
    smooth: float | None = None
    bias_correction: bool = False
    global_scale: float | None = None

    def __post_init__(self) -> None:
        keep_names(self, "operators", "skip")
        for name in self.operators:
            if name not in registry:
                hint = did_you_mean(name, OPERATORS) or f"those by default are {', '.join(OPERATORS)}"
                fail("quantize-option", f"`operators` has `{name}`, which is not an operator", hint=hint)
        among(self, "method", METHODS)
        among(self, "activations", ("int8", "uint8"))
        among(self, "weight_scale", ("max", "power2", "mse"))
        for name in ("symmetric", "per_channel", "reduce_range", "bias_correction"):
            among(self, name, (False, True))
        within(self, "percentile", 50, 100)
        within(self, "smooth", 0, 1)
        within(self, "global_scale", LEAST_GLOBAL_SCALE, float(np.finfo("float32").max))


@dataclass(frozen=True)
class WeightOnly:
    """Quantisation of the weights of `nn.dense` and `nn.matmul` alone, in groups along what they sum over.

    `method` is rounding to nearest (`rtn`), `gptq` or `awq`; the last two need calibration.  A group of
    `group_size` neighbours shares a scale, and unless `symmetric` a least value.  `order` lets GPTQ begin
    with the inputs that matter most, `damping` is added to its diagonal as a part of the mean.  `skip` is as
    for `Static`; weights with fewer than `smallest` elements are left alone.  `eight_bits` names sites and
    operators whose weights are rounded to 8 bits, or is the share of all weights for which calibration
    chooses them: those whose rounding makes the most noise in what they are multiplied to.
    """

    method: Literal["rtn", "gptq", "awq"] = "rtn"
    bits: Literal[2, 4, 8] = 4
    group_size: int = 32
    symmetric: bool = True
    order: bool = False
    damping: float = 0.01
    skip: tuple[str, ...] = ()
    smallest: int = 0
    eight_bits: float | tuple[str, ...] = 0.0

    def __post_init__(self) -> None:
        keep_names(self, "skip")
        among(self, "method", WEIGHT_ONLY)
        among(self, "bits", (2, 4, 8))
        for name in ("symmetric", "order"):
            among(self, name, (False, True))
        whole_number(self, "group_size", 1, 1 << 20)
        whole_number(self, "smallest", 0, 1 << 62)
        within(self, "damping", 0, 1)
        if isinstance(self.eight_bits, int | float):
            within(self, "eight_bits", 0, 1)
        else:
            keep_names(self, "eight_bits")
        if self.group_size * self.bits % 8:
            said = f"groups of {self.group_size} numbers of {self.bits} bits fill no whole bytes"
            fail("quantize-option", said, hint="take a group size of 32, 64 or 128")

    @property
    def needs_calibration(self) -> bool:
        """Whether the method looks at activations."""
        return self.method != "rtn" or self.has_share

    @property
    def has_share(self) -> bool:
        """Whether calibration chooses weights for 8 bits."""
        return not isinstance(self.eight_bits, tuple) and self.eight_bits > 0 and self.bits < 8


Config = Static | WeightOnly


def config_for(config: Config | None, method: str | None, options: dict[str, Any]) -> Config:
    """The configuration that is given, or that of a method with some options (`quantize-option`)."""
    if config is not None:
        if method is not None or options:
            name = next(iter(options), "method")
            fail("quantize-option", f"`{name}` and `config` are given", hint="set it in `config` alone")
        return expect_config(config, Static, WeightOnly)
    if method is not None and method not in (*METHODS, *WEIGHT_ONLY):
        wrong_option("method", method, (*METHODS, *WEIGHT_ONLY))
    kind = WeightOnly if method in WEIGHT_ONLY else Static
    known = {f.name for f in fields(kind)}
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known) or f"it takes {', '.join(sorted(known))}"
            fail("quantize-option", f"{kind.__name__} quantisation has no option `{name}`", hint=hint)
    given: dict[str, Any] = options if method is None else {**options, "method": method}
    return kind(**given)


C = TypeVar("C")


def expect_config(config: Any, *kinds: type[C]) -> C:
    """The configuration, if it is of one of these kinds (`quantize-option`)."""
    if isinstance(config, kinds):
        return config
    names = " or ".join([f"`{kind.__name__}`" for kind in kinds])
    hint = f"write relay.quantize.{kinds[0].__name__}(…)"
    fail("quantize-option", f"`config` is a {names}, not {type(config).__name__}", hint=hint)


def keep_names(config: Any, *names: str) -> None:
    """Keep lists of names as tuples; one name stands for a list of it (`quantize-option`)."""
    for name in names:
        given: Any = getattr(config, name)
        found: Any = (given,) if isinstance(given, str) else given
        is_list = isinstance(found, list | tuple)
        if not is_list or any(not isinstance(x, str) for x in cast("list[Any]", found)):
            fail("quantize-option", f"`{name}` is a list of names, not {given!r}", hint="write it in quotes")
        object.__setattr__(config, name, tuple(cast("list[str]", found)))


def among(config: Any, name: str, allowed: tuple[Any, ...]) -> None:
    """Demand one of some values (`quantize-option`)."""
    given = getattr(config, name)
    if not any(type(given) is type(a) and given == a for a in allowed):
        wrong_option(name, given, allowed)


def within(config: Any, name: str, low: float, high: float) -> None:
    """Demand a number between two, or None where that is the default (`quantize-option`)."""
    given = getattr(config, name)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is None or (is_number and low <= given <= high):
        return
    fail("quantize-option", f"`{name}` is a number from {low} to {high}, not {given!r}")


def whole_number(config: Any, name: str, low: int, high: int) -> None:
    """Demand an integer between two (`quantize-option`)."""
    if type(getattr(config, name)) is not int:
        fail("quantize-option", f"`{name}` is an integer, not {getattr(config, name)!r}")
    within(config, name, low, high)


def wrong_option(name: str, given: object, allowed: tuple[Any, ...]) -> None:
    """Say what an option may be (`quantize-option`)."""
    choices = ", ".join([repr(a) for a in allowed])
    known = [a for a in allowed if isinstance(a, str)]
    near = did_you_mean(given, known) if isinstance(given, str) else ""
    fail("quantize-option", f"`{name}` cannot be {given!r}", hint=near or f"it is one of {choices}")
