"""Expressions over their free variables, run as people know it, for tests of what they expect of an API."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import relay
from relay.testing import run_infer_type

ROUNDING = 1e-5


def var(name: str, *shape: int, dtype: str = "float32") -> relay.Var:
    """A variable of a tensor type."""
    return relay.var(name, shape=shape, dtype=dtype)


def module(e: relay.Expr) -> relay.IRModule:
    """A function of the free variables of an expression, in order, with types."""
    return relay.IRModule({"main": run_infer_type(relay.Function(relay.analysis.free_vars(e), e))})


def value(e: relay.Expr, *args: Any) -> Any:
    """What an expression over its free variables is in the interpreter and, the same, in machine code."""
    mod = module(e)
    expected, found = [relay.create_executor(k, mod=mod).evaluate()(*args) for k in ("debug", "native")]
    assert not np.ndim(found) or found.dtype == expected.dtype
    assert_allclose(np.asarray(found), np.asarray(expected), rtol=ROUNDING, atol=ROUNDING)
    return expected


def same(found: Any, expected: Any) -> None:
    """Demand equal numbers of equal dtype and shape."""
    assert not np.ndim(found) or found.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
