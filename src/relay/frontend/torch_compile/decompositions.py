"""Operators that PyTorch writes in terms of others before a graph comes here."""

import math
from collections.abc import Callable
from typing import Any

from relay.frontend.torch import registry
from relay.frontend.torch.library import pytorch
from relay.frontend.torch_compile.operators import without_places


def table(is_training: bool) -> dict[Any, Callable[..., Any]]:
    """What PyTorch can decompose and no converter takes; in training, attention and its derivative too."""
    registry.load_families()
    aten = pytorch().ops.aten
    known = pytorch("torch._decomp").decomposition_table
    found = {op: rule for op, rule in known.items() if registry.find(op) is None}
    found[aten.native_dropout.default] = dropout
    found[aten.max_pool2d_with_indices_backward.default] = without_places
    if is_training:
        found[aten._scaled_dot_product_flash_attention_for_cpu.default] = attention
        found[aten._scaled_dot_product_flash_attention_for_cpu_backward.default] = attention_backward
    return found


def dropout(x: Any, rate: float, train: bool | None) -> Any:
    """`native_dropout`; the mask is drawn as PyTorch draws it: a seed gives the numbers of eager mode."""
    torch = pytorch()
    if train is False or rate == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if rate == 1:
        return torch.zeros_like(x), torch.zeros_like(x, dtype=torch.bool)
    drawn = torch.ops.aten.bernoulli.p(x, 1 - rate)
    return x * drawn * (1 / (1 - rate)), drawn.to(torch.bool)


def scores_of(query: Any, key: Any, is_causal: bool, mask: Any, scale: float | None) -> tuple[Any, float]:
    """`query @ key.T * scale + mask`, and the scale; in float32 at least."""
    torch = pytorch()
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    found = (query @ for_each_query(key, query).transpose(-1, -2)).to(wide(query)) * factor
    if mask is not None:
        found = found + mask
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        seen = torch.ones(rows, columns, dtype=torch.bool, device=query.device).tril()
        found = found.masked_fill(~seen, -math.inf)
    return found, factor


def for_each_query(x: Any, query: Any) -> Any:
    """Return keys or values with as many heads as the queries have, of which several share one."""
    count = query.shape[-3] // x.shape[-3]
    return x if count == 1 else x.repeat_interleave(count, -3)


def of_shared(gradient: Any, x: Any) -> Any:
    """Return the cotangent of `x`, given that of `for_each_query(x, query)`."""
    heads = x.shape[-3]
    if gradient.shape[-3] == heads:
        return gradient
    return gradient.unflatten(-3, (heads, gradient.shape[-3] // heads)).sum(-3)


def wide(x: Any) -> Any:
    """The dtype of sums."""
    torch = pytorch()
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """Attention, and the logarithms of the sums of exponentials, which the derivative takes.

    Both are 0 in a row whose scores are all `-inf`.
    """
    torch = pytorch()
    scores, _ = scores_of(query, key, is_causal, attn_mask, scale)
    most = scores.amax(-1, keepdim=True)
    most = most.masked_fill(most == -math.inf, 0)
    parts = torch.exp(scores - most)
    total = parts.sum(-1, keepdim=True).clamp_min(1)
    found = (parts / total).to(value.dtype) @ for_each_query(value, query)
    return found, (most + torch.log(total)).squeeze(-1)


def attention_backward(
    grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float,
    is_causal: bool, *, attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """The cotangents of query, key and value.  Source: Dao, Fu, Ermon, Rudra and Ré, 2022, appendix B."""
    torch = pytorch()
    scores, factor = scores_of(query, key, is_causal, attn_mask, scale)
    weights = torch.exp(scores - logsumexp.unsqueeze(-1))
    by_value = weights.to(grad_out.dtype).transpose(-1, -2) @ grad_out
    by_weights = (grad_out @ for_each_query(value, query).transpose(-1, -2)).to(weights.dtype)
    inner = (grad_out * out).to(weights.dtype).sum(-1, keepdim=True)
    by_scores = (weights * (by_weights - inner) * factor).to(query.dtype)
    by_key = by_scores.transpose(-1, -2) @ query
    return by_scores @ for_each_query(key, query), of_shared(by_key, key), of_shared(by_value, value)
