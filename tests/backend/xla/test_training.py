"""Training steps by XLA beside those of machine code."""

from typing import Any

import numpy as np
import pytest

import relay
from relay.testing import lstm, mlp, resnet, transformer

pytestmark = pytest.mark.extras
pytest.importorskip("jax", reason="needs jax, which `.ci/run-extras jax` installs")

WORKLOADS: dict[str, Any] = {
    "mlp": lambda: mlp.get_workload(4),
    "lstm": lambda: lstm.get_workload(4, 16),
    "resnet": lambda: resnet.get_workload(2, 10, 8, (3, 32, 32)),
    "transformer": lambda: transformer.get_workload(2, 8, 2, 32, 2, vocabulary=50),
}


def step_of(mod: relay.IRModule) -> relay.IRModule:
    """A network as a function to the mean of `x * tanh(x)` of its result, and to all derivatives."""
    main = mod["main"]
    out = relay.TupleGetItem(main.body, 0) if isinstance(main.ret_type, relay.TupleType) else main.body
    loss = relay.Function(main.params, relay.mean(relay.multiply(out, relay.tanh(out))))
    mod["loss"] = relay.infer(relay.IRModule.from_expr(loss))["main"]
    params = ", ".join([f"%{p.name_hint}: {p.type_annotation}" for p in main.params])
    names = ", ".join([f"%{p.name_hint}" for p in main.params])
    text = f"{mod}\ndef @step({params}) {{ grad(@loss)({names}) }}"
    return relay.parse(text)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_training_step_is_that_of_machine_code(name: str) -> None:
    mod, params = WORKLOADS[name]()
    rng = np.random.default_rng(0)
    args = dict(params)
    for p in mod["main"].params:
        if p.name_hint not in args:
            shape, dtype = p.type_annotation.concrete_shape, p.type_annotation.dtype
            numbers = rng.integers(0, 40, shape) if dtype.startswith("int") else rng.standard_normal(shape)
            args[p.name_hint] = numbers.astype(dtype)
    mod = step_of(relay.infer(mod))
    built = relay.build(mod, "xla", entries="step")
    found, wanted = built(args), relay.build(mod, entries="step")(args)
    assert not built.by_name["step"].not_whole
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5)
    pairs = [(a, b) for a, b in zip(found[1], wanted[1], strict=True) if b.dtype.kind == "f"]
    # What is zero but for rounding, such as the derivative by the bias of keys, is so beside the others.
    near = 1e-5 * max(np.abs(b).max() for _, b in pairs)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=near)
