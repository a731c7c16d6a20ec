"""`qconfig`: the names and parameters by which people know quantisation in Relay."""

from collections.abc import Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any, Literal

from relay.diagnostic import did_you_mean, fail
from relay.ir.module import IRModule
from relay.quantize.config import Static, among
from relay.quantize.ranges import Method
from relay.quantize.sites import OPERATORS
from relay.transform.passes.fake_quantization import fake_quantization_to_integer

MODES: dict[str, Method] = {"global_scale": "minmax", "kl_divergence": "entropy", "percentile": "percentile"}


@dataclass
class QConfig:
    """The configuration that holds inside `with qconfig(…):`.

    `calibrate_mode` is "global_scale", for which every activation is from `-global_scale` to `global_scale`,
    "kl_divergence" or "percentile", which look at the data set.  Weights have one scale each, by
    `weight_scale`.  `skip_conv_layers` numbers the convolutions that are left alone, from 0;
    `skip_dense_layer` leaves `nn.dense` alone.  With `do_simulation` the result has `qnn.quantize` and
    `qnn.dequantize` around float operators; otherwise it computes in integers.  `debug_enabled_ops` restricts
    what is quantised.

    Activations and weights are int8 and sums int32.  `rounding`, `round_for_shift` and `calibrate_chunk_by`
    are accepted: rescaling is exact, and calibration keeps no activations.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: Literal["power2", "max"] = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: Sequence[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"
    _tokens: list[Token[Any]] = field(default_factory=list[Token[Any]], repr=False)

    def __post_init__(self) -> None:
        among(self, "calibrate_mode", tuple(MODES))
        among(self, "weight_scale", ("power2", "max"))
        among(self, "rounding", ("UPWARD", "TONEAREST"))
        for name, only in (
            ("nbit_input", 8), ("nbit_weight", 8), ("nbit_activation", 32), ("dtype_input", "int8"),
            ("dtype_weight", "int8"), ("dtype_activation", "int32"), ("partition_conversions", "disabled"),
        ):  # fmt: skip
            among(self, name, (only,))
        scale: Any = self.global_scale
        if not isinstance(scale, int | float) or not scale > 0:
            fail("quantize-option", f"`global_scale` is a positive number, not {scale!r}")
        layers: Any = self.skip_conv_layers
        if layers is not None and not isinstance(layers, Sequence):
            fail("quantize-option", f"`skip_conv_layers` is a list of numbers, not {layers!r}")

    def __enter__(self) -> "QConfig":
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())

    def static(self) -> Static:
        """What it asks for, in our terms."""
        is_global = self.calibrate_mode == "global_scale"
        skip = [f"conv2d_{i}" for i in self.skip_conv_layers or ()]
        skip += ["nn.dense"] * self.skip_dense_layer
        allowed = self.debug_enabled_ops
        return Static(
            method=MODES[self.calibrate_mode],
            activations="int8",
            symmetric=True,
            per_channel=False,
            weight_scale=self.weight_scale,
            operators=OPERATORS if allowed is None else tuple(allowed),
            skip=tuple(skip),
            # A range of 256 steps around 0, of which int8 around 0 has the middle 255.
            global_scale=self.global_scale * 127 / 128 if is_global else None,
        )

    def finished(self, mod: IRModule) -> IRModule:
        """A quantised module in the form that is wanted."""
        return mod if self.do_simulation else fake_quantization_to_integer(mod, use_qat=True)


_current: ContextVar[QConfig | None] = ContextVar("relay_qconfig", default=None)


def qconfig(**options: Any) -> QConfig:
    """The configuration that `quantize` goes by inside of a `with` block; `QConfig` lists the options.

    Raises `quantize-option`.
    """
    known = {name: value for name, value in options.items() if name in QConfig.__dataclass_fields__}
    if len(known) < len(options):
        name = next(n for n in options if n not in known)
        names = [n for n in QConfig.__dataclass_fields__ if not n.startswith("_")]
        hint = did_you_mean(name, names) or f"it takes {', '.join(names)}"
        fail("quantize-option", f"`qconfig` has no option `{name}`", hint=hint)
    return QConfig(**known)


def current_qconfig() -> QConfig:
    """The configuration of the innermost `with qconfig(…):` around, or the default one."""
    return _current.get() or QConfig()


def chosen() -> QConfig | None:
    """The configuration around; None outside of any."""
    return _current.get()
