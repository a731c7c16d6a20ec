"""Learning rates that change with the number of steps done before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, pi
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.driver.executor import create_executor
from relay.ir.expr import Expr, Function, Var
from relay.ir.type import scalar_type
from relay.op.numeric import apply, scalar

STEPS = "int32"
"""The dtype in which steps are counted: floats of 32 bits stand still at 2**24."""


@dataclass(frozen=True)
class Schedule:
    """A rate as a function of the number of steps done before, which is 0 in the first step.

    `rate` takes the number, a scalar int32 expression, and gives a scalar float32 one; `schedule(step)` is
    what it gives at a step.
    """

    rate: Callable[[Expr], Expr]

    def __call__(self, step: int) -> float:
        """The rate at a step."""
        done = Var("step", scalar_type(STEPS))
        rate = Function((done,), self.rate(done), scalar_type("float32"))
        run: Any = create_executor("debug").evaluate(rate)
        return float(run(np.asarray(step, STEPS)))


def constant(value: float) -> Schedule:
    """One rate for all steps."""
    return Schedule(lambda step: _number(value))


def cosine(peak: float, steps: int, end: float = 0.0) -> Schedule:
    """From `peak` down to `end` in `steps` steps along half a cosine, and `end` from there on.

    Source: Loshchilov and Hutter, 2017.
    """
    _check_counts(steps)
    return Schedule(lambda step: _along_cosine(peak, end, _part(step, 0, steps)))


def linear(start: float, end: float, steps: int) -> Schedule:
    """From `start` to `end` in `steps` steps along a straight line, and `end` from there on."""
    _check_counts(steps)
    return Schedule(lambda step: _number(start) + _number(end - start) * _part(step, 0, steps))


def warmup(then: Schedule, steps: int, start: float = 0.0) -> Schedule:
    """From the rate `start` to the first rate of `then` in `steps` steps, and then `then` from its beginning.

    Source: Goyal et al., 2017.
    """
    _check_counts(steps)

    def rate(step: Expr) -> Expr:
        first = then.rate(_steps(0))
        rising = _number(start) + (first - _number(start)) * _part(step, 0, steps)
        later = apply("maximum", step - _steps(steps), _steps(0))
        return apply("where", _is_before(step, steps), rising, then.rate(later))

    return Schedule(rate)


def piecewise(values: Sequence[float], boundaries: Sequence[int]) -> Schedule:
    """`values[0]` before step `boundaries[0]`, `values[1]` before step `boundaries[1]`, …, and the last value
    from the last boundary on.
    """
    if len(values) != len(boundaries) + 1 or sorted(set(boundaries)) != list(boundaries):
        fail(
            "optimizer-parameter",
            f"a schedule cannot have {len(values)} values and the boundaries {list(boundaries)}",
            hint="there is a value before, between and after the boundaries, which grow",
        )

    def rate(step: Expr) -> Expr:
        found: Expr = _number(values[-1])
        for value, boundary in reversed(list(zip(values[:-1], boundaries, strict=True))):
            found = apply("where", _is_before(step, boundary), _number(value), found)
        return found

    return Schedule(rate)


def one_cycle(
    peak: float, steps: int, *, rising: float = 0.3, start_divisor: float = 25.0, end_divisor: float = 1e4
) -> Schedule:
    """From `peak / start_divisor` up to `peak` in the share `rising` of all steps, and down to
    `peak / start_divisor / end_divisor` in the others, along half cosines.

    Source: Smith and Topin, 2018.
    """
    _check_counts(steps - 1)
    start = peak / start_divisor
    top = rising * steps - 1
    if not 0 < top < steps - 1:
        fail(
            "optimizer-parameter",
            f"no step of {steps} is the peak of a cycle that rises for {rising} of them",
        )

    def rate(step: Expr) -> Expr:
        up = _along_cosine(start, peak, _part(step, 0, top))
        down = _along_cosine(peak, start / end_divisor, _part(step, top, steps - 1))
        return apply("where", _is_before(step, ceil(top)), up, down)

    return Schedule(rate)


def rate_at(rate: "float | Schedule", step: Expr, dtype: Any) -> Expr:
    """A learning rate at a step, as a scalar of a dtype."""
    if isinstance(rate, Schedule):
        return apply("cast", rate.rate(step), dtype=dtype)
    return scalar(rate, dtype)


def next_step(done: Expr) -> Expr:
    """One step more, and the greatest number there is from there on."""
    return apply("minimum", done, _steps(np.iinfo(STEPS).max - 1)) + _steps(1)


def _steps(count: int) -> Expr:
    return scalar(count, STEPS)


def _number(value: float) -> Expr:
    return scalar(value, "float32")


def _part(step: Expr, begin: float, end: float) -> Expr:
    """How much of the way from one step to another is done, from 0 to 1."""
    since = apply("cast", step - _steps(floor(begin)), dtype="float32") - _number(begin - floor(begin))
    return apply("clip", since / _number(end - begin), a_min=0.0, a_max=1.0)


def _along_cosine(start: float, end: float, part: Expr) -> Expr:
    weight = (_number(1) + apply("cos", _number(pi) * part)) * _number(0.5)
    return _number(end) + _number(start - end) * weight


def _is_before(step: Expr, boundary: int) -> Expr:
    return apply("less", step, _steps(boundary))


def _check_counts(steps: int) -> None:
    if steps < 1:
        fail("optimizer-parameter", f"a schedule cannot last {steps} steps", hint="it lasts at least one")
