"""What the server measures, for Prometheus."""

from typing import Any

from relay.serving.library import load

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MODEL = ("model", "version")


class Metrics:
    """The metrics of a server, in a registry of its own: servers in one process do not share them."""

    def __init__(self) -> None:
        prometheus: Any = load("prometheus_client")
        self.text: Any = load("prometheus_client.exposition").generate_latest
        self.content_type: str = load("prometheus_client.exposition").CONTENT_TYPE_LATEST
        self.registry: Any = prometheus.CollectorRegistry()
        where: Any = {"registry": self.registry}
        counter, gauge, histogram = prometheus.Counter, prometheus.Gauge, prometheus.Histogram
        self.requests: Any = counter(
            "relay_requests_total",
            "Inference requests by the status of the answer",
            (*MODEL, "status"),
            **where,
        )
        self.seconds: Any = histogram(
            "relay_request_seconds",
            "From the headers of a request to its answer",
            MODEL,
            buckets=SECONDS,
            **where,
        )
        self.queued: Any = histogram(
            "relay_queue_seconds", "From a request that is read to the start of its call", MODEL,
            buckets=SECONDS, **where,
        )  # fmt: skip
        self.called: Any = histogram(
            "relay_call_seconds", "Calls of the model", MODEL, buckets=SECONDS, **where
        )
        self.joined: Any = histogram(
            "relay_batch_requests", "Requests in one call of the model", MODEL, buckets=BATCHES, **where
        )
        self.waiting: Any = gauge("relay_queue_requests", "Requests that wait for the model", MODEL, **where)
        self.in_hand: Any = gauge("relay_requests_in_hand", "Requests that the server has begun", **where)

    def page(self) -> bytes:
        """All metrics as text."""
        return self.text(self.registry)


class ModelMetrics:
    """The metrics of one model, looked up once."""

    def __init__(self, metrics: Metrics, name: str, version: str) -> None:
        label = (name, version)
        self.requests = metrics.requests
        self.label = label
        self.statuses: dict[int, Any] = {}
        self.seconds: Any = metrics.seconds.labels(*label)
        self.queued: Any = metrics.queued.labels(*label)
        self.called: Any = metrics.called.labels(*label)
        self.joined: Any = metrics.joined.labels(*label)
        self.waiting: Any = metrics.waiting.labels(*label)

    def answered(self, status: int, seconds: float) -> None:
        """Count an answer."""
        counter = self.statuses.get(status)
        if counter is None:
            counter = self.statuses[status] = self.requests.labels(*self.label, str(status))
        counter.inc()
        self.seconds.observe(seconds)
