"""References run where values are not known, as evaluators have them that trace programs."""

import contextlib
from typing import Any

import numpy as np
import pytest

from op.operands import operands_of
from op.sealed import Namespace, opened, sealed
from relay.ir.dtype import dtype_name, is_float
from relay.op.base import Operator
from relay.op.registry import instance, registry
from relay.op.traced import UntraceableError

NAMES = sorted(registry)
ROUNDING = {"float64": 1e-10, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""How far values may be from those of NumPy, relative and absolute, times the operator's `tolerance`."""
SHAPE, EFFECT = "values decide the shape of the result", "it has an effect"
ON_HOST = {
    **{name: "strings" for name in NAMES if name.startswith("string.")},
    **{name: SHAPE for name in NAMES if name.startswith("dyn.")},
    **dict.fromkeys(["argwhere", "sparse_fill_empty_rows", "unique"], SHAPE),
    **dict.fromkeys(["trace", "tap"], EFFECT),
    "strided_set": "values decide which part is set",
}
"""The operators that are not traced on any of their samples, and why."""
IN_PART = {"arange", "index", "index_update", "vision.roi_align"}
"""Those that are traced on some."""


def traced(op: Operator, operands: list[Any], module: Any) -> tuple[Any, str]:
    """The value of a call, or the reason why the host computes it."""
    try:
        return op.traced(module, *operands), ""
    except UntraceableError as e:
        return None, str(e)


def arrays(x: Any) -> Any:
    """Scalars as arrays of rank 0."""
    return tuple(map(arrays, x)) if isinstance(x, tuple) else np.asarray(x)


def has_strings(x: Any) -> bool:
    """Whether there are strings, which compiled arrays never hold."""
    return any(map(has_strings, x)) if isinstance(x, tuple) else x.dtype == object


def assert_near(op: Operator, found: Any, wanted: Any, undecided: str = "") -> None:
    """Demand the type, and values that differ by rounding; those of a dtype without NaN may be any, since
    what is NaN elsewhere becomes any number there.
    """
    if isinstance(wanted, tuple):
        for a, b in zip(found, wanted, strict=True):
            assert_near(op, a, b, undecided)
        return
    a, b = np.asarray(found), np.asarray(wanted)
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    if dtype_name(a.dtype) == undecided:
        return
    if is_float(dtype_name(a.dtype)):
        near = ROUNDING.get(dtype_name(a.dtype), 0.3) * op.tolerance
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), near, near)
    else:
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_a_reference_runs_where_values_are_not_known(name: str) -> None:
    reasons: set[str] = set()
    with np.errstate(all="ignore"):
        for s in registry[name].samples:
            op, operands, module = instance(name, s.attrs), operands_of(s), Namespace()
            values = list(map(arrays, operands))
            found, reason = None, "strings"
            if not any(map(has_strings, values)):
                found, reason = traced(op, list(map(sealed, values)), module)
            reasons.add(reason)
            if not reason:
                assert module.failed == []
                assert_near(op, opened(found), op.evaluate(*operands))
    if name in IN_PART:
        assert len(reasons) > 1
    else:
        assert reasons == {ON_HOST.get(name, "")}


@pytest.mark.parametrize(
    ("code", "name", "attrs", "operands"),
    [
        ("index-out-of-range", "gather", {"axis": 0}, [np.ones(3), np.array([0, 3])]),
        ("index-out-of-range", "take", {"axis": 0, "mode": "fast"}, [np.ones(3), np.array([-1])]),
        ("index-out-of-range", "take", {"axis": 0}, [np.ones(0), np.array([0])]),
        ("index-out-of-range", "unravel_index", {}, [np.array([6]), np.array([2, 3])]),
        ("divide-by-zero", "divide", {}, [np.array([1, 2]), np.array([1, 0])]),
        ("divide-by-zero", "power", {}, [np.array([0, 2]), np.array([-1, -1])]),
        ("singular-matrix", "linalg.triangular_solve", {}, [np.eye(2) - np.eye(2)[0], np.ones(2)]),
        ("not-finite", "check_nan", {"operator": "log"}, [np.float32([0, -np.inf]), np.ones(2, "float32")]),
        ("assertion", "assert", {"message": "it holds"}, [np.array(False)]),
    ],
)
def test_what_fails_on_values_is_required(code: str, name: str, attrs: Any, operands: list[Any]) -> None:
    module = Namespace()
    # NumPy's own functions go on to refuse what compiled ones compute with.
    with np.errstate(all="ignore"), contextlib.suppress(np.linalg.LinAlgError, IndexError):
        instance(name, attrs).traced(module, *map(sealed, operands))
    assert module.failed == [code]
