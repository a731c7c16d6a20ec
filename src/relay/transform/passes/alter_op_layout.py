"""Layouts that users' functions choose, call by call."""

from collections.abc import Sequence
from typing import Any

from relay.ir.expr import Call, Expr
from relay.ir.expr import Op as Op
from relay.ir.module import IRModule
from relay.op.base import Operator
from relay.op.nn.packed import ContribConv2DNCHWc as ContribConv2DNCHWc
from relay.op.op_attributes import register_op_attr as register_op_attr
from relay.transform.passes.dead_code import dead_code
from relay.transform.passes.layout_transforms import RULES, in_layouts
from relay.transform.passes.legalize import of_same_type, user_function, with_calls_replaced
from relay.transform.rewriting.example import show as show
from relay.transform.rewriting.registry import module_pass
from relay.transform.rewriting.rewriter import apply_rules
from relay.typecheck.query import Types

KEY = "FTVMAlterOpLayout"


@module_pass("alter_op_layout", opt_level=3, public="AlterOpLayout")
def alter_op_layout(mod: IRModule) -> IRModule:
    """Replace convolutions and the like by those in other layouts, as functions say that are registered.

    `relay.register_op_attr(name, "FTVMAlterOpLayout", f)` registers one: `f(attrs, inputs, types, result)` is
    given the operator with its attributes, the operands, their types and that of the result.  It returns
    None, or a call on the same operands, of which the attributes `data_layout`, `kernel_layout` and
    `out_layout` say in which layouts it takes them.  Operands are brought to these by `layout_transform`, and
    the result back.  Where one call's result is another's operand in the same layout, it stays there, through
    operators that work element by element, a bias, joins, and pooling of channels in blocks.  Raises
    `type-mismatch`.

    >>> def blocked(attrs, inputs, types, result):
    ...     layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"}
    ...     return ContribConv2DNCHWc(channels=8, kernel_size=(1, 1), **layouts)(*inputs)
    >>> _ = register_op_attr("nn.conv2d", "FTVMAlterOpLayout", blocked)
    >>> show(alter_op_layout, '''
    ... def @main(%x: Tensor[(1, 8, 5, 5), f32], %w: Tensor[(8, 8, 1, 1), f32]) {
    ...   nn.conv2d(nn.relu(nn.conv2d(%x, %w)), %w)
    ... }''')
    def @main(
      %x: Tensor[(1, 8, 5, 5), float32], %w: Tensor[(8, 8, 1, 1), float32]
    ) -> Tensor[(1, 8, 5, 5), float32] {
      %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW4c");
      %1 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW4i4o");
      %2 = nn.contrib_conv2d_NCHWc(
        %0, %1, channels=8, kernel_size=(1, 1), data_layout="NCHW4c", kernel_layout="OIHW4i4o"
      );
      %3 = nn.relu(%2);
      %4 = layout_transform(%w, src_layout="OIHW", dst_layout="OIHW4i4o");
      %5 = nn.contrib_conv2d_NCHWc(
        %3, %4, channels=8, kernel_size=(1, 1), data_layout="NCHW4c", kernel_layout="OIHW4i4o"
      );
      layout_transform(%5, src_layout="NCHW4c", dst_layout="NCHW")
    }
    >>> Op.get("nn.conv2d").reset_attr("FTVMAlterOpLayout")
    """
    types = Types(mod)

    def replaced(e: Call, args: Sequence[Expr]) -> Expr | None:
        given, result = [types(a) for a in e.args], types(e)
        made = user_function(e, KEY)(e.attrs, list(args), given, result)
        if isinstance(made, Call) and says_layouts(made.attrs) and says_layouts(e.attrs):
            made = in_layouts(e.attrs, made, args)
        return of_same_type(made, e, result)

    out = with_calls_replaced(mod, KEY, replaced)
    return mod if out is mod else dead_code(apply_rules(out, RULES))


def says_layouts(op: Any) -> bool:
    """Whether an operator says in which layouts it takes data and weight."""
    return isinstance(op, Operator) and {"data_layout", "kernel_layout"} <= op.attributes().keys()
