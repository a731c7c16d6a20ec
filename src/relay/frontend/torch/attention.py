"""Attention."""

from typing import Any

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.value import Value, call


@converts("aten.scaled_dot_product_attention")
def attention(
    node: Node, query: Value, key: Value, value: Value, mask: Value | None = None, rate: float = 0.0,
    causal: bool = False,
) -> Value:  # fmt: skip
    """`softmax(query @ key.T * scale + mask) @ value`."""
    if rate:
        return node.fail("dropout draws from PyTorch's generator", hint="export module.eval()")
    masks = [] if mask is None else [mask if mask.dtype == "bool" else cast(mask, query.dtype)]
    may_group = node.option("enable_gqa", "flash" in node.operator) and query.rank > 2
    group_size = query.size(-3) // key.size(-3) if may_group else 1
    scale = node.option("scale")
    return call("nn.attention", query, key, value, *masks, causal=causal, scale=scale, group_size=group_size)


@converts("aten._scaled_dot_product_flash_attention_for_cpu")
def flash(node: Node, query: Value, key: Value, value: Value, rate: float = 0.0, causal: bool = False) -> Any:
    """As attention; the logarithms of the sums are for training alone."""
    if node.wants(1):
        return node.fail("attention in training", hint="export module.eval()")
    return (attention(node, query, key, value, node.option("attn_mask"), rate, causal),)
