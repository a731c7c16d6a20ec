"""`TfIdfVectorizer`: how often runs of words occur."""

from itertools import pairwise
from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.support import cast
from relay.frontend.value import Value, call, constant


def pools(node: Node, pool: Any) -> list[Any]:
    """The runs of each length `(count, length)`, from the list that they stand in one after another."""
    starts = [*node.ints("ngram_counts"), len(pool)]
    return [pool[a:b].reshape(-1, length) for length, (a, b) in enumerate(pairwise(starts), start=1)]


@converts("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(node: Node, x: Value) -> Value:
    """For each run of words how often it occurs (`TF`) or whether (`IDF`), times a weight if there is one."""
    texts = node.texts("pool_strings", None)
    pool = np.asarray(node.ints("pool_int64s"), "int64") if texts is None else np.asarray(texts, object)
    shortest, longest = node.int("min_gram_length"), node.int("max_gram_length")
    rows = x if x.rank == 2 else call("expand_dims", x, axis=0)
    rows = rows if texts is not None else cast(rows, "int64")
    counts: list[Value] = []
    for length, grams in enumerate(pools(node, pool), start=1):
        if shortest <= length <= longest:
            skips = range(node.int("max_skip_count") + 1 if length > 1 else 1)
            counts.append(occurrences(rows, grams, [s + 1 for s in skips]))
        else:
            counts.append(call("full", constant(0, "float32"), shape=(rows.size(0), len(grams))))
    found = call("concatenate", tuple(counts), axis=1)
    places = node.ints("ngram_indexes")
    order = np.full(max(places) + 1, -1)
    order[places] = np.arange(len(places))
    found = call("take", found, constant(np.maximum(order, 0)), axis=1)
    found = call("where", constant(order >= 0), found, constant(0, "float32"))
    mode = node.text("mode")
    weights = node.floats("weights", None)
    if mode == "IDF":
        found = call("minimum", found, 1.0)
    if mode != "TF" and weights is not None:
        by_place = np.ones(len(order))
        by_place[places] = weights
        found = found * constant(by_place, "float32")
    return found if x.rank == 2 else call("squeeze", found, axis=(0,))


def occurrences(rows: Value, grams: Any, strides: list[int]) -> Value:
    """How often each run occurs in each row, its words so far from each other as any stride says."""
    count, length = grams.shape
    total = call("full", constant(0, "float32"), shape=(rows.size(0), count))
    for stride in strides:
        places = rows.size(1) - (length - 1) * stride
        if places <= 0 or not count:
            continue
        same: Value | None = None
        for k in range(length):
            part = call("strided_slice", rows, begin=(k * stride,), end=(k * stride + places,), axes=(1,))
            equal = call("equal", call("expand_dims", part, axis=2), constant(grams[:, k]))
            same = equal if same is None else call("logical_and", same, equal)
        assert same is not None
        total = total + call("sum", cast(same, "float32"), axis=(1,))
    return total
