"""`relay.transform.mixed_precision`: what functions say of calls, as numbers."""

from relay.op.op import register_mixed_precision_conversion

__all__ = [
    "MIXED_PRECISION_ALWAYS", "MIXED_PRECISION_FOLLOW", "MIXED_PRECISION_NEVER",
    "register_mixed_precision_conversion",
]  # fmt: skip

MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = 0, 1, 2
