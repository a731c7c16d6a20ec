"""What operators of attention share: heads, rotary embeddings, masks, capped scores and sinks."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.products import matmul
from relay.frontend.support import ascribed, cast, sizes_as_value
from relay.frontend.value import Value, call, constant
from relay.ir.type import ANY


def size_at(x: Value, axis: int) -> Value:
    """The size of an axis, a scalar of int64."""
    return call("take", sizes_as_value(x), constant(axis, "int64"), axis=0)


def places(x: Value, axis: int) -> Value:
    """The numbers from 0 on along an axis, int64."""
    size = x.shape[axis]
    if isinstance(size, int):
        return constant(np.arange(size, dtype="int64"))
    found = call("arange", constant(0, "int64"), size_at(x, axis), constant(1, "int64"), dtype="int64")
    return found if size is ANY else ascribed(found, [size])


def split_heads(x: Value, heads: int) -> Value:
    """`(batch, rows, heads * size)` as `(batch, rows, heads, size)`."""
    width = x.shape[2]
    if isinstance(width, int) and (heads < 1 or width % heads):
        raise ValueError(f"{width} columns are not {heads} heads")
    return call("reshape", x, newshape=(0, 0, heads, width // heads if isinstance(width, int) else -1))


def heads_first(x: Value) -> Value:
    """`(batch, rows, heads, size)` as `(batch, heads, rows, size)`, and the reverse."""
    return call("transpose", x, axes=(0, 2, 1, 3))


def merge_heads(x: Value) -> Value:
    """`(batch, heads, rows, size)` as `(batch, rows, heads * size)`."""
    return call("reshape", heads_first(x), newshape=(0, 0, -3))


def columns(x: Value, sizes: Sequence[int]) -> list[Value]:
    """Parts of the last axis, one after another."""
    ends = np.cumsum([0, *sizes])
    axis = x.rank - 1
    if isinstance(x.shape[axis], int) and x.shape[axis] != ends[-1]:
        raise ValueError(f"{x.shape[axis]} columns are not {' + '.join(map(str, sizes))}")
    return [call("strided_slice", x, begin=(int(a),), end=(int(b),), axes=(axis,)) for a, b in pairwise(ends)]


def rotated(x: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """Pairs of the last axis of `x` turned by angles; `cos` and `sin` broadcast to half of what is turned.

    Pairs are neighbours, or else number `i` and number `i` of the other half; what is not turned stays.
    Source: Su et al., 2021.
    """
    width, half = x.size(x.rank - 1), cos.size(cos.rank - 1)
    if 2 * half > width:
        raise ValueError(f"angles of {half} pairs do not fit into heads of {width}")
    turned, *rest = columns(x, [2 * half, *([width - 2 * half] if width > 2 * half else [])])
    lead = [0] * (x.rank - 1)
    if interleaved:
        pairs = call("reshape", turned, newshape=(*lead, half, 2))
        a, b = (call("take", pairs, constant(k, "int64"), axis=x.rank) for k in (0, 1))
        both = call("stack", (a * cos - b * sin, b * cos + a * sin), axis=x.rank)
        whole = call("reshape", both, newshape=(*lead, 2 * half))
    else:
        a, b = columns(turned, [half, half])
        whole = call("concatenate", (a * cos - b * sin, b * cos + a * sin), axis=x.rank - 1)
    return call("concatenate", (whole, *rest), axis=x.rank - 1) if rest else whole


def up_to(rows: Value, keys: Value, window: int = -1) -> Value:
    """Whether a key at a place is seen from a row at a place, `(…, rows, keys)`: those up to it, or of these
    so many as the window has (and the row itself).
    """
    row, key = call("expand_dims", rows, axis=rows.rank), call("expand_dims", keys, axis=0)
    seen = call("less_equal", key, row)
    if window < 0:
        return seen
    return call("logical_and", seen, call("greater", key, row - window))


def masked(kept: Sequence[Value | None], bias: Value | None, hidden: float = -inf) -> Value | None:
    """A mask of attention of several masks of booleans and of what is added to the scores."""
    found: Value | None = None
    for v in kept:
        found = v if found is None else found if v is None else call("logical_and", found, v)
    if found is None or (bias is None and hidden == -inf):
        return bias if found is None else found
    if bias is None:
        return call("where", found, constant(0, "float32"), constant(hidden, "float32"))
    low = constant(hidden, bias.dtype)
    return call("where", found, bias, low if hidden == -inf else bias + low)


def attend(
    q: Value, k: Value, v: Value, mask: Value | None, scale: float | None, *, causal: bool = False,
    softcap: float = 0.0, sink: Value | None = None,
) -> Value:  # fmt: skip
    """Attention of `(batch, heads, rows, size)` over keys and values, of which several heads share one.

    With `softcap` scores are `softcap * tanh(score / softcap)`; `sink` has a score for each head, whose
    share goes nowhere.
    """
    heads, shared = q.size(1), k.size(1)
    if shared < 1 or heads % shared:
        raise ValueError(f"{heads} heads of queries cannot share {shared} of keys")
    if mask is not None and mask.dtype != "bool":
        mask = cast(mask, q.dtype)
    if not softcap and sink is None:
        how = {"causal": causal, "scale": scale, "group_size": heads // shared}
        return call("nn.attention", q, k, v, *([] if mask is None else [mask]), **how)
    if heads > shared:
        k, v = (call("repeat", x, repeats=heads // shared, axis=1) for x in (k, v))
    scores = matmul(q, call("transpose", k, axes=(0, 1, 3, 2)))
    scores = scores * (q.size(3) ** -0.5 if scale is None else scale)
    if softcap:
        scores = call("tanh", scores / softcap) * softcap
    if causal:
        seen = up_to(places(q, 2), places(k, 2))
        mask = masked([seen, mask if mask is not None and mask.dtype == "bool" else None],
                      None if mask is None or mask.dtype == "bool" else mask)  # fmt: skip
    if mask is not None and mask.dtype == "bool":
        scores = call("where", mask, scores, constant(-inf, scores.dtype))
    elif mask is not None:
        scores = scores + mask
    return matmul(shares(scores, sink), v)


def shares(scores: Value, sink: Value | None) -> Value:
    """The softmax of scores, of which a sink of each head takes a share."""
    if sink is None:
        return call("nn.safe_softmax", scores, axis=3)
    extra = call("reshape", cast(sink, scores.dtype), newshape=(1, -1, 1, 1))
    top = call("maximum", call("max", scores, axis=(3,), keepdims=True), extra)
    found = call("exp", scores - top)
    return found / (call("sum", found, axis=(3,), keepdims=True) + call("exp", extra - top))


def scale_of(node: Node) -> float | None:
    """What scores are multiplied by; None for the root of the heads' size as a divisor."""
    return node.float("scale", 0.0) or None
