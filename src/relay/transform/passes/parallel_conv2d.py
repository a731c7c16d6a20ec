"""Convolutions of the same image as one with more filters."""

from collections.abc import Hashable, Sequence
from dataclasses import replace

from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.op.nn.conv import Conv2D
from relay.transform.passes.parallel_calls import Joining, combine, joined_call, split
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


class Convolutions(Joining):
    """Filters one after another."""

    kind = Conv2D

    def key(self, e: Call, data: TensorType, weight: tuple[int, ...]) -> Hashable:
        """Everything but the number of filters."""
        op = e.attrs
        if op.groups != 1:
            return None
        filters = op.kernel_layout.index("O")
        return replace(op, channels=None), weight[:filters], weight[filters + 1 :]

    def parts(self, several: Sequence[Call], weights: Sequence[Expr], types: Types) -> list[Expr]:
        """Channels of one convolution."""
        op = several[0].attrs
        axis: int = op.kernel_layout.index("O")
        sizes = [t.concrete_shape[axis] for w in weights if isinstance(t := types(w), TensorType)]
        made = joined_call(replace(op, channels=sum(sizes)), several, weights, axis)
        return split(made, sizes, (op.out_layout or op.data_layout).index("C"))


@module_pass("combine_parallel_conv2d", keeps=(ANF,), opt_level=4, public="CombineParallelConv2D")
def combine_parallel_conv2d(mod: IRModule, *, min_num_branches: int = 3) -> IRModule:
    """Combine convolutions of the same data in one block into one, and split its channels.

    The convolutions may differ in the number of filters only and have one group; their weights must not
    depend on anything bound in between.  Groups of fewer than `min_num_branches` convolutions are left
    alone.

    >>> show(combine_parallel_conv2d, '''
    ... def @main(%x: Tensor[(1, 4, 8, 8), f32], %w: Tensor[(2, 4, 1, 1), f32]) {
    ...   nn.conv2d(%x, %w) * nn.conv2d(%x, -%w)
    ... }''', min_num_branches=2)
    def @main(
      %x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(2, 4, 1, 1), float32]
    ) -> Tensor[(1, 2, 8, 8), float32] {
      %0 = split(nn.conv2d(%x, concatenate((%w, -%w)), channels=4), indices_or_sections=(2,), axis=1);
      %0.0 * %0.1
    }
    """
    return combine(mod, Convolutions(), min_num_branches)
