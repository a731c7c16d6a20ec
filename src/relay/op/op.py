"""`relay.op.op.get`: where people know it."""

from relay.op.registry import get

__all__ = ["get"]
