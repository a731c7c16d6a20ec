"""Borders that an operator lays around its data by itself: `nn.pad` before a convolution or a pooling."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from relay.ir.dtype import to_numpy
from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.op.nn.conv import Conv1D, Conv2D, Conv3D
from relay.op.nn.layout import SPATIAL, pads
from relay.op.nn.pool import AvgPool1D, AvgPool2D, AvgPool3D, MaxPool1D, MaxPool2D, MaxPool3D
from relay.op.numeric import least_value
from relay.op.pad import Pad, known_widths
from relay.op.qnn.product import QnnConv2D
from relay.transform.passes.algebra_numbers import dtype_of
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call
from relay.transform.rewriting.rulebook import Rulebook
from relay.transform.rewriting.splat import uniform

PADDING = Rulebook()


@PADDING.rule("nn.conv(nn.pad(x), w) => nn.conv(x, w, padding=…) where the border is 0",
              Conv1D, Conv2D, Conv3D)  # fmt: skip
def _convolution(w: Rewriter, e: Call) -> Expr | None:
    return _taken_over(w, e, e.attrs.data_layout, is_zero)


@PADDING.rule("qnn.conv2d(nn.pad(x), …) => qnn.conv2d(x, …, padding=…) where the border is the zero point",
              QnnConv2D)  # fmt: skip
def _quantised_convolution(w: Rewriter, e: Call) -> Expr | None:
    zero = uniform(w, e.args[2])
    return _taken_over(w, e, e.attrs.data_layout, lambda value: zero is not None and value == zero)


@PADDING.rule("nn.max_pool(nn.pad(x)) => nn.max_pool(x, padding=…) where the border is the least value",
              MaxPool1D, MaxPool2D, MaxPool3D)  # fmt: skip
def _greatest(w: Rewriter, e: Call) -> Expr | None:
    dtype = dtype_of(w, e)
    if e.attrs.ceil_mode or not dtype:
        return None
    return _taken_over(w, e, e.attrs.layout, lambda value: value == least_value(np, to_numpy(dtype)))


@PADDING.rule("nn.avg_pool(nn.pad(x)) => nn.avg_pool(x, padding=…, count_include_pad=True) where the border "
              "is 0", AvgPool1D, AvgPool2D, AvgPool3D)  # fmt: skip
def _mean(w: Rewriter, e: Call) -> Expr | None:
    op: Any = e.attrs
    counts_all = op.count_include_pad or not any(map(any, pads(op.padding, op.rank)))
    if op.ceil_mode or not counts_all:
        return None
    return _taken_over(w, e, op.layout, is_zero, count_include_pad=True)


def is_zero(value: Any) -> bool:
    """Whether a border is what operators pad with: 0, and not -0."""
    return bool(value == 0) and not np.signbit(np.float64(value))


def _taken_over(
    w: Rewriter, e: Call, layout: str, is_border: Callable[[Any], bool], **changed: Any
) -> Expr | None:
    """The call on the data without its border, if that is a border of spatial axes and of the right value."""
    inner = w.parts(e.args[0], Pad)
    if not inner:
        return None
    pad, (x, *value) = inner
    border = uniform(w, value[0]) if value else np.float32(0)
    cuts = any(n < 0 for n in known_widths(pad.pad_width))
    if pad.pad_mode != "constant" or cuts or border is None or not is_border(border):
        return None
    width = dict(zip(layout, pad.pad_width, strict=True))
    axes = SPATIAL[len(layout) - 2]
    if any(any(width[letter]) for letter in layout if letter not in axes):
        return None
    own = pads(e.attrs.padding, len(axes))
    both = [(a + width[c][0], b + width[c][1]) for c, (a, b) in zip(axes, own, strict=True)]
    padding = (*[a for a, _ in both], *[b for _, b in both])
    return call(replace(e.attrs, padding=padding, **changed), (x, *e.args[1:]), e)


RULES = PADDING.table()


@module_pass("fold_explicit_padding", keeps=(ANF,), opt_level=3, public="FoldExplicitPadding")
def fold_explicit_padding(mod: IRModule) -> IRModule:
    """Fold `nn.pad` into the padding of the convolution or pooling that follows.

    The padding must lie on the spatial axes and hold the value that the operator itself pads with: 0, the
    zero point of quantised data, or the least value before `nn.max_pool`.  Averages then count the padding.
    The padded copy is no longer made.

    >>> text = "def @main(%x: Tensor[(1, 3, 8, 8), f32], %w: Tensor[(4, 3, 3, 3), f32]) {"
    >>> text += " nn.conv2d(nn.pad(%x, pad_width=((0, 0), (0, 0), (0, 1), (1, 2))), %w) }"
    >>> show(fold_explicit_padding, text)
    def @main(
      %x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]
    ) -> Tensor[(1, 4, 7, 9), float32] {
      nn.conv2d(%x, %w, padding=(0, 1, 1, 2))
    }
    """
    return apply_rules(mod, RULES)
