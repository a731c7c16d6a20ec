"""Quantisation of weights alone: products of float activations by weights in groups of few bits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.ir.expr import Call, Expr, constant
from relay.ir.module import IRModule
from relay.op.nn.dense import Dense
from relay.quantize.awq import awq_factors
from relay.quantize.calibration import no_examples, operands
from relay.quantize.config import WeightOnly
from relay.quantize.gptq import gptq
from relay.quantize.groups import Grouped, Matrix, nearest, output_error
from relay.quantize.histogram import Channels, Products
from relay.quantize.insertion import Changes, rewritten
from relay.quantize.report import Report, compared
from relay.quantize.sites import Site, find_sites
from relay.quantize.smooth import by_value, weight_of
from relay.transform.rewriting.rewriter import call_of


@dataclass(frozen=True)
class WeightPlan:
    """A program, and the quantised weights of its products; `factors` are what AWQ divides inputs by."""

    mod: IRModule
    weights: dict[Site, Grouped]
    factors: dict[Site, Matrix]

    def quantized(self, result: Callable[[Site, Call], Expr] | None = None) -> IRModule:
        """The program with `dequantize_groups` in the place of weights; `result` goes around the products."""
        changes = Changes(weight=self.on_weight, result=result)
        if self.factors:
            changes.data = self.divided
        return rewritten(self.mod, list(self.weights), changes)

    def report(self, examples: Iterable[Any] | None) -> Report:
        """The error at each product on some examples (`missing-calibration`, `calibration-input`)."""
        return compared(self.mod, list(self.weights), self.alone, self.quantized, examples)

    def on_weight(self, site: Site) -> Expr:
        """The weight of a product in groups."""
        return self.weights[site].expr(site.call)

    def divided(self, site: Site, value: Expr) -> Expr:
        """The input of a product, divided by its factors."""
        inverse = constant((1 / self.factors[site]).astype("float32"), span=value.span)
        return call_of("multiply", (value, inverse), value)

    def alone(self, site: Site, call: Call) -> Expr:
        """A product in float32 with its own weight quantised."""
        data = self.divided(site, call.args[0]) if self.factors else call.args[0]
        lead = call.children[: len(call.children) - len(call.args)]
        return call.rebuild((*lead, data, self.on_weight(site)))


class Inputs:
    """What is kept of the input of a product: the products of its channels, and their magnitudes."""

    def __init__(self) -> None:
        self.products = Products()
        self.channels = Channels(-1)

    def add(self, values: Any) -> None:
        """Take account of an array `(..., k)`."""
        self.products.add(values)
        self.channels.add(values)


def weight_plan(
    mod: IRModule, calibration: Iterable[Any] | None, config: WeightOnly, skipped: Sequence[Any] = ()
) -> WeightPlan:
    """What to do to a module that `prerequisite_optimize` has made.

    Raises `nothing-to-quantize`, `missing-calibration`, `calibration-input`.
    """
    found = find_sites(mod, (Dense.name,), config.skip, skipped)
    sites = [s for s in found if s.weight is not None and s.weight.value.size >= config.smallest]
    if not sites:
        fail(
            "nothing-to-quantize",
            "the program has no weights to quantise",
            getattr(mod["main"], "span", None),
            hint="they are constant, finite matrices of `nn.dense` and `nn.matmul` in float32: give `params`",
        )
    seen: dict[Site, Inputs] = {}
    if config.needs_calibration:
        if calibration is None:
            why = f"the method `{config.method}`" if config.method != "rtn" else "a share of `eight_bits`"
            no_examples(f"{why} needs calibration")
        seen = operands(mod, sites, calibration, lambda _: Inputs())
    weights: dict[Site, Grouped] = {}
    factors: dict[Site, Matrix] = {}
    grid = config.bits, config.group_size, config.symmetric
    if config.method == "awq":
        for group in by_value(sites):
            known = seen[group[0]]
            s = awq_factors([weight_of(x) for x in group], *inputs_of(known), *grid)
            for x in group:
                factors[x], weights[x] = s, nearest(weight_of(x) * s, *grid)
    elif config.method == "gptq":
        for s, known in seen.items():
            products = inputs_of(known)[1]
            weights[s] = gptq(weight_of(s), products, *grid, config.order, config.damping)
    else:
        weights |= {s: nearest(weight_of(s), *grid) for s in sites}
    for s in sites_in_eight_bits(config, weights, factors, seen):
        weights[s] = nearest(weight_of(s) * factors.get(s, 1), 8, config.group_size, config.symmetric)
    return WeightPlan(mod, weights, factors)


def sites_in_eight_bits(
    config: WeightOnly,
    weights: Mapping[Site, Grouped],
    factors: Mapping[Site, Matrix],
    seen: Mapping[Site, Inputs],
) -> list[Site]:
    """The sites that `eight_bits` names, or those of the most noise that its share of all weights has room
    for.
    """
    if isinstance(config.eight_bits, tuple):
        return [s for s in weights if s.name in config.eight_bits or s.operator in config.eight_bits]
    if not config.has_share:
        return []

    def noise(s: Site) -> float:
        w, products = weight_of(s), inputs_of(seen[s])[1]
        signal = output_error(w, np.zeros_like(w), products)
        return output_error(w, weights[s].matrix() / factors.get(s, 1), products) / (signal or 1)

    room = config.eight_bits * sum([weight_of(s).size for s in weights])
    chosen: list[Site] = []
    for s in sorted(weights, key=noise, reverse=True):
        if weight_of(s).size <= room:
            room -= weight_of(s).size
            chosen.append(s)
    return chosen


def inputs_of(known: Inputs) -> tuple[Matrix, Matrix]:
    """Mean magnitudes `(k,)` and products `(k, k)` of an input (`missing-calibration`)."""
    if known.products.sums is None or known.channels.magnitudes is None:
        no_examples("calibration never reaches a product")
    return known.channels.mean_magnitude, known.products.sums
