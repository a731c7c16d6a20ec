"""`benchmark`, as graphs and machines have it: which options it takes, and which make a difference here."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from relay.backend.native.host.timing import BenchmarkResult, measure

__all__: list[str] = []

OPTIONS: Mapping[str, Any] = MappingProxyType(
    {
        "repeat": 5,
        "number": 5,
        "min_repeat_ms": None,
        "limit_zero_time_iterations": 100,
        "end_to_end": False,
        "cooldown_interval_ms": 0,
        "repeats_to_cooldown": 1,
    }
)
"""The options in order, with what they are if they are not given; the first three make a difference."""


def parted(values: Sequence[Any], named: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options, given by position and by name, and what is none of them: inputs by name (`TypeError`)."""
    if len(values) > len(OPTIONS):
        raise TypeError(f"benchmark() takes {len(OPTIONS)} options, found {len(values)}")
    options = {**OPTIONS, **dict(zip(OPTIONS, values, strict=False))}
    options |= {name: x for name, x in named.items() if name in OPTIONS}
    return options, {name: x for name, x in named.items() if name not in OPTIONS}


def timed(call: Callable[[], Any], options: Mapping[str, Any]) -> BenchmarkResult:
    """Seconds that a call takes, `repeat` times the mean of `number` calls, or of as many as take
    `min_repeat_ms`.
    """
    least = options["min_repeat_ms"]
    return measure(call, options["repeat"], None if least else options["number"], least or 0)
