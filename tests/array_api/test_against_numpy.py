"""Each function of `relay.numpy` on random arrays: NumPy's values, at once and in a trace."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import relay
from array_api.cases import CASES, xp

ORDERED = {"descending"}


def _sorted(x: Any, axis: int, descending: bool) -> Any:
    """NaN is the greatest: last when ascending, first when descending."""
    found = np.sort(x, axis=axis)
    return np.flip(found, axis=axis) if descending else found


def _argsorted(x: Any, axis: int, descending: bool) -> Any:
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    backward = np.argsort(np.flip(x, axis=axis), axis=axis, stable=True)
    return np.flip(x.shape[axis] - 1 - backward, axis=axis)


def _accumulated(name: str) -> Any:
    def expected(x: Any, **options: Any) -> Any:
        return getattr(np, name)(x, dtype=str(getattr(xp, name)(xp.asarray(x), **options).dtype), **options)

    return expected


NUMPY = {
    "sort": _sorted,
    "argsort": _argsorted,
    "round": lambda x: np.round(x),
    "all": lambda x, **o: np.all(x, **o),
    "isfinite": lambda x: np.isfinite(x),
    "clip": lambda x, low, high: np.minimum(
        x if low is None else np.maximum(x, x.dtype.type(low)), x.dtype.type(high)
    ),
    "signbit": lambda x: np.signbit(x),
    "unique_inverse": lambda x: np.unique_all(x)[::2],  # in a stable order
    "unique_values": lambda x: np.unique(x, equal_nan=False),
    "expand_dims": lambda x, axis: np.expand_dims(x, axis),
    "where": lambda c, x, y: np.where(c, x, y),
    **{name: _accumulated(name) for name in ("sum", "prod", "cumulative_sum", "cumulative_prod")},
}


def numpy_of(x: Any) -> Any:
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)([numpy_of(v) for v in x])
    return np.asarray(x) if isinstance(x, xp.Array) else x


def same(found: Any, expected: Any) -> None:
    """Demand dtype, shape and elements, a few units in the last place for functions of floats."""
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            same(f, e)
        return
    expected = np.asarray(expected)
    assert isinstance(found, xp.Array)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    rtol = 4e-6 if expected.dtype == np.float32 else 1e-13
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=0)


@pytest.mark.parametrize("examples", [6, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", CASES)
def test_numpy_agrees(name: str, examples: int) -> None:
    function, expected = getattr(xp, name), NUMPY.get(name) or getattr(np, name)

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None,
              suppress_health_check=[*HealthCheck])  # fmt: skip
    @given(CASES[name])
    def agree(call: Any) -> None:
        args, options = call
        with np.errstate(all="ignore"):
            wanted = expected(*map(numpy_of, args), **options)
        found = function(*args, **options)
        same(found, wanted)
        traced = relay.function(lambda xs: function(*placed(args, xs), **options))(
            [a for a in args if is_value(a)]
        )
        same(traced, numpy_of(found) if isinstance(found, xp.Array) else [numpy_of(f) for f in found])

    agree()


def is_value(x: Any) -> bool:
    return isinstance(x, xp.Array) or (isinstance(x, list) and all(isinstance(v, xp.Array) for v in x))


def placed(args: Any, traced: Any) -> list[Any]:
    """Arguments with traced values in the place of arrays."""
    rest = iter(traced)
    return [next(rest) if is_value(a) else a for a in args]
