"""Convolutions of data whose channels are in blocks: `NCHW4c`."""

from collections.abc import Set as AbstractSet
from functools import partial
from math import prod
from typing import Any

from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType, Type
from relay.op.layout import layout_of
from relay.op.nn.conv import Conv2D
from relay.op.registry import instance
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.layout_transforms import RULES, in_layouts
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call


def is_blocked(data: str, kernel: str) -> bool:
    """Whether a layout of data, or that of a weight, has blocks."""
    return not data.isalpha() or not kernel.isalpha()


def are_blocks(data: str, kernel: str) -> bool:
    """Whether `nn.conv2d` can have layouts: of the data the channels are split, of a weight any axes."""
    x, w = layout_of(data), None if kernel == "default" else layout_of(kernel)
    if x is None or sorted(x.letters) != sorted("NCHW"):
        return False
    if [letter for letter, factor in x.axes if factor] not in ([], ["C"]):
        return False
    return kernel == "default" or (w is not None and sorted(w.letters) == sorted("OIHW"))


def in_blocks(mod: IRModule, data: str, kernel: str, stay: AbstractSet[Expr]) -> IRModule:
    """A module with each `nn.conv2d` in these layouts whose channels are whole blocks; some stay."""
    rule = partial(_convolution_in_blocks, data=data, kernel=kernel, stay=stay)
    out = apply_rules(mod, {**RULES, Conv2D: (rule,)})
    return mod if out is mod else dead_code(out)


def _convolution_in_blocks(
    w: Rewriter, e: Call, data: str, kernel: str, stay: AbstractSet[Expr]
) -> Expr | None:
    op: Any = e.attrs
    weight = w.tensor(e.args[1])
    if weight is None or w.origin in stay:
        return None
    per_group: int = op.kernel_layout.index("I")
    is_depthwise = bool(op.groups > 1 and weight.concrete_shape[per_group] == 1)
    if kernel == "default":
        layout = layout_of(data)
        assert layout is not None
        block = prod(layout.inner("C"))
        kernel = f"OIHW{1 if is_depthwise else block}i{block}o"
    source = (op.data_layout, op.kernel_layout, op.out_layout or op.data_layout)
    given = (w.types(e.args[0]), weight, w.types(e))
    if not all(map(has_whole_blocks, given, source, (data, kernel, data))):
        return None
    name = "nn.contrib_depthwise_conv2d_NCHWc" if is_depthwise else "nn.contrib_conv2d_NCHWc"
    layouts = {"data_layout": data, "kernel_layout": kernel, "out_layout": ""}
    return in_layouts(op, call(instance(name, {**op.attributes(), **layouts}), e.args, e), e.args)


def has_whole_blocks(t: Type, source: str, target: str) -> bool:
    """Whether the axes of a tensor in a layout are split without a rest in another."""
    layout = layout_of(target)
    assert layout is not None
    if not isinstance(t, TensorType) or not isinstance(t.shape, tuple):
        return False
    blocks = [prod(layout.inner(letter)) for letter in source]
    return all(b == 1 or (isinstance(d, int) and d % b == 0) for b, d in zip(blocks, t.shape, strict=True))
