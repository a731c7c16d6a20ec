"""Operators by name, and what users say of them: where people know it."""

from relay.op.op_attributes import OpPattern, register_op_attr, register_pattern, register_stateful
from relay.op.registry import get

__all__ = ["OpPattern", "get", "register_op_attr", "register_pattern", "register_stateful"]
