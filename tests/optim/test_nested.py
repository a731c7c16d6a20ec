"""Rules on nested values of Python."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import relay
from relay import optim


@dataclass
class Layer:
    w: Any
    b: Any


def loss(params: Any, x: Any, y: Any) -> Any:
    return (((x @ params["layer"].w + params["layer"].b) * params["scale"] - y) ** 2).mean()


RULE = optim.averaged(optim.clipped(optim.adamw(optim.cosine(0.1, 100), mask=optim.is_matrix), 1.0), 0.9)


def step(params: Any, state: Any, x: Any, y: Any) -> Any:
    value, slope = relay.value_and_grad(loss, 0)(params, x, y)
    params, state = optim.apply_rule(RULE, params, slope, state)
    return value, params, state


def problem() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 2)).astype("float32")
    y = x @ np.array([[1.0], [-2.0]], "float32") + np.float32(0.5)
    layer = Layer(np.ones((2, 1), "float32"), np.zeros(1, "float32"))
    return {"layer": layer, "scale": np.float32(1)}, x, y


@pytest.mark.parametrize("compiled", [False, True])
def test_a_step_is_a_python_function(compiled: bool) -> None:
    params, x, y = problem()
    state = optim.initial_state(RULE, params)
    run = relay.compile(step) if compiled else relay.function(step)
    first = None
    for _ in range(100):
        value, params, state = run(params, state, x, y)
        first = value if first is None else first
    assert value < 0.05 * first
    assert isinstance(params["layer"], Layer)
    assert params["layer"].w.shape == (2, 1)


def test_a_rule_on_arrays_runs_at_once() -> None:
    params, x, y = problem()
    state = optim.initial_state(RULE, params)
    _, slope = relay.value_and_grad(loss, 0)(params, x, y)
    now, then = optim.apply_rule(RULE, params, slope, state)
    _, wanted, wanted_state = relay.function(step)(params, state, x, y)
    np.testing.assert_array_equal(now["layer"].w, wanted["layer"].w)
    np.testing.assert_array_equal(then[1][1], wanted_state[1][1])


def test_what_is_no_parameter_is_refused() -> None:
    with pytest.raises(relay.RelayError, match="optimizer-parameter"):
        optim.initial_state(RULE, {"w": np.ones(2, "int32")})
