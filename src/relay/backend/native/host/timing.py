"""How long calls take."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from relay.picture.times import format_seconds


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Seconds that one call takes, measured several times."""

    results: Sequence[float]
    """The mean of each repetition."""

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.results)

    @property
    def mean(self) -> float:
        """The mean."""
        return statistics.fmean(self.results)

    @property
    def min(self) -> float:
        """The shortest."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The longest."""
        return max(self.results)

    @property
    def std(self) -> float:
        """The standard deviation."""
        return statistics.pstdev(self.results)

    def __str__(self) -> str:
        said = [(name, getattr(self, name)) for name in ("median", "mean", "min", "max", "std")]
        return (
            ", ".join([f"{name} {format_seconds(x)}" for name, x in said]) + f" ({len(self.results)} repeats)"
        )


def measure(
    call: Callable[[], Any], repeat: int = 20, number: int | None = None, min_repeat_ms: float = 2.0
) -> BenchmarkResult:
    """Time `repeat` times `number` calls, both at least 1; without a number, as many as take `min_repeat_ms`.

    The first call is not counted.
    """
    call()
    if number is None:
        start = perf_counter()
        call()
        once = perf_counter() - start
        number = min(1_000_000, round(min_repeat_ms / 1000 / max(once, 1e-8)))
    number = max(1, number)
    rounds = range(number)
    results: list[float] = []
    for _ in range(max(1, repeat)):
        start = perf_counter()
        for _ in rounds:
            call()
        results.append((perf_counter() - start) / number)
    return BenchmarkResult(results)
