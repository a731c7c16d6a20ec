"""What the endpoints of a server share."""

from dataclasses import dataclass

from relay.serving.metrics import Metrics
from relay.serving.repository import Repository
from relay.serving.settings import Settings


@dataclass(slots=True)
class State:
    """A server: its models, its limits, and what it is doing; of the event loop alone."""

    repository: Repository
    settings: Settings
    metrics: Metrics
    logs_requests: bool = False
    is_draining: bool = False
    in_hand: int = 0
    """Inference requests that have begun and have no answer yet."""
