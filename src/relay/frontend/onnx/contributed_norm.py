"""Normalisations of `com.microsoft`, with what is fused into them: sums, embeddings, activations."""

from typing import Any

from relay.frontend.onnx.contributed import number
from relay.frontend.onnx.heads import places
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import CONTRIBUTED, converts
from relay.frontend.recurrence import gates
from relay.frontend.support import as_rows, axis_in, cast
from relay.frontend.value import Value, call


@converts("SimplifiedLayerNormalization")
@converts("SimplifiedLayerNormalization", domain=CONTRIBUTED)
def simplified_layer_norm(node: Node, x: Value, scale: Value) -> Any:
    """Data divided by the root of the mean square over the last axes, scaled; the inverse of the root too."""
    first, epsilon = axis_in(node.int("axis", -1), x.rank), node.float("epsilon", 1e-5)
    if first == x.rank - 1 and scale.rank == 1 and not node.wants(1):
        return cast(call("nn.rms_norm", x, cast(scale, x.dtype), epsilon=epsilon), scale.dtype)
    wide = cast(x, "float32")
    square = call("mean", wide * wide, axis=tuple(range(first, x.rank)), keepdims=True)
    inverse = call("rsqrt", square + epsilon)
    return cast(cast(wide * inverse, x.dtype) * cast(scale, x.dtype), scale.dtype), inverse


def summed(x: Value, skip: Value, bias: Value | None) -> Value:
    """The sum of data, of which `skip` may have fewer, and a bias."""
    return x + skip if bias is None else x + skip + bias


@converts("SkipSimplifiedLayerNormalization", domain=CONTRIBUTED)
def skip_simplified_layer_norm(
    node: Node, x: Value, skip: Value, scale: Value, bias: Value | None = None
) -> Any:
    """The sum of two tensors divided by the root of its mean square, scaled; the sum too."""
    refuse_statistics(node)
    whole = summed(x, skip, bias)
    return call("nn.rms_norm", whole, scale, epsilon=node.float("epsilon", 1e-12)), None, None, whole


@converts("SkipLayerNormalization", domain=CONTRIBUTED)
def skip_layer_norm(
    node: Node, x: Value, skip: Value, scale: Value, shift: Value | None = None, bias: Value | None = None
) -> Any:
    """The sum of two tensors with mean 0 and variance 1 over the last axis, scaled and moved; the sum too."""
    refuse_statistics(node)
    whole = summed(x, skip, bias)
    shift = call("zeros_like", scale) if shift is None else shift
    epsilon = node.float("epsilon", 1e-12)
    return call("nn.layer_norm", whole, scale, shift, axis=-1, epsilon=epsilon), None, None, whole


def refuse_statistics(node: Node) -> None:
    """Refuse to give means and variances, which ONNX Runtime's CPU does not give either."""
    if node.wants(1) or node.wants(2):
        node.fail("it gives means and variances")


@converts("EmbedLayerNormalization", domain=CONTRIBUTED)
def embed_layer_norm(
    node: Node, ids: Value, segments: Value | None, words: Value, positions: Value,
    kinds: Value | None, scale: Value, shift: Value, mask: Value | None = None,
    places_of: Value | None = None,
) -> Any:  # fmt: skip
    """The normalised sum of the embeddings of words, places and segments; how long each row is; the sum."""
    at = call("expand_dims", places(ids, 1), axis=0) if places_of is None else places_of
    whole = call("take", words, ids, axis=0) + call("take", positions, at, axis=0)
    if segments is not None and kinds is not None:
        whole = whole + call("take", kinds, segments, axis=0)
    found = call("nn.layer_norm", whole, scale, shift, axis=-1, epsilon=node.float("epsilon", 1e-12))
    return found, (lengths(ids, mask) if node.wants(1) else None), whole


def lengths(ids: Value, mask: Value | None) -> Value:
    """How many words of each row count, by a mask of 0 and 1; 0 without one."""
    given = call("zeros_like", ids) if mask is None else mask
    return cast(call("sum", cast(given, "int32"), axis=(1,)), "int32")


@converts("QEmbedLayerNormalization", domain=CONTRIBUTED)
def quantised_embed_layer_norm(
    node: Node, ids: Value, segments: Value | None, words: Value, positions: Value, kinds: Value | None,
    scale: Value, shift: Value, mask: Value | None, *quantised: Value | None,
) -> Any:  # fmt: skip
    """`EmbedLayerNormalization` of quantised tables: scales of the five tensors, then zero points."""
    if len(quantised) != 10:
        return node.fail("it has not the scale and the zero point of each table")
    tables = (words, positions, kinds, scale, shift)
    numbers = [
        None if t is None or s is None else number(t, s, z)
        for t, s, z in zip(tables, quantised[:5], quantised[5:], strict=True)
    ]
    w, p, k, gamma, beta = numbers
    if w is None or p is None or gamma is None or beta is None:
        return node.fail("a table, its scale or its zero point is missing")
    return embed_layer_norm(node, ids, segments, w, p, k, gamma, beta, mask)


@converts("GroupNorm", domain=CONTRIBUTED)
def group_norm(node: Node, x: Value, scale: Value, shift: Value) -> Value:
    """Groups of channels with mean 0 and variance 1, scaled and moved, and an activation."""
    last = bool(node.int("channels_last", 1))
    axis = x.rank - 1 if last else 1
    groups, epsilon = node.int("groups"), node.float("epsilon", 1e-5)
    data = call("transpose", x, axes=(0, axis, *range(1, axis))) if last else x
    found = call("nn.group_norm", data, cast(scale, x.dtype), cast(shift, x.dtype), num_groups=groups,
                 axis=1, epsilon=epsilon)  # fmt: skip
    if node.int("activation"):
        found = call("nn.silu", found)
    return call("transpose", found, axes=(0, *range(2, x.rank), 1)) if last else found


@converts("SkipGroupNorm", domain=CONTRIBUTED)
def skip_group_norm(
    node: Node, x: Value, scale: Value, shift: Value, skip: Value, bias: Value | None = None
) -> Any:
    """`GroupNorm` of a sum, and the sum."""
    axis = x.rank - 1 if node.int("channels_last", 1) else 1
    if skip.rank == 2:
        spread = tuple(k for k in range(1, x.rank) if k != axis)
        for k in spread:
            skip = call("expand_dims", skip, axis=k)
    whole = summed(x, skip, None if bias is None else as_rows(bias, x.rank, axis))
    return group_norm(node, whole, scale, shift), whole


@converts("GatedRMSNorm", domain=CONTRIBUTED)
def gated_rms_norm(node: Node, x: Value, scale: Value, gate: Value) -> Value:
    """Data divided by the root of its mean square, scaled, times an activation of a gate; in float32."""
    wide = cast(gate, "float32")
    kind = node.text("activation", "silu")
    if kind not in ("silu", "swish", "sigmoid"):
        return node.fail(f"there is no activation `{kind}` of its gate")
    opened = call("sigmoid" if kind == "sigmoid" else "nn.silu", wide)
    epsilon = node.float("epsilon", 1e-5)
    return cast(by_groups(cast(x, "float32"), cast(scale, "float32"), epsilon) * opened, x.dtype)


def by_groups(x: Value, scale: Value, epsilon: float) -> Value:
    """`nn.rms_norm` of each so many numbers of the last axis as `scale` has."""
    width, lead = scale.size(0), [0] * (x.rank - 1)
    if x.shape[x.rank - 1] == width:
        return call("nn.rms_norm", x, scale, epsilon=epsilon)
    parts = call("reshape", x, newshape=(*lead, -4, -1, width))
    return call("reshape", call("nn.rms_norm", parts, scale, epsilon=epsilon), newshape=(*lead, -3))


@converts("BranchwiseRMSNorm", domain=CONTRIBUTED)
def branchwise_rms_norm(node: Node, x: Value, scale: Value | None = None) -> Value:
    """Each branch divided by the root of its mean square; branches are an axis, or parts of the last one."""
    count, lead = node.int("num_branches", 0), [0] * (x.rank - 1)
    data = cast(x, "float32")
    if count:
        data = call("reshape", data, newshape=(*lead, -4, count, -1))
    square = call("mean", data * data, axis=(data.rank - 1,), keepdims=True)
    found = data * call("rsqrt", square + node.float("epsilon", 1e-5))
    if scale is not None:
        width = found.size(found.rank - 1)
        factor = scale if scale.shape == (width,) else call("reshape", scale, newshape=(-1, width))
        found = found * cast(factor, "float32")
    return cast(call("reshape", found, newshape=(*lead, -3)) if count else found, x.dtype)


@converts("BiasSplitGelu", domain=CONTRIBUTED)
def bias_split_gelu(node: Node, x: Value, bias: Value) -> Value:
    """Half of the sum with a bias, times the `Gelu` of the other half."""
    left, right = gates(x + bias, 2)
    return left * call("nn.gelu", right)


@converts("BiasAdd", domain=CONTRIBUTED)
def bias_add(node: Node, x: Value, bias: Value, skip: Value) -> Value:
    """The sum of data, a bias and other data."""
    return x + bias + skip
