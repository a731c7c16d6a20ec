"""Bias correction: the mean error that quantised weights cause is taken out of the bias.

`E[W x] - E[Wq x] = (W - Wq) E[x]` for each output channel.  Source: Nagel, van Baalen, Blankevoort and
Welling, 2019, "Data-free quantization through weight equalization and bias correction", section 4.2, with the
means that calibration has seen.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relay.ir.expr import Call, Constant, Expr, constant
from relay.ir.module import IRModule
from relay.op.arithmetic import Add
from relay.op.nn.basic import BiasAdd
from relay.quantize.calibration import operands
from relay.quantize.histogram import Channels
from relay.quantize.ranges import Scale
from relay.quantize.sites import Flow, Site, is_call


def channel_means(mod: IRModule, sites: Sequence[Site], examples: Any) -> dict[Site, Channels]:
    """The statistics by channel of the data of products with weights."""
    products = [s for s in sites if input_axis(s) is not None]
    return operands(mod, products, examples, lambda s: Channels(input_axis(s) or 0)) if products else {}


def input_axis(site: Site) -> int | None:
    """The axis of the data's channels, for a product by a constant."""
    op: Any = site.call.attrs
    if site.weight is None or op.name not in ("nn.dense", "nn.conv2d"):
        return None
    if op.name == "nn.dense":
        return -1
    return op.data_layout.index("C") if op.data_layout.isalpha() else None


def corrected_biases(
    mod: IRModule, means: Mapping[Site, Channels], scales: Mapping[Site, Scale]
) -> dict[Expr, Callable[[Call], Expr]]:
    """What becomes of the calls that add constants to products of quantised weights."""
    flow, found = Flow(mod), dict[Expr, Callable[[Call], Expr]]()
    for s, statistic in means.items():
        users = [u for u in flow.users_of(s.call) if is_call(u, BiasAdd, Add)]
        if s in scales and len(users) == 1 and statistic.sums is not None:
            found[users[0]] = _shifted(users[0], flow, mean_error(s, scales[s], statistic.mean))
    return found


def mean_error(site: Site, scale: Scale, mean: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`(W - Wq) E[x]` for each output channel, float64; padding counts as data."""
    assert site.weight is not None
    w = site.weight.value
    gap = w.astype("float64") - scale.dequantized(scale.quantized(w))
    op: Any = site.call.attrs
    if op.name == "nn.dense":
        return gap @ mean
    o, i = op.kernel_layout.index("O"), op.kernel_layout.index("I")
    gap = np.moveaxis(gap, (o, i), (0, 1))
    gap = gap.reshape(*gap.shape[:2], -1).sum(2)
    if op.groups == 1:
        return gap @ mean
    channels = mean.reshape(op.groups, -1)
    return np.einsum("goi,gi->go", gap.reshape(op.groups, -1, channels.shape[1]), channels).ravel()


def _shifted(user: Expr, flow: Flow, shift: np.ndarray[Any, Any]) -> Callable[[Call], Expr]:
    """The call with its constant, moved by the shift, where the constant has one number for each channel."""

    def changed(call: Call) -> Expr:
        assert isinstance(user, Call)
        for i, x in enumerate(user.args):
            bias = flow.made(x)
            if isinstance(bias, Constant) and bias.value.size == shift.size:
                moved = (bias.value.astype("float64") + shift.reshape(bias.value.shape)).astype("float32")
                args = (*call.args[:i], constant(moved, span=bias.span), *call.args[i + 1 :])
                return call.rebuild((*call.children[: len(call.children) - len(call.args)], *args))
        return call

    return changed
