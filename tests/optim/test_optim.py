"""Optimisers and schedules against PyTorch's and optax's, which `record_steps.py` has written; training."""

import inspect
import json
from typing import Any

import numpy as np
import pytest

import relay
from relay import optim
from support import ROOT

RECORDED: dict[str, Any] = json.loads(
    (ROOT / "tests" / "data" / "optimizers.json").read_text(encoding="utf-8")
)
TREE = relay.parse_type("(Tensor[(3,), float64], (Tensor[(4, 6), float64], Tensor[(2,), float64]))")
MASK = (False, (True, False))
RULES = {
    "sgd": optim.sgd(0.1),
    "sgd, momentum, decay": optim.sgd(0.1, 0.9, weight_decay=0.01),
    "sgd, nesterov": optim.sgd(0.1, 0.9, nesterov=True),
    "sgd, one cycle": optim.sgd(optim.one_cycle(0.2, 21), 0.9),
    "adam": optim.adam(0.05),
    "adamw": optim.adamw(0.05, weight_decay=0.1),
    "adamw, cosine, clipped": optim.clipped(
        optim.adamw(optim.cosine(0.05, 20, end=0.001), weight_decay=0.1), 1.0
    ),
    "lion": optim.lion(0.02, weight_decay=0.1),
    "lion, masked": optim.lion(0.02, weight_decay=0.1, mask=optim.is_matrix),
    "lamb": optim.lamb(0.02, weight_decay=0.1),
    "adafactor": optim.adafactor(0.05, least_factored_size=4),
    "adafactor, plain": optim.adafactor(
        0.05, least_factored_size=100, scale_by_parameters=False, clipping_threshold=None
    ),
    "adafactor, decay": optim.adafactor(0.05, least_factored_size=4, weight_decay=0.01),
}
SCHEDULES = {
    "cosine": optim.cosine(0.1, 30, end=0.01),
    "piecewise": optim.piecewise([0.1, 0.01, 0.001], [5, 12]),
    "one_cycle": optim.one_cycle(0.2, 31),
    "warmup": optim.warmup(optim.cosine(0.1, 20, end=0.01), 5),
    "linear": optim.linear(0.1, 0.02, 20),
}


def nested(flat: Any) -> Any:
    a, b, c = (np.asarray(x) for x in flat)
    return a, (b, c)


def gradients(params: Any) -> Any:
    a, (b, c) = params
    x, (y, z) = nested(RECORDED["target"])
    return a - x, (b - y, c - z)


def close(found: Any, wanted: Any, tolerance: float = 1e-6) -> None:
    a, (b, c) = found
    x, (y, z) = wanted
    for got, want in ((a, x), (b, y), (c, z)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", RECORDED["steps"])
def test_each_of_20_steps_is_that_of_pytorch_or_optax(name: str) -> None:
    rule, run = RULES[name], relay.create_executor("debug")
    params: Any = nested(RECORDED["start"])
    state = run.evaluate(rule.init(TREE))(params)
    update = run.evaluate(rule.update(TREE))
    for wanted in RECORDED["steps"][name]:
        params, state = update(params, gradients(params), state)
        close(params, nested(wanted))


@pytest.mark.parametrize("name", ["adamw, cosine, clipped", "lamb", "adafactor", "lion", "sgd, one cycle"])
def test_machine_code_takes_the_same_steps(name: str) -> None:
    rule, run = RULES[name], relay.create_executor("native")
    params: Any = nested(RECORDED["start"])
    state = run.evaluate(rule.init(TREE))(params)
    update = run.evaluate(rule.update(TREE))
    for wanted in RECORDED["steps"][name][:3]:
        params, state = update(params, gradients(params), state)
        close(params, nested(wanted))


@pytest.mark.parametrize("name", RECORDED["rates"])
def test_schedules_are_those_of_pytorch_and_optax(name: str) -> None:
    found = [SCHEDULES[name](step) for step in range(30)]
    np.testing.assert_allclose(found, RECORDED["rates"][name], rtol=2e-6, atol=1e-8)


def test_schedules_stay_at_their_end_and_warm_up_to_their_beginning() -> None:
    assert optim.constant(0.5)(1000) == 0.5
    assert optim.linear(1.0, 0.0, 4)(100) == 0
    assert optim.cosine(1.0, 4)(100) == 0
    assert optim.one_cycle(1.0, 10)(100) == pytest.approx(1 / 25 / 1e4)
    slow = optim.warmup(optim.constant(1.0), 4, start=0.2)
    assert [slow(i) for i in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1, 1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: optim.cosine(1.0, 0),
        lambda: optim.cosine("high", 10),
        lambda: optim.linear(1.0, float("nan"), 10),
        lambda: optim.warmup(optim.constant(0.1), 4, start=-1),
        lambda: optim.constant(-0.1),
        lambda: optim.piecewise([1.0, -1.0], [3]),
        lambda: optim.one_cycle(1.0, 30, start_divisor=0),
        lambda: optim.clipped(optim.sgd(0.1), float("nan")),
        lambda: optim.accumulated(optim.sgd(0.1), "four"),
        lambda: optim.piecewise([1.0], [3]),
        lambda: optim.piecewise([1.0, 2.0, 3.0], [3, 2]),
        lambda: optim.one_cycle(1.0, 3, rising=0.1),
        lambda: optim.clipped(optim.sgd(0.1), 0.0),
        lambda: optim.accumulated(optim.sgd(0.1), 0),
        lambda: optim.averaged(optim.sgd(0.1), 1.0),
        lambda: optim.adam().init(relay.parse_type("(float32, int32)")),
        lambda: optim.adamw(mask=(True,)).update(TREE),
        lambda: optim.adamw(mask=(True, (1, False))).update(TREE),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(relay.RelayError, match="optimizer-parameter"):
        make()


@pytest.mark.parametrize("name", ["sgd", "adam", "adamw", "lamb", "lion", "adafactor"])
def test_numbers_outside_of_their_limits_are_refused_where_a_rule_is_made(name: str) -> None:
    make = getattr(optim, name)
    wrong = {
        "learning_rate": ("fast", -0.1, float("nan"), float("inf"), None, (0.1, 0.2), 1j),
        "beta1": (1.0, -0.5, "0.9", optim.constant(0.9)), "beta2": (1, float("nan"), None),
        "epsilon": (-1e-8, "small"), "weight_decay": (-0.1, float("nan"), "some"), "momentum": (-1, "much"),
        "clipping_threshold": (0, -1.0, "long"), "decay_exponent": (-0.8, float("nan")),
    }  # fmt: skip
    for field, values in wrong.items():
        for value in values if field in inspect.signature(make).parameters else ():
            with pytest.raises(relay.RelayError, match=rf"optimizer-parameter\]: `{field}` ") as error:
                make(**{"learning_rate": 0.1, field: value})
            found = error.value.diagnostics[0]
            assert found.hint.startswith("pass a ")
            assert found.span is not None
            assert found.span.source_name.name == __file__
    for rate in (0, 1, np.float32(0.1), np.asarray(0.1), optim.constant(0.1), relay.var("rate", shape=())):
        make(learning_rate=rate)


def test_a_mask_may_be_bools_in_the_structure_of_the_tree() -> None:
    run = relay.create_executor("debug")
    params = nested(RECORDED["start"])
    by_type, by_place = (optim.adamw(0.1, weight_decay=0.5, mask=m) for m in (optim.is_matrix, MASK))
    state = run.evaluate(by_type.init(TREE))(params)
    found = [
        run.evaluate(rule.update(TREE))(params, gradients(params), state)[0] for rule in (by_type, by_place)
    ]
    close(found[0], found[1], 0)


@pytest.mark.parametrize("backend", ["debug", "native"])
def test_accumulated_gradients_take_one_step_down_their_mean(backend: str) -> None:
    run = relay.create_executor(backend)
    rule = optim.accumulated(RULES["adam"], 3)
    start: Any = nested(RECORDED["start"])
    update, plain = run.evaluate(rule.update(TREE)), run.evaluate(RULES["adam"].update(TREE))
    inner = run.evaluate(RULES["adam"].init(TREE))(start)
    params, state = start, run.evaluate(rule.init(TREE))(start)
    wanted, g = start, gradients(start)
    for _ in range(2):
        for share in (0.5, 1.0, 1.5):
            close(params, wanted, 1e-12)
            params, state = update(params, (g[0] * share, (g[1][0] * share, g[1][1] * share)), state)
        wanted, inner = plain(wanted, g, inner)
        close(params, wanted, 1e-12)


def test_the_average_of_the_weights_follows_them() -> None:
    run = relay.create_executor("debug")
    rule = optim.averaged(RULES["sgd"], 0.75)
    params: Any = nested(RECORDED["start"])
    average = params[0]
    state, update = run.evaluate(rule.init(TREE))(params), run.evaluate(rule.update(TREE))
    for _ in range(4):
        params, state = update(params, gradients(params), state)
        average = 0.75 * average + 0.25 * params[0]
    np.testing.assert_allclose(state[1][0], average, rtol=1e-12)


def test_gradients_that_are_short_enough_are_not_clipped() -> None:
    run = relay.create_executor("debug")
    params: Any = nested(RECORDED["start"])
    found = []
    for rule in (optim.sgd(0.1), optim.clipped(optim.sgd(0.1), 1e6)):
        state = run.evaluate(rule.init(TREE))(params)
        found.append(run.evaluate(rule.update(TREE))(params, gradients(params), state)[0])
    close(found[0], found[1], 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", RULES)
def test_other_dtypes_and_symbolic_sizes_are_typed(name: str, dtype: str) -> None:
    symbolic = relay.parse(f"def @f(%p: (Tensor[(n, 5), {dtype}], Tensor[(), {dtype}])) {{ %p }}")["f"]
    rule = RULES[name] if "masked" in name else optim.averaged(optim.accumulated(RULES[name], 2))
    update = rule.update(symbolic.params[0].type_annotation)
    update = relay.Function(update.params, update.body, None, symbolic.type_params)
    assert str(relay.infer_expr(update).ret_type.fields[0]) == f"(Tensor[(n, 5), {dtype}], {dtype})"
    made = relay.infer_expr(rule.update(relay.parse_type(f"(Tensor[(3, 5), {dtype}], Tensor[(), {dtype}])")))
    assert str(made.checked_type.ret_type.fields[0]) == f"(Tensor[(3, 5), {dtype}], {dtype})"


def test_an_empty_tree_has_no_steps_to_take() -> None:
    tree = relay.parse_type("()")
    run = relay.create_executor("debug")
    for rule in (optim.adam(), optim.clipped(optim.sgd(0.1), 1.0), optim.adafactor(0.1)):
        state = run.evaluate(rule.init(tree))(())
        assert run.evaluate(rule.update(tree))((), (), state)[0] == ()


@pytest.mark.parametrize("backend", ["debug", "native"])
def test_training_steps_lower_the_loss(backend: str) -> None:
    loss = relay.parse_expr(
        "fn(%p: (Tensor[(1, 3), float32], float32), "
        "%x: Tensor[(n, 3), float32], %y: Tensor[(n, 1), float32]) "
        "{ let %e = nn.dense(%x, %p.0) + %p.1 - %y; mean(%e * %e) }"
    )
    rng = np.random.default_rng(0)
    x = rng.normal(size=(16, 3)).astype("float32")
    y = x @ np.array([[1.0], [-2.0], [0.5]], "float32") + np.float32(0.3)
    rule = optim.averaged(optim.clipped(optim.adam(optim.warmup(optim.cosine(0.2, 150), 10)), 5.0), 0.9)
    tree = relay.parse_type("(Tensor[(1, 3), float32], float32)")
    run = relay.create_executor(backend)
    params: Any = (np.zeros((1, 3), "float32"), np.float32(0))
    state = run.evaluate(rule.init(tree))(params)
    step = run.evaluate(optim.train_step(loss, rule))
    losses = []
    for _ in range(150):
        value, params, state = step(params, state, x, y)
        losses.append(float(value))
    assert losses[-1] < 1e-3 < losses[0]
    np.testing.assert_allclose(params[0], [[1.0, -2.0, 0.5]], atol=0.05)
    np.testing.assert_allclose(state[1][0], [[1.0, -2.0, 0.5]], atol=0.05)


def test_steps_are_counted_beyond_the_whole_numbers_of_float32() -> None:
    rates = optim.linear(1.0, 0.0, 2**25)
    assert rates(2**24) == 0.5
    late = optim.piecewise([1.0, 2.0], [2**24 + 1])
    assert [late(2**24), late(2**24 + 1)] == [1.0, 2.0]
    tree = relay.parse_type("(Tensor[(2,), float32],)")
    rule = optim.sgd(late)
    update = relay.create_executor().evaluate(rule.update(tree))
    params, state = (np.zeros(2, "float32"),), (np.int32(2**24),)
    for rate in (1, 2, 2):
        before, (params, state) = params, update(params, (np.ones(2, "float32"),), state)
        np.testing.assert_array_equal(params[0], before[0] - rate)
    assert state == (2**24 + 3,)
    assert update(params, params, (np.int32(2**31 - 1),))[1] == (2**31 - 1,)


def test_the_state_of_another_rule_is_refused() -> None:
    params = {"w": np.ones(2, "float32")}
    older = (np.float32(3), (params["w"],), (params["w"],))
    for state, message in ((older, "has int32"), (optim.initial_state(optim.sgd(0.1), params), "the state")):
        with pytest.raises(relay.RelayError) as error:
            optim.apply_rule(optim.adam(0.1), params, params, state)
        assert error.value.codes == ("optimizer-parameter",)
        assert message in str(error.value)
