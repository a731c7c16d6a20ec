"""`MultiHeadAttention`, `Attention` and `QAttention` of `com.microsoft`, which its optimiser writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from relay.frontend.onnx.heads import (
    attend,
    columns,
    heads_first,
    masked,
    merge_heads,
    places,
    scale_of,
    size_at,
    split_heads,
    up_to,
)  # fmt: skip
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.quantization import centred_columns, centred_rows
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.products import matmul
from relay.frontend.support import cast
from relay.frontend.value import Value, call, constant

HIDDEN = -10000.0
"""What is added to the score of a key that a mask hides, unless the node says another number."""


@dataclass(frozen=True)
class Past:
    """The keys and the values of earlier rows, `(batch, heads, rows, size)`, if there are any."""

    key: Value | None = None
    value: Value | None = None


def padding(node: Node, mask: Value | None, keys: Value) -> Value | None:
    """A mask `(batch, 1, rows or 1, keys)` of booleans, of any form that the operators take."""
    if mask is None:
        return None
    if mask.rank == 2 or mask.rank == 3:
        shown = call("not_equal", mask, constant(0, mask.dtype))
        return call("expand_dims", shown, axis=1, num_newaxis=4 - mask.rank)
    if mask.rank != 1:
        return node.fail(f"its mask has rank {mask.rank}")
    batch, place = keys.shape[0], call("expand_dims", cast(places(keys, 2), mask.dtype), axis=0)
    if mask.shape[0] == batch:
        shown = call("less", place, call("expand_dims", mask, axis=1))
    elif isinstance(batch, int) and mask.shape[0] == 2 * batch:
        end, begin = (
            call("expand_dims", call("strided_slice", mask, begin=(a,), end=(a + batch,)), axis=1)
            for a in (0, batch)
        )
        shown = call("logical_and", call("greater_equal", place, begin), call("less", place, end))
    else:
        return node.fail(f"its mask has {mask.shape[0]} numbers for a batch of {batch}")
    return call("expand_dims", shown, axis=1, num_newaxis=2)


def over_heads(
    node: Node, q: Value, k: Value, v: Value, past: Past, mask: Value | None, bias: Value | None
) -> tuple[Value, Value, Value]:
    """The result `(batch, rows, heads * size)`, and all keys and values: `q`, `k`, `v` have heads first."""
    k = k if past.key is None else call("concatenate", (past.key, k), axis=2)
    v = v if past.value is None else call("concatenate", (past.value, v), axis=2)
    causal = bool(node.int("unidirectional", 0))
    kept = padding(node, mask, k)
    seen: Value | None = None
    if causal and (past.key is not None or kept is not None or bias is not None):
        rows = places(q, 2)
        rows = rows if past.key is None else rows + size_at(past.key, 2)
        seen = call("expand_dims", up_to(rows, places(k, 2)), axis=0, num_newaxis=2)
        causal = False
    if kept is not None:
        bias = masked([kept], bias, node.float("mask_filter_value", HIDDEN))
    found = attend(q, k, v, masked([seen], bias), scale_of(node), causal=causal)
    return merge_heads(found), k, v


@converts("MultiHeadAttention", domain=CONTRIBUTED)
def multi_head_attention(
    node: Node, query: Value, key: Value | None = None, value: Value | None = None, bias: Value | None = None,
    mask: Value | None = None, added: Value | None = None, past_key: Value | None = None,
    past_value: Value | None = None, past_length: Value | None = None, beams: Value | None = None,
) -> Any:  # fmt: skip
    """Attention over keys and values that are given, packed or apart, or are those of another call."""
    if past_length is not None or beams is not None or node.wants(3):
        return node.fail("it shares buffers of caches, follows beams or gives the scores")
    q, k, v = projected(node, query, key, value, bias)
    found = over_heads(node, q, k, v, Past(past_key, past_value), mask, added)
    return found


def projected(
    node: Node, query: Value, key: Value | None, value: Value | None, bias: Value | None
) -> tuple[Value, Value, Value]:
    """Queries, keys and values with heads first."""
    heads = node.int("num_heads")
    if query.rank == 5:
        parts = [call("take", query, constant(i, "int64"), axis=3) for i in range(3)]
    elif key is not None and key.rank == 5:
        parts = [
            split_heads(query, heads),
            *[call("take", key, constant(i, "int64"), axis=3) for i in range(2)],
        ]
    elif key is None or value is None:
        return node.fail("it has neither packed keys and values nor both of them")
    elif key.rank == 4:
        q = split_heads(query, heads)
        if bias is not None:
            q = q + split_bias(columns(bias, [query.size(2), bias.size(0) - query.size(2)])[:1], heads)[0]
        return heads_first(q), key, value
    else:
        parts = [split_heads(x, heads) for x in (query, key, value)]
    if bias is not None:
        sizes = [p.size(3) * heads for p in parts]
        parts = [p + b for p, b in zip(parts, split_bias(columns(bias, sizes), heads), strict=True)]
    q, k, v = (heads_first(p) for p in parts)
    return q, k, v


def split_bias(parts: Sequence[Value], heads: int) -> list[Value]:
    """A bias for each head."""
    return [call("reshape", b, newshape=(heads, -1)) for b in parts]


def self_attention(
    node: Node, whole: Value, mask: Value | None, past: Value | None, added: Value | None
) -> Any:
    """Attention over a projection `(batch, rows, queries and keys and values)`."""
    if node.int("do_rotary", 0) or node.int("past_present_share_buffer", 0):
        return node.fail("it turns pairs of its heads, or shares the buffers of its past")
    heads, width = node.int("num_heads"), whole.size(2)
    sizes = node.ints("qkv_hidden_sizes", None) or [width // 3] * 3
    q, k, v = (heads_first(split_heads(p, heads)) for p in columns(whole, sizes))
    before = (
        Past() if past is None else Past(*[call("take", past, constant(i, "int64"), axis=0) for i in (0, 1)])
    )
    found, k, v = over_heads(node, q, k, v, before, mask, added)
    return (found, call("stack", (k, v), axis=0)) if node.wants(1) else found


@converts("Attention", domain=CONTRIBUTED)
def attention(
    node: Node, x: Value, weight: Value, bias: Value | None = None, mask: Value | None = None,
    past: Value | None = None, added: Value | None = None, past_length: Value | None = None,
) -> Any:  # fmt: skip
    """Attention of rows over themselves, projection included."""
    whole = matmul(x, weight)
    return self_attention(node, whole if bias is None else whole + bias, mask, past, added)


@converts("QAttention", domain=CONTRIBUTED)
def quantised_attention(
    node: Node, x: Value, weight: Value, bias: Value, x_scale: Value, w_scale: Value,
    mask: Value | None = None, x_zero: Value | None = None, w_zero: Value | None = None,
    past: Value | None = None,
) -> Any:  # fmt: skip
    """`Attention` whose projection is a product of integers."""
    product = matmul(centred_rows(x, x_zero), centred_columns(weight, w_zero))
    return self_attention(node, cast(product, "float32") * (x_scale * w_scale) + bias, mask, past, None)
