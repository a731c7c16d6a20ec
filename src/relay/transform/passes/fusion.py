"""Fusion: operators whose loops can be one become one function."""

from relay.ir.expr import Expr
from relay.ir.module import IRModule
from relay.transform.passes.decoder_copies import with_decoder_copies
from relay.transform.passes.fusion_functions import with_functions
from relay.transform.passes.fusion_graph import Dataflow, Kind
from relay.transform.passes.fusion_groups import Group, Grouping
from relay.transform.rewriting.context import PassContext
from relay.transform.rewriting.definitions import with_definitions
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.purity import Purity
from relay.transform.rewriting.registry import module_pass
from relay.typecheck.types import Types


@module_pass("fuse_ops", opt_level=0, public="FuseOps")
def fuse_ops(
    mod: IRModule,
    *,
    fuse_opt_level: int = -1,
    max_ops: int = 256,
    lone: bool = False,
    link_params: bool = False,
) -> IRModule:
    """Group operators that one loop can compute into functions marked `Primitive`, for a backend to compile.

    A function is called where the last of its operators was, and takes what they use as arguments; scalar
    constants are inlined, larger constants are operands, unless `link_params` inlines them too.  Numbers in
    the arithmetic of more than eight groups of the same operators are operands, so that one function can
    serve all of them.  The groups, of at most `max_ops` operators:

    - A kernel (`nn.dense`, `nn.conv2d`) takes the elementwise and broadcasting operators after it that keep
      its shape: bias, residual, activation; a product by a weight that is decoded (`dequantize_blocks`, a
      `cast` of fewer bits) the decoding.
    - A reduction takes the operators after it that stay within its iteration space, and the reductions
      along the same axes of that space: a normalisation, or the parts of a softmax.
    - Elementwise, broadcasting and injective operators, tuples and projections join their users, except
      kernels; but a concatenation of more than 16 tensors ends a group, and arithmetic before it is a
      group of its own.  A tuple may be the result if all its fields are computed in the group and have one
      shape.  Arithmetic does not join a loop that would repeat it for each element.

    Earlier kernels and reductions choose first, and no two of them share loops, except reductions over one
    space.  All uses of a value in a group lead to the last of its operators, their post-dominator, on paths
    inside the group: so nothing is computed twice, no intermediate value leaves the group, and no operand
    can depend on the result.  All operators of a group are pure and belong to one scope (a `let` is looked
    through where evaluating its value later cannot be observed), so that no work moves into or out of a
    branch or a function, and effects keep their order.

    `fuse_opt_level=0` fuses nothing; -1 uses the level of the context.  With `lone`, operators that fuse
    with nothing get a function too.  Functions that are already marked are left alone; `defuse_ops` is the
    inverse.

    >>> show(fuse_ops, '''
    ... def @main(%x: Tensor[(n, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4,), float32]) {
    ...   let %y = nn.dense(%x * 2.0, %w);
    ...   nn.relu(nn.bias_add(%y, %b))
    ... }
    ... ''')
    def @main<n: Dim>(
      %x: Tensor[(n, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4,), float32]
    ) -> Tensor[(n, 4), float32] {
      %0 = fn (
        %p0: Tensor[(n, 8), float32], %p1: Tensor[(4, 8), float32], %p2: Tensor[(4,), float32],
        Primitive=1
      ) -> Tensor[(n, 4), float32] {
        nn.relu(nn.bias_add(nn.dense(%p0, %p1), %p2))
      };
      %0(%x * 2f, %w, %b)
    }
    """
    level = PassContext.current().opt_level if fuse_opt_level < 0 else fuse_opt_level
    limit = max_ops if level > 0 else 0
    types, purity = Types(mod), Purity(mod)
    new = {v: fused(e, types, purity, limit, lone, link_params) for v, e in mod.functions.items()}
    return with_definitions(mod, new)


def fused(root: Expr, types: Types, purity: Purity, max_ops: int, lone: bool, link_params: bool) -> Expr:
    """One definition with its groups as functions."""
    root = with_decoder_copies(root, types)
    flow = Dataflow(root, types, purity)
    least = 1 if lone else 2
    if sum(kind is not Kind.TUPLE and kind is not Kind.FIELD for kind in flow.kinds.values()) < least:
        return root
    of: dict[Expr | None, Group] = Grouping(flow, max_ops).of
    if lone:
        of.update({e: Group(e, kind) for e, kind in flow.kinds.items() if kind is Kind.OPAQUE})
    groups = {e: group for e, group in of.items() if e is not None and group.size >= least}
    return with_functions(flow, groups, link_params) if groups else root
