"""Facts about a program, never a change."""

from collections.abc import Callable
from typing import Any

from relay.ir import import_home
from relay.ir.expr import Expr
from relay.ir.walk import post_order

_NAMES = {
    "relay.analysis.annotated_regions": "AnnotatedRegion AnnotatedRegionSet",
    "relay.analysis.call_graph": "CallGraph",
    "relay.analysis.constant": "check_constant",
    "relay.analysis.cost": "count_layers get_total_mac_number list_op_freqs",
    "relay.analysis.dtypes": "all_dtypes",
    "relay.analysis.effects": "Effect Effects effect_of is_pure",
    "relay.analysis.exhaustive": "unmatched_cases",
    "relay.analysis.extract": "extract_intermdeiate_expr search_fc_transpose",
    "relay.analysis.feature": "Feature detect_feature",
    "relay.analysis.fragments": "fragment",
    "relay.analysis.kinds": "all_type_vars bound_type_vars check_kind free_type_vars",
    "relay.analysis.lints": "lint",
    "relay.analysis.normal_form": "check_basic_block_normal_form shared_across_scopes",
    "relay.analysis.offloads": "analyze_operations_distribution",
    "relay.analysis.uses": "live_vars use_counts users",
    "relay.analysis.well_formedness": "assert_well_formed faults well_formed",
    "relay.ir.vars": "all_vars bound_vars constants free_vars",
}
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = ["post_order_visit", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], object]) -> None:
    """Call `fvisit` on every distinct node under `expr`, children before parents."""
    for e in post_order(expr):
        fvisit(e)


def __getattr__(name: str) -> Any:
    """An analysis, on first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'relay.analysis' has no attribute {name!r}")
    value = globals()[name] = getattr(import_home(_HOME[name]), name)
    return value
