"""A hundred functions under `vmap`, in JAX and in Relay: each is written once, over the library it is given.

Of each the rows of `vmap(f)`, the gradients of the rows, and the gradient of the sum over the rows are
compared: in float64 by the interpreter, to 1e-8 of the greatest value, and in float32 as machine code, to
2e-4 of it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from batching import vmap_array_cases as vmap_array_cases
from batching import vmap_program_cases as vmap_program_cases
from batching.vmap_case import CASES, Given
from batching.vmap_libraries import Ours, Theirs

pytestmark = pytest.mark.torch
TOLERANCE = {"float64": 1e-8, "float32": 2e-4}


def test_there_are_a_hundred() -> None:
    assert len(CASES) >= 100
    assert len({c.id for c in CASES}) == len(CASES)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("f", "given", "in_axes", "out_axes", "slopes"), CASES)
def test_rows_and_gradients_are_those_of_jax(
    f: Any, given: tuple[Given, ...], in_axes: Any, out_axes: Any, slopes: bool, dtype: str
) -> None:
    jax: Any = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    xs = [g.rows(rng, dtype, axis) for g, axis in zip(given, in_axes, strict=True)]
    with jax.enable_x64(dtype == "float64"):
        wanted = compared(Theirs(), f, in_axes, out_axes, slopes, dtype)(*xs)
        wanted = [np.asarray(w) for w in wanted]
    for got, want in zip(compared(Ours(), f, in_axes, out_axes, slopes, dtype)(*xs), wanted, strict=True):
        got = np.asarray(got)
        assert got.shape == want.shape
        if want.dtype.kind == "f":
            assert got.dtype == dtype
            scale = max(1, abs(want).max(initial=0))
            np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE[dtype] * scale)
        else:
            np.testing.assert_array_equal(got, want)


def compared(u: Any, f: Any, in_axes: Any, out_axes: Any, slopes: bool, dtype: str) -> Callable[..., Any]:
    """What is compared, as a function of the arguments of all rows."""
    g = partial(f, u)

    def total(*xs: Any) -> Any:
        return u.np.sum(g(*xs) ** 2)

    def results(*xs: Any) -> Any:
        rows = u.vmap(lambda *x: g(*x), in_axes, out_axes)(*xs)
        if not slopes:
            return (rows,)
        each = u.vmap(lambda *x: u.grad(total)(*x), in_axes)(*xs)
        whole = u.grad(lambda *a: u.np.sum(u.vmap(lambda *x: total(*x), in_axes)(*a)))(*xs)
        return rows, each, whole

    return u.compiled(results, dtype)
