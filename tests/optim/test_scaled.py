"""Scaled losses against PyTorch's `GradScaler`, which `record_scaling.py` has recorded; mixed precision."""

import json
from typing import Any

import numpy as np
import pytest

import relay
from relay import optim, training
from support import ROOT

RECORDED: dict[str, Any] = json.loads(
    (ROOT / "tests" / "data" / "loss_scaling.json").read_text(encoding="utf-8")
)
INNER = {"sgd": optim.sgd(0.1, 0.9), "adamw": optim.adamw(0.05, weight_decay=0.1)}
LOSS = """
fn (%p: (Tensor[(3,), float32], Tensor[(2, 2), float32]), %c: float32) {{
  let %narrow = cast(%c, {0});
  sum(cast(cast(%p.0, {0}) * %narrow, float32)) + sum(cast(cast(%p.1, {0}) * %narrow, float32))
}}"""


def start() -> Any:
    return tuple([np.asarray(p, "float32") for p in RECORDED["start"]])


def scaled(name: str) -> optim.Rule:
    return optim.scaled(INNER[name], RECORDED["initial"], every=RECORDED["every"])


def check(name: str, taken: Any) -> None:
    """Each step gives PyTorch's parameters and scale; `taken(factor)` takes it."""
    factors = RECORDED["factors"][name.split(", ")[1]]
    for factor, wanted in zip(factors, RECORDED[name], strict=True):
        params, scale = taken(np.float32(factor))
        assert scale == wanted["scale"]
        for p, w in zip(params, wanted["params"], strict=True):
            np.testing.assert_allclose(p, w, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("backend", ["debug", "native"])
@pytest.mark.parametrize("name", [f"{rule}, {dtype}" for rule in INNER for dtype in ("float16", "bfloat16")])
def test_each_step_and_each_skipped_step_is_that_of_pytorch(name: str, backend: str) -> None:
    rule, run = scaled(name.split(", ")[0]), relay.create_executor(backend)
    loss = relay.parse_expr(LOSS.format(name.split(", ")[1]))
    step = run.evaluate(optim.train_step(loss, rule))
    params: Any = start()
    state = run.evaluate(rule.init(loss.params[0].type_annotation))(params)

    def taken(factor: Any) -> Any:
        nonlocal params, state
        value, params, state = step(params, state, factor)
        assert np.isfinite(value) or factor > 1e30
        return params, state[0]

    check(name, taken)


@pytest.mark.parametrize("name", ["adamw, float16", "sgd, bfloat16"])
def test_python_functions_compose_to_the_same_steps(name: str) -> None:
    rule, dtype = scaled(name.split(", ")[0]), name.split(", ")[1]

    def loss(params: Any, c: Any) -> Any:
        p, c = training.cast((params, c), dtype)
        return sum((w * c).astype("float32").sum() for w in p)

    @relay.compile
    def step(params: Any, state: Any, c: Any) -> Any:
        _, back = relay.vjp(lambda p: loss(p, c))(params)
        (slope,) = back(state[0])
        return optim.apply_rule(rule, params, slope, state)

    params: Any = start()
    state = optim.initial_state(rule, params)

    def taken(factor: Any) -> Any:
        nonlocal params, state
        params, state = step(params, state, factor)
        return params, state[0]

    check(name, taken)


def test_a_skipped_step_changes_nothing_but_the_scale() -> None:
    rule = optim.scaled(optim.averaged(optim.adamw(0.1), 0.5), 8.0)
    params = {"w": np.ones(2, "float32"), "b": np.ones((), "float32")}
    state = optim.initial_state(rule, params)
    for bad in (np.inf, -np.inf, np.nan):
        grads = {"w": np.array([1, bad], "float32"), "b": np.ones((), "float32")}
        now, then = optim.apply_rule(rule, params, grads, state)
        np.testing.assert_array_equal(now["w"], params["w"])
        assert (then[0], then[1]) == (4, 0)
        assert str(then[2]) == str(state[2])


def test_the_scale_grows_to_the_greatest_number_and_no_further() -> None:
    rule = optim.scaled(optim.sgd(0.0), 2.0**126, every=1)
    params = (np.ones(1, "float32"),)
    state = optim.initial_state(rule, params)
    scales = []
    for _ in range(3):
        params, state = optim.apply_rule(rule, params, params, state)
        scales.append(float(state[0]))
    assert scales == [2.0**127] * 3


def test_a_mixed_network_learns_what_float32_does_not_underflow_in() -> None:
    """Gradients of 1e-8 are zeros in float16, unless the loss is scaled."""

    def slope(p: Any, scale: Any) -> Any:
        half = training.cast(p, "float16")
        _, back = relay.vjp(lambda h: (h * np.float16(1e-4)).astype("float32").sum() * 1e-4)(half)
        return back(scale)[0]

    assert relay.function(slope)(np.ones(1, "float32"), np.float32(1)) == 0
    found = relay.function(slope)(np.ones(1, "float32"), np.float32(65536))
    np.testing.assert_allclose(found.astype("float32") / 65536, 1e-8, rtol=0.01)


@pytest.mark.parametrize(
    "make",
    [
        lambda: optim.scaled(optim.sgd(0.1), 0.0),
        lambda: optim.scaled(optim.sgd(0.1), growth=0.5),
        lambda: optim.scaled(optim.sgd(0.1), backoff=0.0),
        lambda: optim.scaled(optim.sgd(0.1), every=0),
        lambda: optim.train_step(relay.parse_expr("fn (%p: Tensor[(2,), float32]) { %p }"), scaled("sgd")),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(relay.RelayError, match="optimizer-parameter"):
        make()


def test_cast_keeps_the_structure_and_what_is_no_float() -> None:
    values = {"w": np.ones(2, "float32"), "n": (np.arange(2), True, 0.5)}
    found = training.cast(values, "bfloat16")
    assert str(found["w"].dtype) == "bfloat16"
    assert found["n"][0].dtype == np.int64
    assert found["n"][1] == np.True_
    _, (slope,) = relay.grad(lambda w: training.cast(w, "float16").sum())(np.ones(2, "float32"))
    assert slope.dtype == np.float32
