"""The models of a server, by name and version."""

from dataclasses import dataclass

from relay.serving.batcher import Batcher
from relay.serving.metrics import Metrics, ModelMetrics
from relay.serving.model import Model
from relay.serving.settings import Settings


@dataclass(frozen=True, slots=True)
class Served:
    """A version of a model, and the queue before it."""

    name: str
    version: str
    model: Model
    batcher: Batcher
    metrics: ModelMetrics


class Repository:
    """The models; of a name without a version the highest one is meant."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.versions: dict[str, dict[str, Served]] = {}

    def add(self, name: str, model: Model, version: str = "1") -> None:
        """Serve a model; versions are numbers in decimal."""
        metrics = ModelMetrics(self.metrics, name, version)
        batcher = Batcher(model, self.settings, metrics)
        metrics.waiting.set_function(lambda: batcher.waiting)
        known = self.versions.setdefault(name, {})
        known[version] = Served(name, version, model, batcher, metrics)
        self.versions[name] = dict(sorted(known.items(), key=lambda item: int(item[0])))

    def find(self, name: str, version: str | None) -> Served | None:
        """A model, if it is served."""
        known = self.versions.get(name)
        if known is None:
            return None
        return next(reversed(known.values())) if version is None else known.get(version)

    def all(self) -> list[Served]:
        """Every version of every model."""
        return [served for known in self.versions.values() for served in known.values()]
