"""Products of one stack of matrices with several as one product."""

from collections.abc import Hashable, Sequence

from relay.ir.expr import Call, Expr
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.op.nn.dense import BatchMatMul
from relay.transform.passes.parallel_calls import Joining, combine, joined_call, split
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.query import Types


class Products(Joining):
    """Columns one after another."""

    kind = BatchMatMul

    def key(self, e: Call, data: TensorType, weight: tuple[int, ...]) -> Hashable:
        """Everything but the number of columns."""
        axis = columns(e)
        return e.attrs, weight[:axis], weight[axis + 1 :]

    def parts(self, several: Sequence[Call], weights: Sequence[Expr], types: Types) -> list[Expr]:
        """Columns of one product."""
        axis = columns(several[0])
        sizes = [t.concrete_shape[axis] for w in weights if isinstance(t := types(w), TensorType)]
        return split(joined_call(several[0].attrs, several, weights, axis), sizes, 2)


def columns(e: Call) -> int:
    """The axis of the second operand that the result has too."""
    return 1 if e.attrs.transpose_b else 2


@module_pass("combine_parallel_batch_matmul", keeps=(ANF,), opt_level=4, public="CombineParallelBatchMatmul")
def combine_parallel_batch_matmul(mod: IRModule, *, min_num_branches: int = 3) -> IRModule:
    """Combine batched matrix products that share their first operand into one, and split its columns.

    The second operands may differ in the number of columns only, and must not depend on anything bound in
    between.  Groups of fewer than `min_num_branches` products are left alone.

    >>> show(combine_parallel_batch_matmul, '''
    ... def @main(%x: Tensor[(8, 2, 4), f32], %w: Tensor[(8, 3, 4), f32]) {
    ...   nn.batch_matmul(%x, %w) + nn.batch_matmul(%x, -%w)
    ... }''', min_num_branches=2)
    def @main(
      %x: Tensor[(8, 2, 4), float32], %w: Tensor[(8, 3, 4), float32]
    ) -> Tensor[(8, 2, 3), float32] {
      %0 = nn.batch_matmul(%x, concatenate((%w, -%w), axis=1));
      %1 = split(%0, indices_or_sections=(3,), axis=2);
      %1.0 + %1.1
    }
    """
    return combine(mod, Products(), min_num_branches)
