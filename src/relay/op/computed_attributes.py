"""Attributes given as expressions, which make calls of the operators that take them as operands.

`relay.reshape(x, (n, 2))` with an expression `n` is a call of `dyn.reshape`.
"""

from collections.abc import Mapping
from typing import Any, cast

from relay.ir.expr import Call, Constant, Expr, Op, RelayExpr, Tuple, as_expr


def with_constants_read(value: Any) -> Any:
    """An attribute with numbers in place of the constants in it."""
    if isinstance(value, Constant):
        return value.value.tolist()
    if isinstance(value, Tuple):
        value = value.fields
    return (
        [with_constants_read(v) for v in cast("list[Any]", value)]
        if isinstance(value, list | tuple)
        else value
    )


def is_computed(value: Any) -> bool:
    """Whether there are expressions in an attribute."""
    if isinstance(value, list | tuple):
        return any(map(is_computed, cast("list[Any]", value)))
    return isinstance(value, RelayExpr)


def operand(value: Any) -> Expr:
    """An attribute as a tensor: an expression as it is, a number as a scalar, several stacked as int64."""
    if not isinstance(value, list | tuple):
        return as_expr(value)
    parts = tuple([operand(v) for v in cast("list[Any]", value)])
    wide = tuple([Call(Op.get("cast"), (p,), {"dtype": "int64"}) for p in parts])
    return Call(Op.get("stack"), (Tuple(wide),), {"axis": 0})


def call_of_form(cls: Any, given: Mapping[str, Any]) -> Call:
    """A call of the operator class that takes computed attributes as operands."""
    named = {**cls.default_operands, **{name: value for name, value in given.items() if value is not None}}
    xs = [operand(named.pop(name)) for name in cls.operands if name in named]
    return Call(Op.get(cls.name), tuple(xs), named)
