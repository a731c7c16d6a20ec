"""Operators where a program spells them out: activations, normalisations, attention.

Importers find `x * (erf(x / sqrt(2)) + 1) / 2` where a model means gelu.  It is recognised here once, so that
derivatives are stable and backends and exporters see the operator.
"""

from relay.ir.module import IRModule
from relay.transform.passes.raised_activations import ACTIVATIONS
from relay.transform.passes.raised_layers import LAYERS
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import apply_rules
from relay.transform.rewriting.rulebook import table

COMPOSITES = (*ACTIVATIONS.entries, *LAYERS.entries)
"""Every rule, with what it does and how the value may differ."""
RULES = table(COMPOSITES)


@module_pass("raise_composites", keeps=(ANF,), opt_level=1, public="RaiseComposites")
def raise_composites(mod: IRModule) -> IRModule:
    """Replace spelled-out activations, normalisations and attention by the operators that they are.

    These are `nn.gelu` in both forms, `nn.silu`, `nn.mish`, `nn.softplus`, `nn.hard_swish`, `nn.rms_norm`
    and `nn.layer_norm` along the last axis, and `nn.attention` with masks, causal ones included.
    `COMPOSITES` lists the rules, each with how the value may differ: the operators lose less to rounding,
    and their derivatives do not overflow.  Each rule looks at a bounded number of nodes.

    >>> text = "def @main(%x: Tensor[(3,), float32]) { %x * 0.5f * (erf(%x / 1.41421356f) + 1f) }"
    >>> show(raise_composites, text)
    def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
      nn.gelu(%x)
    }
    """
    return apply_rules(mod, RULES)
