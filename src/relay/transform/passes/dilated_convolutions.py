"""Convolutions of blocks as dilated ones: how frameworks without dilation wrote them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.op.layout import BatchToSpaceND, SpaceToBatchND
from relay.op.nn.conv import Conv1D, Conv2D, Conv3D
from relay.op.nn.layout import SPATIAL, ntuple, pads
from relay.op.qnn.product import QnnConv2D
from relay.transform.passes.explicit_padding import is_zero
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import Rewriter, apply_rules, call
from relay.transform.rewriting.rulebook import Rulebook
from relay.transform.rewriting.splat import uniform

ATROUS = Rulebook()
CONVOLUTIONS = (Conv1D, Conv2D, Conv3D, QnnConv2D)


@ATROUS.rule("nn.batch_to_space_nd(conv(nn.space_to_batch_nd(x), w)) => conv(x, w, dilation=…)",
             BatchToSpaceND)  # fmt: skip
def _dilated(w: Rewriter, e: Call) -> Expr | None:
    outer = w.parts(e.args[0], *CONVOLUTIONS)
    inner = w.parts(outer[1][0], SpaceToBatchND) if outer else None
    if not outer or not inner or not _pads_with_zero(w, outer, inner[0]):
        return None
    conv, (_, *rest) = outer
    return _dilated_convolution(e, conv, inner[0], inner[1][0], rest)


def _pads_with_zero(w: Rewriter, outer: tuple[Any, tuple[Expr, ...]], blocks: Any) -> bool:
    """Whether the margins hold what the convolution pads with."""
    conv, args = outer
    if isinstance(conv, QnnConv2D):
        zero = uniform(w, args[2])
        return zero is not None and bool(zero == blocks.pad_value)
    return is_zero(blocks.pad_value)


def _dilated_convolution(e: Call, conv: Any, blocks: Any, x: Expr, rest: Sequence[Expr]) -> Expr | None:
    """One convolution of `x`, whose taps lie as far apart as the elements of a block did."""
    op, layout = e.attrs, conv.data_layout
    axes = SPATIAL[len(layout) - 2]
    if blocks.block_shape != op.block_shape or conv.out_layout not in ("", layout) or layout[0] != "N":
        return None
    margins = zip(blocks.block_shape, blocks.paddings, op.crops, strict=True)
    of = dict(zip(layout[1:], margins, strict=False))
    plain = (1, (0, 0), (0, 0))
    if any(of.get(c, plain) != plain for c in layout if c not in axes):
        return None
    several = [of.get(c, plain) for c in axes]
    if any(s != 1 and b != 1 for s, (b, _, _) in zip(ntuple(conv.strides, len(axes)), several, strict=True)):
        return None
    own = pads(conv.padding, len(axes))
    sides = [[b * p[i] + m[i] - c[i] for p, (b, m, c) in zip(own, several, strict=True)] for i in (0, 1)]
    if any(p < 0 for side in sides for p in side):
        return None
    steps = ntuple(conv.dilation, len(axes))
    dilation = tuple([d * b for d, (b, _, _) in zip(steps, several, strict=True)])
    return call(replace(conv, dilation=dilation, padding=(*sides[0], *sides[1])), (x, *rest), e)


RULES = ATROUS.table()


@module_pass("flatten_atrous_conv", keeps=(ANF,), opt_level=3, public="FlattenAtrousConv")
def flatten_atrous_conv(mod: IRModule) -> IRModule:
    """Replace a convolution between `nn.space_to_batch_nd` and `nn.batch_to_space_nd` by a dilated one.

    The blocks cover the spatial axes and are the same on both sides, the convolution has strides of 1 along
    them, and elements that are cropped afterwards are not padded before.  The value is the same up to
    rounding.

    >>> text = "def @main(%x: Tensor[(1, 8, 8, 3), f32], %w: Tensor[(3, 3, 3, 4), f32]) { "
    >>> text += "%0 = nn.space_to_batch_nd(%x, block_shape=(2, 2), paddings=((2, 2), (2, 2))); "
    >>> text += '%1 = nn.conv2d(%0, %w, data_layout="NHWC", kernel_layout="HWIO"); '
    >>> text += "nn.batch_to_space_nd(%1, block_shape=(2, 2), crops=((0, 0), (0, 0))) }"
    >>> show(flatten_atrous_conv, text)
    def @main(
      %x: Tensor[(1, 8, 8, 3), float32], %w: Tensor[(3, 3, 3, 4), float32]
    ) -> Tensor[(1, 8, 8, 4), float32] {
      nn.conv2d(%x, %w, padding=(2, 2, 2, 2), dilation=(2, 2), data_layout="NHWC", kernel_layout="HWIO")
    }
    """
    return apply_rules(mod, RULES)
