"""References on arrays whose values are not known yet, as evaluators have them that trace programs.

A reference is handed its array module, `np`: NumPy, or the `Tracing` module of such an evaluator.  It is
written so that both can run it: what shapes, dtypes and attributes decide alone is computed with the module
`numpy`, what values decide with `np` and the methods of arrays, and where it writes into an array, loops or
asks for a value, by the functions here.  On NumPy they do at once what they say.
"""

from collections.abc import Callable
from typing import Any, Literal, Protocol, cast

import numpy

from relay.diagnostic import fail

DECIDES = "values decide the shape of the result"

Way = Literal["add", "mul", "min", "max"]
_UFUNC = {"add": numpy.add, "mul": numpy.multiply, "min": numpy.minimum, "max": numpy.maximum}


class Tracing(Protocol):
    """The array module of an evaluator that traces.

    It has the functions of `jax.numpy`, and its arrays the property `at`: `x.at[i].set(y)` is `x` with `y` in
    that place, as are `add`, `mul`, `min` and `max`.
    """

    def require(self, ok: Any, code: str, message: str, hint: str = "") -> None:
        """Let the program fail where an element of `ok` is false."""
        ...

    def loop(self, count: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
        """`state` after `state = step(i, state)` for each `i` below `count`; a tuple of arrays or an array,
        whose shapes and dtypes stay the same.
        """
        ...

    def sharded(self, x: Any, spec: Any) -> Any:
        """`x`, split over the devices of the evaluator's mesh, if it has one, as `shard` says."""
        ...

    def matrix_product(self, a: Any, b: Any, dtype: Any) -> Any:
        """`a @ b`, added up in `dtype`, into which both can be converted exactly."""
        ...

    def placed(self, x: Any, at: Any, values: Any) -> Any:
        """`x.at[at].set(values)`, where no two places are one."""
        ...

    def operator(self, op: Any, *operands: Any) -> Any:
        """The value of an operator that another one is made of, on operands of which some may be NumPy's: an
        evaluator knows their values.
        """
        ...


class UntraceableError(Exception):
    """The message says why a value cannot be computed where values are traced: the host computes it."""


def on_host(np: Any, reason: str) -> None:
    """Say that what follows is computed on NumPy alone."""
    if np is not numpy:
        raise UntraceableError(reason)


def values_of(x: Any, reason: str) -> Any:
    """Numbers of an array as Python's, in lists where it has axes: they have to be known, as NumPy's are."""
    if not isinstance(x, numpy.ndarray | numpy.generic):
        raise UntraceableError(reason)
    return cast("Any", x).tolist()


def may_hold(np: Any, condition: Any) -> bool:
    """Whether a condition may hold for an element: where values are traced it may always."""
    return np is not numpy or bool(condition.any())


def require(
    np: Any, ok: Any, code: str, message: str, hint: str = "", *, told: Callable[[], str] | None = None
) -> None:
    """Let the program fail unless all of `ok` is true, with what is `told` of values if these are known."""
    if np is not numpy:
        np.require(ok, code, message, hint)
    elif not ok.all():
        fail(code, message if told is None else told(), hint=hint)


def loop(np: Any, count: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
    """`state` after `state = step(i, state)` for each `i` below `count`."""
    if np is not numpy and count:
        return np.loop(count, step, state)
    for i in range(count):
        state = step(i, state)
    return state


def placed(np: Any, x: Any, at: Any, values: Any) -> Any:
    """`x` with `values` at distinct places.  On NumPy `x` itself is changed, the caller's own array."""
    if np is not numpy:
        return np.placed(x, at, values)
    x[at] = values
    return x


def overwritten(np: Any, x: Any, at: Any, values: Any) -> Any:
    """`x` with `values` at places, the last of several at one.  On NumPy `x` is changed."""
    if np is numpy:
        x[at] = values[()]
        return x
    if values.size == 0:
        return x
    numbers = np.asarray(numpy.arange(int(values.size))).reshape(values.shape)
    last = np.full(x.shape, -1).at[at].max(numbers)
    return np.where(last < 0, x, np.asarray(values).reshape(-1)[np.maximum(last, 0)])


def accumulated(np: Any, x: Any, at: Any, values: Any, way: Way) -> Any:
    """`x` with `values` combined into it at places, several of which may be one.  On NumPy `x` is changed."""
    if np is not numpy:
        return getattr(x.at[at], way)(values)
    _UFUNC[way].at(x, at, values)
    return x
