"""Training with quantisation: what will be integers is rounded while the program is trained.

Rounding has no useful derivative; its cotangent is passed on as if it had not happened, where the number lies
in the range, and is 0 beyond (the straight-through estimator: Bengio, Leonard and Courville, 2013).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.driver.arguments import with_params
from relay.ir.dtype import integer_range
from relay.ir.expr import Call, Expr, Function, GlobalVar, Tuple, Var, constant
from relay.ir.module import IRModule, expect_module
from relay.quantize.calibration import Key, key_of, scales_of
from relay.quantize.config import Static, expect_config
from relay.quantize.insertion import Changes, rewritten, spans_of
from relay.quantize.prepare import for_training
from relay.quantize.ranges import Scale
from relay.quantize.sites import Edge, Flow, Site
from relay.quantize.static import Plan, scale_of_weight, sites_of, through_integers
from relay.transform.rewriting.rewriter import call_of
from relay.typecheck.infer import infer

LEAST_SCALE = 1e-30
"""Scales of weights are at least this, so that weights of 0 have one."""


@dataclass(frozen=True)
class Training:
    """A program that is trained with quantisation.

    `mod` is the program with fake quantisation in its definitions: activations at the scales that calibration
    has chosen, weights at those of their values at the time, by channel.  Its functions are differentiated
    and trained as before.  `converted` is the quantised program for trained weights.
    """

    mod: IRModule
    source: IRModule
    sites: tuple[Site, ...]
    scales: Mapping[Key, Scale]
    config: Static

    def converted(self, params: Mapping[str, Any]) -> IRModule:
        """The quantised program with some weights, which computes what `mod` does with them.

        Raises `unknown-input`, `argument-type`, `missing-input`.
        """
        return self.plan(params).quantized()

    def plan(self, params: Mapping[str, Any]) -> Plan:
        """The plan of quantisation with the scales of training."""
        mod = for_training(with_params(self.source, params))
        skipped = spans_of(self.source, [n for n in self.config.skip if n.startswith("@")])
        sites = sites_of(mod, self.config, skipped)
        by_span = {id(s.call.span): s for s in self.sites if s.call.span is not None}
        by_name = {s.name: s for s in self.sites}
        scales: dict[Key, Scale] = {}
        for s in sites:
            trained = by_span.get(id(s.call.span)) or by_name[s.name]
            known = {
                (e.role, e.place): self.scales[key_of(e)] for e in trained.edges if key_of(e) in self.scales
            }
            for e in s.edges:
                if (e.role, e.place) not in known:
                    hint = "give all weights that were trained"
                    fail("missing-input", f"`params` has no weight for `{s.name}`", s.call.span, hint=hint)
                scales[key_of(e)] = known[e.role, e.place]
        weights = {s: scale_of_weight(s, self.config) for s in sites if s.weight is not None}
        return Plan(mod, tuple(sites), scales, weights, self.config, {})


def prepare_training(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    calibration: Iterable[Any] | None = None,
    config: Static | None = None,
) -> Training:
    """A program with fake quantisation, to be trained: `relay.quantize.prepare_training(…).mod`.

    `@main` is run on the examples of `calibration`, with `params` for the others of its parameters, to choose
    the scales of activations; the functions that it calls keep their types.

    Raises what `quantize` does.
    """
    config = Static() if config is None else expect_config(config, Static)
    mod = infer(expect_module(mod))
    sites = sites_of(mod, config, spans_of(mod, [n for n in config.skip if n.startswith("@")]))
    data = [_without_weights(s) for s in sites]
    scales = scales_of(with_params(mod, params) if params else mod, data, calibration, config)
    out = mod.copy()
    out.import_from_std("autodiff")
    flow = Flow(mod)

    def on_edge(edge: Edge, value: Expr) -> Expr:
        if edge.role == "weight":
            found = flow.tensor(edge.value)
            return trained_weight(value, edge.axis if config.per_channel else None, found[0] if found else 0)
        return straight_through(value, scales[key_of(edge)])

    made = rewritten(out, sites, Changes(edge=on_edge))
    return Training(made, mod, tuple(sites), scales, config)


def _without_weights(site: Site) -> Site:
    """A site without edges to weights, which have the scales of their values."""
    return Site(
        site.name, site.call, [e for e in site.edges if e.role != "weight"], site.weight, site.weight_axis
    )


def straight_through(value: Expr, scale: Scale) -> Expr:
    """A value quantised and dequantised; cotangents pass where it lies in the range of the scale."""
    y, r, g = (Var(n) for n in ("y", "r", "g"))
    low, high = integer_range(scale.dtype)
    ends = [np.float32((end - int(scale.zero)) * float(scale.scale)) for end in (low, high)]
    least, most = (constant(e, span=value.span) for e in ends)
    above = call_of("greater_equal", (y, least), value)
    inside = call_of("logical_and", (above, call_of("less_equal", (y, most), value)), value)
    passed = call_of("where", (inside, g, call_of("zeros_like", (g,), value)), value)
    return _with_rule(value, through_integers(y, scale), y, Function((y, r, g), Tuple((passed,))))


def trained_weight(value: Expr, axis: int | None, rank: int) -> Expr:
    """A weight quantised at the scale of its greatest magnitude, or those by channel; cotangents pass."""
    y, r, g = (Var(n) for n in ("y", "r", "g"))
    axes = None if axis is None else tuple([i for i in range(rank) if i != axis])
    most = call_of("max", (call_of("abs", (y,), value),), value, axis=axes)
    floor = constant(np.float32(LEAST_SCALE), span=value.span)
    top = constant(np.float32(127), span=value.span)
    scale = call_of("maximum", (call_of("divide", (most, top), value), floor), value)
    zero = constant(np.int32(0), span=value.span)
    along = -1 if axis is None else axis
    q = call_of("qnn.quantize", (y, scale, zero), value, axis=along, out_dtype="int8")
    rounded = call_of("qnn.dequantize", (q, scale, zero), value, axis=along)
    return _with_rule(value, rounded, y, Function((y, r, g), Tuple((g,))))


def _with_rule(value: Expr, body: Expr, y: Var, rule: Function) -> Expr:
    """`body` of a value, with a rule for its cotangent."""
    return Call(GlobalVar("custom_vjp"), (Function((y,), body), rule, value), span=value.span)
