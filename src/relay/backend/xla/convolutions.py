"""Convolutions of floats, and their two derivatives, as XLA's own, in the layouts that operators have."""

from collections.abc import Sequence
from typing import Any

from relay.ir.dtype import to_numpy
from relay.op.nn.contract import common_type
from relay.op.nn.conv import Conv
from relay.op.nn.conv_rules import largest_window
from relay.op.nn.conv_transpose import ConvTranspose
from relay.op.nn.conv_weight import ConvBackwardWeight
from relay.op.nn.layout import ntuple, pads, positions, to_layout
from relay.op.numeric import narrow

SHORT_FLOATS = ("bfloat16", "float16")
"""The dtypes whose products XLA adds up in float32."""
BATCH_AS_CHANNELS = str.maketrans("NC", "CN")
RESULT_AS_WEIGHT = str.maketrans("NC", "IO")
WEIGHT_AS_RESULT = str.maketrans("IO", "NC")


def convolved(np: Any, op: Conv, data: Any, weight: Any) -> Any:
    """`nn.conv{n}d`."""
    a, n = op.attributes(), op.rank
    kernel = a["kernel_layout"]
    channels = data.shape[a["data_layout"].index("C")]
    if a["groups"] > 1 and channels == a["groups"]:
        weight = to_layout(np, weight, kernel, op.kernel_axes)
        weight, kernel = weight.reshape(-1, 1, *weight.shape[2:]), op.kernel_axes
    layouts = (a["data_layout"], kernel, a["out_layout"] or a["data_layout"])
    way = {"window_strides": ntuple(a["strides"], n), "padding": pads(a["padding"], n)}
    way |= {"rhs_dilation": ntuple(a["dilation"], n), "feature_group_count": a["groups"]}
    return product(np, op, data, weight, layouts, way)


def spread_out(np: Any, op: ConvTranspose, data: Any, weight: Any) -> Any:
    """`nn.conv{n}d_transpose`: a convolution with the window turned around, of data with gaps."""
    a, n = op.attributes(), op.rank
    kernel, groups = a["kernel_layout"], a["groups"]
    if groups > 1:
        w = to_layout(np, weight, kernel, op.kernel_axes)
        (inputs, filters, *window), kernel = w.shape, op.kernel_axes
        w = w.reshape(groups, inputs // groups, filters, *window)
        weight = np.moveaxis(w, 0, 1).reshape(inputs // groups, groups * filters, *window)
    spatial = positions(kernel, op.kernel_axes)[2:]
    sizes = [weight.shape[i] for i in spatial]
    dilation, extra = ntuple(a["dilation"], n), ntuple(a["output_padding"], n)
    padding = [
        ((k - 1) * r - lo, (k - 1) * r - hi + e)
        for k, (lo, hi), r, e in zip(sizes, pads(a["padding"], n), dilation, extra, strict=True)
    ]
    layouts = (a["data_layout"], kernel, a["out_layout"] or a["data_layout"])
    way = {"window_strides": (1,) * n, "padding": padding, "lhs_dilation": ntuple(a["strides"], n)}
    way |= {"rhs_dilation": dilation, "feature_group_count": groups}
    return product(np, op, data, np.jax.lax.rev(weight, spatial), layouts, way)


def of_weight(np: Any, op: ConvBackwardWeight, grad: Any, data: Any) -> Any:
    """`nn.conv{n}d_backward_weight`: the data convolved with the cotangents, which are the window."""
    a, n = op.attributes(), op.rank
    strides, dilation, padding = ntuple(a["strides"], n), ntuple(a["dilation"], n), pads(a["padding"], n)
    space = [data.shape[i] for i in positions(a["data_layout"], op.data_axes)[2:]]
    steps = [grad.shape[i] for i in positions(a["grad_layout"], op.data_axes)[2:]]
    padded = [d + sum(p) for d, p in zip(space, padding, strict=True)]
    given = a["kernel_size"]
    window: Any = largest_window(padded, steps, strides, dilation) if given is None else ntuple(given, n)
    seen = [
        (lo, (k - 1) * r + (o - 1) * s + 1 - d - lo)
        for d, k, o, s, r, (lo, _) in zip(space, window, steps, strides, dilation, padding, strict=True)
    ]
    layouts = (
        a["data_layout"].translate(BATCH_AS_CHANNELS),
        a["grad_layout"].translate(RESULT_AS_WEIGHT),
        a["kernel_layout"].translate(WEIGHT_AS_RESULT),
    )
    way = {"window_strides": dilation, "padding": seen, "rhs_dilation": strides}
    return product(np, op, data, grad, layouts, way | {"batch_group_count": a["groups"]}, like=grad)


def product(
    np: Any,
    op: Any,
    data: Any,
    weight: Any,
    layouts: Sequence[str],
    way: Any,
    like: Any = None,
) -> Any:
    """The convolution in that `way` of data and a weight, in the dtype of the operator's result: that of
    `like`, by default of the data, where it does not say another.
    """
    given = op.attributes()["out_dtype"]
    dtype = to_numpy(given) if given else (data if like is None else like).dtype
    acc = common_type(np, dtype, data, weight)
    if data.dtype != weight.dtype or str(data.dtype) not in SHORT_FLOATS:
        data, weight = data.astype(acc), weight.astype(acc)
    found = np.jax.lax.conv_general_dilated(
        data, weight, dimension_numbers=tuple(layouts), preferred_element_type=acc, **way
    )
    return narrow(found, dtype)
