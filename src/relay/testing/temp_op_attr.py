"""Attributes of operators for a while, by the module name that people know."""

from relay.op.op_attributes import TempOpAttr

__all__ = ["TempOpAttr"]
