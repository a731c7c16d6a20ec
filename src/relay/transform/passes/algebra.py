"""Algebraic simplification: calls that other calls, or none, say as well."""

from relay.ir.module import IRModule
from relay.transform.passes.algebra_numbers import NUMBERS
from relay.transform.passes.algebra_products import PRODUCTS
from relay.transform.passes.algebra_shapes import SHAPES
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import apply_rules
from relay.transform.rewriting.rulebook import Entry, table

RULES: tuple[Entry, ...] = (*NUMBERS.entries, *SHAPES.entries, *PRODUCTS.entries)
"""Every rule, with what it does and how the value may differ."""
ALL = table(RULES)
EXACT = table(entry for entry in RULES if not entry.but)


@module_pass("simplify_expr", keeps=(ANF,), opt_level=0, public="SimplifyExpr")
def simplify_expr(mod: IRModule, *, exact: bool = False) -> IRModule:
    """Apply the algebraic rules that hold for tensors, listed in `relay.transform.passes.algebra.RULES`.

    Nearly all of them are bitwise exact.  A few keep the value as a number only: `x + 0.0` becomes `x`,
    where the sign of a zero may differ, and `x ** 2` a product, which rounds better.  With `exact` these are
    not applied.  Effects keep their order; values that are no longer used stay bound until `dead_code`.

    >>> show(simplify_expr, "def @main(%x: Tensor[(2, 3), float32]) { transpose(transpose(%x * 1.0)) - 0.0 }")
    def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
      %x
    }
    """
    return apply_rules(mod, EXACT if exact else ALL)
