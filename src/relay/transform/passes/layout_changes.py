"""How an operator is brought to a layout that is asked for: a rule for each family that has layouts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from relay.ir.expr import Call, Constant
from relay.op.base import Operator
from relay.op.column import Column
from relay.op.image.resize import Resize
from relay.op.image.sample import CropAndResize
from relay.op.nn.conv import Conv, Conv2D, Convolution
from relay.op.nn.conv_transpose import Conv2DTranspose
from relay.op.nn.conv_weight import ConvBackwardWeight
from relay.op.nn.deformable import DeformableConv2D
from relay.op.nn.global_pool import GlobalPool
from relay.op.nn.layout import SPATIAL, positions
from relay.op.nn.pool import Average, Greatest
from relay.op.nn.upsample import Upsample
from relay.op.qnn.arithmetic import QnnAvgPool2D
from relay.op.qnn.product import QnnConv2D, QnnConv2DTranspose
from relay.op.vision.regions import RoiAlign, RoiPool
from relay.transform.passes.blocked_layouts import are_blocks, is_blocked
from relay.transform.passes.layout_propagation import Turned, Turning
from relay.transform.passes.layout_rules import image_in_layout

Change = Callable[[Turning, Call, str, str], Turned | None]
"""A call with its data in a layout, and its weight, if it has one, in another or in `"default"`."""
change = Column[Change | None](default=None)
"""What becomes of a call of which layouts are asked."""


def changed(*kinds: type[Operator]) -> Callable[[Change], Change]:
    """Register a rule for operators of some classes."""

    def register(rule: Change) -> Change:
        for kind in kinds:
            change[kind] = rule
        return rule

    return register


def default_layout(cls: Any) -> str:
    """The layout of data that an operator has unless it says another."""
    return getattr(cls, "data_layout", "") or cls.layout


def default_kernel(cls: Any) -> str:
    """The layout of a weight that an operator has unless it says another."""
    return cls.kernel_layout


def can_have(cls: type[Operator], data: str, kernel: str) -> bool:
    """Whether an operator takes data, and a weight if it has one, in these layouts."""
    if cls is Conv2D and is_blocked(data, kernel):
        return are_blocks(data, kernel)
    is_weight = kernel == "default" or sorted(kernel) == sorted(getattr(cls, "kernel_layout", kernel))
    return is_weight and sorted(data) == sorted(default_layout(cls))


@changed(Greatest, Average, GlobalPool, Upsample, Resize, CropAndResize, RoiAlign, RoiPool, QnnAvgPool2D)
def _image(w: Turning, e: Call, layout: str, kernel: str) -> Turned | None:
    return None if w.shape(e.args[0]) is None else image_in_layout(w, e, layout)


@changed(Convolution, QnnConv2D, QnnConv2DTranspose)
def _convolved(w: Turning, e: Call, layout: str, kernel: str) -> Turned | None:
    op: Any = e.attrs
    x, y, *scales = e.args
    if w.shape(x) is None or w.shape(y) is None:
        return None
    if kernel == "default":
        kernel = usual(w, e, layout)
    args = [w.in_order(x, positions(op.data_layout, layout))]
    args += [w.in_order(y, positions(op.kernel_layout, kernel)), *map(w.as_was, scales)]
    made = replace(op, data_layout=layout, kernel_layout=kernel, out_layout="")
    return w.applied(e, made, args, positions(op.out_layout or op.data_layout, layout))


@changed(ConvBackwardWeight)
def _weight_gradient(w: Turning, e: Call, layout: str, kernel: str) -> Turned | None:
    op: Any = e.attrs
    x, y = e.args
    if w.shape(x) is None or w.shape(y) is None:
        return None
    data = [w.in_order(x, positions(op.grad_layout, layout))]
    data += [w.in_order(y, positions(op.data_layout, layout))]
    kernel = usual(w, e, layout)
    made = replace(op, grad_layout=layout, data_layout=layout, kernel_layout=kernel)
    return w.applied(e, made, data, positions(op.kernel_layout, kernel))


@changed(DeformableConv2D)
def _deformed(w: Turning, e: Call, layout: str, kernel: str) -> Turned | None:
    op: Any = e.attrs
    if any(w.shape(a) is None for a in e.args):
        return None
    if kernel == "default":
        kernel = usual(w, e, layout)
    weight = w.in_order(e.args[2], positions(op.kernel_layout, kernel))
    args = [w.in_order(a, positions(op.data_layout, layout)) for a in e.args]
    args[2] = weight
    made = replace(op, data_layout=layout, kernel_layout=kernel, out_layout="")
    return w.applied(e, made, args, positions(op.out_layout or op.data_layout, layout))


def usual(w: Turning, e: Call, layout: str) -> str:
    """The layout of a weight that goes with a layout of data: the channels of the result where those of the
    data are.  One array serves a convolution and its derivative.
    """
    op: Any = e.attrs
    if layout[-1] != "C":
        return default_kernel(type(op))
    swapped = type(op) in (Conv2DTranspose, QnnConv2DTranspose)
    several = isinstance(op, Conv | QnnConv2D) and op.attributes()["groups"] > 1 and is_split(w, e)
    return SPATIAL[len(layout) - 2] + ("OI" if swapped or several else "IO")


def kernel_that_stays(w: Turning, e: Call) -> str:
    """The layout of a weight that is a matrix, since windows are of one place: products read it as it is.
    Others are in the `"default"`, and so are constants, which are transposed at compile time.
    """
    op: Any = e.attrs
    weight = w.shape(e.args[1])
    if weight is None or op.groups != 1 or type(e.args[1]) is Constant:
        return "default"
    window = [d for d, letter in zip(weight, op.kernel_layout, strict=True) if letter not in "OI"]
    return op.kernel_layout if all(d == 1 for d in window) else "default"


def is_split(w: Turning, e: Call) -> bool:
    """Whether the weight has several filters for each channel of the data: `(channels, multiple, ...)`."""
    op: Any = e.attrs
    data, weight = w.shape(e.args[0]), w.shape(e.args[1])
    assert data is not None
    assert weight is not None
    per_group = weight[op.kernel_layout.index("I")]
    return data[op.data_layout.index("C")] == op.groups and per_group != 1
