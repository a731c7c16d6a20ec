"""Layers with parameters of their own, named after the layer."""

from typing import Any

import relay
from relay.ir.expr import Expr


def batch_norm_infer(
    data: Expr,
    gamma: Expr | None = None,
    beta: Expr | None = None,
    moving_mean: Expr | None = None,
    moving_var: Expr | None = None,
    *,
    name: str,
    **attrs: Any,
) -> Expr:
    """The first result of batch normalisation.

    What is not given is a variable: `name_gamma`, `name_beta`, `name_moving_mean`, `name_moving_var`.
    """
    gamma = relay.var(name + "_gamma") if gamma is None else gamma
    beta = relay.var(name + "_beta") if beta is None else beta
    moving_mean = relay.var(name + "_moving_mean") if moving_mean is None else moving_mean
    moving_var = relay.var(name + "_moving_var") if moving_var is None else moving_var
    return relay.nn.batch_norm(data, gamma, beta, moving_mean, moving_var, **attrs)[0]


def conv1d(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """A convolution with `name_weight`."""
    return relay.nn.conv1d(data, relay.var(name + "_weight") if weight is None else weight, **attrs)


def conv2d(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """A convolution with `name_weight`."""
    return relay.nn.conv2d(data, relay.var(name + "_weight") if weight is None else weight, **attrs)


def conv3d(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """A convolution with `name_weight`."""
    return relay.nn.conv3d(data, relay.var(name + "_weight") if weight is None else weight, **attrs)


def conv2d_transpose(data: Expr, weight: Expr | None = None, *, name: str, **attrs: Any) -> Expr:
    """A transposed convolution with `name_weight`."""
    return relay.nn.conv2d_transpose(data, relay.var(name + "_weight") if weight is None else weight, **attrs)


def dense_add_bias(
    data: Expr,
    weight: Expr | None = None,
    bias: Expr | None = None,
    units: int | None = None,
    *,
    name: str,
    **attrs: Any,
) -> Expr:
    """A dense layer with `name_weight` and `name_bias`."""
    weight = relay.var(name + "_weight") if weight is None else weight
    bias = relay.var(name + "_bias") if bias is None else bias
    return relay.nn.bias_add(relay.nn.dense(data, weight, units, **attrs), bias, axis=-1)


def conv_add_bias(data: Expr, *, name: str, **attrs: Any) -> Expr:
    """A two-dimensional convolution with `name_weight` and `name_bias`, in the layout NCHW."""
    return relay.nn.bias_add(conv2d(data, name=name, **attrs), relay.var(name + "_bias"))


def conv_kernel_layout(data_layout: str, is_depthwise: bool = False) -> str:
    """The layout of a weight that goes with a layout of data."""
    return {
        "NCHW": "OIHW",
        "NHWC": "HWOI" if is_depthwise else "HWIO",
        "NCDHW": "OIDHW",
        "NDHWC": "DHWIO",
        "NCW": "OIW",
        "NWC": "WIO",
    }[data_layout]


def network(body: Expr) -> Expr:
    """A function of all that is free in `body`: the data, then the parameters in the order of their use."""
    return relay.Function(sorted(relay.free_vars(body), key=lambda v: v.name_hint != "data"), body)
