"""The limits that a server keeps to."""

from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server takes on; the defaults are those of `relay serve`."""

    max_batch: int = 32
    """Rows that are joined in one call at most; a request that has more is a call by itself."""
    max_delay_seconds: float = 0.0
    """How long a request waits for others to join while the model is free."""
    instances: int | None = None
    """Calls of one model that run at the same time; None is 1 where requests are joined, and 2 where each is
    a call."""
    max_queue: int = 1000
    """Requests of one model that wait; beyond, they are refused with 503."""
    max_requests: int = 2000
    """Requests in hand, with those whose bodies still arrive; beyond, they are refused with 503."""
    max_body_bytes: int = 64 * MEBIBYTE
    """The largest body, decompressed; beyond, 413."""
    timeout_seconds: float = 30.0
    """How long a request takes, its body included; beyond, 408 where the body is missing, and 504."""
    drain_seconds: float = 30.0
    """How long the server waits at its end for requests that it has begun."""
    retry_seconds: int = 1
    """What `Retry-After` says."""
