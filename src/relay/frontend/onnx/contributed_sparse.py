"""`SparseAttention` of `com.microsoft`: keys in blocks, of which each block of rows sees some."""

from typing import Any

import numpy as np

from relay.frontend.onnx.grouped_attention import cached, present, turned_rows, used
from relay.frontend.onnx.heads import (
    attend,
    columns,
    heads_first,
    masked,
    merge_heads,
    places,
    scale_of,
    split_heads,
    up_to,
)  # fmt: skip
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.value import Value, call, constant


def blocks_seen(ends: Value, block_columns: Value) -> Value:
    """Whether a block of rows sees a block of keys, `(layouts, blocks, blocks)`, of compressed rows."""
    last, found = ends.known("the rows of its blocks"), block_columns.known("the columns of its blocks")
    seen = np.zeros((last.shape[0], last.shape[1] - 1, last.shape[1] - 1), bool)
    for layout, row in np.ndindex(seen.shape[:2]):
        seen[layout, row, found[layout, last[layout, row] : last[layout, row + 1]]] = True
    return constant(seen)


def tokens_seen(blocks: Value, size: int, rows: Value, keys: Value, heads: int) -> Value:
    """Whether rows at places `(batch, rows)` see keys at places `(keys,)`: `(batch, heads, rows, keys)`."""
    block = constant(size, "int64")
    of_rows = call("take", blocks, call("floor_divide", rows, block), axis=1)
    found = call("take", of_rows, call("floor_divide", keys, block), axis=3)
    layout = constant(np.arange(heads) % blocks.size(0), "int64")
    return call("transpose", call("take", found, layout, axis=0), axes=(1, 0, 2, 3))


@converts("SparseAttention", domain=CONTRIBUTED)
def sparse_attention(
    node: Node, query: Value, key: Value | None, value: Value | None, past_key: Value, past_value: Value,
    ends: Value, block_columns: Value, total: Value, lengths: Value, cos: Value | None = None,
    sin: Value | None = None,
) -> Any:  # fmt: skip
    """Attention of new rows over those of the caches and themselves, by blocks; heads take turns."""
    heads, shared = node.int("num_heads"), node.int("kv_num_heads")
    if key is None or value is None:
        each = query.size(2) // (heads + 2 * shared)
        query, key, value = columns(query, [heads * each, shared * each, shared * each])
    at = cached(query, past_key, lengths - 1, total)
    q, k, v = split_heads(query, heads), split_heads(key, shared), split_heads(value, shared)
    if node.int("do_rotary", 0):
        if cos is None or sin is None:
            return node.fail("it turns pairs by angles that are not given")
        by = bool(node.int("rotary_interleaved", 0))
        q, k = (turned_rows(x, at.rows, cos, sin, by) for x in (q, k))
    new_keys, new_values = present(past_key, k, at), present(past_value, v, at)
    held, size = used(new_keys, at), node.int("sparse_block_size")
    blocks = tokens_seen(blocks_seen(ends, block_columns), size, at.rows, places(held, 2), heads)
    seen = call("expand_dims", up_to(at.rows, places(held, 2)), axis=1)
    mask = masked([call("logical_and", seen, blocks)], None)
    found = attend(heads_first(q), held, used(new_values, at), mask, scale_of(node))
    return merge_heads(found), new_keys, new_values
