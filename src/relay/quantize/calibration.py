"""Watching the values at the sites of a program, and the scales that follow."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from relay.diagnostic import fail
from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.op.tap import listening
from relay.quantize.config import Static
from relay.quantize.histogram import Channels, Histogram
from relay.quantize.insertion import Changes, rewritten
from relay.quantize.ranges import Scale, chosen_range, scale_of_range
from relay.quantize.sites import Edge, Site
from relay.quantize.taps import checked_examples, run_on, tapped

Statistic = TypeVar("Statistic", bound=Any)
Key = tuple[Expr, str, int | None]
Scales = Mapping[Key, Scale]


def key_of(edge: Edge) -> Key:
    """What edges have in common that are quantised alike: the value, and what it is for."""
    return edge.value, edge.role, edge.axis


def observed(
    mod: IRModule, sites: Sequence[Site], examples: Any, make: Callable[[Edge], Statistic]
) -> dict[Key, Statistic]:
    """A statistic for each value at the edges of the sites, of what it was on the examples.

    Raises `missing-calibration` if there are no examples, `calibration-input` for one that does not fit.
    """
    edges = {key_of(e): e for s in sites for e in s.edges}
    found = {k: make(e) for k, e in edges.items()}
    with listening([statistic.add for statistic in found.values()]) as numbers:
        number = dict(zip(found, numbers, strict=True))
        changes = Changes(edge=lambda e, x: tapped(number[key_of(e)], x))
        count = run_on(rewritten(mod, sites, changes), checked_examples(examples))
    if not count:
        no_examples("calibration has no examples")
    return found


def operands(
    mod: IRModule, sites: Sequence[Site], examples: Any, make: Callable[[Site], Statistic]
) -> dict[Site, Statistic]:
    """A statistic for the first operand of each site; sites that read one value share what is kept of it.

    Raises `missing-calibration` if there are no examples, `calibration-input` for one that does not fit.
    """
    firsts: dict[Expr, Site] = {}
    for s in sites:
        firsts.setdefault(s.call.args[0], s)
    kept = {x: make(s) for x, s in firsts.items()}
    with listening([statistic.add for statistic in kept.values()]) as numbers:
        number = dict(zip(kept, numbers, strict=True))
        changes = Changes(data=lambda s, x: tapped(number[s.call.args[0]], x))
        count = run_on(rewritten(mod, sites, changes), checked_examples(examples))
    if not count:
        no_examples("calibration has no examples")
    return {s: kept[s.call.args[0]] for s in sites}


def no_examples(message: str) -> NoReturn:
    """Say that calibration is missing (`missing-calibration`)."""
    hint = "give typical inputs: `calibration=[x1, x2]`, or `--calibration FILE` on the command line"
    fail("missing-calibration", message, hint=hint)


def statistic_for(edge: Edge) -> Histogram | Channels:
    """What is kept of a value: its distribution, or for a weight with channels the magnitude of each."""
    return Histogram() if edge.axis is None else Channels(edge.axis)


def scales_of(
    mod: IRModule, sites: Sequence[Site], examples: Iterable[Any] | None, config: Static
) -> dict[Key, Scale]:
    """The scale of each value at the edges of the sites."""
    if config.global_scale is not None:
        end = config.global_scale
        edges = {key_of(e): e for s in sites for e in s.edges}
        return {k: scale_of_range(-end, end, dtype_of(e, config), True) for k, e in edges.items()}
    if examples is None:
        no_examples(f"the method `{config.method}` needs calibration")
    return scales_from(observed(mod, sites, examples, statistic_for), sites, config)


def scales_from(found: Mapping[Key, Any], sites: Sequence[Site], config: Static) -> dict[Key, Scale]:
    """The scales that statistics lead to."""
    edges = {key_of(e): e for s in sites for e in s.edges}
    return {k: scale_from(statistic, edges[k], config) for k, statistic in found.items()}


def dtype_of(edge: Edge, config: Static) -> str:
    """Second operands of products are int8 around 0, as weights are."""
    return "int8" if edge.role == "weight" else config.activations


def scale_from(statistic: Histogram | Channels, edge: Edge, config: Static) -> Scale:
    """The scale that a statistic leads to."""
    dtype = dtype_of(edge, config)
    if isinstance(statistic, Channels):
        most: Any = 0.0 if statistic.greatest is None else statistic.greatest
        return scale_of_range(-most, most, dtype, True, edge.axis)
    symmetric = config.symmetric or edge.role == "weight"
    ends = chosen_range(statistic, config.method, config.percentile, dtype, symmetric)
    return scale_of_range(*ends, dtype, symmetric)
