"""`RotaryEmbedding` and `GroupQueryAttention` of `com.microsoft`: how exporters write decoders of text."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay.frontend.onnx.heads import (
    attend,
    columns,
    heads_first,
    masked,
    merge_heads,
    places,
    rotated,
    scale_of,
    size_at,
    split_heads,
    up_to,
)  # fmt: skip
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.support import ascribed, cast, scalar
from relay.frontend.value import Value, call, constant, sizes_of
from relay.ir.dim import add
from relay.ir.type import ANY, Dim


@converts("RotaryEmbedding", domain=CONTRIBUTED)
def rotary_embedding(node: Node, x: Value, positions: Value, cos: Value, sin: Value) -> Value:
    """Pairs of each head turned by angles of their positions; as in ONNX Runtime, `scale` changes nothing."""
    if node.int("is_packed_batching", 0):
        return node.fail("rows of several sequences are packed")
    if x.rank not in (3, 4):
        return node.fail(f"the data have rank 3 or 4, not {x.rank}")
    if x.rank == 3:
        width = x.size(2)
        heads = node.int("num_heads", 0) or width // (2 * cos.size(1))
        rows = split_heads(x, heads)
    else:
        rows = heads_first(x)
    if positions.rank == 1:
        positions = call("expand_dims", positions + cast(places(rows, 1), positions.dtype), axis=0)
    turned = turned_rows(rows, positions, cos, sin, bool(node.int("interleaved", 0)))
    return call("reshape", turned, newshape=(0, 0, -3)) if x.rank == 3 else heads_first(turned)


@converts("MRotaryEmbedding", domain=CONTRIBUTED)
def multimodal_rotary_embedding(node: Node, x: Value, positions: Value, cos: Value, sin: Value) -> Value:
    """Pairs of each head turned by angles of positions in time, height and width `(3, batch, rows)`."""
    if node.int("is_packed_batching", 0):
        return node.fail("rows of several sequences are packed")
    parts = node.ints("mrope_section")
    half = cos.size(1)
    if len(parts) != 3 or sum(parts) != half:
        return node.fail(f"its sections {parts} are not three of {half} angles")
    which = np.repeat(np.arange(3), parts)
    if node.int("mrope_layout", 0):
        place = np.arange(half)
        held = place // 3 < np.asarray(parts)[place % 3]
        which = np.where(held, place % 3, 0)
    angles = [by_section(call("take", v, positions, axis=0), which) for v in (cos, sin)]
    if x.rank == 3:
        heads = node.int("num_heads", 0) or x.size(2) // (2 * half)
        rows = split_heads(x, heads)
    else:
        rows = heads_first(x)
    spread = [call("expand_dims", v, axis=2) for v in angles]
    turned = rotated(rows, spread[0], spread[1], bool(node.int("interleaved", 0)))
    return call("reshape", turned, newshape=(0, 0, -3)) if x.rank == 3 else heads_first(turned)


def by_section(x: Value, which: np.ndarray[Any, Any]) -> Value:
    """Of angles `(3, batch, rows, half)` for each place those of one of the three."""
    parts = [call("take", x, constant(k, "int64"), axis=0) for k in range(3)]
    found = parts[0]
    for k in (1, 2):
        found = call("where", constant(which == k), parts[k], found)
    return found


def turned_rows(x: Value, positions: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """`(batch, rows, heads, size)` turned by the angles of positions `(batch, rows)`."""
    angles = [call("expand_dims", call("take", v, positions, axis=0), axis=2) for v in (cos, sin)]
    return rotated(x, angles[0], angles[1], interleaved)


@dataclass(frozen=True)
class Cached:
    """Where the rows of this call are in the caches."""

    past: Value
    """How many rows of each item of the batch are there before, `(batch,)`."""
    rows: Value
    """The positions of the new rows, `(batch, rows)`."""
    total: Value
    """The most rows of an item after this call, a scalar."""
    total_size: Dim
    grows: bool
    """Whether the new caches are the old ones with the new rows behind, or exactly the new rows."""


def cached(query: Value, past: Value | None, lengths: Value, total: Value) -> Cached:
    """`lengths` are one less than those of the items after this call, `(batch,)`."""
    count, whole = size_at(query, 1), cast(scalar(total), "int64")
    before = cast(call("reshape", lengths, newshape=(-1,)), "int64") + 1 - count
    before = call("where", call("equal", count, whole), constant(0, "int64"), before)
    rows = call("expand_dims", before, axis=1) + call("expand_dims", places(query, 1), axis=0)
    held = sizes_of(whole)
    size: Dim = ANY if held is None else held.reshape(-1)[0]
    old: Dim = 0 if past is None else past.shape[2]
    grown = size is not ANY and old is not ANY and add(old, query.shape[1]) == size
    return Cached(before, rows, whole, size, old == 0 or (grown and query.shape[0] == 1))


def present(old: Value | None, new: Value, at: Cached) -> Value:
    """A cache `(batch, heads, rows, size)` with new rows `(batch, rows, heads, size)` at their positions."""
    if old is None or (at.grows and old.shape[2] == 0):
        return heads_first(new)
    if at.grows:
        return call("concatenate", (old, heads_first(new)), axis=2)
    more = call("maximum", at.total - size_at(old, 2), constant(0, "int64"))
    batch, heads, _, width = (call("expand_dims", size_at(old, k), axis=0) for k in range(4))
    sizes = call("concatenate", (batch, heads, call("expand_dims", more, axis=0), width), axis=0)
    zeros = call("dyn.broadcast_to", constant(0, old.dtype), sizes)
    room = call("concatenate", (old, ascribed(zeros, [*old.shape[:2], ANY, old.shape[3]])), axis=2)
    index = call("expand_dims", places(room, 2), axis=0) - call("expand_dims", at.past, axis=1)
    last = size_at(new, 1) - 1
    inside = call(
        "logical_and", call("greater_equal", index, constant(0, "int64")), call("less_equal", index, last)
    )
    nearest = call("minimum", call("maximum", index, constant(0, "int64")), last)
    placed = heads_first(call("take", new, nearest, axis=1, batch_dims=1))
    return call("where", call("expand_dims", call("expand_dims", inside, axis=1), axis=3), placed, room)


def used(cache: Value, at: Cached) -> Value:
    """The rows of a cache that hold something."""
    if at.grows:
        return cache
    ends = [call("expand_dims", size_at(cache, k), axis=0) for k in range(2)]
    end = call("concatenate", (*ends, call("expand_dims", at.total, axis=0)), axis=0)
    found = call("dyn.strided_slice", cache, constant([0, 0, 0], "int64"), end, constant([1, 1, 1], "int64"))
    return ascribed(found, [*cache.shape[:2], at.total_size, cache.shape[3]])


REFUSED = {
    "sliding_window_cache": "its caches are windows",
    "qk_output": "it gives the scores",
}
"""Attributes that ask for what there is none of."""


def refuse(node: Node, scales: bool, padded: bool) -> None:
    """Refuse variants that are not converted (`onnx-unsupported`)."""
    for name, what in REFUSED.items():
        if node.int(name, 0):
            node.fail(what)
    kinds = (node.text("k_quant_type", "NONE"), node.text("v_quant_type", "NONE"))
    if kinds != ("NONE", "NONE") or scales:
        node.fail("its caches are quantised")
    if padded:
        node.fail("its rows are padded on the right (`query_seqlens`)")


@converts("GroupQueryAttention", domain=CONTRIBUTED)
def group_query_attention(
    node: Node, query: Value, key: Value | None, value: Value | None, past_key: Value | None,
    past_value: Value | None, lengths: Value, total: Value, cos: Value | None = None,
    sin: Value | None = None, positions: Value | None = None, bias: Value | None = None,
    sink: Value | None = None, k_scale: Value | None = None, v_scale: Value | None = None,
    q_norm: Value | None = None, k_norm: Value | None = None, valid: Value | None = None,
) -> Any:  # fmt: skip
    """Attention of new rows over those of the caches and themselves; heads of queries share heads of keys."""
    refuse(node, k_scale is not None or v_scale is not None, valid is not None)
    heads, shared = node.int("num_heads"), node.int("kv_num_heads")
    if key is None or value is None:
        each = query.size(2) // max(heads + 2 * shared, 1)
        query, key, value = columns(query, [heads * each, shared * each, shared * each])
    at = cached(query, past_key, lengths, total)
    q, k, v = split_heads(query, heads), split_heads(key, shared), split_heads(value, shared)
    if q_norm is not None and k_norm is not None:
        epsilon = node.float("qk_norm_epsilon", 1e-6)
        q = call("nn.rms_norm", q, q_norm, epsilon=node.float("q_norm_epsilon", epsilon))
        k = call("nn.rms_norm", k, k_norm, epsilon=node.float("k_norm_epsilon", epsilon))
    if node.int("do_rotary", 0):
        if cos is None or sin is None:
            return node.fail("it turns pairs by angles that are not given")
        angles = at.rows if positions is None else positions
        turned = [turned_rows(x, angles, cos, sin, bool(node.int("rotary_interleaved", 0))) for x in (q, k)]
        q, k = turned
    keys, values = present(past_key, k, at), present(past_value, v, at)
    found = over_caches(node, heads_first(q), used(keys, at), used(values, at), at, bias, sink)
    return merge_heads(found), keys, values


def over_caches(
    node: Node, q: Value, keys: Value, values: Value, at: Cached, bias: Value | None, sink: Value | None
) -> Value:
    """The attention itself."""
    causal, window = bool(node.int("causal", 1)), node.int("local_window_size", -1)
    softcap = node.float("softcap", 0.0)
    if node.int("smooth_softmax", -1) == 1 and sink is None:
        sink = call("full", constant(0, q.dtype), shape=(q.size(1),))
    simple = causal and window < 0 and bias is None and keys.shape[2] == q.shape[2] is not ANY and at.grows
    mask: Value | None = None
    if not simple:
        seen = up_to(at.rows, places(keys, 2), window) if causal else within(at, q, keys)
        mask = masked([call("expand_dims", seen, axis=1)], bias)
    return attend(q, keys, values, mask, scale_of(node), causal=simple, softcap=softcap, sink=sink)


def within(at: Cached, q: Value, keys: Value) -> Value:
    """Whether a key belongs to its item of the batch, `(batch, 1, keys)`."""
    end = call("expand_dims", at.past, axis=1) + size_at(q, 2)
    return call("expand_dims", call("less", call("expand_dims", places(keys, 2), axis=0), end), axis=1)
