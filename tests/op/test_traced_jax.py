"""References as XLA computes them, with its array module, in one function for all samples of an operator.

`.ci/run-extras jax` runs it.
"""

from typing import Any

import numpy as np
import pytest

from op.operands import operands_of, samples_of
from op.test_traced import IN_PART, NAMES, ON_HOST, arrays, assert_near, has_strings, traced
from relay.backend.xla.checks import Checks
from relay.backend.xla.namespace import Namespace
from relay.backend.xla.operators import traced as computed_by
from relay.backend.xla.program import xla_context
from relay.op.base import Operator
from relay.op.registry import instance, registry

pytestmark = pytest.mark.extras
jax = pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")


def namespace() -> Namespace:
    """The array module of a program that begins."""
    return Namespace(jax, Checks(jax))


OF_VECTORS = ("linalg.eigh", "linalg.svd")
"""The operators that give vectors whose signs are those of a device's library."""


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_interpreter(name: str) -> None:
    calls = [(instance(name, s.attrs), operands_of(s)) for s in samples_of(registry[name])]
    known = {i for i, (op, xs) in enumerate(calls) if not reason(op, xs)}
    assert bool(known) is (name not in ON_HOST)
    assert len(known) == len(calls) or name in (*ON_HOST, *IN_PART)
    chosen = [calls[i] for i in sorted(known)]

    def together(operands: list[list[Any]]) -> list[Any]:
        found: list[Any] = []
        for (op, _), xs in zip(chosen, operands, strict=True):
            module = namespace()
            found.append((computed_by(module, op, xs), module.int32(module.checks.failed)))
        return found

    with xla_context(jax, jax.devices()[0]):
        computed = jax.jit(together)([list(map(arrays, xs)) for _, xs in chosen])
    for (op, xs), (found, failed) in zip(chosen, computed, strict=True):
        assert int(failed) == 0
        wanted = op.evaluate(*xs)
        if op.name in OF_VECTORS and jax.default_backend() != "cpu":
            found, wanted = (tuple(map(np.abs, x)) for x in (found, wanted))
        assert_near(op, found, wanted, undecided="float4_e2m1fn")


def reason(op: Operator, operands: list[Any]) -> str:
    """Why a call is computed on the host."""
    why: list[str] = []

    def call(*xs: Any) -> Any:
        found, said = traced(op, list(xs), namespace())
        why.append(said)
        return found

    values = list(map(arrays, operands))
    if any(map(has_strings, values)):
        return "strings"
    with jax.enable_x64(True):
        jax.eval_shape(call, *values)
    return why[0]
