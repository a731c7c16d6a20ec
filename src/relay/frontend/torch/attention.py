"""Attention."""

from math import sqrt
from typing import Any

import numpy as np

from relay.frontend.support import cast
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import as_number, size_at
from relay.frontend.value import Value, call, constant


@converts("aten.scaled_dot_product_attention")
def attention(
    node: Node, query: Value, key: Value, value: Value, mask: Value | None = None, rate: float = 0.0,
    causal: bool = False,
) -> Value:  # fmt: skip
    """`softmax(query @ key.T * scale + mask) @ value`."""
    if rate:
        return node.fail("dropout draws from PyTorch's generator", hint="export module.eval()")
    if node.option("enable_gqa", False) and key.shape[-3] != query.shape[-3]:
        times = query.size(-3) // key.size(-3)
        key, value = (call("repeat", v, repeats=times, axis=v.rank - 3) for v in (key, value))
    return attended(query, key, value, mask, causal, node.option("scale"))


def attended(
    query: Value, key: Value, value: Value, mask: Value | None, causal: bool, scale: float | None
) -> Value:
    """Attention over keys as many as there are values."""
    factor = 1 / sqrt(query.size(-1)) if scale is None else scale
    scores = call("nn.matmul", query, key, transpose_b=True) * factor
    keep = before(query, key) if causal else None
    if mask is not None and mask.dtype == "bool":
        keep = mask if keep is None else call("logical_and", keep, mask)
    elif mask is not None:
        scores = scores + cast(mask, scores.dtype)
    if keep is None:
        return call("nn.matmul", call("nn.softmax", scores, axis=-1), value)
    scores = call("where", keep, scores, constant(-np.inf, scores.dtype))
    weights = call("nn.softmax", scores, axis=-1)
    if mask is not None:
        weights = call("where", keep, weights, constant(0, weights.dtype))
    return call("nn.matmul", weights, value)


def before(query: Value, key: Value) -> Value:
    """Whether a key does not come after a query."""
    rows, columns = size_at(query, query.rank - 2), size_at(key, key.rank - 2)
    if isinstance(rows, int) and isinstance(columns, int):
        return constant(np.tril(np.ones((rows, columns), bool)))
    zero, one = constant(0, "int64"), constant(1, "int64")
    places = [call("arange", zero, as_number(n), one, dtype="int64") for n in (rows, columns)]
    return call("greater_equal", call("expand_dims", places[0], axis=1), places[1])


@converts("aten._scaled_dot_product_flash_attention_for_cpu")
def flash(node: Node, query: Value, key: Value, value: Value, rate: float = 0.0, causal: bool = False) -> Any:
    """As attention; the logarithms of the sums are for training alone."""
    if rate or node.wants(1):
        return node.fail("attention in training", hint="export module.eval()")
    return (attended(query, key, value, node.option("attn_mask"), causal, node.option("scale")),)
