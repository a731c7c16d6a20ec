"""Static quantisation: a program with `qnn.quantize` and `qnn.dequantize` around what is to be integers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, constant
from relay.ir.module import IRModule
from relay.quantize.bias import channel_means, corrected_biases
from relay.quantize.calibration import Scales, key_of, scales_of
from relay.quantize.config import Static
from relay.quantize.histogram import Channels
from relay.quantize.insertion import Changes, rewritten
from relay.quantize.ranges import Scale, weight_scale
from relay.quantize.report import Report, compared
from relay.quantize.sites import Edge, Site, find_sites
from relay.quantize.smooth import smoothed
from relay.quantize.taps import checked_examples
from relay.transform.rewriting.rewriter import call_of


@dataclass(frozen=True)
class Plan:
    """A program that is ready to be quantised: its sites, and the scales of values and weights there."""

    mod: IRModule
    sites: tuple[Site, ...]
    scales: Scales
    weights: dict[Site, Scale]
    config: Static
    means: dict[Site, Channels]

    def quantized(self, result: Callable[[Site, Call], Expr] | None = None) -> IRModule:
        """The program with the scales in it; `result` goes around the calls of sites."""
        changes = self.changes()
        changes.result = result
        return rewritten(self.mod, self.sites, changes)

    def report(self, examples: Iterable[Any] | None) -> Report:
        """The error at each site on some examples (`missing-calibration`, `calibration-input`)."""
        return compared(self.mod, self.sites, self.alone, self.quantized, examples)

    def alone(self, site: Site, call: Call) -> Expr:
        """A call in float32 with its own operands quantised."""
        args = list(call.args)
        for edge in site.edges:
            if edge.place is not None:
                args[edge.place] = through_integers(args[edge.place], self.scales[key_of(edge)])
        inner = self.quantized_weight(site)
        if inner is not None:
            args[1] = inner
        return call.rebuild((*call.children[: len(call.children) - len(call.args)], *args))

    def changes(self) -> Changes:
        """What quantisation does to edges, weights and biases."""

        def on_edge(edge: Edge, value: Expr) -> Expr:
            return through_integers(value, self.scales[key_of(edge)])

        biases = corrected_biases(self.mod, self.means, self.weights) if self.means else {}
        return Changes(edge=on_edge, weight=self.quantized_weight, calls=biases)

    def quantized_weight(self, site: Site) -> Expr | None:
        """The weight of a site as integers that are dequantised."""
        scale = self.weights.get(site)
        if scale is None or site.weight is None:
            return None
        q = scale.quantized(site.weight.value)
        return dequantized(constant(q, span=site.weight.span), scale, site.weight.span)


def plan(
    mod: IRModule, calibration: Iterable[Any] | None, config: Static, skipped: Sequence[Any] = ()
) -> Plan:
    """What to do to a module that `prerequisite_optimize` has made, after calibration.

    Raises `nothing-to-quantize`, `missing-calibration`, `calibration-input`.
    """
    sites = sites_of(mod, config, skipped)
    needs_twice = config.smooth is not None or config.bias_correction
    if needs_twice and calibration is not None:
        calibration = list(checked_examples(calibration))
    if config.smooth is not None:
        mod = smoothed(mod, sites, calibration, config.smooth)
        sites = sites_of(mod, config, skipped)
    scales = scales_of(mod, sites, calibration, config)
    weights = {s: scale_of_weight(s, config) for s in sites if s.weight is not None}
    means: dict[Site, Channels] = {}
    if config.bias_correction:
        means = channel_means(mod, sites, calibration)
    return Plan(mod, tuple(sites), scales, weights, config, means)


def sites_of(mod: IRModule, config: Static, skipped: Sequence[Any]) -> list[Site]:
    """The sites that a configuration chooses (`nothing-to-quantize`)."""
    found = find_sites(mod, config.operators, config.skip, skipped)
    if not any(s.weight is not None or s.operator.startswith("nn.") for s in found):
        names = ", ".join([f"`{n}`" for n in config.operators[:4]])
        fail(
            "nothing-to-quantize",
            "the program has nothing to quantise",
            getattr(mod["main"], "span", None),
            hint=f"it is calls of {names} in float32, with finite weights"
            + f"; `skip` leaves out {', '.join(config.skip)}" * bool(config.skip),
        )
    return found


def scale_of_weight(site: Site, config: Static) -> Scale:
    """The scale of a site's weight."""
    assert site.weight is not None
    axis = site.weight_axis if config.per_channel else None
    return weight_scale(
        site.weight.value, "int8", axis, config.weight_scale, 64 if config.reduce_range else 127
    )


def through_integers(value: Expr, scale: Scale) -> Expr:
    """A value quantised and dequantised."""
    s, z = constants(scale, value.span)
    axis = -1 if scale.axis is None else scale.axis
    q = call_of("qnn.quantize", (value, s, z), value, axis=axis, out_dtype=scale.dtype)
    return call_of("qnn.dequantize", (q, s, z), value, axis=axis)


def dequantized(q: Expr, scale: Scale, span: Any) -> Expr:
    """Integers as the numbers that they stand for."""
    s, z = constants(scale, span)
    return call_of("qnn.dequantize", (q, s, z), q, axis=-1 if scale.axis is None else scale.axis)


def constants(scale: Scale, span: Any) -> tuple[Expr, Expr]:
    """Scale and zero point, in a program; a zero point is one number where all are alike."""
    zero = scale.zero
    if zero.ndim and zero.size and (zero == zero.flat[0]).all():
        zero = np.asarray(zero.flat[0])
    return constant(np.asarray(scale.scale), span=span), constant(np.asarray(zero), span=span)
