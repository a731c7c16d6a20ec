"""Dense layers of the same data as one, or as a product of stacks."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from relay.ir.expr import Call, Expr, Tuple
from relay.ir.module import IRModule
from relay.ir.type import TensorType
from relay.op.nn.dense import Dense
from relay.transform.passes.parallel_calls import Joining, combine, joined_call, split
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.forms import ANF
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import call_of
from relay.typecheck.query import Types


class Layers(Joining):
    """Units one after another."""

    kind = Dense

    def key(self, e: Call, data: TensorType, weight: tuple[int, ...]) -> Hashable:
        """Everything but the number of units."""
        return replace(e.attrs, units=None), weight[1]

    def parts(self, several: Sequence[Call], weights: Sequence[Expr], types: Types) -> list[Expr]:
        """Units of one layer."""
        sizes = [t.concrete_shape[0] for w in weights if isinstance(t := types(w), TensorType)]
        made = joined_call(replace(several[0].attrs, units=None), several, weights, 0)
        return split(made, sizes, -1)


@dataclass
class Stacks(Joining):
    """Weights of one shape as a stack, all of which meet the same data."""

    kind = Dense

    def key(self, e: Call, data: TensorType, weight: tuple[int, ...]) -> Hashable:
        """Everything, for data of rank 2."""
        shape = data.shape
        return (
            (replace(e.attrs, units=None), weight) if isinstance(shape, tuple) and len(shape) == 2 else None
        )

    def parts(self, several: Sequence[Call], weights: Sequence[Expr], types: Types) -> list[Expr]:
        """Matrices of one product of stacks."""
        first = several[0]
        data = call_of("expand_dims", first.args[:1], first, axis=0)
        stack = call_of("stack", (Tuple(tuple(weights), span=first.span),), first, axis=0)
        attrs = {"out_dtype": first.attrs.out_dtype} if first.attrs.out_dtype else {}
        made = call_of("nn.batch_matmul", (data, stack), first, **attrs)
        parts = split(made, [1] * len(several), 0)
        return [call_of("squeeze", (p,), e, axis=(0,)) for p, e in zip(parts, several, strict=True)]


@module_pass("combine_parallel_dense", keeps=(ANF,), opt_level=4, public="CombineParallelDense")
def combine_parallel_dense(mod: IRModule, *, min_num_branches: int = 3, to_batch: bool = True) -> IRModule:
    """Combine dense layers of the same data in one block into one product, and split its result.

    With `to_batch` the weights, which then have one shape, are stacked for one `nn.batch_matmul`; without
    it they are concatenated for one `nn.dense` and may have different numbers of units.  Weights must not
    depend on anything bound in between.  Groups of fewer than `min_num_branches` layers are left alone.

    >>> show(combine_parallel_dense, '''
    ... def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(2, 4), float32]) {
    ...   nn.dense(%x, %w) + nn.dense(%x, -%w)
    ... }''', min_num_branches=2, to_batch=False)
    def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(2, 4), float32]) -> Tensor[(8, 2), float32] {
      %0 = split(nn.dense(%x, concatenate((%w, -%w))), indices_or_sections=(2,), axis=-1);
      %0.0 + %0.1
    }
    """
    return combine(mod, Stacks() if to_batch else Layers(), min_num_branches)
