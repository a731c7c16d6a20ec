"""Operators by name, and what users say of them: where people know it."""

from typing import Any

from relay.op.op_attributes import OpPattern, register_op_attr, register_pattern, register_stateful
from relay.op.registry import get

__all__ = [
    "OpPattern",
    "get",
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_infer_correct_layout",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_op_attr",
    "register_pattern",
    "register_stateful",
]


def register_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Say what `Legalize` makes of a call: `legal_op(attrs, inputs, types)` is an expression, or None."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_alter_op_layout(op_name: str, alter_layout: Any = None, level: int = 10) -> Any:
    """Say in which layouts `AlterOpLayout` has a call: `alter_layout(attrs, inputs, types, result)` is a call
    on the same operands, or None.
    """
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: Any = None, level: int = 10) -> Any:
    """Say in which layouts `ConvertLayout` has a call: `convert_layout(attrs, inputs, types, desired)` is a
    call on the same operands, or None.
    """
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_mixed_precision_conversion(op_name: str, func: Any = None, level: int = 10) -> Any:
    """Say how `ToMixedPrecision` computes a call: `func(call, mixed_precision_type)` is a list of 0 for
    always on narrow floats, 1 where its operands are, or 2 for never; the dtype that it adds up in; and that
    of its result, which makes no difference: results are rounded where they are read.
    """
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_infer_correct_layout(op_name: str, infer_layout: Any = None, level: int = 10) -> Any:
    """Say how an operator works where `ConvertLayout` has changed its operands' layouts:
    `infer_layout(attrs, new_in_layouts, old_in_layouts, old_in_types)` is a
    `relay.transform.infer_layout_utils.InferCorrectLayoutOutput`.
    """
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)
