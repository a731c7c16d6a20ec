"""Which of its rules an operator has: see `relay.op.native`."""

from relay.ir.expr import Call, Expr
from relay.op.base import Operator
from relay.op.kind import NativeRule


def is_pointwise(e: Expr | None) -> bool:
    """Whether a node reads each operand at the place of the element that it computes."""
    return isinstance(e, Call) and isinstance(e.attrs, Operator) and e.attrs.is_pointwise


def is_reduction(op: Operator) -> bool:
    """Whether an operator says how it combines elements."""
    return op.native_rule is NativeRule.REDUCTION


def writes_whole(op: Operator) -> bool:
    """Whether an operator writes whole results."""
    return op.native_rule in (NativeRule.WHOLE, NativeRule.LIBRARY)
