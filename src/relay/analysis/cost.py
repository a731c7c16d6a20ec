"""Counting operators and multiplications."""

from collections import Counter
from collections.abc import Sequence

from relay.ir.expect import expect_expr
from relay.ir.expr import Call, Expr, Op
from relay.ir.module import IRModule
from relay.ir.type import TensorType, Type
from relay.ir.walk import post_order
from relay.op.base import Operator
from relay.typecheck.query import Types


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """How many calls of each operator the definitions of a module make."""
    return dict(
        Counter(
            e.op.name
            for definition in mod.functions.values()
            for e in post_order(definition)
            if isinstance(e, Call) and isinstance(e.op, Op)
        )
    )


def count_layers(expr: Expr, valid_ops: Sequence[str]) -> int:
    """The length of the longest chain of calls of `valid_ops`, from operand to result."""
    depth: dict[Expr, int] = {}
    for e in post_order(expect_expr(expr)):
        below = max([depth[c] for c in e.children], default=0)
        depth[e] = below + (isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in valid_ops)
    return depth[expr]


def get_total_mac_number(expr: Expr, mod: IRModule | None = None) -> int:
    """How many multiply-accumulates the convolutions and matrix products under `expr` take.

    Shapes come from inference and must be static; other operators count nothing.
    """
    types = Types(mod or IRModule())
    return sum([multiplications(e, types) for e in post_order(expect_expr(expr)) if isinstance(e, Call)])


def multiplications(e: Call, types: Types) -> int:
    """How many multiply-accumulates a convolution or matrix product takes; 0 for what is neither.

    Shapes must be static.
    """
    op = e.attrs
    if not isinstance(op, Operator) or type(op).multiplications is Operator.multiplications:
        return 0
    return op.multiplications(*[_shape(types.type_of(x)) for x in (e, *e.args)])


def _shape(t: Type) -> tuple[int, ...]:
    assert isinstance(t, TensorType)
    return t.concrete_shape
