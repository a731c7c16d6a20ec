"""Every operator with native code: its samples as machine code, against its reference."""

from typing import Any

import numpy as np
import pytest

from op.operands import operands_of, samples_of
from relay.backend.native.host.native_program import NativeProgram
from relay.ir.dtype import is_float
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule
from relay.op.arrays import array_type
from relay.op.registry import instance, registry

TOLERANCE = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
TOLERANCE |= {f"float8_e4m3{kind}": 0.03 for kind in ("fn", "fnuz")}
TOLERANCE |= {f"float8_e5m2{kind}": 0.06 for kind in ("", "fnuz")} | {"float4_e2m1fn": 0.12}
"""Relative to the value and to the largest of the operand's results."""


def entries(name: str, step: int) -> tuple[IRModule, list[tuple[str, list[Any], Any]]]:
    """A module with a definition for one of `step` samples, and for each its operands and its value."""
    mod = IRModule()
    cases: list[tuple[str, list[Any], Any]] = []
    for i, s in enumerate(list(samples_of(registry[name]))[::step]):
        operands = operands_of(s)
        value = instance(name, s.attrs).evaluate(*operands)
        params = tuple([Var(f"x{k}", array_type(x)) for k, x in enumerate(operands)])
        mod[f"f{i}"] = Function(params, Call(Op.get(name), params, dict(s.attrs)))
        cases.append((f"f{i}", operands, value))
    return mod, cases


def leaves(x: Any) -> list[Any]:
    """The arrays in a nest of tuples."""
    return [y for part in x for y in leaves(part)] if isinstance(x, tuple) else [np.asarray(x)]


def check(found: Any, wanted: Any, where: str) -> None:
    """Equal dtypes, shapes and values; floats within the tolerance of their type."""
    a, b = leaves(found), leaves(wanted)
    assert len(a) == len(b), where
    for x, y in zip(a, b, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape), where
        dtype = array_type(y).dtype
        if is_float(dtype):
            x, y = x.astype("float64"), y.astype("float64")
            size = np.abs(y[np.isfinite(y)]).max(initial=0.0)
            t = TOLERANCE[dtype]
            np.testing.assert_allclose(x, y, rtol=4 * t, atol=t * size, err_msg=where)
        else:
            np.testing.assert_array_equal(x, y, err_msg=where)


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.long)], ids=["some", "every"])
@pytest.mark.parametrize("name", sorted(registry))
def test_native_code_computes_what_the_reference_does(name: str, step: int) -> None:
    mod, cases = entries(name, step)
    program = NativeProgram(mod, [entry for entry, _, _ in cases])
    for entry, operands, wanted in cases:
        check(program.evaluate(entry, *operands), wanted, f"{entry} {mod[entry]}")
