"""Rules on nested values of Python."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import relay
from relay import optim
from relay.tracing.pytree import LEAF, flatten


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


W = np.ones(3, "float32")


@pytest.mark.parametrize("mode", [lambda f: f, relay.compile, relay.function])
@pytest.mark.parametrize(
    ("grads", "says"),
    [
        ({"b": W, "c": 100 * W}, "`grads` is {'b': *, 'c': *}, and its parameter {'a': *, 'b': *}"),
        ({"a": W, "b": W, "c": W}, "`grads` is {'a': *, 'b': *, 'c': *}"),
        ({"a": W}, "`grads` is {'a': *}"),
        ([W, W], "`grads` is [*, *]"),
        (W, "`grads` is *, and its parameter {'a': *, 'b': *}"),
        ({"a": W, "b": (W,)}, "`grads['b']` is (*,), and its parameter *"),
        (
            {"a": W, "b": W[:1]},
            "`grads['b']` is Tensor[(1,), float32], and its parameter Tensor[(3,), float32]",
        ),
        ({"a": W, "b": W[:2]}, "`grads['b']` is Tensor[(2,), float32]"),
        ({"a": W, "b": np.float32(1)}, "`grads['b']` is float32"),
    ],
)
def test_gradients_have_the_structure_of_the_parameters(mode: Any, grads: Any, says: str) -> None:
    rule, params = optim.sgd(0.1), {"a": W, "b": W}
    state = optim.initial_state(rule, params)
    with pytest.raises(relay.RelayError) as error:
        mode(lambda p, g, s: optim.apply_rule(rule, p, g, s))(params, grads, state)
    assert error.value.codes == ("optimizer-parameter",)
    assert says in str(error.value)


def test_a_rule_comes_first() -> None:
    rule = optim.sgd(0.1)
    wrong: Any = W
    with pytest.raises(relay.RelayError, match="must be an optimiser") as error:
        optim.apply_rule(wrong, wrong, optim.initial_state(rule, W), rule)
    assert error.value.codes == ("optimizer-parameter",)


# --- control flow and hyperparameters that are traced

RULES = {
    "sgd": lambda rate: optim.sgd(rate),
    "sgd with momentum": lambda rate: optim.sgd(rate, 0.9, nesterov=True, weight_decay=0.1),
    "adam": lambda rate: optim.adam(rate),
    "adamw": lambda rate: optim.adamw(rate),
    "lamb": lambda rate: optim.lamb(rate),
    "lion": lambda rate: optim.lion(rate),
    "adafactor": lambda rate: optim.adafactor(rate, least_factored_size=2),
    "accumulated": lambda rate: optim.accumulated(optim.adam(rate), 2),
    "averaged": lambda rate: optim.averaged(optim.sgd(rate), 0.5),
    "clipped": lambda rate: optim.clipped(optim.adam(rate), 0.5),
    "scaled": lambda rate: optim.scaled(optim.adam(rate), 4.0),
}


class Pair(NamedTuple):
    first: Any
    second: Any


def nested_params() -> Any:
    a, b = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3), np.array([0.5, -2], "float32")
    return {"layer": Layer(a, [b, None]), "pair": Pair(b + 1, (a * 2,))}


def leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    flatten(value, lambda x, _: (found.append(x), LEAF), "value")
    return found


def structure(value: Any) -> Any:
    return flatten(value, lambda x, _: (x, LEAF), "value")[1]


def squares(params: Any) -> Any:
    layer, pair = params["layer"], params["pair"]
    return (layer.w**2).sum() + (layer.b[0] ** 2).sum() + (pair.first**2).sum() + (pair.second[0] ** 2).sum()


def one_step(rule: Any, params: Any, state: Any) -> Any:
    return optim.apply_rule(rule, params, relay.value_and_grad(squares, 0)(params)[1], state)


def by_fori(rule: Any, params: Any, state: Any) -> Any:
    return relay.fori(0, 3, lambda _, c: one_step(rule, *c), (params, state))


def by_scan(rule: Any, params: Any, state: Any) -> Any:
    return relay.scan(lambda c, _: (one_step(rule, *c), None), (params, state), length=3)[0]


def by_while(rule: Any, params: Any, state: Any) -> Any:
    start = (0, (params, state))
    return relay.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, one_step(rule, *c[1])), start)[1]


def by_cond(rule: Any, params: Any, state: Any) -> Any:
    carry = params, state
    for limit in (np.inf, np.inf, -np.inf, np.inf):  # the third step is not taken
        is_taken = carry[0]["layer"].w.sum() < limit
        carry = relay.cond(is_taken, lambda p, s: one_step(rule, p, s), lambda p, s: (p, s), *carry)
    return carry


@pytest.mark.parametrize("flow", [by_fori, by_scan, by_while, by_cond])
@pytest.mark.parametrize("name", RULES)
def test_state_keeps_its_structure_in_control_flow_with_a_traced_rate(name: str, flow: Any) -> None:
    params = nested_params()
    known = RULES[name](0.1)
    state = optim.initial_state(known, params)
    wanted = params, state
    for _ in range(3):
        wanted = one_step(known, *wanted)

    def run(rate: Any, params: Any, state: Any) -> Any:
        return flow(RULES[name](rate), params, state)

    execute = relay.compile if name == "clipped" else relay.function
    found = execute(run)(np.float32(0.1), params, state)
    assert structure(found) == structure((params, state))
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_state_that_begins_in_a_trace_goes_through_a_loop() -> None:
    rule = optim.averaged(optim.adam(0.1), 0.9)
    params = nested_params()
    found = relay.compile(lambda p: by_fori(rule, p, optim.initial_state(rule, p)))(params)
    for a, b in zip(
        leaves(found), leaves(by_fori(rule, params, optim.initial_state(rule, params))), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_tuples_of_programs_are_carried_and_returned_by_branches() -> None:
    @relay.compile
    def swapped(x: Any) -> Any:
        carry = relay.fori(
            0, 3, lambda _, c: relay.split(relay.concatenate((c[1], c[0] * 2.0)), 2), (x, x + 1.0)
        )
        return relay.cond(x.sum() > 0.0, lambda: relay.split(relay.concatenate(carry), 2), lambda: carry)

    a, b = swapped(np.array([1, 2], "float32"))  # (1, 2), (2, 3) -> (2, 3), (2, 4) -> (2, 4), (4, 6) -> …
    assert (a.tolist(), b.tolist()) == ([4, 6], [4, 8])


HYPERPARAMETERS = {
    "sgd": lambda x: optim.sgd(x(0.1), x(0.9), weight_decay=x(0.1)),
    "adamw": lambda x: optim.adamw(x(0.1), x(0.8), x(0.9), x(1e-6), weight_decay=x(0.2)),
    "lamb": lambda x: optim.lamb(x(0.1), x(0.8), x(0.9), x(1e-6), weight_decay=x(0.2)),
    "lion": lambda x: optim.lion(x(0.1), x(0.8), x(0.9), weight_decay=x(0.2)),
    "adafactor": lambda x: optim.adafactor(
        x(0.1), decay_exponent=x(0.7), clipping_threshold=x(0.9), weight_decay=x(0.1)
    ),
    "clipped": lambda x: optim.clipped(optim.sgd(0.1), x(0.5)),
    "averaged": lambda x: optim.averaged(optim.sgd(0.1), x(0.5)),
    "accumulated": lambda x: optim.accumulated(optim.sgd(0.1), x(2)),
    "scaled": lambda x: optim.scaled(optim.sgd(0.1), x(4.0), growth=x(3.0), backoff=x(0.25), every=x(2)),
    "constant": lambda x: optim.sgd(optim.constant(x(0.1))),
    "cosine": lambda x: optim.sgd(optim.cosine(x(0.1), x(10), x(0.01))),
    "linear": lambda x: optim.sgd(optim.linear(x(0.1), x(0.2), x(10))),
    "warmup": lambda x: optim.sgd(optim.warmup(optim.linear(0.1, 0.2, 10), x(4), x(0.01))),
    "piecewise": lambda x: optim.sgd(optim.piecewise([x(0.1), x(0.2)], [x(1)])),
    "one_cycle": lambda x: optim.sgd(
        optim.one_cycle(x(0.1), x(10), rising=x(0.3), start_divisor=x(5.0), end_divisor=x(10.0))
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HYPERPARAMETERS)
def test_hyperparameters_may_be_traced(name: str) -> None:
    rule_of, params = HYPERPARAMETERS[name], nested_params()
    numbers: list[Any] = []
    known = rule_of(lambda x: numbers.append(x) or x)
    state = optim.initial_state(known, params)
    wanted = by_fori(known, params, state)

    def run(numbers: Any, params: Any, state: Any) -> Any:
        rest = iter(numbers)
        return by_fori(rule_of(lambda _: next(rest)), params, state)

    execute = relay.compile if name in ("sgd", "one_cycle") else relay.function
    for a, b in zip(leaves(execute(run)(numbers, params, state)), leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_every_rule_and_schedule_is_tried_with_traced_hyperparameters() -> None:
    rules = {n for n in optim.__all__ if n.islower()} - {"apply_rule", "global_norm", "initial_state"}
    assert rules - {"is_matrix", "train_step", "adam"} == set(HYPERPARAMETERS)


def test_rates_are_arrays_and_schedules_take_traced_steps() -> None:
    params = nested_params()
    rule = optim.sgd(np.asarray(0.1, "float32"))
    moved, _ = optim.apply_rule(rule, params, params, optim.initial_state(rule, params))
    np.testing.assert_allclose(moved["layer"].w, 0.9 * params["layer"].w, rtol=1e-6)
    rate = optim.linear(0.0, 1.0, 4)
    assert float(relay.function(lambda n: rate(n))(2)) == 0.5
