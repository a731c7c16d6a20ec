"""Normalisation."""

from typing import Any

import numpy as np

from relay.frontend.onnx.node import Node
from relay.frontend.onnx.registry import converts
from relay.frontend.onnx.tensors import dtype_of
from relay.frontend.support import as_rows, axis_in, cast, root_of
from relay.frontend.value import Value, call, constant


@converts("BatchNormalization")
def batch_norm(node: Node, x: Value, scale: Value, bias: Value, mean: Value, var: Value) -> Any:
    """Each channel with the mean and variance given, or those of the data in training."""
    epsilon = node.float("epsilon", 1e-5)
    training = node.int("training_mode", 0) if node.version >= 14 else False
    if not training and x.dtype == scale.dtype == mean.dtype:
        return call("nn.batch_norm", x, scale, bias, mean, var, axis=1, epsilon=epsilon)[0]
    wide = cast(x, mean.dtype)
    new_mean, new_var = mean, var
    if training:
        momentum = node.float("momentum", 0.9)
        axes = (0, *range(2, x.rank))
        now, spread = call("mean", wide, axis=axes), call("variance", wide, axis=axes)
        new_mean = mean * momentum + now * (1 - momentum)
        new_var = var * momentum + spread * (1 - momentum)
        mean, var = now, spread
    row = [as_rows(cast(v, wide.dtype), x.rank) for v in (scale, bias, mean, var)]
    found = (wide - row[2]) * (row[0] / call("sqrt", row[3] + epsilon)) + row[1]
    return (cast(found, x.dtype), new_mean, new_var) if training else cast(found, x.dtype)


@converts("InstanceNormalization")
def instance_norm(node: Node, x: Value, scale: Value, bias: Value) -> Value:
    """Each channel of each item with mean 0 and variance 1, scaled and moved."""
    return call("nn.instance_norm", x, scale, bias, axis=1, epsilon=node.float("epsilon", 1e-5))


@converts("LayerNormalization", since=17)
def layer_norm(node: Node, x: Value, scale: Value, bias: Value | None = None) -> Any:
    """Data with mean 0 and variance 1 over the last axes, scaled and moved."""
    axis = axis_in(node.int("axis", -1), x.rank)
    epsilon = node.float("epsilon", 1e-5)
    last = axis == x.rank - 1 and scale.rank == 1 and not node.wants(1) and not node.wants(2)
    if last and bias is not None and x.dtype == "float32":
        return call("nn.layer_norm", x, scale, bias, axis=axis, epsilon=epsilon)
    stash = dtype_of(node.int("stash_type", 1))
    wide = cast(x, stash)
    axes = tuple(range(axis, x.rank))
    mean = call("mean", wide, axis=axes, keepdims=True)
    away = wide - mean
    inverse = 1 / call("sqrt", call("mean", away * away, axis=axes, keepdims=True) + epsilon)
    found = cast(away * inverse, x.dtype) * scale
    return (found if bias is None else found + bias), mean, inverse


@converts("RMSNormalization", since=23)
def rms_norm(node: Node, x: Value, scale: Value) -> Value:
    """Data divided by the root of the mean square over the last axes, scaled."""
    axes, epsilon = tuple(range(axis_in(node.int("axis", -1), x.rank), x.rank)), node.float("epsilon", 1e-5)
    if len(axes) == scale.rank == 1 and x.dtype == scale.dtype == "float32":
        return call("nn.rms_norm", x, scale, epsilon=epsilon)
    wide = cast(x, dtype_of(node.int("stash_type", 1)))
    square = call("mean", wide * wide, axis=axes, keepdims=True)
    return cast(wide / call("sqrt", square + epsilon), scale.dtype) * scale


@converts("LpNormalization")
def lp_normalization(node: Node, x: Value) -> Value:
    """Data divided by its norm along an axis; zeros stay."""
    axis = axis_in(node.int("axis", -1), x.rank)
    how: dict[str, Any] = {"axis": (axis,), "keepdims": True}
    is_sum = node.int("p", 2) == 1
    size = call("sum", call("abs", x), **how) if is_sum else root_of(call("sum", x * x, **how))
    zero = call("equal", size, constant(0, x.dtype))
    return call("where", zero, constant(0, x.dtype), x / call("where", zero, constant(1, x.dtype), size))


@converts("LRN")
def lrn(node: Node, x: Value) -> Value:
    """Local response normalisation over the channels; of an even size, one channel more lies after."""
    size, alpha = node.int("size"), node.float("alpha", 1e-4)
    beta, bias = node.float("beta", 0.75), node.float("bias", 1.0)
    if size % 2:
        return call("nn.lrn", x, size=size, axis=1, bias=bias, alpha=alpha, beta=beta)
    width = [(0, 0)] * x.rank
    width[1] = ((size - 1) // 2, size // 2)
    squares = call("nn.pad", x * x, pad_width=tuple(width))
    total: Value | None = None
    for k in range(size):
        part = call("strided_slice", squares, begin=(k,), end=(k + x.size(1),), axes=(1,))
        total = part if total is None else total + part
    assert total is not None
    return x / call("power", total * (alpha / size) + bias, constant(beta, x.dtype))


@converts("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, x: Value) -> Value:
    """Data with mean 0 and variance 1."""
    axes = tuple(node.ints("axes", [0, 2, 3]))
    away = x - call("mean", x, axis=axes, keepdims=True)
    return away / (call("sqrt", call("mean", away * away, axis=axes, keepdims=True)) + 1e-9)


@converts("Dropout")
def dropout(node: Node, x: Value, ratio: Value | None = None, training: Value | None = None) -> Any:
    """The data; in training some of it, chosen at random and scaled up."""
    active = training is not None and bool(training.number("whether it is training"))
    part = 0.5 if ratio is None else float(ratio.number("the ratio"))
    if not active or part == 0:
        kind = "bool" if node.version >= 10 else x.dtype
        return x, (call("full", constant(1, kind), shape=x.sizes()) if node.wants(1) else None)
    key = call("random.threefry_key", seed=int(node.int("seed", 0)) & (2**63 - 1))
    low, high = constant(0.0, "float32"), constant(1.0, "float32")
    drawn = call("random.uniform", key, low, high, out_shape=x.sizes(), out_dtype="float32")[1]
    kept = call("greater_equal", drawn, np.float32(part))
    return call("where", kept, x * (1 / (1 - part)), constant(0, x.dtype)), kept
