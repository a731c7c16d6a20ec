"""Training steps of networks, as programs and their first arguments."""

from typing import Any

import numpy as np

import relay
from relay.testing import gpt2, lstm, mlp, resnet, transformer

DTYPE = "float64"
"""Sums are in another order on several devices: with these digits that is all that differs."""
NETWORKS: dict[str, Any] = {
    "mlp": lambda: mlp.get_workload(8, dtype=DTYPE),
    "lstm": lambda: lstm.get_workload(4, 16, dtype=DTYPE),
    "resnet": lambda: resnet.get_workload(8, 10, 8, (3, 32, 32), dtype=DTYPE),
    "resnet18": lambda: resnet.get_workload(2, 10, 18, (3, 224, 224), dtype=DTYPE),
    "gpt2": lambda: gpt2.get_workload(2, 8, 2, 32, 2, vocabulary=50, positions=16, dtype=DTYPE),
    "transformer": lambda: transformer.get_workload(8, 8, 2, 32, 2, vocabulary=50, dtype=DTYPE),
}


def training_step(name: str, rate: float = 0.01) -> tuple[relay.IRModule, list[str], dict[str, Any]]:
    """A module whose `@step` gives the loss and the new weights, the names of these, and arguments."""
    return step_of_network(*NETWORKS[name](), rate)


def step_of_network(
    mod: relay.IRModule, params: dict[str, Any], rate: float = 0.01
) -> tuple[relay.IRModule, list[str], dict[str, Any]]:
    """What `training_step` gives, of a network and its parameters."""
    main = relay.infer(mod)["main"]
    out = relay.TupleGetItem(main.body, 0) if isinstance(main.ret_type, relay.TupleType) else main.body
    loss = relay.Function(main.params, relay.mean(relay.multiply(out, relay.tanh(out))))
    mod["loss"] = relay.infer(relay.IRModule.from_expr(loss))["main"]
    listing = ", ".join([f"%{p.name_hint}: {p.type_annotation}" for p in main.params])
    names = ", ".join([f"%{p.name_hint}" for p in main.params])
    weights = [(i, p.name_hint) for i, p in enumerate(main.params) if p.name_hint in params]
    bits = "f64" if main.params[weights[0][0]].type_annotation.dtype == "float64" else "f"
    new = ", ".join([f"%{n} - %g.1.{i} * {rate}{bits}" for i, n in weights])
    step = f"def @step({listing}) {{ let %g = grad(@loss)({names}); (%g.0, ({new},)) }}"
    rng = np.random.default_rng(0)
    args = dict(params)
    for p in main.params:
        if p.name_hint not in args:
            shape, dtype = p.type_annotation.concrete_shape, p.type_annotation.dtype
            numbers = rng.integers(0, 40, shape) if dtype.startswith("int") else rng.standard_normal(shape)
            args[p.name_hint] = numbers.astype(dtype)
    return relay.parse(f"{mod}\n{step}"), [n for _, n in weights], args
