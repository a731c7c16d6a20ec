"""SmoothQuant: part of the spread between the channels of activations is moved into the weights.

`x @ W.T = (x / s) @ (W * s).T` with `s_j = max|x_j| ** alpha / max|W_j| ** (1 - alpha)` for each
input channel `j`.  Source: Xiao, Lin, Seznec, Wu, Demouth and Han, 2023, "SmoothQuant", equation 4.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.ir.expr import Expr, constant
from relay.ir.module import IRModule
from relay.quantize.calibration import no_examples, operands
from relay.quantize.histogram import Channels
from relay.quantize.insertion import Changes, rewritten
from relay.quantize.sites import Site
from relay.transform.rewriting.rewriter import call_of

LEAST_FACTOR = 1e-5
"""Factors and magnitudes are held above this, so that channels without signal stay finite."""


def smoothed(mod: IRModule, sites: Sequence[Site], examples: Iterable[Any] | None, alpha: float) -> IRModule:
    """The module with activations divided and weights multiplied by the factors of their channels.

    Products that read one value share its factors, by the greatest of their weights.
    """
    dense = dense_sites(sites)
    if not dense:
        return mod
    if examples is None:
        no_examples("`smooth` needs calibration")
    found = operands(mod, dense, examples, lambda site: Channels(-1))
    factors: dict[Site, np.ndarray[Any, Any]] = {}
    for group in by_value(dense):
        seen = found[group[0]].greatest
        if seen is not None:
            factors |= dict.fromkeys(group, smoothing_factors(seen, [weight_of(s) for s in group], alpha))
    return with_factors(mod, factors)


def smoothing_factors(
    greatest: np.ndarray[Any, Any], weights: Sequence[np.ndarray[Any, Any]], alpha: float
) -> np.ndarray[Any, Any]:
    """`s` for magnitudes `(k,)` of activations and weights `(n, k)`: float32 `(k,)`."""
    size = np.maximum(np.max([np.abs(w).max(0) for w in weights], axis=0), LEAST_FACTOR)
    s = np.maximum(greatest, LEAST_FACTOR) ** alpha / size ** (1 - alpha)
    return np.maximum(s, LEAST_FACTOR).astype("float32")


def dense_sites(sites: Sequence[Site]) -> list[Site]:
    """The products by constant matrices."""
    return [s for s in sites if s.operator == "nn.dense" and s.weight is not None]


def by_value(sites: Sequence[Site]) -> list[list[Site]]:
    """Sites by the value that they read."""
    found: dict[Expr, list[Site]] = {}
    for s in sites:
        found.setdefault(s.call.args[0], []).append(s)
    return list(found.values())


def weight_of(site: Site) -> np.ndarray[Any, Any]:
    """The weight of a site."""
    assert site.weight is not None
    return site.weight.value


def with_factors(mod: IRModule, factors: Mapping[Site, np.ndarray[Any, Any]]) -> IRModule:
    """The module with operands divided by factors along their last axis, and weights multiplied by them."""

    def divided(site: Site, value: Expr) -> Expr:
        return call_of("multiply", (value, constant((1 / factors[site]).astype("float32"))), value)

    def on_weight(site: Site) -> Expr:
        return constant(weight_of(site) * factors[site], span=site.call.span)

    return rewritten(mod, list(factors), Changes(data=divided, weight=on_weight))
