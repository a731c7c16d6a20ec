"""Normalisation, and softmax."""

from typing import Any

import numpy as np

from relay.frontend.support import as_rows, cast, root_of
from relay.frontend.torch.node import Node
from relay.frontend.torch.registry import converts
from relay.frontend.torch.support import axis_of, count_of, finfo
from relay.frontend.value import Value, call, constant


@converts("aten.softmax.int", "aten._softmax", "aten._safe_softmax")
def softmax(node: Node, x: Value, dim: int, *_: Any) -> Value:
    """Exponentials along an axis, divided by their sum."""
    x = cast(x, node.dtype)
    if x.rank == 0:
        return call("ones_like", x)
    name = "nn.safe_softmax" if "safe" in node.operator else "nn.softmax"
    return call(name, x, axis=axis_of(dim, x.rank))


@converts("aten.log_softmax.int", "aten._log_softmax")
def log_softmax(node: Node, x: Value, dim: int, *_: Any) -> Value:
    """The logarithm of `softmax`."""
    x = cast(x, node.dtype)
    return call("nn.log_softmax", x, axis=axis_of(dim, x.rank)) if x.rank else call("zeros_like", x)


def ones_and_zeros(x: Value, size: int, weight: Value | None, bias: Value | None) -> tuple[Value, Value]:
    """A weight and a bias, or what changes nothing."""
    return (
        constant(np.ones(size), x.dtype) if weight is None else weight,
        constant(np.zeros(size), x.dtype) if bias is None else bias,
    )


@converts("aten.layer_norm", "aten.native_layer_norm")
def layer_norm(
    node: Node, x: Value, shape: list[int], weight: Value | None, bias: Value | None, eps: float, *_: Any
) -> Any:
    """Data with mean 0 and variance 1 over the last axes, scaled and moved."""
    native = "native" in node.operator
    if len(shape) == 1 and not (native and (node.wants(1) or node.wants(2))):
        gamma, beta = ones_and_zeros(x, shape[0], weight, bias)
        found = call("nn.layer_norm", x, gamma, beta, axis=x.rank - 1, epsilon=eps)
        return (found,) if native else found
    axes = tuple(range(x.rank - len(shape), x.rank))
    mean, inverse = statistics(x, axes, eps)
    found = (x - mean) * inverse
    found = found if weight is None else found * weight
    found = found if bias is None else found + bias
    return (found, mean, inverse) if native else found


def statistics(x: Value, axes: tuple[int, ...], eps: float) -> tuple[Value, Value]:
    """The mean, and one over the root of the variance."""
    mean = call("mean", x, axis=axes, keepdims=True)
    away = x - mean
    return mean, call("rsqrt", call("mean", away * away, axis=axes, keepdims=True) + eps)


@converts("aten.rms_norm", "aten._fused_rms_norm")
def rms_norm(node: Node, x: Value, shape: list[int], weight: Value | None, eps: float | None) -> Any:
    """Data divided by the root of their mean square over the last axes, scaled."""
    eps = float(finfo(x.dtype).eps) if eps is None else eps
    is_fused = "fused" in node.operator
    if len(shape) == 1 and not (is_fused and node.wants(1)):
        found = call("nn.rms_norm", x, *([] if weight is None else [weight]), epsilon=eps)
        return (found,) if is_fused else found
    axes = tuple(range(x.rank - len(shape), x.rank))
    inverse = call("rsqrt", call("mean", x * x, axis=axes, keepdims=True) + eps)
    found = x * inverse
    found = found if weight is None else found * weight
    return (found, inverse) if is_fused else found


@converts("aten.group_norm")
def group_norm(
    node: Node, x: Value, groups: int, weight: Value | None, bias: Value | None, eps: float, *_: Any
) -> Value:
    """Each group of channels with mean 0 and variance 1, scaled and moved."""
    gamma, beta = ones_and_zeros(x, x.size(1), weight, bias)
    return call("nn.group_norm", x, gamma, beta, num_groups=groups, axis=1, epsilon=eps)


@converts("aten.native_group_norm")
def native_group_norm(
    node: Node, x: Value, weight: Value | None, bias: Value | None, n: Any, c: Any, area: Any, groups: int,
    eps: float,
) -> Any:  # fmt: skip
    """As `group_norm`, and the statistics."""
    found = group_norm(node, x, groups, weight, bias, eps)
    if not node.wants(1) and not node.wants(2):
        return (found,)
    parts = call("reshape", x, newshape=(x.size(0), groups, -1))
    mean, inverse = statistics(parts, (2,), eps)
    return found, call("squeeze", mean, axis=(2,)), call("squeeze", inverse, axis=(2,))


@converts("aten.instance_norm")
def instance_norm(
    node: Node, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None,
    from_input: bool, momentum: float, eps: float, *_: Any,
) -> Value:  # fmt: skip
    """Each channel of each item with mean 0 and variance 1, scaled and moved."""
    gamma, beta = ones_and_zeros(x, x.size(1), weight, bias)
    if not from_input:
        assert mean is not None
        assert var is not None
        return call("nn.batch_norm", x, gamma, beta, mean, var, axis=1, epsilon=eps)[0]
    return call("nn.instance_norm", x, gamma, beta, axis=1, epsilon=eps)


@converts("aten.batch_norm")
def batch_norm(
    node: Node, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, var: Value | None,
    training: bool, momentum: float, eps: float, *_: Any,
) -> Value:  # fmt: skip
    """Each channel with the mean and variance given, or those of the data."""
    if training or mean is None or var is None:
        return normalized(x, weight, bias, eps)[0]
    return with_statistics(x, weight, bias, mean, var, eps)


def with_statistics(
    x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, eps: float
) -> Value:
    """Each channel with the mean and variance given."""
    gamma, beta = ones_and_zeros(mean, mean.size(0), weight, bias)
    if x.dtype == mean.dtype == gamma.dtype:
        return call("nn.batch_norm", x, gamma, beta, mean, var, axis=1, epsilon=eps)[0]
    wide = cast(x, mean.dtype)
    rows = [as_rows(cast(v, wide.dtype), x.rank) for v in (gamma, beta, mean, var)]
    return cast((wide - rows[2]) * (rows[0] * call("rsqrt", rows[3] + eps)) + rows[1], x.dtype)


def normalized(
    x: Value, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value, Value]:
    """Each channel with mean 0 and variance 1 over the batch; the mean, the variance, one over its root."""
    axes = (0, *range(2, x.rank))
    mean = call("mean", x, axis=axes)
    away = x - as_rows(mean, x.rank)
    variance = call("mean", away * away, axis=axes)
    inverse = call("rsqrt", variance + eps)
    found = away * as_rows(inverse, x.rank)
    found = found if weight is None else found * as_rows(weight, x.rank)
    return (found if bias is None else found + as_rows(bias, x.rank)), mean, variance, inverse


@converts("aten._native_batch_norm_legit_no_training")
def inference(
    node: Node, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    """Each channel with the mean and variance given."""
    empty = constant(np.zeros(0), "float32")
    return with_statistics(x, weight, bias, mean, var, eps), empty, empty


@converts("aten._native_batch_norm_legit.no_stats")
def without_statistics(
    node: Node,
    x: Value,
    weight: Value | None,
    bias: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Each channel with the mean and variance of the data."""
    found, mean, _, inverse = normalized(x, weight, bias, eps)
    return found, mean, inverse


@converts("aten._native_batch_norm_legit_functional", "aten._batch_norm_with_update_functional")
def with_update(
    node: Node, x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, *rest: Any
) -> Any:
    """Each channel with the mean and variance of the data, and what is remembered of these."""
    momentum, eps = rest[-2], rest[-1]
    found, now, spread, inverse = normalized(x, weight, bias, eps)
    count = count_of(x, (0, *range(2, x.rank)))
    if isinstance(count, Value):
        total = cast(count, x.dtype)
        unbiased = spread * (total / (total - 1.0))
    else:
        unbiased = spread * (count / max(count - 1, 1))
    new_mean = mean * (1 - momentum) + cast(now, mean.dtype) * momentum
    new_var = var * (1 - momentum) + cast(unbiased, var.dtype) * momentum
    if "with_update" in node.operator:
        return found, now, inverse, constant(np.zeros(0), "uint8"), new_mean, new_var
    return found, now, inverse, new_mean, new_var


@converts("aten.cosine_similarity")
def cosine_similarity(node: Node, x: Value, y: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosine of the angle between vectors."""
    axis = (axis_of(dim, x.rank),)

    def size(v: Value) -> Value:
        return call("maximum", root_of(call("sum", v * v, axis=axis)), eps)

    return call("sum", x * y, axis=axis) / (size(x) * size(y))
