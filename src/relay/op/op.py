"""`relay.op.op.get`: where people know it."""

from relay.op.base import get

__all__ = ["get"]
