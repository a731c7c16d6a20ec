"""Learning rates that change with the number of steps done before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

from relay.diagnostic import fail
from relay.driver.executor import create_executor
from relay.ir.expr import Expr, Function, Var
from relay.ir.traced import Traced
from relay.ir.type import scalar_type
from relay.op.numeric import apply
from relay.optim.parameters import Number, check_numbers, is_known, number, rounded

STEPS = "int32"
"""The dtype in which steps are counted: floats of 32 bits stand still at 2**24."""


@dataclass(frozen=True)
class Schedule:
    """A rate as a function of the number of steps done before, which is 0 in the first step.

    `rate` takes the number, a scalar int32 expression, and gives a scalar float32 one; `schedule(step)` is
    what it gives at a step.
    """

    rate: Callable[[Expr], Expr]

    def __call__(self, step: Any) -> Any:
        """Return the rate at a step: a number, or for a traced step a traced value."""
        if isinstance(step, Traced):
            return step.wrap(self.rate(number(step, STEPS)))
        done = Var("step", scalar_type(STEPS))
        rate = Function((done,), self.rate(done), scalar_type("float32"))
        run: Any = create_executor("debug").evaluate(rate)
        return float(run(np.asarray(step, STEPS)))


def constant(value: Number) -> Schedule:
    """One rate for all steps."""
    check_numbers(value=value)
    return Schedule(lambda step: _number(value))


def cosine(peak: Number, steps: Number, end: Number = 0.0) -> Schedule:
    """From `peak` down to `end` in `steps` steps along half a cosine, and `end` from there on.

    Source: Loshchilov and Hutter, 2017.
    """
    check_numbers(peak=peak, steps=steps, end=end)
    return Schedule(lambda step: _along_cosine(peak, end, _part(step, 0, steps)))


def linear(start: Number, end: Number, steps: Number) -> Schedule:
    """From `start` to `end` in `steps` steps along a straight line, and `end` from there on."""
    check_numbers(start=start, end=end, steps=steps)
    return Schedule(lambda step: _number(start) + _number(end - start) * _part(step, 0, steps))


def warmup(then: Schedule, steps: Number, start: Number = 0.0) -> Schedule:
    """From the rate `start` to the first rate of `then` in `steps` steps, and then `then` from its beginning.

    Source: Goyal et al., 2017.
    """
    check_numbers(steps=steps, start=start)

    def rate(step: Expr) -> Expr:
        first = then.rate(_steps(0))
        rising = _number(start) + (first - _number(start)) * _part(step, 0, steps)
        later = apply("maximum", step - _steps(steps), _steps(0))
        return apply("where", _is_before(step, steps), rising, then.rate(later))

    return Schedule(rate)


def piecewise(values: Sequence[Number], boundaries: Sequence[Number]) -> Schedule:
    """`values[0]` before step `boundaries[0]`, `values[1]` before step `boundaries[1]`, …, and the last value
    from the last boundary on.
    """
    for value in values:
        check_numbers(values=value)
    is_sorted = not is_known(*boundaries) or sorted(set(boundaries)) == list(boundaries)
    if len(values) != len(boundaries) + 1 or not is_sorted:
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
    peak: Number,
    steps: Number,
    *,
    rising: Number = 0.3,
    start_divisor: Number = 25.0,
    end_divisor: Number = 1e4,
) -> Schedule:
    """From `peak / start_divisor` up to `peak` in the share `rising` of all steps, and down to
    `peak / start_divisor / end_divisor` in the others, along half cosines.

    Source: Smith and Topin, 2018.
    """
    check_numbers(peak=peak, steps=steps, rising=rising, start_divisor=start_divisor, end_divisor=end_divisor)
    start = peak / start_divisor
    last = (steps if is_known(steps) else _number(steps)) - 1
    top = rising * (last + 1) - 1
    if is_known(top) and not 0 < top < last:
        fail(
            "optimizer-parameter",
            f"no step of {steps} is the peak of a cycle that rises for {rising} of them",
        )

    def rate(step: Expr) -> Expr:
        up = _along_cosine(start, peak, _part(step, 0, top))
        down = _along_cosine(peak, start / end_divisor, _part(step, top, last))
        return apply("where", _is_before(step, rounded("ceil", top)), up, down)

    return Schedule(rate)


def rate_at(rate: "Number | Schedule", step: Expr, dtype: Any) -> Expr:
    """A learning rate at a step, as a scalar of a dtype."""
    if isinstance(rate, Schedule):
        return apply("cast", rate.rate(step), dtype=dtype)
    return number(rate, dtype)


def next_step(done: Expr) -> Expr:
    """One step more, and the greatest number there is from there on."""
    return apply("minimum", done, _steps(np.iinfo(STEPS).max - 1)) + _steps(1)


def _steps(count: Number) -> Expr:
    return number(count, STEPS)


def _number(value: Number) -> Expr:
    return number(value, "float32")


def _part(step: Expr, begin: Number, end: Number) -> Expr:
    """How much of the way from one step to another is done, from 0 to 1."""
    whole = rounded("floor", begin)
    since = apply("cast", step - _steps(whole), dtype="float32") - _number(begin - whole)
    return apply("clip", since / _number(end - begin), a_min=0.0, a_max=1.0)


def _along_cosine(start: Number, end: Number, part: Expr) -> Expr:
    weight = (_number(1) + apply("cos", _number(pi) * part)) * _number(0.5)
    return _number(end) + _number(start - end) * weight


def _is_before(step: Expr, boundary: Number) -> Expr:
    return apply("less", step, _steps(boundary))
